//! Whether a record names all that its page was judged by: nobody may leave out a file that denies (docs/decisions/0076).

use std::collections::BTreeMap;

use comity::config::SignalSettings;
use comity::policy::{Reason, RobotsState, SiteFileKind, WallTime};
use comity_archive::{OthersRecord, Record};
use comity_robots::{RuleSet, request_target};
use comity_signals::{AgentClass, AgentGroups, Declared, HeadFacts, OthersTokens, RslCarrier, RslPointers};
use comity_url::{CrawlUrl, Origin};

use sha2::{Digest as _, Sha256};

use super::configs::Decided;
use super::copies::{Copies, Seen};
use super::signals;

/// Licences of one carrier that a crawl looks at, at most.
const MOST: usize = comity::policy::NamedLicence::MOST;
/// Bytes at which a record cuts a URL.
const MOST_URL: usize = 2048;

/// What is missing in a record, or known better by the evidence; `config` is its configuration, where that is kept.
pub(super) fn problem(
    record: &Record,
    (rules, agents, page): (&RuleSet, &AgentGroups, Option<&HeadFacts>),
    config: Option<&Decided>,
    copies: &Copies,
) -> Option<String> {
    if record.errand != "page" {
        return None;
    }
    unknown_to_the_record(record, rules, copies).or_else(|| {
        let config = config?;
        let of_others = if config.knows_of_others { others(record, agents, &config.signals) } else { None };
        of_others
            .or_else(|| if config.knows_of_files { left_out(record, (rules, page), &config.signals) } else { None })
    })
}

/// A file that the record takes for not there, although it was seen before it was decided, and never missed. What the site's own
/// rules have come to refuse is asked for no more, and what it said before goes; of another site's rules nothing is known here.
fn unknown_to_the_record(record: &Record, rules: &RuleSet, copies: &Copies) -> Option<String> {
    let decision = record.decision.as_ref()?;
    let last = decision.stages.last().map_or(&decision.at, |stage| &stage.at).parse::<WallTime>().ok()?;
    let own = |kind: SiteFileKind| {
        let origin = Origin::parse(origin_of(&record.url)).ok()?;
        Some(kind.url_on(&origin)?.as_str().to_owned())
    };
    let tdmrep = record
        .tdmrep
        .iter()
        .filter_map(|file| Some((SiteFileKind::Tdmrep, own(SiteFileKind::Tdmrep)?, &file.digest, &file.state)));
    let ai_txt = record
        .ai_txt
        .iter()
        .filter_map(|file| Some((SiteFileKind::AiTxt, own(SiteFileKind::AiTxt)?, &file.digest, &file.state)));
    let trust_txt = record
        .trust_txt
        .iter()
        .filter_map(|file| Some((SiteFileKind::TrustTxt, own(SiteFileKind::TrustTxt)?, &file.digest, &file.state)));
    let is_inline = |carrier: &str| carrier == RslCarrier::Inline.as_str();
    let licences = record.licences.iter().filter(|one| !is_inline(&one.carrier));
    let licences = licences.map(|one| (SiteFileKind::Licence, one.url.clone(), &one.digest, &one.state));
    let known = |seen: &[Seen]| {
        let seen = || seen.iter().filter(|seen| seen.at <= last);
        // As the gate has it: what cannot be reached goes on saying what it said.
        let was_missed = seen().any(|seen| seen.digest.is_none() && matches!(seen.status, 300..=428 | 430..=499));
        seen().find_map(|seen| seen.digest).filter(|digest| !was_missed && !copies.erased.has(*digest))
    };
    let is_refused = |url: &str| origin_of(url) != origin_of(&record.url) || !rules.allows(&request_target(url));
    let all = tdmrep.chain(ai_txt).chain(trust_txt).chain(licences).filter(|(_, _, digest, _)| digest.is_none());
    let mut all = all.filter(|(_, url, _, state)| *state != "not_asked" || !is_refused(url));
    all.find_map(|(kind, url, ..)| {
        let digest = known(copies.of_file(kind.as_str(), &url))?;
        Some(format!("it knows nothing of {url}, of which {digest} was kept before"))
    })
}

/// What the agents of others meet, as the copy has it.
fn others(record: &Record, agents: &AgentGroups, settings: &SignalSettings) -> Option<String> {
    let robots = record.robots.as_ref()?;
    let has_copy = robots.digest.is_some() && settings.options.others_tokens != OthersTokens::Off;
    let classes = if has_copy { agents.classes(&request_target(&record.url)) } else { Vec::new() };
    let names = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect();
    // By the path alone they may meet something else; who is named is the same.
    let is_whole = record.query.is_none();
    let of = |class: &AgentClass| OthersRecord {
        denied: if is_whole { names(&class.denied) } else { Vec::new() },
        named: names(&class.named),
    };
    let found = classes.iter().filter(|class| class.is_of_ai());
    let found: BTreeMap<_, _> = found.map(|class| (class.agent_use.as_str().to_owned(), of(class))).collect();
    let mut stated = robots.others.clone();
    stated.values_mut().filter(|_| !is_whole).for_each(|of| of.denied.clear());
    (stated != found).then(|| format!("it says {:?} of the agents of others, its copy {found:?}", robots.others))
}

/// A file that the configuration asks for, or a licence that robots.txt or the answer names, or that stands within the page, and the
/// record does not hold.
fn left_out(
    record: &Record,
    (rules, page): (&RuleSet, Option<&HeadFacts>),
    settings: &SignalSettings,
) -> Option<String> {
    // Who is refused before the request may have been refused before all was known.
    record.request.as_ref()?;
    let purposes: Vec<Declared> = record.agent.purposes.iter().filter_map(|word| word.parse().ok()).collect();
    if settings.ask.tdmrep.asks(&purposes) && record.tdmrep.is_none() {
        return Some("it names no tdmrep.json, which its configuration asks for".to_owned());
    }
    if settings.ask.ai_txt && record.ai_txt.is_none() {
        return Some("it names no ai.txt, which its configuration asks for".to_owned());
    }
    if settings.ask.trust_txt && record.trust_txt.is_none() {
        return Some("it names no trust.txt, which its configuration asks for".to_owned());
    }
    if !settings.ask.licences {
        return None;
    }
    let states = [RobotsState::Fresh.as_str(), RobotsState::StaleOk.as_str()];
    let by_robots = record.robots.as_ref().filter(|robots| states.contains(&robots.state.as_str()));
    let by_robots = by_robots.and_then(|_| {
        let pointers = RslPointers::read::<&str, &str>(Some(rules), &[], &HeadFacts::default());
        unnamed(record, &pointers)
    });
    by_robots.or_else(|| {
        // What was withheld by its head was asked for nothing more.
        let is_kept = record.response.as_ref().is_some_and(|response| (200..300).contains(&response.status))
            && record.decision.as_ref().is_some_and(|decision| !decision.stages.is_empty())
            && Reason::from_code(&record.reason).is_some_and(Reason::is_ok);
        let fields = signals::fields(record).filter(|_| is_kept)?;
        let none = HeadFacts::default();
        let named = unnamed(record, &RslPointers::read(None, &fields, page.unwrap_or(&none)));
        named.or_else(|| unheld(record, page?))
    })
}

/// The first of the licences within the page that the record does not hold.
fn unheld(record: &Record, page: &HeadFacts) -> Option<String> {
    page.inline_rsl.iter().take(MOST).find_map(|text| {
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
        let is = |stated: &comity_archive::LicenceRecord| {
            stated.carrier == RslCarrier::Inline.as_str() && stated.digest.as_deref() == Some(digest.as_str())
        };
        let is_held = record.licences.iter().any(is);
        (!is_held).then(|| format!("it leaves out the licence {digest}, which stands within the page"))
    })
}

/// The first of the licences named that the record does not hold.
fn unnamed(record: &Record, pointers: &RslPointers) -> Option<String> {
    pointers.documents.iter().take(MOST).find_map(|pointer| {
        let url = CrawlUrl::parse(&pointer.url).ok()?;
        let is = |stated: &comity_archive::LicenceRecord| {
            stated.carrier == pointer.carrier.as_str() && stated.url == url.as_str()
        };
        let is_held = url.as_str().len() > MOST_URL || record.licences.iter().any(is);
        (!is_held).then(|| format!("it leaves out the licence {url}, which is named by {}", pointer.carrier.as_str()))
    })
}

fn origin_of(url: &str) -> &str {
    super::decisions::origin(url)
}
