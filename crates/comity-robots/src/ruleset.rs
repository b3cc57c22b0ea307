//! The rules of one agent, compiled.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::normal::{Target, with_target};
use crate::pacing::{Pace, RequestRate, VisitTime};
use crate::signal::Signal;
use crate::table::Table;
use crate::verdict::{Evidence, Verdict};
use crate::{Compiler, Dialect};

/// Which groups were selected (RFC 9309 §2.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selected {
    /// The groups naming this token, as written in the first of them.
    Token(String),
    /// The `*` groups: no group names any of the tokens.
    Global,
    /// No group applies: everything is allowed.
    None,
}

/// A line whose value could not be read, so that it has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// A Crawl-delay that is no number of seconds (`-5`, `inf`, `1e309`).
    CrawlDelayUnreadable {
        /// Line in the file, from 1.
        line: u32,
    },
    /// A Request-rate that is not `N/T`.
    RequestRateUnreadable {
        /// Line in the file, from 1.
        line: u32,
    },
    /// A Visit-time that is not `HHMM-HHMM`.
    VisitTimeUnreadable {
        /// Line in the file, from 1.
        line: u32,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, what) = match self {
            Self::CrawlDelayUnreadable { line } => (line, "crawl-delay is no number of seconds"),
            Self::RequestRateUnreadable { line } => (line, "request-rate is not requests/time"),
            Self::VisitTimeUnreadable { line } => (line, "visit-time is not hhmm-hhmm"),
        };
        write!(f, "robots.txt line {line}: {what}; ignored")
    }
}

/// The rules of one list of tokens, compiled. Owns all it needs: the file may be dropped.
///
/// Cloning copies a pointer. Equal sets compare and hash equal, so that a cache can share them. Rules are sorted and
/// front-coded: a question follows the target through them, four at a time with one subtraction; a star rule whose literal
/// start fits costs at most its length and the target's together.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RuleSet(pub(crate) Arc<Compiled>);

#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Compiled {
    pub(crate) dialect: Dialect,
    pub(crate) selected: Selected,
    /// Those of `*` groups are shared by many sets; nothing for none.
    pub(crate) group_tokens: Option<Arc<[Box<str>]>>,
    pub(crate) group_lines: GroupLines,
    pub(crate) table: Table,
    pub(crate) extras: Option<Box<Extras>>,
}

/// Lines of the first user-agent lines of groups, ascending. Most files have one group for an agent, so the first stands alone.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct GroupLines {
    /// 0 for none.
    first: u32,
    more: Vec<u32>,
}

impl GroupLines {
    pub(crate) fn push(&mut self, line: u32) {
        if self.first == 0 {
            self.first = line;
        } else {
            self.more.push(line);
        }
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = u32> {
        let all = 1 + self.more.len() - usize::from(self.first == 0);
        (0..all).map(|at| at.checked_sub(1).map_or(self.first, |at| self.more.get(at).copied().unwrap_or_default()))
    }

    /// The last one that is not behind a line; 0 for none.
    fn before(&self, line: u32) -> u32 {
        let place = self.more.partition_point(|group| *group <= line);
        let found = place.checked_sub(1).and_then(|place| self.more.get(place)).copied().unwrap_or(self.first);
        if found <= line { found } else { 0 }
    }

    pub(crate) fn shrink(&mut self) {
        self.more.shrink_to_fit();
    }
}

/// What few files have.
#[derive(Default, PartialEq, Eq, Hash)]
pub(crate) struct Extras {
    pub(crate) pace: Pace,
    pub(crate) signals: Box<[Signal]>,
    pub(crate) file_signals: Box<[Signal]>,
    pub(crate) signals_omitted: u32,
    pub(crate) notes: Box<[Note]>,
    /// The rules as the usage pass attributes them, when that differs.
    pub(crate) usage: Option<RuleSet>,
}

impl RuleSet {
    /// Parses a body and compiles the rules for an ordered list of tokens: the same as [`crate::Robots::parse`]
    /// and [`crate::Robots::rules`], for those who ask nothing else of the file. Of groups for others only the user-agent lines are
    /// looked for, so it costs a fraction; nothing of the body is copied but the rules.
    #[must_use]
    pub fn parse(body: &[u8], tokens: &[&str], dialect: Dialect) -> Self {
        Compiler::new().parse(body, tokens, dialect)
    }

    /// Judges a target: path and query in bytes, as they are sent, starting with `/` (one is put in front of any other
    /// target). Allocates for the pattern of the rule; [`Self::evidence`] does not.
    #[must_use]
    pub fn verdict(&self, target: &[u8]) -> Verdict {
        self.evidence(target).to_verdict()
    }

    /// Whether the target may be fetched: [`Self::verdict`] without evidence.
    #[must_use]
    pub fn allows(&self, target: &[u8]) -> bool {
        let table = &self.0.table;
        table.len() == 0
            || with_target(target, self.0.dialect, |target| self.is_robots_txt(target) || table.allows(target))
    }

    /// Judges a target and lends the evidence. Allocates nothing, but for a target of more than 2,730 bytes that has to be
    /// brought to normal form (standard dialect: it holds `%` or bytes from 0x80 on) or does not start with `/`.
    #[must_use]
    pub fn evidence(&self, target: &[u8]) -> Evidence<'_> {
        with_target(target, self.0.dialect, |target| self.evidence_for(target))
    }

    pub(crate) fn evidence_for(&self, target: Target<'_>) -> Evidence<'_> {
        if self.is_robots_txt(target) {
            return Evidence::RobotsTxt;
        }
        let rule = self.0.table.decide(target, |line| self.group_line_of(line));
        rule.map_or(Evidence::NoRule, Evidence::Rule)
    }

    /// `/robots.txt`, with or without a query, in the standard dialect (RFC 9309 §2.2.2; that a query changes nothing is
    /// comity's choice).
    fn is_robots_txt(&self, target: Target<'_>) -> bool {
        // Eight bytes tell nearly always that it is not.
        self.0.dialect == Dialect::Standard
            && target.word(0) == u64::from_le_bytes(*b"/robots.")
            && matches!(target.bytes().strip_prefix(b"/robots.txt"), Some([] | [b'?', ..]))
    }

    /// The verdict when groups are cut as the usage pass cuts them (`Content-Usage`, `Content-Signal`, `License`,
    /// `Crawl-delay` and `DisallowAITraining` lines end a run of user-agent lines too). Access is never decided by it: a
    /// difference from [`Self::verdict`] is worth a note that the file is ambiguous.
    #[must_use]
    pub fn usage_verdict(&self, target: &[u8]) -> Verdict {
        self.extras().and_then(|extras| extras.usage.as_ref()).unwrap_or(self).verdict(target)
    }

    /// The dialect it was compiled for.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// Which groups were selected.
    #[must_use]
    pub fn selected(&self) -> &Selected {
        &self.0.selected
    }

    /// The tokens of the merged groups as written, cut from their lines, each once, in file order; `["*"]` for the global
    /// groups, empty for none. At most [`crate::MAX_GROUP_TOKENS`]; the selected one is always in [`Self::selected`].
    #[must_use]
    pub fn group_tokens(&self) -> &[Box<str>] {
        self.0.group_tokens.as_deref().unwrap_or_default()
    }

    /// Line of the first user-agent line of the first selected group, from 1.
    #[must_use]
    pub fn group_line(&self) -> Option<u32> {
        self.0.group_lines.iter().next()
    }

    /// Rules that can decide anything: empty ones, repeated ones and those that can never match are left out.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.0.table.len()
    }

    /// The largest Crawl-delay of the selected groups; zero when they ask for zero. Not clamped. A specific group without
    /// one has none: nothing is inherited from `*`.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.extras().and_then(|extras| extras.pace.crawl_delay)
    }

    /// The slowest Request-rate of the selected groups; its window is dropped when lines differ in it.
    #[must_use]
    pub fn request_rate(&self) -> Option<RequestRate> {
        self.extras().and_then(|extras| extras.pace.request_rate)
    }

    /// The shortest Visit-time window of the selected groups.
    #[must_use]
    pub fn visit_time(&self) -> Option<VisitTime> {
        self.extras().and_then(|extras| extras.pace.visit_time)
    }

    /// Signal lines of the selected groups as the usage pass cuts them, in file order.
    #[must_use]
    pub fn signals(&self) -> &[Signal] {
        self.extras().map_or(&[], |extras| &extras.signals)
    }

    /// Signal lines before the first user-agent line: they belong to no group.
    #[must_use]
    pub fn file_signals(&self) -> &[Signal] {
        self.extras().map_or(&[], |extras| &extras.file_signals)
    }

    /// Signal lines beyond [`crate::MAX_SIGNALS`], not kept.
    #[must_use]
    pub fn signals_omitted(&self) -> u32 {
        self.extras().map_or(0, |extras| extras.signals_omitted)
    }

    /// Lines of the selected groups that could not be read; at most [`crate::MAX_NOTES`].
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        self.extras().map_or(&[], |extras| &extras.notes)
    }

    /// Bytes held on the heap, for the weigher of a cache. What clones share is counted in each.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let compiled = &*self.0;
        let selected = if let Selected::Token(token) = &compiled.selected { token.capacity() } else { 0 };
        // As an `Arc`, the table has two counters, too.
        let tokens = self.group_tokens().iter().map(|token| size_of::<Box<str>>() + token.len()).sum::<usize>()
            + compiled.group_tokens.as_ref().map_or(0, |_| 2 * size_of::<usize>());
        let extras = compiled.extras.as_ref().map_or(0, |extras| extras.heap_bytes());
        // The two counters of the Arc.
        2 * size_of::<usize>()
            + size_of::<Compiled>()
            + selected
            + tokens
            + compiled.group_lines.more.capacity() * size_of::<u32>()
            + compiled.table.bytes.len()
            + extras
    }

    pub(crate) fn extras(&self) -> Option<&Extras> {
        self.0.extras.as_deref()
    }

    /// The line of the group that a rule's line belongs to: the last selected group that starts before it, since all that
    /// stands between two groups belongs to the first.
    fn group_line_of(&self, line: u32) -> u32 {
        self.0.group_lines.before(line)
    }
}

impl Compiled {
    /// The same head with other rules.
    pub(crate) fn with_table(&self, table: Table) -> RuleSet {
        RuleSet(Arc::new(Self {
            dialect: self.dialect,
            selected: self.selected.clone(),
            group_tokens: self.group_tokens.clone(),
            group_lines: self.group_lines.clone(),
            table,
            extras: None,
        }))
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleSet")
            .field("dialect", &self.0.dialect)
            .field("selected", &self.0.selected)
            .field("rules", &self.rule_count())
            .field("pace", &self.extras().map(|extras| &extras.pace))
            .finish_non_exhaustive()
    }
}

impl Extras {
    pub(crate) fn is_empty(&self) -> bool {
        let lists = self.signals.is_empty() && self.file_signals.is_empty() && self.notes.is_empty();
        lists && self.pace == Pace::default() && self.signals_omitted == 0 && self.usage.is_none()
    }

    fn heap_bytes(&self) -> usize {
        let signals = self.signals.iter().chain(&self.file_signals).map(Signal::heap_bytes).sum::<usize>();
        let usage = self.usage.as_ref().map_or(0, RuleSet::heap_bytes);
        size_of::<Self>() + signals + size_of_val(&*self.notes) + usage
    }
}
