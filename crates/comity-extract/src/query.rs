//! The query of a reference in the document's charset.

use std::borrow::Cow;
use std::fmt::Write;

use encoding_rs::{EncoderResult, Encoding, UTF_8};

/// Writes the non-ASCII characters of the query as percent-encoded bytes of the document's charset, so
/// that the URL parser, which knows UTF-8 only, leaves them as they are.
///
/// Source: the URL standard, "query state" and "percent-encode after encoding"; UTF-16 documents send
/// UTF-8. Linear.
pub(crate) fn in_charset<'a>(reference: &'a str, charset: &'static Encoding) -> Cow<'a, str> {
    let charset = charset.output_encoding();
    if charset == UTF_8 || reference.is_ascii() {
        return Cow::Borrowed(reference);
    }
    let end = reference.find('#').unwrap_or(reference.len());
    let (before_fragment, fragment) = reference.split_at(end);
    let Some(start) = before_fragment.find('?') else { return Cow::Borrowed(reference) };
    let (path, query) = before_fragment.split_at(start);
    if query.is_ascii() {
        return Cow::Borrowed(reference);
    }
    let mut text = path.to_owned();
    push_query(&mut text, query, charset);
    text.push_str(fragment);
    Cow::Owned(text)
}

fn push_query(text: &mut String, query: &str, charset: &'static Encoding) {
    let mut rest = query;
    while !rest.is_empty() {
        let (ascii, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii()).unwrap_or(rest.len()));
        let (run, behind) = behind.split_at(behind.find(|c: char| c.is_ascii()).unwrap_or(behind.len()));
        text.push_str(ascii);
        push_encoded(text, run, charset);
        rest = behind;
    }
}

/// A character the charset does not have is sent as `&#code;`, percent-encoded.
fn push_encoded(text: &mut String, run: &str, charset: &'static Encoding) {
    let mut encoder = charset.new_encoder();
    let mut buffer = [0; 256];
    let mut rest = run;
    loop {
        let (result, read, written) = encoder.encode_from_utf8_without_replacement(rest, &mut buffer, true);
        buffer.iter().take(written).for_each(|byte| push_byte(text, *byte));
        rest = rest.get(read..).unwrap_or("");
        match result {
            EncoderResult::InputEmpty => return,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => push_infallible(text, format_args!("%26%23{}%3B", u32::from(c))),
        }
    }
}

/// Special-query percent-encode set.
fn push_byte(text: &mut String, byte: u8) {
    if byte.is_ascii_graphic() && !b"\"#<>'".contains(&byte) {
        text.push(char::from(byte));
    } else {
        push_infallible(text, format_args!("%{byte:02X}"));
    }
}

fn push_infallible(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String never fails.
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{GBK, ISO_2022_JP, SHIFT_JIS, UTF_16LE, WINDOWS_1252};

    #[test]
    fn queries_are_written_in_the_charset_of_the_page() {
        let rows = [
            ("/é?q=é#é", WINDOWS_1252, "/é?q=%E9#é"),
            ("/?q=é", UTF_8, "/?q=é"),
            ("/?q=é", UTF_16LE, "/?q=é"),
            ("/é", WINDOWS_1252, "/é"),
            ("/#é?é", WINDOWS_1252, "/#é?é"),
            ("/?q=日", WINDOWS_1252, "/?q=%26%2326085%3B"),
            ("/?q=表a", SHIFT_JIS, "/?q=%95\\a"),
            ("/?q=中", GBK, "/?q=%D6%D0"),
            ("/?日", ISO_2022_JP, "/?%1B$BF|%1B(B"),
            ("/?%E9é&x=é", WINDOWS_1252, "/?%E9%E9&x=%E9"),
        ];
        for (reference, charset, wanted) in rows {
            assert_eq!(in_charset(reference, charset), wanted, "{reference} in {}", charset.name());
        }
    }

    #[test]
    fn long_runs_pass_through_the_buffer_whole() {
        let run = "é".repeat(1000);
        let wanted = format!("?{}", "%E9".repeat(1000));
        assert_eq!(in_charset(&format!("?{run}"), WINDOWS_1252), wanted);
    }
}
