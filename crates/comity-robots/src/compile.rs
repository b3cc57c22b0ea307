//! From a parsed file and an ordered list of tokens to a rule set.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::{find, is_token_byte};
use crate::draft::{Drafts, Written};
use crate::normal::rule_form;
use crate::pacing::Pace;
use crate::read::Records;
use crate::record::{ExtensionKind, Kind, Record};
use crate::ruleset::{Compiled, Extras, Note, Selected};
use crate::signal::{MAX_SIGNALS, Signal};
use crate::table::Table;
use crate::token::{Named, names};
use crate::verdict::{RuleKind, RuleVia};
use crate::{Dialect, RuleSet};

/// Tokens of merged groups that a rule set keeps at most.
pub const MAX_GROUP_TOKENS: usize = 256;

/// Notes that a rule set keeps at most.
pub const MAX_NOTES: usize = 100;

/// Whose groups are wanted.
#[derive(Clone, Copy)]
enum Wanted<'t> {
    Token(&'t [u8]),
    Global,
}

impl Wanted<'_> {
    fn is_named_by(self, value: &[u8]) -> bool {
        match self {
            Self::Token(token) => names(value, token),
            Self::Global => Named::read(value) == Named::Global,
        }
    }
}

/// What is collected from the selected groups.
struct Collector<'a> {
    text: &'a [u8],
    records: &'a Records,
    dialect: Dialect,
    rules: Drafts<'a>,
    /// Lines of rules that the usage pass gives to other agents.
    not_in_usage: Vec<u32>,
    group_lines: Vec<u32>,
    group_tokens: Vec<Box<str>>,
    pace: Pace,
    signals: Vec<Signal>,
    signals_omitted: u32,
    notes: Vec<Note>,
}

/// The two group automata inside one group of the access pass: whether our name has been seen, and whether the usage
/// pass has closed its list. The usage pass only splits what the access pass keeps together.
#[derive(Default)]
struct State {
    access: bool,
    usage: bool,
    usage_closed: bool,
}

/// `records` are those of `text`: all of them, or what can matter to `tokens`.
pub(crate) fn compile(text: &[u8], records: &Records, tokens: &[&str], dialect: Dialect) -> RuleSet {
    let wanted = tokens.iter().map(|token| token.as_bytes()).find(|token| is_named(text, records, token));
    let wanted = wanted.map_or(Wanted::Global, Wanted::Token);
    let mut collector = Collector::new(text, records, dialect);
    for group in records.groups() {
        collector.group(group, wanted);
    }
    let selected = collector.selected(wanted);
    collector.finish(selected)
}

/// Whether any user-agent line names the token. A token that no line can name is not even looked for.
fn is_named(text: &[u8], records: &Records, token: &[u8]) -> bool {
    token.iter().copied().all(is_token_byte) && records.agents().any(|record| names(record.value_in(text), token))
}

impl<'a> Collector<'a> {
    fn new(text: &'a [u8], records: &'a Records, dialect: Dialect) -> Self {
        Self {
            text,
            records,
            dialect,
            rules: Drafts::new(text, records.list().len()),
            not_in_usage: Vec::new(),
            group_lines: Vec::with_capacity(records.group_count()),
            group_tokens: Vec::new(),
            pace: Pace::default(),
            signals: Vec::new(),
            signals_omitted: 0,
            notes: Vec::new(),
        }
    }

    /// Takes a group when it names the wanted one: the rules all belong to it, since user-agent lines come first; another
    /// record belongs to the user-agent lines before it.
    fn group(&mut self, records: &'a [Record], wanted: Wanted<'_>) {
        let text = self.text;
        let names_us = |record: &Record| record.kind == Kind::Agent && wanted.is_named_by(record.value_in(text));
        // Behind the first rule there is no user-agent line: foreign groups are left there.
        let list = records.iter().take_while(|record| !matches!(record.kind, Kind::Rule(_)));
        if !list.clone().any(names_us) {
            return;
        }
        self.group_lines.extend(records.first().map(|record| record.line));
        self.add_tokens(list, wanted);
        let mut state = State::default();
        for record in records {
            match record.kind {
                Kind::Agent => state.agent(wanted.is_named_by(record.value_in(text))),
                Kind::Rule(kind) => self.rule(kind, record, &mut state),
                Kind::Extension(kind) => self.extension(kind, record, &mut state),
                Kind::Sitemap => {}
            }
        }
    }

    fn add_tokens(&mut self, list: impl Iterator<Item = &'a Record>, wanted: Wanted<'_>) {
        if matches!(wanted, Wanted::Global) {
            self.group_tokens = Vec::from(["*".into()]);
            return;
        }
        for record in list.filter(|record| record.kind == Kind::Agent) {
            let Some(token) = Named::read(record.value_in(self.text)).as_text() else { continue };
            let known = self.group_tokens.iter().any(|known| known.eq_ignore_ascii_case(token));
            if !known && self.group_tokens.len() < MAX_GROUP_TOKENS {
                self.group_tokens.push(token.into());
            }
        }
    }

    #[inline]
    fn rule(&mut self, kind: RuleKind, record: &Record, state: &mut State) {
        state.usage_closed = true;
        let raw = record.value_in(self.text);
        // A target starts with `/`: anything else, the empty pattern first, never has an effect.
        if !matches!(raw.first(), Some(b'/' | b'*')) {
            return;
        }
        if record.star == Record::UNREAD {
            self.unread_rule(kind, record, raw);
        } else {
            self.rules.push((record.value, raw, record.star), (record.line, kind));
            self.directory(kind, record.line, raw, raw);
        }
        if !state.usage {
            self.not_in_usage.push(record.line);
        }
    }

    fn unread_rule(&mut self, kind: RuleKind, record: &Record, raw: &'a [u8]) {
        let pattern = rule_form(raw, self.dialect);
        if *pattern == *raw {
            let star = find(b'*', raw).unwrap_or(raw.len());
            self.rules.push((record.value, raw, u16::try_from(star).unwrap_or(u16::MAX)), (record.line, kind));
        } else {
            let written = Written { raw: Some(raw), line: record.line, kind, via: RuleVia::Pattern };
            // No line makes a pattern that is too long.
            let _ = self.rules.push_own(&[&pattern], written);
        }
        self.directory(kind, record.line, raw, &pattern);
    }

    /// An allow rule whose pattern starts, from its last `/` on, with `/index.htm` also allows exactly the directory (Google's
    /// parser).
    #[inline]
    fn directory(&mut self, kind: RuleKind, line: u32, raw: &'a [u8], pattern: &[u8]) {
        if kind == RuleKind::Disallow {
            return;
        }
        let Some(slash) = memchr::memrchr(b'/', pattern) else { return };
        let Some((directory, name)) = pattern.split_at_checked(slash + 1) else { return };
        if name.starts_with(b"index.htm") {
            let written = Written { raw: Some(raw), line, kind, via: RuleVia::IndexHtml };
            let _ = self.rules.push_own(&[directory, b"$"], written);
        }
    }

    fn extension(&mut self, kind: ExtensionKind, record: &Record, state: &mut State) {
        state.usage_closed |= kind.closes_usage_group();
        let value = record.value_in(self.text);
        if state.usage && kind.is_signal() {
            self.signal(Signal::read(kind, value, record.line));
        }
        // By the access pass. What the usage pass attributes is part of it, so it never holds a larger delay.
        if state.access {
            self.pace(kind, value, record.line);
        }
    }

    fn signal(&mut self, signal: Signal) {
        if self.signals.len() < MAX_SIGNALS {
            self.signals.push(signal);
        } else {
            self.signals_omitted = self.signals_omitted.saturating_add(1);
        }
    }

    fn pace(&mut self, kind: ExtensionKind, value: &[u8], line: u32) {
        let (read, note) = match kind {
            ExtensionKind::CrawlDelay => (self.pace.add_crawl_delay(value), Note::CrawlDelayUnreadable { line }),
            ExtensionKind::RequestRate => (self.pace.add_request_rate(value), Note::RequestRateUnreadable { line }),
            ExtensionKind::VisitTime => (self.pace.add_visit_time(value), Note::VisitTimeUnreadable { line }),
            _ => return,
        };
        if read.is_none() && self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        }
    }

    /// Which groups turned out to be selected.
    fn selected(&self, wanted: Wanted<'_>) -> Selected {
        match wanted {
            Wanted::Global if self.group_lines.is_empty() => Selected::None,
            Wanted::Global => Selected::Global,
            Wanted::Token(token) => {
                let mut values = self.records.agents().map(|record| record.value_in(self.text));
                let written = values.find(|value| names(value, token)).and_then(|value| Named::read(value).as_text());
                Selected::Token(String::from(written.unwrap_or_default()))
            }
        }
    }

    fn file_signals(&mut self) -> Vec<Signal> {
        let mut signals = Vec::new();
        for record in self.records.prelude() {
            let Kind::Extension(kind) = record.kind else { continue };
            if !kind.is_signal() {
                continue;
            }
            if signals.len() < MAX_SIGNALS {
                signals.push(Signal::read(kind, record.value_in(self.text), record.line));
            } else {
                self.signals_omitted = self.signals_omitted.saturating_add(1);
            }
        }
        signals
    }

    fn finish(mut self, selected: Selected) -> RuleSet {
        let file_signals = self.file_signals();
        let group_tokens = self.group_tokens.into_boxed_slice();
        let group_lines = self.group_lines.into_boxed_slice();
        let table = Table::pack(&mut self.rules);
        let mut set = Compiled { dialect: self.dialect, selected, group_tokens, group_lines, table, extras: None };
        let usage = (!self.not_in_usage.is_empty()).then(|| {
            // Lines ascend: so they were read.
            self.rules.retain(|line| self.not_in_usage.binary_search(&line).is_err());
            set.with_table(Table::pack(&mut self.rules))
        });
        let extras = Extras {
            pace: self.pace,
            signals: self.signals.into_boxed_slice(),
            file_signals: file_signals.into_boxed_slice(),
            signals_omitted: self.signals_omitted,
            notes: self.notes.into_boxed_slice(),
            usage,
        };
        set.extras = (!extras.is_empty()).then(|| Box::new(extras));
        RuleSet(Arc::new(set))
    }
}

impl State {
    fn agent(&mut self, names_us: bool) {
        if self.usage_closed {
            (self.usage, self.usage_closed) = (false, false);
        }
        self.access |= names_us;
        self.usage |= names_us;
    }
}
