//! Of a record whose query was not written: what it says that no query can bear out (docs/decisions/0083).

use std::borrow::Cow;

use comity::config::SignalSettings;
use comity::policy::Reason;
use comity_archive::Record;
use comity_robots::{AnyQuery, Evidence, request_target};
use comity_signals::{Purpose, UseCeiling, Verdict};

use super::decisions;
use super::signals::{self, NoWords, SiteSaid};

/// Of a URL: the path that was judged with a query.
pub(crate) fn path(url: &str) -> Cow<'_, [u8]> {
    request_target(url.split('?').next().unwrap_or(url))
}

/// What is wrong with access and rule, whatever the query was.
pub(super) fn access(record: &Record, any: &AnyQuery<'_>) -> Option<String> {
    let decision = record.decision.as_ref()?;
    let is_refused = decision.reason == Reason::RobotsDisallow.code();
    if is_refused && !any.may_refuse() {
        return Some("it says robots.disallow, its copy allows the path with every query".to_owned());
    }
    if !is_refused && !any.may_allow() {
        return Some(format!("it says {}, its copy refuses the path with every query", decision.reason));
    }
    let decides = any.deciding()?.iter().any(|(one, _)| is_stated(record, one));
    let stated = record.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    (!decides).then(|| format!("it names {}, which decides for no query of its path", decisions::rule(stated)))
}

/// Whether this is what the record says that decided.
fn is_stated(record: &Record, one: &Evidence<'_>) -> bool {
    let stated = record.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    let is_refused = record.decision.as_ref().is_some_and(|found| found.reason == Reason::RobotsDisallow.code());
    let is_rule = match one {
        Evidence::Rule(rule) => stated == Some((rule.line(), &*rule.pattern())),
        Evidence::NoRule | Evidence::RobotsTxt => stated.is_none(),
    };
    is_rule && one.allowed() != is_refused
}

/// A target of the path for which that decides which the record says: where nothing else hangs on the query, it is as good as what was asked.
pub(super) fn target_like(record: &Record, any: &AnyQuery<'_>, path: &[u8]) -> Option<Vec<u8>> {
    let (_, query) = any.deciding()?.iter().find(|(one, _)| is_stated(record, one))?;
    Some([path, b"?", query].concat())
}

/// Whether nothing that the site says of uses hangs on the query: then one is as good as another. Of licences nobody asks.
pub(super) fn is_alike(record: &Record, said: &SiteSaid<'_>, path: &[u8]) -> bool {
    let mut licences = record.licences.iter().map(|licence| &licence.digest);
    !said.hangs_on_query(path) && licences.all(Option::is_none)
}

/// What is wrong by the words alone that no query changes. What else the site says can only deny more. `like` is a target for which
/// that decides which the record says, where one is known.
pub(super) fn uses(
    record: &Record,
    said: &SiteSaid<'_>,
    settings: Option<&SignalSettings>,
    like: Option<&[u8]>,
) -> Option<String> {
    let decision = decisions::is_about_uses(record)?;
    let path = path(&record.url);
    let none = NoWords::of(said);
    let bare = said.with_any_query(&path, like.is_some(), &none);
    let target = like.map_or_else(|| [&path, &b"?"[..]].concat(), <[u8]>::to_vec);
    let level = settings.and_then(|settings| settings.level);
    ceiling(record, &bare, level, &target).or_else(|| {
        let found = signals::preferences(record, &bare, &target)?;
        let differs = Purpose::ALL.into_iter().find_map(|purpose| {
            let stated = &decision.purposes.get(purpose.as_str())?.verdict;
            let is_wrong = match found.verdict(purpose) {
                Verdict::Denied => stated != Verdict::Denied.as_str(),
                Verdict::Allowed => stated == Verdict::Unspecified.as_str(),
                _ => false,
            };
            is_wrong.then(|| {
                let words = found.verdict(purpose).as_str();
                format!("it says {stated} for {}, its evidence {words} whatever the query", purpose.as_str())
            })
        });
        let is_kept = || record.request.is_some() && Reason::from_code(&decision.reason).is_some_and(Reason::is_ok);
        differs.or_else(|| {
            let is_wrong = is_kept() && signals::refuses(record, &found);
            is_wrong.then(|| "it was kept, and its evidence denies every purpose whatever the query".to_owned())
        })
    })
}

/// A lowest `use=` that the answer alone undercuts, and a page that was kept, or refused, against what its own record says of it.
fn ceiling(record: &Record, bare: &SiteSaid<'_>, level: Option<UseCeiling>, target: &[u8]) -> Option<String> {
    let (level, is_refused) = match decisions::held_to_level(record, level)? {
        Ok(held) => held,
        Err(problem) => return Some(problem),
    };
    let stated = record.constraints.as_ref().and_then(|held| held.use_ceiling.as_deref());
    let read = |word: &str| UseCeiling::ALL.into_iter().find(|one| one.as_str() == word);
    let known = signals::ceiling(record, bare, target);
    let (words, stated_as) = (known.map(UseCeiling::as_str), stated.and_then(read));
    if known.is_some_and(|known| stated_as.is_none_or(|stated| stated > known)) {
        return Some(format!("it says {stated:?} of use=, its evidence {words:?} whatever the query"));
    }
    let is_above = stated_as.is_some_and(|stated| level > stated) && !decisions::is_granted(record);
    let reason = record.decision.as_ref().map_or("", |decision| &*decision.reason);
    (is_above != is_refused)
        .then(|| format!("it says {reason}, by its evidence use= is {stated:?}, and {} is declared", level.as_str()))
}
