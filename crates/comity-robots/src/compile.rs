//! From a parsed file and an ordered list of tokens to a rule set.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::bytes::{find, is_token_byte};
use crate::draft::{Drafts, Written};
use crate::normal::rule_form;
use crate::pacing::Pace;
use crate::read::{LineSink, Records, read};
use crate::record::{ExtensionKind, Kind, Record};
use crate::ruleset::{Compiled, Extras, GroupLines, Note, Selected};
use crate::signal::{MAX_SIGNALS, Signal};
use crate::table::Table;
use crate::token::{Named, is_global, names};
use crate::verdict::{RuleKind, RuleVia};
use crate::window::EasyValue;
use crate::{Compiler, Dialect, RuleSet};

/// Tokens of merged groups that a rule set keeps at most.
pub const MAX_GROUP_TOKENS: usize = 256;

/// Notes that a rule set keeps at most.
pub const MAX_NOTES: usize = 100;

/// Bytes that a line of a rule has, roughly.
const RULE_BYTES: usize = 24;

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
            Self::Global => is_global(value),
        }
    }
}

/// What is collected from the selected groups.
pub(crate) struct Collector<'a> {
    text: &'a [u8],
    dialect: Dialect,
    selected: Selected,
    rules: Drafts<'a>,
    /// Lines of rules that the usage pass gives to other agents.
    not_in_usage: Vec<u32>,
    group_lines: GroupLines,
    /// Of `*` groups it is `*` alone, which is not noted.
    group_tokens: Vec<Box<str>>,
    pace: Pace,
    signals: Vec<Signal>,
    signals_omitted: u32,
    notes: Vec<Note>,
    state: State,
}

/// The two group automata inside one group of the access pass: whether our name has been seen, and whether the usage
/// pass has closed its list. The usage pass only splits what the access pass keeps together.
#[derive(Default)]
struct State {
    access: bool,
    usage: bool,
    usage_closed: bool,
}

/// Compiles the rules for a list of tokens; `records` are those of `text`.
pub(crate) fn compile(text: &[u8], records: &Records, tokens: &[&str], dialect: Dialect) -> RuleSet {
    let wanted = tokens.iter().map(|token| token.as_bytes()).find(|token| is_named(text, records, token));
    let wanted = wanted.map_or(Wanted::Global, Wanted::Token);
    let mut compiler = Compiler::new();
    let mut collector = Collector::new(Drafts::new(text), text, dialect);
    for group in records.groups() {
        collector.group(group, wanted);
    }
    let mut file_signals = FileSignals::default();
    records.prelude().iter().for_each(|record| file_signals.add(text, record));
    collector.finish(file_signals, &mut compiler)
}

/// Whether any user-agent line names the token. A token that no line can name is not even looked for.
fn is_named(text: &[u8], records: &Records, token: &[u8]) -> bool {
    token.iter().copied().all(is_token_byte) && records.agents().any(|record| names(record.value_in(text), token))
}

/// Reads a text and compiles the rules for a list of tokens, in one pass: the groups of the best token so far are collected, and
/// forgotten when a better one is named.
pub(crate) fn read_and_compile(text: &[u8], tokens: &[&str], dialect: Dialect, compiler: &mut Compiler) -> RuleSet {
    let mut chooser = Chooser {
        tokens,
        best: NOBODY,
        head: Head::default(),
        rank: NOBODY,
        part: Part::Prelude,
        file_signals: FileSignals::default(),
        collector: Collector::new(Drafts::within(text, &mut compiler.room), text, dialect),
    };
    read(text, &mut chooser);
    if chooser.part == Part::Head {
        chooser.close();
    }
    chooser.collector.finish(chooser.file_signals, compiler)
}

/// The rank of a group that names none of the tokens, nor `*`.
const NOBODY: usize = usize::MAX;

/// Collects the groups of the first token that any group names, without knowing yet which one that is.
struct Chooser<'a, 't> {
    tokens: &'t [&'t str],
    /// The rank of the groups that are collected: the place of their token, or, behind all, that of `*`.
    best: usize,
    /// The lines of the open group before its first rule.
    head: Head,
    /// The best of what they name.
    rank: usize,
    part: Part,
    file_signals: FileSignals,
    collector: Collector<'a>,
}

/// A few records, nearly always; so they are kept without an allocation.
#[derive(Default)]
struct Head {
    few: [Record; Head::FEW],
    /// All of them, when there are more.
    many: Vec<Record>,
    count: usize,
}

impl Head {
    const FEW: usize = 4;

    fn clear(&mut self) {
        self.count = 0;
        self.many.clear();
    }

    fn push(&mut self, record: Record) {
        match self.few.get_mut(self.count) {
            Some(place) => *place = record,
            None => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(record);
            }
        }
        self.count += 1;
    }

    fn records(&self) -> &[Record] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }
}

/// Where in a file a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Before the first group.
    Prelude,
    /// Before the first rule of a group.
    Head,
    /// Behind it.
    Rules,
}

impl LineSink for Chooser<'_, '_> {
    const EVERYTHING: bool = false;

    fn open(&mut self) {
        (self.part, self.rank) = (Part::Head, NOBODY);
        self.head.clear();
    }

    #[inline(never)]
    fn agent(&mut self, record: Record) {
        let value = record.value_in(self.collector.text);
        let rank = if is_global(value) {
            self.tokens.len()
        } else {
            self.tokens.iter().position(|token| names(value, token.as_bytes())).unwrap_or(NOBODY)
        };
        self.rank = self.rank.min(rank);
        self.head.push(record);
    }

    #[inline(never)]
    fn close(&mut self) -> bool {
        self.part = Part::Rules;
        if self.rank == NOBODY || self.rank > self.best {
            return false;
        }
        if self.rank < self.best {
            self.best = self.rank;
            self.collector.forget();
        }
        let wanted = self.tokens.get(self.rank).map_or(Wanted::Global, |token| Wanted::Token(token.as_bytes()));
        self.collector.head(self.head.records(), wanted);
        true
    }

    fn rule(&mut self, kind: RuleKind, record: Record) {
        if self.part == Part::Rules {
            self.collector.rule(kind, &record);
        }
    }

    #[inline(always)]
    fn easy_rule(&mut self, kind: RuleKind, line: u32, _: usize, value: EasyValue) {
        if self.part == Part::Rules {
            self.collector.rule_at(kind, line, value.start..value.end, value.plain.then_some(value.star));
        }
    }

    #[inline(always)]
    fn literal_rule(&mut self, kind: RuleKind, line: u32, _: usize, value: Range<usize>) {
        if self.part == Part::Rules {
            self.collector.literal_rule(kind, line, value);
        }
    }

    #[inline(never)]
    fn extension(&mut self, record: Record) {
        match self.part {
            Part::Prelude => self.file_signals.add(self.collector.text, &record),
            Part::Head => self.head.push(record),
            Part::Rules => self.collector.other(&record),
        }
    }

    fn sitemap(&mut self, _: Record) {}
}

/// Signal lines before the first group.
#[derive(Default)]
struct FileSignals {
    list: Vec<Signal>,
    omitted: u32,
}

impl FileSignals {
    fn add(&mut self, text: &[u8], record: &Record) {
        let Kind::Extension(kind) = record.kind else { return };
        if !kind.is_signal() {
            return;
        }
        if self.list.len() < MAX_SIGNALS {
            self.list.push(Signal::read(kind, record.value_in(text), record.line));
        } else {
            self.omitted = self.omitted.saturating_add(1);
        }
    }
}

impl<'a> Collector<'a> {
    fn new(rules: Drafts<'a>, text: &'a [u8], dialect: Dialect) -> Self {
        Self {
            text,
            dialect,
            selected: Selected::None,
            rules,
            not_in_usage: Vec::new(),
            group_lines: GroupLines::default(),
            group_tokens: Vec::new(),
            pace: Pace::default(),
            signals: Vec::new(),
            signals_omitted: 0,
            notes: Vec::new(),
            state: State::default(),
        }
    }

    /// Forgets what was collected.
    fn forget(&mut self) {
        if self.selected != Selected::None {
            let mut rules = core::mem::replace(&mut self.rules, Drafts::new(self.text));
            rules.clear();
            *self = Self::new(rules, self.text, self.dialect);
        }
    }

    /// Takes a group when it names the wanted one: the rules all belong to it, since user-agent lines come first; another
    /// record belongs to the user-agent lines before it.
    fn group(&mut self, records: &[Record], wanted: Wanted<'_>) {
        // Behind the first rule there is no user-agent line.
        let head = records.iter().take_while(|record| !matches!(record.kind, Kind::Rule(_))).count();
        let Some((head, rest)) = records.split_at_checked(head) else { return };
        let names_us = |record: &Record| record.kind == Kind::Agent && wanted.is_named_by(record.value_in(self.text));
        if head.iter().any(names_us) {
            self.head(head, wanted);
            for record in rest {
                match record.kind {
                    Kind::Rule(kind) => self.rule(kind, record),
                    _ => self.other(record),
                }
            }
        }
    }

    /// Takes what stands before the first rule of a group that names the wanted one.
    fn head(&mut self, records: &[Record], wanted: Wanted<'_>) {
        if self.selected == Selected::None {
            self.selected = self.selected_by(records, wanted);
            self.rules.expect(self.text.len() / RULE_BYTES);
        }
        if let Some(first) = records.first() {
            self.group_lines.push(first.line);
        }
        self.add_tokens(records, wanted);
        self.state = State::default();
        for record in records {
            match record.kind {
                Kind::Agent => self.state.agent(wanted.is_named_by(record.value_in(self.text))),
                _ => self.other(record),
            }
        }
    }

    fn add_tokens(&mut self, records: &[Record], wanted: Wanted<'_>) {
        if matches!(wanted, Wanted::Global) {
            return;
        }
        for record in records.iter().filter(|record| record.kind == Kind::Agent) {
            let Some(token) = Named::read(record.value_in(self.text)).as_text() else { continue };
            let known = self.group_tokens.iter().any(|known| known.eq_ignore_ascii_case(token));
            if !known && self.group_tokens.len() < MAX_GROUP_TOKENS {
                self.group_tokens.push(token.into());
            }
        }
    }

    #[inline]
    fn rule(&mut self, kind: RuleKind, record: &Record) {
        let start = record.value as usize;
        let value = start..start + usize::from(record.value_len);
        let star = (record.star != Record::UNREAD).then(|| start + usize::from(record.star));
        self.rule_at(kind, record.line, value, star);
    }

    /// Takes a rule by its place that is a literal and nothing else, or empty.
    #[inline(always)]
    fn literal_rule(&mut self, kind: RuleKind, line: u32, value: Range<usize>) {
        if self.text.get(value.start) != Some(&b'/') || value.is_empty() || !self.state.usage || kind == RuleKind::Allow
        {
            let star = value.end;
            return self.rule_at(kind, line, value, Some(star));
        }
        self.state.usage_closed = true;
        self.rules.push_literal(value, (line, kind));
    }

    /// Takes a rule by its place; `star` is where its first star stands, or its end, unless it has to be read.
    #[inline(never)]
    fn rule_at(&mut self, kind: RuleKind, line: u32, value: Range<usize>, star: Option<usize>) {
        self.state.usage_closed = true;
        // A target starts with `/`: anything else, the empty pattern first, never has an effect.
        if !matches!(self.text.get(value.start), Some(b'/' | b'*')) || value.is_empty() {
            return;
        }
        if let Some(star) = star {
            self.rules.push(value.clone(), star, (line, kind));
            if kind == RuleKind::Allow {
                let raw = self.text.get(value).unwrap_or_default();
                self.directory(line, raw, raw);
            }
        } else {
            self.unread_rule(kind, line, value);
        }
        if !self.state.usage {
            self.not_in_usage.push(line);
        }
    }

    #[inline(never)]
    fn unread_rule(&mut self, kind: RuleKind, line: u32, value: Range<usize>) {
        let raw = self.text.get(value.clone()).unwrap_or_default();
        let pattern = rule_form(raw, self.dialect);
        if *pattern == *raw {
            let star = find(b'*', raw).map_or(value.end, |star| value.start + star);
            self.rules.push(value, star, (line, kind));
        } else {
            let written = Written { raw: Some(raw), line, kind, via: RuleVia::Pattern };
            // No line makes a pattern that is too long.
            let _ = self.rules.push_own(&[&pattern], written);
        }
        if kind == RuleKind::Allow {
            self.directory(line, raw, &pattern);
        }
    }

    /// An allow rule whose pattern starts, from its last `/` on, with `/index.htm` also allows exactly the directory (Google's
    /// parser).
    #[inline]
    fn directory(&mut self, line: u32, raw: &[u8], pattern: &[u8]) {
        const NAME: &[u8] = b"index.htm";
        if pattern.len() <= NAME.len() {
            return;
        }
        let Some(slash) = memchr::memrchr(b'/', pattern) else { return };
        let Some((directory, name)) = pattern.split_at_checked(slash + 1) else { return };
        if name.starts_with(NAME) {
            let kind = RuleKind::Allow;
            let written = Written { raw: Some(raw), line, kind, via: RuleVia::IndexHtml };
            let _ = self.rules.push_own(&[directory, b"$"], written);
        }
    }

    /// Takes a record of a selected group that is neither rule nor user-agent line.
    fn other(&mut self, record: &Record) {
        let Kind::Extension(kind) = record.kind else { return };
        self.state.usage_closed |= kind.closes_usage_group();
        let value = record.value_in(self.text);
        if self.state.usage && kind.is_signal() {
            self.signal(Signal::read(kind, value, record.line));
        }
        // By the access pass. What the usage pass attributes is part of it, so it never holds a larger delay.
        if self.state.access {
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

    /// As which groups those are selected that start so.
    fn selected_by(&self, records: &[Record], wanted: Wanted<'_>) -> Selected {
        let Wanted::Token(token) = wanted else { return Selected::Global };
        let agents = records.iter().filter(|record| record.kind == Kind::Agent);
        let mut values = agents.map(|record| record.value_in(self.text));
        let written = values.find(|value| names(value, token)).and_then(|value| Named::read(value).as_text());
        Selected::Token(String::from(written.unwrap_or_default()))
    }

    fn finish(mut self, file_signals: FileSignals, compiler: &mut Compiler) -> RuleSet {
        let group_tokens = match self.selected {
            Selected::None => None,
            Selected::Global => Some(compiler.global.get_or_insert_with(|| Arc::from(["*".into()])).clone()),
            Selected::Token(_) => Some(self.group_tokens.into()),
        };
        let mut group_lines = self.group_lines;
        group_lines.shrink();
        let bytes = &mut compiler.room.bytes;
        let table = Table::pack(&mut self.rules, bytes);
        let mut set =
            Compiled { dialect: self.dialect, selected: self.selected, group_tokens, group_lines, table, extras: None };
        let usage = (!self.not_in_usage.is_empty()).then(|| {
            // Lines ascend: so they were read.
            self.rules.retain(|line| self.not_in_usage.binary_search(&line).is_err());
            set.with_table(Table::pack(&mut self.rules, bytes))
        });
        self.rules.give_back(&mut compiler.room);
        let extras = Extras {
            pace: self.pace,
            signals: self.signals.into_boxed_slice(),
            file_signals: file_signals.list.into_boxed_slice(),
            signals_omitted: self.signals_omitted.saturating_add(file_signals.omitted),
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
