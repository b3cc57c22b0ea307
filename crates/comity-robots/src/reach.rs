//! What rules come to when the query of a target is not known.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::normal::{Target, target_form};
use crate::pattern::{self, End, Pattern, split_end};
use crate::ruleset::RuleSet;
use crate::verdict::Evidence;
use crate::{Dialect, bytes};

/// Whatever decides for a path with some query: see [`RuleSet::with_any_query`].
#[derive(Clone, Debug)]
pub struct AnyQuery<'a> {
    deciding: Vec<(Evidence<'a>, Vec<u8>)>,
    is_whole: bool,
}

impl<'a> AnyQuery<'a> {
    /// Everything that decides for some query, each once, in no order; `None` where that is not known: there is no byte that no rule
    /// names, or finding out costs too much. Beside it, a query for which it does, in the form in which rules compare it.
    #[must_use]
    pub fn deciding(&self) -> Option<&[(Evidence<'a>, Vec<u8>)]> {
        self.is_whole.then_some(&*self.deciding)
    }

    /// Whether some query may be allowed. False is certain.
    #[must_use]
    pub fn may_allow(&self) -> bool {
        !self.is_whole || self.deciding.iter().any(|(one, _)| one.allowed())
    }

    /// Whether some query may be refused. False is certain.
    #[must_use]
    pub fn may_refuse(&self) -> bool {
        !self.is_whole || self.deciding.iter().any(|(one, _)| !one.allowed())
    }
}

/// Bytes of targets that are judged for one question, at most (our choice): for files of people some hundred.
const MOST_BYTES: usize = 64 << 10;
/// Rules with a star that are looked at for one question, at most (our choice): each target is held against all of them.
const MOST_LOOKS: usize = 1 << 19;

impl RuleSet {
    /// Judges `path` with all queries at once, the empty one too (`/x?`): exact over the queries that a URL can have.
    ///
    /// Why a few queries are enough: take one for which a rule decides. Whatever of it stands for a star of that rule, or behind its
    /// end, may become one byte that stands in no rule: the rule matches as before, and another only if it did before. So the rule decides
    /// for that query, too, and there are as many of those as there are ways to lay the rule's pattern over the path.
    ///
    /// A query in `path` itself is left out. Cost: a walk through the rules, and a verdict for each way; most rules have none. Some
    /// ten milliseconds at most, whatever the file: where it would take more, what decides is not known.
    #[must_use]
    pub fn with_any_query(&self, path: &[u8]) -> AnyQuery<'_> {
        let start = start(path, self.dialect());
        let (mut named, mut stars) = ([false; 256], 0_usize);
        self.0.table.each(|literal, tail, _| {
            literal.iter().chain(tail).for_each(|byte| name(&mut named, *byte));
            stars += usize::from(!tail.is_empty());
        });
        let mut queries = Queries::new(&named, &start);
        self.0.table.each(|literal, tail, end| queries.lay(literal, tail, end));
        let looks = queries.all.len().saturating_mul(stars);
        let is_whole = queries.fresh.is_some() && queries.left > 0 && looks <= MOST_LOOKS;
        let mut reached = AnyQuery { deciding: Vec::new(), is_whole };
        let (mut text, mut known) = (start.clone(), BTreeSet::new());
        for query in queries.all.iter().filter(|_| is_whole) {
            text.truncate(start.len());
            text.extend_from_slice(query);
            let length = text.len();
            text.extend_from_slice(&[0; 8]);
            let evidence = self.evidence_for(Target::of_padded(&text, length));
            let place = match &evidence {
                Evidence::Rule(rule) => Some(rule.at),
                Evidence::NoRule | Evidence::RobotsTxt => None,
            };
            if known.insert(place) {
                reached.deciding.push((evidence, query.clone()));
            }
        }
        reached
    }
}

impl Pattern {
    /// Whether it matches `path` with every query (`Some(true)`), with none (`Some(false)`); `None` where that hangs on the query.
    #[must_use]
    pub fn with_any_query(&self, path: &[u8]) -> Option<bool> {
        let (start, (text, end)) = (start(path, self.dialect()), split_end(self.as_bytes()));
        let mut named = [false; 256];
        text.iter().for_each(|byte| name(&mut named, *byte));
        let (literal, tail) = text.split_at_checked(bytes::find(b'*', text).unwrap_or(text.len())).unwrap_or_default();
        let mut queries = Queries::new(&named, &start);
        queries.lay(literal, tail, end);
        let fresh = [queries.fresh?];
        let matches = |query: &[u8]| pattern::matches(text, end, &[&start, query].concat());
        if matches(&fresh) {
            return Some(true);
        }
        (queries.left > 0 && !queries.all.iter().any(|query| matches(query))).then_some(false)
    }
}

/// The path and its question mark, in the form in which targets are compared.
fn start(path: &[u8], dialect: Dialect) -> Vec<u8> {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
    target_form(&[slash, path, b"?"].concat(), dialect).into_owned()
}

fn name(named: &mut [bool; 256], byte: u8) {
    if let Some(named) = named.get_mut(usize::from(byte)) {
        *named = true;
    }
}

/// The queries that are tried.
struct Queries<'s> {
    start: &'s [u8],
    /// A byte of queries that no rule names.
    fresh: Option<u8>,
    all: BTreeSet<Vec<u8>>,
    /// Of [`MOST_BYTES`].
    left: usize,
}

impl<'s> Queries<'s> {
    fn new(named: &[bool; 256], start: &'s [u8]) -> Self {
        let is_fresh = |byte: &u8| is_of_queries(*byte) && named.get(usize::from(*byte)) == Some(&false);
        // Not one that could end an escape, or be taken for what is special in patterns.
        let fresh = (b'g'..=b'z').chain(b'!'..=b'~').find(|byte| is_fresh(byte) && !b"*$%".contains(byte));
        let mut queries = Self { start, fresh, all: BTreeSet::new(), left: MOST_BYTES };
        queries.fill((b"", b""), End::Open);
        queries
    }

    /// Every way to lay a pattern over the start, whose last byte is the only one that the query begins behind.
    fn lay(&mut self, literal: &[u8], tail: &[u8], end: End) {
        if self.left == 0 {
            return;
        }
        let start = self.start;
        let Some(mut left) = start.strip_prefix(literal) else {
            if let Some(rest) = literal.strip_prefix(start) {
                self.fill((rest, tail), end);
            }
            return;
        };
        if tail.is_empty() && end == End::Anchored && left.is_empty() {
            self.fill((b"", b""), end);
        }
        let mut pieces = tail;
        while let [_, rest @ ..] = pieces
            && self.left > 0
        {
            // The star stands for all that is left, and the begin of the query.
            self.fill((b"", pieces), end);
            let length = bytes::find(b'*', rest).unwrap_or(rest.len());
            let (piece, next) = rest.split_at_checked(length).unwrap_or_default();
            for (at, byte) in piece.iter().enumerate() {
                let (over, behind) = rest.split_at_checked(at + 1).unwrap_or_default();
                if *byte == b'?' && left.ends_with(over) {
                    self.fill((b"", behind), end);
                }
            }
            let Some(at) = memchr::memmem::find(left, piece) else { return };
            left = left.get(at + piece.len()..).unwrap_or_default();
            pieces = next;
        }
    }

    /// Adds a query for what is left of a pattern, in two parts. Nothing of it is copied that is not judged.
    fn fill(&mut self, (rest, tail): (&[u8], &[u8]), end: End) {
        let Some(fresh) = self.fresh else { return };
        let behind = if end == End::Open { Some(fresh) } else { None };
        self.left = self.left.saturating_sub(self.start.len() + rest.len() + tail.len() + 1);
        let is_possible = |byte: &u8| is_of_queries(*byte);
        if self.left > 0 && rest.iter().chain(tail).all(is_possible) {
            let bytes = rest.iter().chain(tail).map(|byte| if *byte == b'*' { fresh } else { *byte });
            self.all.insert(bytes.chain(behind).collect());
        }
    }
}

/// Bytes that the query of a URL may hold as they are (WHATWG URL, special-query percent-encode set).
const fn is_of_queries(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'\'')
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::Robots;

    fn rules(lines: &str) -> RuleSet {
        Robots::parse(format!("User-agent: *\n{lines}").as_bytes()).rules(&["Bot"], Dialect::Standard)
    }

    #[test]
    fn what_a_query_can_change() {
        // May it be allowed, may it be refused, and how many decide.
        let rows: [(&str, &str, (bool, bool), usize); 16] = [
            ("", "/x", (true, false), 1),
            ("Disallow: /x", "/x", (false, true), 1),
            ("Disallow: /x$", "/x", (true, false), 1),
            ("Disallow: /x?$", "/x", (true, true), 2),
            ("Disallow: /*?", "/x", (false, true), 1),
            ("Disallow: /*?name=", "/x", (true, true), 2),
            ("Disallow: /*name=", "/x", (true, true), 2),
            ("Disallow: /x\nAllow: /x?a=", "/x", (true, true), 2),
            ("Disallow: /x\nAllow: /y?a=", "/x", (false, true), 1),
            ("Disallow: /x\nAllow: /*z", "/x", (true, true), 2),
            // The longer one is always there when the shorter is.
            ("Disallow: /*?ab\nAllow: /*?a", "/x", (true, true), 3),
            ("Disallow: /*?a\nAllow: /*?a*", "/x", (true, false), 2),
            // No URL has such a byte in its query.
            ("Disallow: /*?a<b", "/x", (true, false), 1),
            ("Disallow: /*?%3C", "/x", (true, true), 2),
            ("Disallow: /", "/robots.txt", (true, false), 1),
            ("Disallow: /%78", "/x", (false, true), 1),
        ];
        for (lines, path, (allows, refuses), count) in rows {
            let rules = rules(lines);
            let found = rules.with_any_query(path.as_bytes());
            assert_eq!((found.may_allow(), found.may_refuse()), (allows, refuses), "{lines:?}: {found:?}");
            assert_eq!(found.deciding().map(<[_]>::len), Some(count), "{lines:?}: {found:?}");
            let asked = rules.with_any_query(format!("{path}?its=own").as_bytes());
            assert_eq!((asked.may_allow(), asked.may_refuse()), (allows, refuses), "{lines:?}");
        }
    }

    #[test]
    fn what_is_laid_and_judged_is_bounded_whatever_the_file() {
        let stars = |count: usize| "*".repeat(count);
        for pattern in [stars(100_000), format!("/{}a", "*?".repeat(50_000)), format!("/x{}", "?*".repeat(50_000))] {
            let (literal, tail) = pattern.as_bytes().split_at(pattern.find('*').unwrap());
            let mut queries = Queries::new(&[false; 256], b"/x?");
            queries.lay(literal, tail, End::Open);
            let kept: usize = queries.all.iter().map(Vec::len).sum();
            assert!(queries.left == 0 && kept <= MOST_BYTES, "{kept}");
            // The rest of the file is not laid any more.
            let count = queries.all.len();
            queries.lay(b"/x?a", b"", End::Open);
            assert_eq!(queries.all.len(), count);
            assert_ne!(Pattern::new(pattern.as_bytes(), Dialect::Standard).with_any_query(b"/x"), Some(false));
        }
        // Each target is held against each rule with a star: so many of both are judged, and no more.
        let lines = |count: u32| (0..count).map(|n| format!("Disallow: /*?{n:04}\n")).collect::<String>();
        assert_eq!(rules(&lines(400)).with_any_query(b"/x").deciding().map(<[_]>::len), Some(401));
        assert!(rules(&lines(1_000)).with_any_query(b"/x").deciding().is_none());
    }

    #[test]
    fn what_is_not_known_is_both() {
        let every: String = (b'!'..=b'~').filter(|byte| !b"#*$".contains(byte)).map(char::from).collect();
        let long: String = (0..5_000).map(|n| format!("Disallow: /*a?long=name&of={n}\n")).collect();
        for lines in [format!("Disallow: /{every}"), long] {
            let rules = rules(&lines);
            let found = rules.with_any_query(b"/x");
            assert!(found.deciding().is_none() && found.may_allow() && found.may_refuse());
        }
    }
}
