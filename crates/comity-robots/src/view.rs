//! What a parsed file holds, line by line.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::lines::column;
use crate::record::{ExtensionKind, Kind, Record};
use crate::token::Named;
use crate::{Robots, RuleKind};

/// A group: user-agent lines and what stands under them (RFC 9309 §2.2.1).
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub(crate) robots: &'a Robots,
    pub(crate) records: &'a [Record],
}

impl<'a> Group<'a> {
    /// Line of the first user-agent line, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.records.first().map_or(0, |record| record.line)
    }

    /// The user-agent lines, in order; at least one.
    pub fn agents(&self) -> impl Iterator<Item = AgentLine<'a>> + use<'a> {
        agent_lines(self.robots, self.records)
    }

    /// The rules, in order, also those that can never match.
    pub fn rules(&self) -> impl Iterator<Item = RuleLine<'a>> + use<'a> {
        let robots = self.robots;
        self.records.iter().filter_map(move |record| match record.kind {
            Kind::Rule(kind) => Some(RuleLine { kind, place: Place { robots, record } }),
            _ => None,
        })
    }

    /// The other recognised records inside the group, sitemaps left out.
    pub fn extensions(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        Extensions::new(self.robots, self.records)
    }
}

/// A line as it stands in the file.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    robots: &'a Robots,
    record: &'a Record,
}

impl<'a> Place<'a> {
    fn value(&self) -> &'a [u8] {
        self.robots.value(self.record)
    }

    fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.value())
    }

    fn key_column(&self) -> u32 {
        column(self.robots.text(), self.record.key())
    }

    fn value_column(&self) -> u32 {
        column(self.robots.text(), self.record.value as usize)
    }
}

/// The accessors that every kind of line has.
macro_rules! line_accessors {
    ($line:ident) => {
        impl<'a> $line<'a> {
            /// The value as written, trimmed, comment off.
            #[must_use]
            pub fn value(&self) -> &'a [u8] {
                self.place.value()
            }

            /// The value as text; bytes that are not UTF-8 replaced.
            #[must_use]
            pub fn text(&self) -> Cow<'a, str> {
                self.place.text()
            }

            /// Line in the file, from 1.
            #[must_use]
            pub fn line(&self) -> u32 {
                self.place.record.line
            }

            /// Column of the key, in bytes from 1. Cost: a search back to the line's start.
            #[must_use]
            pub fn key_column(&self) -> u32 {
                self.place.key_column()
            }

            /// Column of the value, in bytes from 1; of its place, when it is empty.
            #[must_use]
            pub fn value_column(&self) -> u32 {
                self.place.value_column()
            }
        }
    };
}

/// A user-agent line.
#[derive(Clone, Copy, Debug)]
pub struct AgentLine<'a> {
    place: Place<'a>,
}

line_accessors!(AgentLine);

impl<'a> AgentLine<'a> {
    /// The product token as written, cut at the first other character; `*` for the global group, `None` when the line
    /// names nobody (RFC 9309 §2.2.1, Google's parser).
    #[must_use]
    pub fn token(&self) -> Option<&'a str> {
        Named::read(self.value()).as_text()
    }
}

/// An allow or disallow line.
#[derive(Clone, Copy, Debug)]
pub struct RuleLine<'a> {
    kind: RuleKind,
    place: Place<'a>,
}

line_accessors!(RuleLine);

impl RuleLine<'_> {
    /// Allow or disallow.
    #[must_use]
    pub const fn kind(&self) -> RuleKind {
        self.kind
    }
}

/// A recognised record that is no user-agent line, rule or sitemap.
#[derive(Clone, Copy, Debug)]
pub struct Extension<'a> {
    kind: ExtensionKind,
    place: Place<'a>,
    access: &'a [Record],
    usage: &'a [Record],
}

line_accessors!(Extension);

impl<'a> Extension<'a> {
    /// Which record.
    #[must_use]
    pub const fn kind(&self) -> ExtensionKind {
        self.kind
    }

    /// The user-agent lines it stands under in the access pass: those of the open group so far. None before the first
    /// group. Cost: the group's lines up to here.
    pub fn access_agents(&self) -> impl Iterator<Item = AgentLine<'a>> + use<'a> {
        agent_lines(self.place.robots, self.access)
    }

    /// The same in the usage pass, where usage records end a run of user-agent lines too.
    pub fn usage_agents(&self) -> impl Iterator<Item = AgentLine<'a>> + use<'a> {
        agent_lines(self.place.robots, self.usage)
    }
}

fn agent_lines<'a>(robots: &'a Robots, records: &'a [Record]) -> impl Iterator<Item = AgentLine<'a>> + use<'a> {
    let agents = records.iter().filter(|record| record.kind == Kind::Agent);
    agents.map(move |record| AgentLine { place: Place { robots, record } })
}

/// Walks records with both group automata.
#[derive(Clone, Debug)]
pub(crate) struct Extensions<'a> {
    robots: &'a Robots,
    records: &'a [Record],
    next: usize,
    access: Run,
    usage: Run,
}

/// The open group of one automaton: where it starts, and whether its list of user-agent lines is complete.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    closed: bool,
}

impl Run {
    fn step(&mut self, at: usize, kind: Kind, closes: bool) {
        if kind == Kind::Agent && self.closed {
            *self = Self { start: at, closed: false };
        }
        self.closed |= closes;
    }
}

impl<'a> Extensions<'a> {
    /// `records` starts at the start of a file or of a group.
    pub(crate) const fn new(robots: &'a Robots, records: &'a [Record]) -> Self {
        let start = Run { start: 0, closed: true };
        Self { robots, records, next: 0, access: start, usage: start }
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.next;
            let record = self.records.get(at)?;
            self.next += 1;
            let is_rule = matches!(record.kind, Kind::Rule(_));
            let kind = if let Kind::Extension(kind) = record.kind { Some(kind) } else { None };
            self.access.step(at, record.kind, is_rule);
            self.usage.step(at, record.kind, is_rule || kind.is_some_and(ExtensionKind::closes_usage_group));
            let Some(kind) = kind else { continue };
            return Some(Extension {
                kind,
                place: Place { robots: self.robots, record },
                access: self.records.get(self.access.start..at)?,
                usage: self.records.get(self.usage.start..at)?,
            });
        }
    }
}
