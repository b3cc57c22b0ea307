//! What a record's evidence says about use: copies, fields, and the raw texts of the metas that spoke.

use comity_archive::{RawText, Record};
use comity_robots::RuleSet;
use comity_signals::{
    HeadFacts, PolicyGroups, Preferences, Purpose, RobotsMeta, SignalOptions, Source, Statement, TdmReading, Tdmrep,
    UnixSeconds, Verdict, page_signals, robots_preferences,
};

/// The preferences that `record` should hold; `None` where it does not say enough: statements were left out, or it was written
/// by a version that read less. `others` is what ai.txt, licences and reviewed terms say.
pub(crate) fn preferences(
    record: &Record,
    (rules, policies): (&RuleSet, &PolicyGroups),
    tdmrep: Option<&Tdmrep>,
    others: Vec<Statement>,
    target: &[u8],
) -> Option<Preferences> {
    let known = robots_preferences(rules, target).with(policies.denials(target)).with(others);
    let is_cut = record.omitted.signals > 0 || record.signals.iter().any(|one| one.raw.len() >= RAW_BYTES);
    let has_two = record.decision.as_ref().is_some_and(|decision| !decision.stages.is_empty());
    if is_cut || (!has_two && record.signals.iter().any(|one| !is_before(&one.source))) {
        return None;
    }
    if !has_two {
        let reading = tdmrep.map(|file| TdmReading::of_file(file, target, SignalOptions::default()));
        return Some(reading.map_or(known.clone(), |reading| reading.preferences(known)));
    }
    let fields = fields(record)?;
    let head = head(record);
    let image = record.response.as_ref().and_then(|response| response.media_type.as_deref());
    let image = image.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("image/"));
    let now = record.time.started.parse::<comity::policy::WallTime>().ok()?.unix_millis().div_euclid(1000);
    let reading = TdmReading::read(tdmrep, target, &fields, &head, SignalOptions::default());
    let mut found = reading.preferences(known);
    for token in &record.agent.product_tokens {
        found = page_signals(&fields, &head, token, image).preferences(found, UnixSeconds(now));
    }
    Some(found)
}

/// At this many bytes a record cuts a statement's text.
const RAW_BYTES: usize = 2048;

/// Sources that are no page's, and are known before it is asked for.
const OTHERS: [Source; 3] = [Source::AiTxt, Source::Rsl, Source::Terms];

fn is_before(source: &str) -> bool {
    let files = [Source::TdmrepFile, Source::DerivedTdm].into_iter().chain(OTHERS);
    source.starts_with("robots.") || files.into_iter().any(|known| known.as_str() == source)
}

/// What ai.txt, licences and reviewed terms said, as the record itself has it: for whoever does not read them anew.
pub(crate) fn recorded(record: &Record) -> Vec<Statement> {
    let read = |one: &comity_archive::SignalRecord| {
        let source = OTHERS.into_iter().find(|source| source.as_str() == one.source)?;
        let verdict = [Verdict::Denied, Verdict::Allowed].into_iter().find(|known| known.as_str() == one.verdict)?;
        Some(Statement::new(source, one.purpose.parse().ok()?, verdict, one.raw.clone()))
    };
    record.signals.iter().filter_map(read).collect()
}

fn fields(record: &Record) -> Option<Vec<(String, Vec<u8>)>> {
    let bytes = |value: &RawText| match value {
        RawText::Text(text) => Some(text.clone().into_bytes()),
        RawText::Bytes { base64 } => data_encoding::BASE64.decode(base64.as_bytes()).ok(),
    };
    let fields = record.response.iter().flat_map(|response| &response.fields);
    fields.map(|(name, value)| Some((name.clone(), bytes(value)?))).collect()
}

/// The page itself may be gone: the raw text of each meta that spoke stands in the record.
fn head(record: &Record) -> HeadFacts {
    let raw = |source: Source| {
        record.signals.iter().filter(move |one| one.source == source.as_str()).map(|one| one.raw.clone())
    };
    let robots = raw(Source::MetaRobots).map(|content| RobotsMeta { name: "robots".to_owned(), content });
    HeadFacts { robots: robots.collect(), tdm_reservation: raw(Source::MetaTdm).collect(), ..HeadFacts::default() }
}

/// Whether every declared and judged purpose is refused by `found`.
pub(super) fn denies_all(record: &Record, found: &Preferences) -> bool {
    let mut declared = record.agent.purposes.iter().map(|purpose| purpose.parse::<Purpose>());
    declared.all(|purpose| purpose.is_ok_and(|one| found.verdict(one) == comity_signals::Verdict::Denied))
}

/// Whether nothing of a page may be kept by what `found` says: every declared purpose is judged and denied without a grant, one of
/// them by more than that an index is not to show it.
pub(super) fn refuses(record: &Record, found: &Preferences) -> bool {
    let granted = record.decision.iter().flat_map(|decision| &decision.grants);
    let is_granted = granted.into_iter().any(|grant| record.agent.purposes.contains(&grant.purpose));
    let is_noindex =
        |source: Source| matches!(source, Source::HeaderXRobotsTag | Source::HeaderRobotsTag | Source::MetaRobots);
    let drops = |said: &comity_signals::Statement| {
        said.verdict == comity_signals::Verdict::Denied
            && record.agent.purposes.iter().any(|declared| declared == said.purpose.as_str())
            && !(said.purpose == Purpose::Search && is_noindex(said.source))
    };
    !is_granted && denies_all(record, found) && found.statements().iter().any(drops)
}
