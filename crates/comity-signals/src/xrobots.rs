//! The grammar of robots rules, in `X-Robots-Tag`, `robots-tag` and metas: signals reference §7.1.

use crate::UnixSeconds;

/// One rule, judged only as a word: what it means is for `page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule<'a> {
    NoIndex,
    NoFollow,
    /// `none`: both of the above.
    Nothing,
    NoArchive,
    NoCache,
    /// `nosnippet` is zero.
    MaxSnippet(u32),
    NoTranslate,
    NoImageIndex,
    NoAi,
    NoImageAi,
    NoMl,
    UnavailableAfter(UnixSeconds),
    /// A known rule that restricts nothing comity judges.
    Recorded,
    BadDate(&'a str),
    Unknown(&'a str),
}

/// Rules without an argument.
const PLAIN: [(&str, Rule<'static>); 15] = [
    ("all", Rule::Recorded),
    ("index", Rule::Recorded),
    ("follow", Rule::Recorded),
    ("noindex", Rule::NoIndex),
    ("nofollow", Rule::NoFollow),
    ("none", Rule::Nothing),
    ("noarchive", Rule::NoArchive),
    ("nocache", Rule::NoCache),
    ("nosnippet", Rule::MaxSnippet(0)),
    ("notranslate", Rule::NoTranslate),
    ("noimageindex", Rule::NoImageIndex),
    ("indexifembedded", Rule::Recorded),
    ("noai", Rule::NoAi),
    ("noimageai", Rule::NoImageAi),
    ("noml", Rule::NoMl),
];

const UNAVAILABLE_AFTER: &str = "unavailable_after";

/// Rules with an argument: the only words before a colon that are no agent.
const VALUED: [&str; 4] = ["max-snippet", "max-image-preview", "max-video-preview", UNAVAILABLE_AFTER];

/// Comma-separated parts that a date may span: a weekday, a date, a time.
const MAX_DATE_PARTS: usize = 3;

/// The rules of one value that hold for us, in order. Linear in the value.
pub(crate) struct Rules<'a> {
    rest: Option<&'a str>,
    /// Our product token, where a word before a colon names an agent.
    token: Option<&'a str>,
    applies: bool,
}

impl<'a> Rules<'a> {
    /// One field line of `X-Robots-Tag`: a prefix `agent:` lasts until the next, never into another field line.
    pub(crate) const fn of_field(value: &'a str, token: &'a str) -> Self {
        Self { rest: Some(value), token: Some(token), applies: true }
    }

    /// The content of a meta, or the rules of one agent in `robots-tag`: no prefixes.
    pub(crate) const fn unprefixed(value: &'a str) -> Self {
        Self { rest: Some(value), token: None, applies: true }
    }
}

impl<'a> Iterator for Rules<'a> {
    type Item = Rule<'a>;

    fn next(&mut self) -> Option<Rule<'a>> {
        loop {
            let mut text = self.rest.take()?.trim_start();
            if let Some(token) = self.token
                && let Some((agent, behind)) = agent_prefix(text)
            {
                self.applies = is_for(agent, token);
                text = behind.trim_start();
            }
            let (rule, rest) = read(text);
            self.rest = rest;
            if let Some(rule) = rule.filter(|_| self.applies) {
                return Some(rule);
            }
        }
    }
}

/// The segments of a `robots-tag` value that hold for us: `*=noindex,nosnippet; ExampleBot=` (draft-illyes-repext-00).
pub(crate) fn robots_tag<'a>(value: &'a str, token: &'a str) -> impl Iterator<Item = Rule<'a>> {
    value
        .split(';')
        .filter_map(move |segment| match segment.split_once('=') {
            Some((agent, rules)) => is_for(agent.trim(), token).then_some(rules),
            None => Some(segment),
        })
        .flat_map(Rules::unprefixed)
}

/// Whether rules for `agent` are ours; a version behind a slash is not compared.
fn is_for(agent: &str, token: &str) -> bool {
    let name = agent.split('/').next().unwrap_or(agent);
    name == "*" || name.eq_ignore_ascii_case(token)
}

/// Cuts `agent:` off the front. An agent is one word with a letter in it, or `*`; anything else before a colon is part
/// of an unknown rule, so that the remains of a broken date cannot hide the rules behind it (our choice).
fn agent_prefix(text: &str) -> Option<(&str, &str)> {
    let (piece, _) = split_comma(text);
    let (word, _) = piece.split_once(':')?;
    let behind = text.get(word.len() + 1..)?;
    let word = word.trim_end();
    let is_word = word.bytes().all(|byte| byte.is_ascii_graphic());
    let names = word == "*" || word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let valued = VALUED.iter().any(|name| word.eq_ignore_ascii_case(name));
    (is_word && names && !valued).then_some((word, behind))
}

/// Reads the first rule, and what is left behind its comma.
fn read(text: &str) -> (Option<Rule<'_>>, Option<&str>) {
    let (part, rest) = split_comma(text);
    let part = part.trim_end();
    let Some((name, argument)) = part.split_once(':') else {
        let known = PLAIN.iter().find(|(name, _)| part.eq_ignore_ascii_case(name)).map(|(_, rule)| *rule);
        return (known.or((!part.is_empty()).then_some(Rule::Unknown(part))), rest);
    };
    if name.trim_end().eq_ignore_ascii_case(UNAVAILABLE_AFTER) {
        let (rule, rest) = read_date(text.get(name.len() + 1..).unwrap_or_default());
        return (Some(rule), rest);
    }
    (Some(valued(name.trim_end(), argument.trim()).unwrap_or(Rule::Unknown(part))), rest)
}

fn valued(name: &str, argument: &str) -> Option<Rule<'static>> {
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    if is("max-image-preview") || is("max-video-preview") {
        return Some(Rule::Recorded);
    }
    if !is("max-snippet") {
        return None;
    }
    match argument {
        // No limit.
        "-1" => Some(Rule::Recorded),
        _ if !argument.is_empty() && argument.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(Rule::MaxSnippet(argument.parse().unwrap_or(u32::MAX)))
        }
        _ => None,
    }
}

/// Dates contain commas: the longest run of parts that is a date is one. A bad date ends at its first comma.
fn read_date(text: &str) -> (Rule<'_>, Option<&str>) {
    let ends = text.match_indices(',').map(|(at, _)| at).chain([text.len()]).take(MAX_DATE_PARTS);
    let mut ends: Vec<usize> = ends.collect();
    ends.reverse();
    for end in ends {
        let date = text.get(..end).and_then(UnixSeconds::parse);
        if let Some(date) = date {
            return (Rule::UnavailableAfter(date), text.get(end + 1..));
        }
    }
    let (part, rest) = split_comma(text);
    (Rule::BadDate(part.trim()), rest)
}

fn split_comma(text: &str) -> (&str, Option<&str>) {
    text.split_once(',').map_or((text, None), |(part, rest)| (part, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Rule::{BadDate, MaxSnippet, NoAi, NoFollow, NoIndex, Recorded, UnavailableAfter, Unknown};

    const DATE: Rule<'static> = UnavailableAfter(UnixSeconds(1_277_478_000));

    #[test]
    fn field_lines() {
        let rows: [(&str, &[Rule<'_>]); 23] = [
            ("noindex, nofollow", &[NoIndex, NoFollow]),
            (" NoIndex ,, NOFOLLOW , ", &[NoIndex, NoFollow]),
            ("comitybot: noindex", &[NoIndex]),
            ("ComityBot : noindex", &[NoIndex]),
            ("comitybot/1.0: noindex", &[NoIndex]),
            ("*: noindex", &[NoIndex]),
            ("otherbot: noindex, nofollow", &[]),
            ("comitybotx: noindex", &[]),
            ("noai, otherbot: noindex, nofollow", &[NoAi]),
            ("otherbot: noindex, comitybot: nofollow, noai", &[NoFollow, NoAi]),
            ("otherbot: max-snippet: 0, comitybot: max-snippet:5", &[MaxSnippet(5)]),
            ("max-snippet:50, max-snippet: -1, max-snippet:0", &[MaxSnippet(50), Recorded, MaxSnippet(0)]),
            ("max-snippet:99999999999", &[MaxSnippet(u32::MAX)]),
            ("max-snippet:-2, max-snippet:", &[Unknown("max-snippet:-2"), Unknown("max-snippet:")]),
            ("unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex", &[DATE, NoIndex]),
            ("Unavailable_After:2010-06-25T15:00:00Z,noindex", &[DATE, NoIndex]),
            ("otherbot: unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex", &[]),
            ("comitybot: unavailable_after: 25 Jun 2010 15:00:00 UTC", &[DATE]),
            (
                "unavailable_after: Fryday, 25-Jun-10 15:00:00 UTC, noindex",
                &[BadDate("Fryday"), Unknown("25-Jun-10 15:00:00 UTC"), NoIndex],
            ),
            ("unavailable_after: later, 15:00, noindex", &[BadDate("later"), Unknown("15:00"), NoIndex]),
            ("unavailable_after: 25 Jun 2010, 15:00:00 UTC, noindex", &[DATE, NoIndex]),
            ("indexifembedded, max-image-preview:large, notarule", &[Recorded, Recorded, Unknown("notarule")]),
            ("", &[]),
        ];
        for (value, wanted) in rows {
            let rules: Vec<_> = Rules::of_field(value, "ComityBot").collect();
            assert_eq!(rules, wanted, "{value:?}");
        }
    }

    #[test]
    fn metas_have_no_prefixes() {
        let rules: Vec<_> = Rules::unprefixed("otherbot: noindex, nofollow").collect();
        assert_eq!(rules, [Unknown("otherbot: noindex"), NoFollow]);
    }

    #[test]
    fn robots_tag_fields() {
        let rows: [(&str, &[Rule<'_>]); 5] = [
            ("*=noindex,nosnippet; ExampleBot=", &[NoIndex, MaxSnippet(0)]),
            ("noindex; otherbot=noai", &[NoIndex]),
            ("otherbot=noindex; COMITYBOT = nofollow, noai", &[NoFollow, NoAi]),
            ("otherbot=noindex", &[]),
            (";;=;", &[]),
        ];
        for (value, wanted) in rows {
            assert_eq!(robots_tag(value, "ComityBot").collect::<Vec<_>>(), wanted, "{value:?}");
        }
    }
}
