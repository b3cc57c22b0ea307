//! Where raw text and scripts end.

use memchr::{memchr, memchr2};

use super::tag::is_space;

/// How far a script has come. Source: the HTML standard, "script data state" and those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Plain,
    /// Behind `<!--`.
    Escaped,
    /// Behind `<!--` and `<script>`: an end tag ends the inner script only.
    Twice,
}

/// What comes next in raw text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The end tag that ends it, so many bytes on.
    EndTag(usize),
    /// Another state, so many bytes on.
    State(Script, usize),
    /// More bytes are needed; so many are done with.
    More(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matched {
    Yes,
    No,
    Short,
}

/// Where raw text of the element `name` ends.
pub(crate) fn raw_text(bytes: &[u8], name: &[u8]) -> Next {
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr(b'<', rest)) {
        let at = from + found;
        match is_tag(bytes.get(at..).unwrap_or_default(), b"</", name) {
            Matched::Yes => return Next::EndTag(at),
            Matched::Short => return Next::More(at),
            Matched::No => from = at + 1,
        }
    }
    Next::More(bytes.len())
}

/// What comes next in a script.
pub(crate) fn script(state: Script, bytes: &[u8]) -> Next {
    match state {
        Script::Plain => plain(bytes),
        Script::Escaped | Script::Twice => escaped(state, bytes),
    }
}

fn plain(bytes: &[u8]) -> Next {
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr(b'<', rest)) {
        let at = from + found;
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(b"<!--") {
            // The dashes may be those of the end, too: `<!-->`.
            return Next::State(Script::Escaped, at + 2);
        }
        match is_tag(rest, b"</", b"script") {
            Matched::Yes => return Next::EndTag(at),
            Matched::No if !b"<!--".starts_with(rest) => from = at + 1,
            _ => return Next::More(at),
        }
    }
    Next::More(bytes.len())
}

fn escaped(state: Script, bytes: &[u8]) -> Next {
    const NAME: &[u8] = b"script";
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr2(b'<', b'>', rest)) {
        let at = from + found;
        let rest = bytes.get(at..).unwrap_or_default();
        from = at + 1;
        if rest.starts_with(b">") {
            if bytes.get(..at).is_some_and(|before| before.ends_with(b"--")) {
                return Next::State(Script::Plain, from);
            }
            continue;
        }
        let end = is_tag(rest, b"</", NAME);
        let start = if state == Script::Escaped { is_tag(rest, b"<", NAME) } else { Matched::No };
        match (end, start) {
            (Matched::Yes, _) if state == Script::Escaped => return Next::EndTag(at),
            (Matched::Yes, _) => return Next::State(Script::Escaped, at + 3 + NAME.len()),
            (_, Matched::Yes) => return Next::State(Script::Twice, at + 2 + NAME.len()),
            (Matched::Short, _) | (_, Matched::Short) => return Next::More(at),
            _ => {}
        }
    }
    // What may be the dashes of an end is looked at again, and nothing else: no character is cut.
    let dashes = bytes.iter().rev().take(2).take_while(|byte| **byte == b'-').count();
    Next::More(bytes.len() - dashes)
}

/// Whether a tag of that name starts here, up to the character behind the name.
fn is_tag(bytes: &[u8], opening: &[u8], name: &[u8]) -> Matched {
    let wanted = opening.len() + name.len();
    let found = bytes.get(..wanted).unwrap_or(bytes);
    let (start, letters) = found.split_at(found.len().min(opening.len()));
    let is_alike =
        opening.starts_with(start) && name.get(..letters.len()).is_some_and(|name| name.eq_ignore_ascii_case(letters));
    match bytes.get(wanted) {
        _ if !is_alike => Matched::No,
        None => Matched::Short,
        Some(byte) if is_space(*byte) || matches!(byte, b'/' | b'>') => Matched::Yes,
        Some(_) => Matched::No,
    }
}
