//! A parsed file.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use crate::read::Records;
use crate::record::{Kind, Record};
use crate::token::{is_global, names};
use crate::view::{Extension, Extensions, Group};
use crate::{Dialect, RuleSet, compile};

/// Bytes of a file that are parsed: 500 KiB, as RFC 9309 §2.5 asks at least and Google does at most. The rest is
/// ignored and reported by [`Robots::truncated`].
pub const MAX_BYTES: usize = 512_000;

/// A robots.txt file, parsed for everybody: every group, every recognised line with its place.
///
/// Parsing never fails and is linear in the bytes; any bytes will do. Holds a copy of the parsed text (at most
/// [`MAX_BYTES`]) and 16 bytes for each recognised line. A cache keeps the [`RuleSet`]s made from it, not this.
#[derive(Clone)]
pub struct Robots {
    text: Box<[u8]>,
    records: Records,
    bytes_seen: usize,
}

impl Robots {
    /// Parses a body, content coding already undone. Cost: one pass, and a copy.
    #[must_use]
    pub fn parse(body: &[u8]) -> Self {
        let text = parsed_part(body);
        Self { text: text.into(), records: Records::read(text), bytes_seen: body.len() }
    }

    /// Bytes of the body that was given, also those beyond [`MAX_BYTES`].
    #[must_use]
    pub const fn bytes_seen(&self) -> usize {
        self.bytes_seen
    }

    /// Whether the body was longer than [`MAX_BYTES`], so that its end was ignored.
    #[must_use]
    pub const fn truncated(&self) -> bool {
        self.bytes_seen > MAX_BYTES
    }

    /// The text that was parsed: the body, at most [`MAX_BYTES`] of it.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The groups of the access pass, in file order, unmerged. Only allow and disallow lines end a run of user-agent lines
    /// (RFC 9309 §2.2.1, Google's parser).
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.records.groups().map(|records| Group { robots: self, records })
    }

    /// The sitemaps, wherever they stand (RFC 9309 §2.2.4): value as written, bytes that are not UTF-8 replaced, and line.
    pub fn sitemaps(&self) -> impl Iterator<Item = (Cow<'_, str>, u32)> {
        let sitemaps = self.records().iter().filter(|record| record.kind == Kind::Sitemap);
        sitemaps.map(|record| (String::from_utf8_lossy(self.value(record)), record.line))
    }

    /// Every other recognised record, with the user-agent lines it stands under.
    pub fn extensions(&self) -> impl Iterator<Item = Extension<'_>> {
        Extensions::new(self, self.records())
    }

    /// Whether any user-agent line names `token` (RFC 9309 §2.2.1: cut, then equality without case). `*` names nobody.
    #[must_use]
    pub fn names(&self, token: &str) -> bool {
        self.agent_values().any(|value| names(value, token.as_bytes()))
    }

    /// Whether the file has a `*` group.
    #[must_use]
    pub fn has_global_group(&self) -> bool {
        self.agent_values().any(is_global)
    }

    /// Compiles the rules for an ordered list of tokens: those of the first token that any group names, of all its groups
    /// together; only when none is named, those of the `*` groups (RFC 9309 §2.2.1; the order is comity's choice).
    ///
    /// Tokens are taken as given: one that no file can name (`AI2Bot`, `*`) falls to `*`; [`crate::token_note`] says so.
    /// Cost: one pass over the recognised lines for each token, then sorting the selected rules.
    #[must_use]
    pub fn rules(&self, tokens: &[&str], dialect: Dialect) -> RuleSet {
        compile::compile(&self.text, &self.records, tokens, dialect)
    }

    pub(crate) fn records(&self) -> &[Record] {
        self.records.list()
    }

    pub(crate) fn value(&self, record: &Record) -> &[u8] {
        record.value_in(&self.text)
    }

    fn agent_values(&self) -> impl Iterator<Item = &[u8]> {
        self.records.agents().map(|record| self.value(record))
    }
}

impl fmt::Debug for Robots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robots")
            .field("bytes_seen", &self.bytes_seen)
            .field("groups", &self.records.group_count())
            .field("records", &self.records().len())
            .finish_non_exhaustive()
    }
}

/// What of a body is parsed.
pub(crate) fn parsed_part(body: &[u8]) -> &[u8] {
    body.get(..MAX_BYTES).unwrap_or(body)
}
