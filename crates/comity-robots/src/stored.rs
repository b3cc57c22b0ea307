//! A rule set as bytes, for caches that outlive a process.
//!
//! Version 2: `CRS`, the version, the parts of the set, and a check sum (FNV-1a, 64 bits, of all before). Numbers are LEB128;
//! texts and lists have their length in front. The rules stand as they do in memory. Another version is refused: a cache asks
//! the site again.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use crate::compile::{MAX_GROUP_TOKENS, MAX_NOTES};
use crate::order::MAX_RULES;
use crate::pacing::Pace;
use crate::record::ExtensionKind;
use crate::ruleset::{Compiled, Extras, GroupLines};
use crate::signal::MAX_SIGNALS;
use crate::table::Table;
use crate::{Dialect, MAX_BYTES, Note, RequestRate, RuleSet, Selected, Signal, VisitTime, varint};

const MAGIC: [u8; 3] = *b"CRS";
const VERSION: u8 = 2;

/// Bytes of a stored rule set that are looked at: far more than a file of [`MAX_BYTES`] can make of itself (a rule at most
/// three bytes for one, twice, and once as written, for both passes).
pub const MAX_STORED_BYTES: usize = 16 * MAX_BYTES;

/// Why bytes are no rule set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoredError {
    /// They do not start as a stored rule set does.
    Foreign,
    /// They were written by another version.
    Version {
        /// The version that wrote them.
        found: u8,
    },
    /// They are longer than [`MAX_STORED_BYTES`].
    TooLong,
    /// They are cut or changed.
    Damaged,
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("stored rules: not a stored rule set"),
            Self::Version { found } => write!(f, "stored rules: version {found}; only {VERSION} is read"),
            Self::TooLong => write!(f, "stored rules: longer than {MAX_STORED_BYTES} bytes"),
            Self::Damaged => f.write_str("stored rules: cut or changed since they were written"),
        }
    }
}

impl core::error::Error for StoredError {}

impl RuleSet {
    /// The set as bytes; equal sets give equal bytes.
    ///
    /// ```
    /// # use comity_robots::{Dialect, RuleSet};
    /// let set = RuleSet::parse(b"User-agent: *\nDisallow: /a\n", &["ExampleBot"], Dialect::Standard);
    /// assert_eq!(RuleSet::from_bytes(&set.to_bytes()), Ok(set));
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Output(Vec::with_capacity(64 + self.0.table.bytes.len()));
        out.0.extend(MAGIC);
        out.0.push(VERSION);
        out.set(&self.0);
        let sum = check_sum(&out.0);
        out.0.extend(sum.to_le_bytes());
        out.0
    }

    /// The set that [`Self::to_bytes`] wrote. Cost: as compiling the rules anew, because all of them are checked.
    ///
    /// # Errors
    /// [`StoredError`] for all other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoredError> {
        let version = bytes.strip_prefix(&MAGIC).and_then(|rest| rest.first()).ok_or(StoredError::Foreign)?;
        if *version != VERSION {
            return Err(StoredError::Version { found: *version });
        }
        if bytes.len() > MAX_STORED_BYTES {
            return Err(StoredError::TooLong);
        }
        read(bytes).ok_or(StoredError::Damaged)
    }
}

fn read(bytes: &[u8]) -> Option<RuleSet> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if check_sum(body) != u64::from_le_bytes(*sum) {
        return None;
    }
    let mut input = Input(body.get(MAGIC.len() + 1..)?);
    let set = input.set()?;
    input.0.is_empty().then(|| RuleSet(Arc::new(set)))
}

/// FNV-1a: finds what decays, not what is forged; nothing that is forged gets past the reader either.
fn check_sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// What is written.
struct Output(Vec<u8>);

impl Output {
    fn set(&mut self, set: &Compiled) {
        self.0.push(match set.dialect {
            Dialect::Standard => 0,
            Dialect::Google => 1,
        });
        match &set.selected {
            Selected::None => self.0.push(0),
            Selected::Global => self.0.push(1),
            Selected::Token(token) => {
                self.0.push(2);
                self.text(token.as_bytes());
            }
        }
        self.list(set.group_tokens.as_deref().unwrap_or_default(), |out, token| out.text(token.as_bytes()));
        let lines = set.group_lines.iter();
        self.length(lines.len());
        lines.for_each(|line| self.number(line));
        self.table(&set.table);
        self.option(set.extras.as_deref(), Self::extras);
    }

    fn table(&mut self, table: &Table) {
        self.number(table.count);
        self.0.push(u8::from(table.wide));
        self.text(&table.bytes);
    }

    fn extras(&mut self, extras: &Extras) {
        self.option(extras.pace.crawl_delay, |out, delay| out.duration(delay));
        self.option(extras.pace.request_rate, |out, rate| {
            out.number(rate.requests.get());
            out.duration(rate.per);
            out.option(rate.window, |out, window| out.window(window));
        });
        self.option(extras.pace.visit_time, |out, window| out.window(window));
        self.list(&extras.signals, Self::signal);
        self.list(&extras.file_signals, Self::signal);
        self.number(extras.signals_omitted);
        self.list(&extras.notes, |out, note| {
            let (code, line) = match *note {
                Note::CrawlDelayUnreadable { line } => (0, line),
                Note::RequestRateUnreadable { line } => (1, line),
                Note::VisitTimeUnreadable { line } => (2, line),
            };
            out.0.push(code);
            out.number(line);
        });
        // All but its rules it shares with the set.
        self.option(extras.usage.as_ref(), |out, usage| out.table(&usage.0.table));
    }

    fn signal(&mut self, signal: &Signal) {
        self.text(signal.key().as_bytes());
        self.text(signal.value.as_bytes());
        self.option(signal.path.as_ref(), |out, path| out.text(path.as_bytes()));
        self.number(signal.line);
    }

    fn duration(&mut self, duration: Duration) {
        self.0.extend(duration.as_secs().to_le_bytes());
        self.number(duration.subsec_nanos());
    }

    fn window(&mut self, window: VisitTime) {
        self.number(u32::from(window.first_minute()));
        self.number(u32::from(window.last_minute()));
    }

    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.0.push(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.length(items.len());
        items.iter().for_each(|item| write(self, item));
    }

    fn text(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// Every list and text of a set is shorter than 32 bits can say.
    fn length(&mut self, length: usize) {
        self.number(u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn number(&mut self, value: u32) {
        varint::put(&mut self.0, value);
    }
}

/// What is left to read. Nothing is allocated beyond what the bytes that are there can fill.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn set(&mut self) -> Option<Compiled> {
        let dialect = match self.byte()? {
            0 => Dialect::Standard,
            1 => Dialect::Google,
            _ => return None,
        };
        let selected = match self.byte()? {
            0 => Selected::None,
            1 => Selected::Global,
            2 => Selected::Token(self.string()?),
            _ => return None,
        };
        let tokens = self.list(MAX_GROUP_TOKENS, |input| Some(input.string()?.into_boxed_str()))?;
        let group_tokens = (!tokens.is_empty()).then(|| tokens.into());
        let mut group_lines = GroupLines::default();
        for line in self.list(MAX_RULES, |input| input.number().filter(|line| *line > 0))? {
            group_lines.push(line);
        }
        group_lines.shrink();
        let table = self.table()?;
        let set = Compiled { dialect, selected, group_tokens, group_lines, table, extras: None };
        let extras = self.option(|input| input.extras(&set))?.map(Box::new);
        Some(Compiled { extras, ..set })
    }

    /// The rules are read one by one and packed again: only what a packer would have written is taken.
    fn table(&mut self) -> Option<Table> {
        let count = self.number()?;
        let wide = self.flag()?;
        let bytes = self.text()?;
        // Every rule takes four bytes at least, which also bounds what is unpacked.
        let possible = (count as usize) <= MAX_RULES.min(bytes.len() / 4);
        let table = Table { count, wide, bytes: possible.then_some(bytes)?.into() };
        let mut drafts = table.unpack()?;
        let usual =
            |pattern: &[u8]| matches!(pattern, [b'/' | b'*', ..]) && pattern.is_ascii() && !pattern.contains(&0);
        let usual = drafts.list().iter().all(|draft| usual(drafts.pattern(draft)));
        (usual && Table::pack(&mut drafts, &mut Vec::new()) == table).then_some(())?;
        drop(drafts);
        Some(table)
    }

    fn extras(&mut self, set: &Compiled) -> Option<Extras> {
        let crawl_delay = self.option(Self::duration)?;
        let request_rate = self.option(Self::rate)?;
        let pace = Pace { crawl_delay, request_rate, visit_time: self.option(Self::window)? };
        let signals = self.list(MAX_SIGNALS, Self::signal)?;
        let file_signals = self.list(MAX_SIGNALS, Self::signal)?;
        let signals_omitted = self.number()?;
        let notes = self.list(MAX_NOTES, Self::note)?;
        let usage = self.option(Self::table)?.map(|table| set.with_table(table));
        let extras = Extras { pace, signals, file_signals, signals_omitted, notes, usage };
        (!extras.is_empty()).then_some(extras)
    }

    fn rate(&mut self) -> Option<RequestRate> {
        let requests = NonZeroU32::new(self.number()?)?;
        let per = self.duration().filter(|per| !per.is_zero())?;
        Some(RequestRate { requests, per, window: self.option(Self::window)? })
    }

    fn signal(&mut self) -> Option<Signal> {
        let key = self.text()?;
        let kind = ExtensionKind::read(key).filter(|kind| kind.is_signal() && kind.as_str().as_bytes() == key)?;
        Some(Signal { kind, value: self.string()?, path: self.option(Self::string)?, line: self.number()? })
    }

    fn note(&mut self) -> Option<Note> {
        let code = self.byte()?;
        let line = self.number()?;
        match code {
            0 => Some(Note::CrawlDelayUnreadable { line }),
            1 => Some(Note::RequestRateUnreadable { line }),
            2 => Some(Note::VisitTimeUnreadable { line }),
            _ => None,
        }
    }

    fn duration(&mut self) -> Option<Duration> {
        let (seconds, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        let nanoseconds = self.number().filter(|nanoseconds| *nanoseconds < 1_000_000_000)?;
        Some(Duration::new(u64::from_le_bytes(*seconds), nanoseconds))
    }

    fn window(&mut self) -> Option<VisitTime> {
        let minute = |input: &mut Self| u16::try_from(input.number()?).ok();
        VisitTime::between(minute(self)?, minute(self)?)
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }

    fn list<T>(&mut self, most: usize, read: impl Fn(&mut Self) -> Option<T>) -> Option<Box<[T]>> {
        let length = self.number()? as usize;
        // Every item takes a byte at least.
        (length <= most && length <= self.0.len()).then_some(())?;
        (0..length).map(|_| read(self)).collect()
    }

    fn string(&mut self) -> Option<String> {
        core::str::from_utf8(self.text()?).ok().map(String::from)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn number(&mut self) -> Option<u32> {
        varint::take(&mut self.0)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
}
