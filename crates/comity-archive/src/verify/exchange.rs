//! An HTTP head and a place in a WARC file against the line that names them.

use super::block::Facts;
use super::seen::{Seen, SeenResponse};
use super::walk::bytes_of;
use crate::warc::stream::WarcHead;
use crate::warc::text::target_uri;

/// The longest URL that a line does not cut.
const MAX_URL: usize = 4096;
/// Put before the name of a field that would lie about the stored body.
const RENAMED: &[u8] = b"x-crawler-";

/// What the WARC says otherwise than the line about who answered, with what, and whether it repeats another.
pub(super) fn differs(head: &WarcHead, facts: &Facts, seen: &Seen<'_>) -> Option<String> {
    if head.field("WARC-IP-Address") != seen.vantage.server_ip.as_deref() {
        return Some(format!("another WARC-IP-Address than {:?}", seen.vantage.server_ip));
    }
    let is_revisit = head.kind() == "revisit";
    if !is_revisit && head.kind() != "response" {
        return None;
    }
    let Some(stated) = &seen.response else { return Some("an answer, the line has none".to_owned()) };
    if is_revisit != stated.repeats.is_some() {
        return Some(format!("type {}, the line says otherwise whether it repeats another", head.kind()));
    }
    refers(head, stated).or_else(|| answer(&facts.text, stated))
}

fn refers(head: &WarcHead, stated: &SeenResponse<'_>) -> Option<String> {
    let earlier = stated.repeats.as_ref()?;
    let record = earlier.record.as_deref().map(|id| format!("<{id}>"));
    let is_same_url = earlier.url.len() >= MAX_URL
        || head.field("WARC-Refers-To-Target-URI") == Some(target_uri(&earlier.url).as_str());
    let is_same_capture =
        head.field("WARC-Refers-To") == record.as_deref() && head.field("WARC-Refers-To-Date") == Some(&earlier.date);
    (!is_same_url || !is_same_capture).then(|| "another WARC-Refers-To, its URI or its date".to_owned())
}

/// Status and fields, as far as both hold them: a head is stored with its lines mended, and secrets are in no line.
fn answer(text: &[u8], stated: &SeenResponse<'_>) -> Option<String> {
    let status = text.get(9..12).and_then(|code| std::str::from_utf8(code).ok()?.parse::<u16>().ok());
    if status != Some(stated.status) {
        return Some(format!("status {status:?}, the line {}", stated.status));
    }
    let mut there = fields(text, stated.body_length);
    for (name, value) in &stated.fields {
        let (name, value) = (plain_name(name.as_bytes()), plain(&bytes_of(value)));
        if name.is_empty() || name.starts_with(b":") {
            continue;
        }
        let is_withheld = name == b"set-cookie" || name == b"set-cookie2";
        let at = there.iter().position(|(key, found)| *key == name && (is_withheld || *found == value));
        let Some(at) = at else {
            return Some(format!("no field {:?} as the line has it", String::from_utf8_lossy(&name)));
        };
        there.swap_remove(at);
    }
    let (name, _) = there.first()?;
    Some(format!("a field {:?} that the line does not have", String::from_utf8_lossy(name)))
}

/// The field lines of a stored head, without those that only its storing brought in.
fn fields(text: &[u8], length: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut after_renamed = false;
    for line in text.split(|b| *b == b'\n').skip(1).filter(|line| !line.trim_ascii().is_empty()) {
        if let (Some(b' ' | b'\t'), Some((_, value))) = (line.first(), found.last_mut()) {
            *value = plain(&[value, b" ".as_slice(), line].concat());
            continue;
        }
        let at = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        let value = plain(value.get(1..).unwrap_or_default());
        let is_renamed = name.get(..RENAMED.len()).is_some_and(|start| start.eq_ignore_ascii_case(RENAMED));
        let is_length = name.trim_ascii().eq_ignore_ascii_case(b"content-length");
        let is_written = is_length && after_renamed && value == length.to_string().as_bytes();
        after_renamed = is_renamed;
        let name = plain_name(name);
        // What no parser takes for a field is in no line.
        if !is_written && name != b"line" && !name.is_empty() && name.iter().all(u8::is_ascii_graphic) {
            found.push((name, value));
        }
    }
    found
}

/// A name in lower case, as it was before it was renamed.
fn plain_name(name: &[u8]) -> Vec<u8> {
    let name = name.trim_ascii().to_ascii_lowercase();
    name.strip_prefix(RENAMED).map_or_else(|| name.clone(), <[u8]>::to_vec)
}

/// A value whose blanks and controls count as one space: lines are mended when they are stored.
fn plain(value: &[u8]) -> Vec<u8> {
    let words = value.split(|b| b.is_ascii_whitespace() || *b == 0 || *b == 0x0b).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}
