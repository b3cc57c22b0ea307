//! From a parsed file and an ordered list of tokens to a rule set.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::is_token_byte;
use crate::entry::{Entries, Source};
use crate::normal::rule_form;
use crate::pacing::Pace;
use crate::record::{ExtensionKind, Kind, Record};
use crate::ruleset::{Compiled, Extras, Note, Selected};
use crate::signal::{MAX_SIGNALS, Signal};
use crate::token::{Named, names};
use crate::verdict::RuleKind;
use crate::{Dialect, Robots, RuleSet};

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
    robots: &'a Robots,
    dialect: Dialect,
    entries: Entries,
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

pub(crate) fn compile(robots: &Robots, tokens: &[&str], dialect: Dialect) -> RuleSet {
    let wanted = tokens.iter().map(|token| token.as_bytes()).find(|token| is_named(robots, token));
    let wanted = wanted.map_or(Wanted::Global, Wanted::Token);
    let mut collector = Collector::new(robots, dialect);
    for range in robots.group_ranges() {
        collector.group(robots.records().get(range).unwrap_or_default(), wanted);
    }
    let selected = collector.selected(wanted);
    collector.finish(selected)
}

/// Whether any user-agent line names the token. A token that no line can name is not even looked for.
fn is_named(robots: &Robots, token: &[u8]) -> bool {
    let agents = robots.records().iter().filter(|record| record.kind == Kind::Agent);
    token.iter().copied().all(is_token_byte)
        && agents.map(|record| robots.value(record)).any(|value| names(value, token))
}

impl<'a> Collector<'a> {
    fn new(robots: &'a Robots, dialect: Dialect) -> Self {
        Self {
            robots,
            dialect,
            entries: Entries::default(),
            not_in_usage: Vec::new(),
            group_lines: Vec::new(),
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
        let robots = self.robots;
        let names_us = |record: &Record| record.kind == Kind::Agent && wanted.is_named_by(robots.value(record));
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
                Kind::Agent => state.agent(wanted.is_named_by(robots.value(record))),
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
            let Some(token) = Named::read(self.robots.value(record)).as_text() else { continue };
            let known = self.group_tokens.iter().any(|known| known.eq_ignore_ascii_case(token));
            if !known && self.group_tokens.len() < MAX_GROUP_TOKENS {
                self.group_tokens.push(token.into());
            }
        }
    }

    fn rule(&mut self, kind: RuleKind, record: &'a Record, state: &mut State) {
        state.usage_closed = true;
        let raw = self.robots.value(record);
        let pattern = rule_form(raw, self.dialect);
        // A target starts with `/`: anything else, the empty pattern first, never has an effect.
        if !matches!(pattern.first(), Some(b'/' | b'*')) {
            return;
        }
        // 512,000 bytes hold fewer than 27,000 groups with a rule.
        let group = u16::try_from(self.group_lines.len().saturating_sub(1)).unwrap_or(u16::MAX);
        self.entries.add(&pattern, raw, Source { kind, line: record.line, group });
        if !state.usage {
            self.not_in_usage.push(record.line);
        }
    }

    fn extension(&mut self, kind: ExtensionKind, record: &Record, state: &mut State) {
        state.usage_closed |= kind.closes_usage_group();
        let value = self.robots.value(record);
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
        let robots = self.robots;
        match wanted {
            Wanted::Global if self.group_lines.is_empty() => Selected::None,
            Wanted::Global => Selected::Global,
            Wanted::Token(token) => {
                let agents = robots.records().iter().filter(|record| record.kind == Kind::Agent);
                let naming = agents.map(|record| robots.value(record)).find(|value| names(value, token));
                let written = naming.and_then(|value| Named::read(value).as_text());
                Selected::Token(String::from(written.unwrap_or_default()))
            }
        }
    }

    fn file_signals(&mut self) -> Vec<Signal> {
        let robots = self.robots;
        let mut signals = Vec::new();
        for record in robots.prelude() {
            let Kind::Extension(kind) = record.kind else { continue };
            if !kind.is_signal() {
                continue;
            }
            if signals.len() < MAX_SIGNALS {
                signals.push(Signal::read(kind, robots.value(record), record.line));
            } else {
                self.signals_omitted = self.signals_omitted.saturating_add(1);
            }
        }
        signals
    }

    fn finish(mut self, selected: Selected) -> RuleSet {
        let file_signals = self.file_signals();
        let usage_differs = !self.not_in_usage.is_empty();
        let usage = usage_differs.then(|| self.shell(&selected).with(self.entries.without_lines(&self.not_in_usage)));
        let mut shell = self.shell(&selected);
        shell.pace = self.pace;
        let extras = Extras {
            signals: self.signals.into_boxed_slice(),
            file_signals: file_signals.into_boxed_slice(),
            signals_omitted: self.signals_omitted,
            notes: self.notes.into_boxed_slice(),
            usage,
        };
        shell.extras = (!extras.is_empty()).then(|| Box::new(extras));
        shell.with(self.entries)
    }

    /// A set without rules.
    fn shell(&self, selected: &Selected) -> Compiled {
        Compiled {
            dialect: self.dialect,
            selected: selected.clone(),
            group_tokens: self.group_tokens.clone().into_boxed_slice(),
            group_lines: self.group_lines.clone().into_boxed_slice(),
            entries: Box::default(),
            text: Box::default(),
            pace: Pace::default(),
            extras: None,
        }
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

impl Compiled {
    fn with(mut self, entries: Entries) -> RuleSet {
        (self.entries, self.text) = entries.finish();
        RuleSet(Arc::new(self))
    }
}
