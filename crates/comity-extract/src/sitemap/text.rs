use comity_url::CrawlUrl;

use super::entries::{Draft, Entries};
use super::entry::EntryKind;

/// A list of URLs, one a line (sitemaps.org, "Text file"). A line that is no absolute URL is left out.
#[derive(Debug, Default)]
pub(super) struct Text {
    line: String,
    /// The line is longer than a value may be: the rest of it is skipped.
    too_long: bool,
    lines: u64,
    urls: u64,
}

impl Text {
    pub(super) fn push(&mut self, text: &str, out: &mut Entries) {
        let mut rest = text;
        while let Some(end) = rest.find(['\n', '\r']) {
            let (head, tail) = rest.split_at(end);
            self.grow(head, out);
            self.end_line(out);
            rest = tail.get(1..).unwrap_or_default();
        }
        self.grow(rest, out);
    }

    fn grow(&mut self, text: &str, out: &Entries) {
        if self.too_long {
            return;
        }
        self.line.push_str(text);
        if self.line.len() > out.limits.value_bytes {
            self.line.clear();
            self.too_long = true;
        }
    }

    fn end_line(&mut self, out: &mut Entries) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim();
        if std::mem::take(&mut self.too_long) {
            self.lines += 1;
            out.too_long();
        } else if !line.is_empty() {
            self.lines += 1;
            match CrawlUrl::parse(line) {
                Ok(_) => {
                    self.urls += 1;
                    out.add(Draft { locs: vec![line.to_owned()], ..Draft::new(EntryKind::Url) });
                }
                Err(why) => out.notes.refuse(&why),
            }
        }
    }

    /// Ends the file; true when it was a list of URLs, by most of its lines.
    pub(super) fn finish(mut self, out: &mut Entries) -> bool {
        self.end_line(out);
        self.urls > 0 && self.urls * 2 >= self.lines
    }
}
