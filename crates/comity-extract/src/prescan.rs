//! Charset declarations in the first bytes of a page.
//!
//! Source: the HTML standard, "prescan a byte stream to determine its encoding" and "get an XML encoding".

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// The charset that a meta element declares. `head` is at most the first 1,024 bytes. Linear in `head`,
/// but for comment ends: at most its square.
pub(crate) fn meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { rest: head };
    while !scan.rest.is_empty() {
        if let Some(behind) = scan.rest.strip_prefix(b"<!--") {
            // The two dashes of the opening may be those of the end: `<!-->`.
            scan.rest = scan.rest.get(2..).unwrap_or(behind);
            scan.skip_past(b"-->")?;
        } else if let Some(behind) = meta(scan.rest) {
            scan.rest = behind;
            if let Some(found) = scan.meta()? {
                return Some(found);
            }
        } else if is_tag(scan.rest) {
            scan.skip_until(|byte| is_space(byte) || byte == b'>')?;
            while scan.attribute()?.is_some() {}
        } else if scan.rest.starts_with(b"<!") || scan.rest.starts_with(b"</") || scan.rest.starts_with(b"<?") {
            scan.skip_past(b">")?;
        } else {
            scan.advance();
        }
    }
    None
}

/// The encoding that an XML declaration names, or shows by being UTF-16.
pub(crate) fn xml_encoding(head: &[u8]) -> Option<&'static Encoding> {
    if head.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if head.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let declaration = head.strip_prefix(b"<?xml")?;
    let end = declaration.iter().position(|byte| *byte == b'>')?;
    let mut scan = Scan { rest: declaration.get(..end)? };
    scan.skip_past(b"encoding")?;
    scan.skip_controls();
    scan.rest = scan.rest.strip_prefix(b"=")?;
    scan.skip_controls();
    let (quote, inner) = scan.rest.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    let end = inner.iter().position(|byte| byte == quote)?;
    Encoding::for_label(inner.get(..end)?).map(declarable)
}

/// The bytes behind `<meta` and the blank or slash that must follow.
fn meta(bytes: &[u8]) -> Option<&[u8]> {
    let (name, behind) = bytes.split_at_checked(5)?;
    let follows = behind.first().is_some_and(|byte| is_space(*byte) || *byte == b'/');
    (name.eq_ignore_ascii_case(b"<meta") && follows).then_some(behind)
}

fn is_tag(bytes: &[u8]) -> bool {
    let Some(name) = bytes.strip_prefix(b"<") else { return false };
    let name = name.strip_prefix(b"/").unwrap_or(name);
    name.first().is_some_and(u8::is_ascii_alphabetic)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// What a declaration may name: one that can be read at all is not UTF-16, and `x-user-defined` was only
/// ever written for scripts.
fn declarable(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// Bytes not yet read. Methods answer `None` when the bytes end within what they read: the prescan is over.
struct Scan<'a> {
    rest: &'a [u8],
}

struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Scan<'_> {
    /// The charset of a meta element whose attributes come next.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut got_pragma = false;
        let mut needs_pragma = None;
        let mut charset = None;
        while let Some(attribute) = self.attribute()? {
            if seen.contains(&attribute.name) {
                continue;
            }
            match attribute.name.as_slice() {
                b"http-equiv" => got_pragma |= attribute.value == b"content-type",
                b"content" if needs_pragma.is_none() => {
                    charset = charset_of_content(&attribute.value);
                    needs_pragma = charset.map(|_| true);
                }
                b"charset" => {
                    charset = Encoding::for_label(&attribute.value);
                    needs_pragma = Some(false);
                }
                _ => {}
            }
            seen.push(attribute.name);
        }
        let counts = needs_pragma.is_some_and(|needed| !needed || got_pragma);
        Some(charset.filter(|_| counts).map(declarable))
    }

    /// The next attribute in lower case; inner `None` at the end of the tag.
    fn attribute(&mut self) -> Option<Option<Attribute>> {
        self.skip_until(|byte| !is_space(byte) && byte != b'/')?;
        if self.peek()? == b'>' {
            return Some(None);
        }
        let mut name = Vec::new();
        loop {
            match self.peek()? {
                b'=' if !name.is_empty() => break,
                b'/' | b'>' => return Some(Some(Attribute { name, value: Vec::new() })),
                byte if is_space(byte) => {
                    self.skip_until(|byte| !is_space(byte))?;
                    if self.peek()? != b'=' {
                        return Some(Some(Attribute { name, value: Vec::new() }));
                    }
                    break;
                }
                byte => name.push(byte.to_ascii_lowercase()),
            }
            self.advance();
        }
        self.advance();
        let value = self.value()?;
        Some(Some(Attribute { name, value }))
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        self.skip_until(|byte| !is_space(byte))?;
        let first = self.peek()?;
        if first == b'"' || first == b'\'' {
            self.advance();
            let value = self.take_until(|byte| byte == first)?;
            self.advance();
            return Some(value);
        }
        self.take_until(|byte| is_space(byte) || byte == b'>')
    }

    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> Option<Vec<u8>> {
        let end = self.rest.iter().position(|byte| ends(*byte))?;
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(taken.to_ascii_lowercase())
    }

    fn skip_until(&mut self, ends: impl Fn(u8) -> bool) -> Option<()> {
        let end = self.rest.iter().position(|byte| ends(*byte))?;
        self.rest = self.rest.get(end..)?;
        Some(())
    }

    fn skip_past(&mut self, text: &[u8]) -> Option<()> {
        let start = self.rest.windows(text.len()).position(|window| window == text)?;
        self.rest = self.rest.get(start + text.len()..)?;
        Some(())
    }

    fn skip_controls(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn advance(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }
}

/// The charset within `text/html; charset=…`. Source: the HTML standard, "extracting a character encoding
/// from a meta element". `content` is in lower case.
fn charset_of_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { rest: content };
    loop {
        scan.skip_past(b"charset")?;
        let behind = scan.rest.trim_ascii_start();
        if let Some(value) = behind.strip_prefix(b"=") {
            return Encoding::for_label(content_value(value.trim_ascii_start())?);
        }
    }
}

/// A quoted value needs its closing quote; a bare one ends at a blank or a semicolon.
fn content_value(value: &[u8]) -> Option<&[u8]> {
    match value.split_first() {
        Some((quote @ (b'"' | b'\''), inner)) => {
            let end = inner.iter().position(|byte| byte == quote)?;
            inner.get(..end)
        }
        _ => value.split(|byte| is_space(*byte) || *byte == b';').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_declarations_are_found_as_browsers_find_them() {
        let rows = [
            ("<meta charset=koi8-r>", Some("KOI8-R")),
            ("<META CharSet='Shift_JIS'/>", Some("Shift_JIS")),
            ("<meta/charset=big5>", Some("Big5")),
            ("<meta http-equiv=content-type content='text/html; charset=gbk'>", Some("GBK")),
            ("<meta content=\"text/html;charset='euc-jp'\" http-equiv=Content-Type>", Some("EUC-JP")),
            ("<meta content='text/html;charset=gbk'>", None),
            ("<meta http-equiv=refresh content='0;charset=gbk'>", None),
            ("<meta http-equiv=content-type content='charset charset = gbk'>", Some("GBK")),
            ("<meta http-equiv=content-type content='charset=\"gbk'>", None),
            ("<!-- <meta charset=gbk> --><meta charset=big5>", Some("Big5")),
            ("<!--><meta charset=gbk>", Some("GBK")),
            ("<!-- <meta charset=gbk>", None),
            ("<a title='<meta charset=gbk>'><meta charset=big5>", Some("Big5")),
            ("</a title='<meta charset=gbk>'><meta charset=big5>", Some("Big5")),
            ("<!x <meta charset=gbk><meta charset=big5>", Some("Big5")),
            ("<?x <meta charset=gbk><meta charset=big5>", Some("Big5")),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=nonsense><meta charset=gbk>", Some("GBK")),
            ("<meta charset=big5 charset=gbk>", Some("Big5")),
            ("<meta charset=gbk content='charset=big5'>", Some("GBK")),
            ("<metacharset=gbk>", None),
            ("<meta charset=gbk", None),
            ("<meta charset = \n 'gbk'>", Some("GBK")),
            ("<meta =charset charset=gbk>", Some("GBK")),
            ("", None),
        ];
        for (head, name) in rows {
            assert_eq!(meta_charset(head.as_bytes()).map(Encoding::name), name, "{head:?}");
        }
    }

    #[test]
    fn xml_declarations_are_read() {
        let rows: [(&[u8], Option<&str>); 7] = [
            (b"<?xml version='1.0' encoding='koi8-r'?>", Some("KOI8-R")),
            (b"<?xml encoding = \"utf-16\"?>", Some("UTF-8")),
            (b"<?xml version='1.0'?><a encoding='koi8-r'>", None),
            (b"<?xml encoding=koi8-r?>", None),
            (b" <?xml encoding='koi8-r'?>", None),
            (b"<\0?\0x\0m\0", Some("UTF-16LE")),
            (b"\0<\0?\0x\0m", Some("UTF-16BE")),
        ];
        for (head, name) in rows {
            assert_eq!(xml_encoding(head).map(Encoding::name), name, "{:?}", String::from_utf8_lossy(head));
        }
    }
}
