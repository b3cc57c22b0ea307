//! `/ai.txt` as Spawning defines it (2023): signals reference §9.

use comity_robots::{Dialect, Pattern, Robots, RuleKind};

use crate::found::{Carried, Found, Ground};
use crate::{Place, Purpose, Source, Statement, Verdict};

/// Rules that are kept of an ai.txt; those beyond are not read (our choice).
const MAX_RULES: usize = 1000;

/// An `ai.txt` of Spawning's kind: rules as in robots.txt about training on media. Other files of that name say nothing here.
#[derive(Clone, Debug, Default)]
pub struct AiTxt {
    rules: Vec<AiRule>,
}

#[derive(Clone, Debug)]
struct AiRule {
    kind: RuleKind,
    pattern: Pattern,
    written: String,
    line: u32,
}

impl AiTxt {
    /// Reads a body for an ordered list of own tokens: the groups of the first that is named, else those of `*`. A file
    /// without a user-agent line is of another kind, and silent (signals reference §9).
    #[must_use]
    pub fn parse(body: &[u8], tokens: &[&str]) -> Self {
        let file = Robots::parse(body);
        let own = tokens.iter().find(|token| file.names(token));
        let ours = |named: Option<&str>| match (own, named) {
            (Some(own), Some(named)) => named.eq_ignore_ascii_case(own),
            (None, Some(named)) => named == "*",
            (_, None) => false,
        };
        let groups = file.groups().filter(|group| group.agents().any(|agent| ours(agent.token())));
        let rules = groups
            .flat_map(|group| group.rules())
            .filter(|rule| rule.value().starts_with(b"/") || rule.value().starts_with(b"*"));
        let rules = rules.take(MAX_RULES).map(|rule| AiRule {
            kind: rule.kind(),
            pattern: Pattern::new(rule.value(), Dialect::Standard),
            written: rule.text().into_owned(),
            line: rule.line(),
        });
        Self { rules: rules.collect() }
    }

    /// True when no rule was read.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.rules.is_empty()
    }

    /// Bytes of memory that the rules take, for a cache that is bounded in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        // The pattern is about as long as it was written.
        self.rules.iter().map(|rule| size_of::<AiRule>() + rule.written.len() * 2).sum()
    }

    /// What the file says of training on the resource at `target`: the longest pattern that matches the path decides, at a
    /// tie the denial (our choice). The query does not count.
    #[must_use]
    pub fn statement(&self, target: &[u8]) -> Option<Statement> {
        let path = target.split(|byte| *byte == b'?').next().unwrap_or(target);
        let matching = self.rules.iter().filter(|rule| rule.pattern.matches(path));
        let rule = matching.max_by_key(|rule| (rule.pattern.priority(), rule.kind == RuleKind::Disallow))?;
        let verdict = if rule.kind == RuleKind::Allow { Verdict::Allowed } else { Verdict::Denied };
        let (place, raw) = (Place::Line(rule.line), rule.written.as_str());
        let mut found = Found::default();
        found.state(
            Carried { source: Source::AiTxt, place, raw, path: Some(raw) },
            Purpose::AiTrain,
            verdict,
            Ground::Said,
        );
        found.statements.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Allowed, Denied};

    #[test]
    fn ai_txt_rows() {
        let rows = [
            ("User-Agent: *\nDisallow: *.jpg\nAllow: *.txt\n", "/i/a.jpg", Some(Denied)),
            ("User-Agent: *\nDisallow: *.jpg\nAllow: *.txt\n", "/i/a.txt", Some(Allowed)),
            ("User-Agent: *\nDisallow: *.jpg\nAllow: *.txt\n", "/i/a.png", None),
            ("User-Agent: *\nDisallow: /\nAllow: /open/\n", "/open/a", Some(Allowed)),
            ("User-Agent: *\nDisallow: /a\nAllow: /a\n", "/a", Some(Denied)),
            ("User-Agent: *\nAllow: /a\nDisallow: /a\n", "/a", Some(Denied)),
            ("User-Agent: *\nDisallow: *.jpg$\n", "/a.jpg?x", Some(Denied)),
            ("User-Agent: *\nDisallow: *\n", "/", Some(Denied)),
            ("User-Agent: *\nDisallow:\n", "/", None),
            ("User-Agent: ComityBot\nAllow: /\nUser-Agent: *\nDisallow: /\n", "/", Some(Allowed)),
            ("User-Agent: other\nDisallow: /\n", "/", None),
            ("---\nname: x\n---\n# About\nDisallow: /\n", "/", None),
            ("", "/", None),
        ];
        for (body, target, wanted) in rows {
            let found = AiTxt::parse(body.as_bytes(), &["ComityBot"]).statement(target.as_bytes());
            assert_eq!(found.map(|s| s.verdict), wanted, "{body:?} {target}");
        }
    }
}
