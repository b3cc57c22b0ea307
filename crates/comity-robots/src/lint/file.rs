//! Faults of the file as a whole, and of lines before they are cut into key and value.

use alloc::format;
use alloc::string::ToString;

use super::LintCode;
use super::sink::Sink;
use crate::bytes::{starts_with_ignore_case, trim_start};
use crate::lines::{Lines, MAX_LINE_BYTES};
use crate::{MAX_BYTES, Robots};

/// What the bytes turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Html,
    Utf16,
}

pub(super) fn check(robots: &Robots, sink: &mut Sink) -> Form {
    let text = robots.text();
    let mut form = Form::Text;
    if text.starts_with(&[0xEF]) {
        let whole = text.starts_with(&[0xEF, 0xBB, 0xBF]);
        let what = if whole { "a byte-order mark" } else { "a part of a byte-order mark" };
        let message = format!("the file starts with {what}: some readers take it for a part of the first key");
        sink.add(LintCode::ByteOrderMark, (1, 1), message, Some("save the file as UTF-8 without it".to_string()));
    }
    if is_utf16(text) {
        form = Form::Utf16;
        let message = "the file is UTF-16: no line of it can be read, so nothing is forbidden".to_string();
        sink.add(LintCode::Utf16, (1, 1), message, Some("save the file as UTF-8".to_string()));
    } else if is_html(text) {
        form = Form::Html;
        let message = "the file is an HTML page: only lines that happen to look like rules count".to_string();
        let fix = "serve plain text at /robots.txt, or status 404 when there is no file".to_string();
        sink.add(LintCode::Html, (1, 1), message, Some(fix));
    }
    if form != Form::Utf16 {
        lines(text, sink);
    }
    if robots.truncated() {
        let line = Lines::new(text).last().map_or(1, |line| line.number);
        let message =
            format!("the file has {} bytes; what follows the first {MAX_BYTES} is ignored", robots.bytes_seen());
        sink.add(
            LintCode::BeyondLimit,
            (line, 1),
            message,
            Some("shorten the file: one pattern can replace many rules".to_string()),
        );
    }
    form
}

fn lines(text: &[u8], sink: &mut Sink) {
    for line in Lines::new(text) {
        // A byte-order mark counts as bytes of the first line.
        let before = if line.number == 1 { line.start } else { 0 };
        let column = |at: usize| u32::try_from(before + at).map_or(u32::MAX, |at| at.saturating_add(1));
        if let Some(at) = memchr::memchr(0, line.bytes) {
            let message = "a NUL byte: the rest of the line is ignored".to_string();
            sink.add(LintCode::NulByte, (line.number, column(at)), message, Some("remove the byte".to_string()));
        }
        let next = text.get(line.start + line.bytes.len());
        if line.bytes.len() >= MAX_LINE_BYTES && next.is_some_and(|next| !matches!(next, b'\n' | b'\r')) {
            let message = format!("the line is longer than {MAX_LINE_BYTES} bytes: its end is ignored");
            sink.add(LintCode::LongLine, (line.number, column(MAX_LINE_BYTES)), message, None);
        }
    }
}

/// By its mark, or by a NUL in every second place at the start.
fn is_utf16(text: &[u8]) -> bool {
    let start = text.get(..text.len().min(64)).unwrap_or_default();
    let zeros =
        |parity: usize| start.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count() * 4 > start.len();
    text.starts_with(&[0xFF, 0xFE]) || text.starts_with(&[0xFE, 0xFF]) || (start.len() >= 4 && (zeros(0) || zeros(1)))
}

fn is_html(text: &[u8]) -> bool {
    let text = trim_start(text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text));
    [&b"<!doctype"[..], b"<html", b"<head", b"<body", b"<?xml", b"<!--", b"<script", b"<meta"]
        .iter()
        .any(|start| starts_with_ignore_case(text, start))
}
