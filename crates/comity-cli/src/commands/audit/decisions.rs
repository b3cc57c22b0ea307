//! Makes every decision again from the copies that its record names, and what it kept of the answer.

use std::collections::HashMap;
use std::path::Path;

use comity::config::SignalSettings;
use comity::policy::{Digest, Grant, Reason, RobotsState, Silence, SiteFileState, WallTime};
use comity_archive::{DecisionRecord, GrantRecord, QueryForm, Record, RobotsRecord, read_records};
use comity_robots::{Dialect, Robots, RuleSet, request_target};
use comity_signals::{
    AgentGroups, AiTxt, HeadFacts, PolicyGroups, Purpose, Remarks, RslCarrier, RslConditions, RslDocument, RslReading,
    SignalOptions, Source, Statement, Tdmrep, TrustTxt, UseCeiling,
};
use comity_url::Origin;

use super::configs::{Configs, Decided, Looked};
use super::copies::Copies;
use super::named;
use super::pages::{Page, Pages};
use super::queries;
use super::remarks;
use super::report::{Audit, Kind, Violation};
use super::signals::{self, SiteSaid};
use crate::exit::Failure;

/// Rule sets that are kept compiled.
const MAX_COMPILED: usize = 1024;

/// What a copy says to the tokens of a record, and to uses.
type Compiled = (RuleSet, PolicyGroups, AgentGroups);

pub(super) struct Decisions<'a> {
    pub(super) copies: &'a Copies,
    pub(super) dialect: Dialect,
    configs: Configs,
    /// `None` where pages are not read again.
    pages: Option<Pages>,
    compiled: HashMap<(Option<Digest>, Vec<String>), Option<Compiled>>,
    /// The record that was looked at last could not be judged: its query is not there.
    query_gone: bool,
}

impl<'a> Decisions<'a> {
    /// `reads` says whether pages are read again.
    pub(super) fn new(copies: &'a Copies, dialect: Dialect, (dir, reads): (&Path, bool)) -> Self {
        let pages = reads.then(|| Pages::new(dir));
        Self { copies, dialect, configs: Configs::new(dir), pages, compiled: HashMap::new(), query_gone: false }
    }

    pub(super) fn examine(&mut self, dir: &Path, audit: &mut Audit) -> Result<(), Failure> {
        for line in read_records(dir).map_err(|e| Failure::storage(e.to_string()))? {
            let line = line.map_err(|e| Failure::storage(e.to_string()))?;
            let Some(record) = line.record().map_err(|e| Failure::storage(e.to_string()))? else { continue };
            let page = self.pages.as_mut().map_or(Page::Unread, |pages| pages.read(&record));
            let is_page = record.errand == "page" && record.outcome == "fetched";
            match &page {
                Page::Read(_) => audit.pages_read += 1,
                Page::Unread => audit.pages_unread += u64::from(is_page),
                Page::NotKept => {}
            }
            let page = if let Page::Read(head) = page { Some(self.as_read_then(*head, &record)) } else { None };
            match self.problem(&record, page.as_ref()) {
                None if std::mem::take(&mut self.query_gone) => audit.queries += 1,
                None => audit.decisions_skipped += 1,
                Some(problem) => {
                    audit.decisions += 1;
                    if let Some(problem) = problem {
                        let at = record.decision.as_ref().map_or(&record.time.started, |found| &found.at).clone();
                        let place = format!("record {}", line.seq);
                        let kind = Kind::Decision;
                        audit.add(Violation { kind, url: record.url, at, place, problem });
                    }
                }
            }
        }
        Ok(())
    }

    /// What a page says to the version that decided on it. One that looked into no document and image, or is not known, is held to
    /// what its record says of them.
    fn as_read_then(&mut self, mut head: HeadFacts, record: &Record) -> HeadFacts {
        let config = record.agent.config_digest.as_deref().and_then(|digest| self.configs.of(digest));
        if config.is_none_or(|config| config.looked == Looked::AtHeads) {
            head.embedded = signals::embedded(record);
        }
        head
    }

    /// What is wrong with the decision of a record, if anything; `None` when it rests on no copy, or on a query that is not there.
    fn problem(&mut self, record: &Record, page: Option<&HeadFacts>) -> Option<Option<String>> {
        let (decision, robots) = (record.decision.as_ref()?, record.robots.as_ref()?);
        let digest: Option<Digest> = match &robots.digest {
            Some(hex) => Some(hex.parse().ok()?),
            // Where there is no file, what the answer and tdmrep.json say is judged all the same.
            None if is_open(robots, decision) => None,
            None => return None,
        };
        if decision.optout.is_some() || record.url.len() as u64 != record.url_length {
            return None;
        }
        let tdmrep = match tdmrep(record, self.copies) {
            Ok(file) => file,
            Err(ended) => return ended,
        };
        if digest.is_some_and(|digest| self.copies.bytes(digest).is_none() && self.copies.erased.has(digest)) {
            return None;
        }
        let target = request_target(&record.url);
        let is_once = page.is_some() && decision.stages.is_empty();
        let config = record.agent.config_digest.as_deref().and_then(|digest| self.configs.of(digest)).cloned();
        if is_once && config.as_ref().is_some_and(|config| config.knows_of_files) {
            return Some(Some("it was kept, and decided only before it was asked for".to_owned()));
        }
        let granted = || granted_otherwise(record, decision, config.as_ref());
        if let Some(problem) = query_kept(record, config.as_ref()).or_else(granted) {
            return Some(Some(problem));
        }
        let (others, of_licences) = match others(record, self.copies, config.as_ref(), &target) {
            Ok(Some(others)) => others,
            Ok(None) => return None,
            Err(problem) => return Some(Some(problem)),
        };
        let Some((rules, policies, agents)) = self.rules(digest, &record.agent.product_tokens).cloned() else {
            let digest = robots.digest.as_deref().unwrap_or_default();
            return Some(Some(format!("its copy {digest} is not in the evidence")));
        };
        let settings = config.as_ref().map(|config| &config.signals);
        if let Some(problem) = named::problem(record, (&rules, &agents, page), config.as_ref(), self.copies) {
            return Some(Some(problem));
        }
        if lifts_rules(decision) {
            return Some(None);
        }
        let options = settings.map(|settings| settings.options).unwrap_or_default();
        let (rules, policies, agents, tdmrep) = (&rules, &policies, &agents, tdmrep.as_ref());
        let said = SiteSaid { rules, policies, agents, tdmrep, others, lifted: false, options, page };
        let knows = config.as_ref().is_some_and(|config| config.knows_of_remarks);
        let judged = Judged { record, said: &said, settings, target: &target, remarks: knows.then_some(&of_licences) };
        if record.query.is_none() {
            return Some(judged.problem());
        }
        if let Some(problem) = judged.whatever_query() {
            return Some(Some(problem));
        }
        // By the path alone whether it is wrong is not known.
        self.query_gone = judged.problem().is_some();
        if self.query_gone { None } else { Some(None) }
    }

    /// The rules of a copy; without one there are none.
    fn rules(&mut self, digest: Option<Digest>, tokens: &[String]) -> Option<&Compiled> {
        if self.compiled.len() >= MAX_COMPILED {
            self.compiled.clear();
        }
        let compile = || {
            let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let bytes = digest.map_or_else(|| Some(Vec::new()), |digest| self.copies.bytes(digest))?;
            let robots = Robots::parse(&bytes);
            let (policies, agents) =
                (PolicyGroups::compile(&robots, self.dialect), AgentGroups::compile(&robots, self.dialect));
            Some((robots.rules(&tokens, self.dialect), policies, agents))
        };
        self.compiled.entry((digest, tokens.to_vec())).or_insert_with(compile).as_ref()
    }
}

/// A record beside its evidence.
struct Judged<'a> {
    record: &'a Record,
    said: &'a SiteSaid<'a>,
    settings: Option<&'a SignalSettings>,
    target: &'a [u8],
    /// Of its licences, where its version knew of remarks.
    remarks: Option<&'a Remarks>,
}

impl Judged<'_> {
    /// What is wrong with it, by its target.
    fn problem(&self) -> Option<String> {
        let Self { record, said, target, .. } = self;
        let above = self.settings.and_then(|settings| above(record, said, settings.level, target));
        above.or_else(|| wrong_access(record, &said.rules.verdict(target))).or_else(|| self.wrong_uses())
    }

    fn wrong_uses(&self) -> Option<String> {
        let Self { record, said, target, .. } = self;
        let silence = self.settings.map(|settings| settings.silence);
        let remarked = || remarks::problem(record, said, (said.page?, self.remarks?), target);
        wrong_settings(record, said, silence).or_else(|| wrong_uses(record, said, target)).or_else(remarked)
    }

    /// What is wrong with it whatever its query was, which was not written.
    fn whatever_query(&self) -> Option<String> {
        let Self { record, said, .. } = self;
        let path = queries::path(&record.url);
        let any = said.rules.with_any_query(&path);
        let like = queries::target_like(record, &any, &path);
        let like = like.filter(|like| wrong_access(record, &said.rules.verdict(like)).is_none());
        let silence = self.settings.map(|settings| settings.silence);
        queries::access(record, &any).or_else(|| wrong_settings(record, said, silence)).or_else(|| match &like {
            Some(like) if queries::is_alike(record, said, &path) => Judged { target: like, ..*self }.problem(),
            like => queries::uses(record, said, self.settings, like.as_deref()),
        })
    }
}

/// The tdmrep.json that a record names. What ends the judgement instead: a fault, or nothing where it was erased.
fn tdmrep(record: &Record, copies: &Copies) -> Result<Option<Tdmrep>, Option<Option<String>>> {
    let Some(hex) = record.tdmrep.as_ref().and_then(|file| file.digest.as_deref()) else { return Ok(None) };
    let digest: Option<Digest> = hex.parse().ok();
    match digest.and_then(|digest| copies.bytes(digest)) {
        Some(bytes) => Ok(Some(Tdmrep::parse(&bytes, origin(&record.url)))),
        None if digest.is_some_and(|digest| copies.erased.has(digest)) => Err(None),
        None => Err(Some(Some(format!("its tdmrep.json {hex} is not in the evidence")))),
    }
}

/// Whether what the site says was lifted: nothing is left to be held against it.
fn lifts_rules(decision: &DecisionRecord) -> bool {
    let mut lifted = decision.r#override.iter().flat_map(|found| &found.lifted);
    lifted.any(|one| one.scope.starts_with("robots") || one.scope == "signals")
}

/// No robots.txt, or redirects without end, and nobody who takes that for a refusal.
fn is_open(robots: &RobotsRecord, decision: &DecisionRecord) -> bool {
    let states = [RobotsState::Absent.as_str(), RobotsState::RedirectLimit.as_str()];
    states.contains(&robots.state.as_str()) && decision.reason != Reason::RobotsDisallowAll.code()
}

/// Scheme, host and port of a URL.
pub(super) fn origin(url: &str) -> &str {
    let end = url.find("://").and_then(|at| url.get(at + 3..)?.find('/').map(|slash| at + 3 + slash));
    end.and_then(|end| url.get(..end)).unwrap_or(url)
}

/// What ai.txt, licences and reviewed terms say, and what is to be remarked of licences, by the copies that the record names and the configuration that it names.
/// `Ok(None)` where a copy was erased.
fn others(
    record: &Record,
    copies: &Copies,
    config: Option<&Decided>,
    target: &[u8],
) -> Result<Option<(Vec<Statement>, Remarks)>, String> {
    let bytes = |name: &str, hex: &str| match hex.parse().ok().map(|digest| (digest, copies.bytes(digest))) {
        Some((_, Some(bytes))) => Ok(Some(bytes)),
        Some((digest, None)) if copies.erased.has(digest) => Ok(None),
        _ => Err(format!("its {name} {hex} is not in the evidence")),
    };
    let none_met = RslConditions::default();
    let (conditions, options) = match config.map(|config| &config.signals) {
        Some(signals) => (&signals.conditions, signals.options),
        None => (&none_met, SignalOptions::default()),
    };
    let (mut said, mut remarks) = (Vec::new(), Remarks::NONE);
    if let Some(hex) = record.ai_txt.as_ref().and_then(|file| file.digest.as_deref()) {
        let Some(body) = bytes("ai.txt", hex)? else { return Ok(None) };
        let tokens: Vec<&str> = record.agent.product_tokens.iter().map(String::as_str).collect();
        said.extend(AiTxt::parse(&body, &tokens).statement(target));
    }
    if let Some(hex) = record.trust_txt.as_ref().and_then(|file| file.digest.as_deref()) {
        let Some(body) = bytes("trust.txt", hex)? else { return Ok(None) };
        let file = TrustTxt::parse(&body);
        remarks = remarks.with(&file);
        said.extend(file.statement().cloned());
    }
    for licence in &record.licences {
        let Some(hex) = licence.digest.as_deref() else {
            let is_asked = licence.state != SiteFileState::NotAsked.as_str();
            remarks = if is_asked { remarks.with(&RslReading::unfetchable()) } else { remarks };
            continue;
        };
        let Some(body) = bytes("licence", hex)? else { return Ok(None) };
        let carrier = RslCarrier::from_name(&licence.carrier)
            .ok_or_else(|| format!("it names a licence by {:?}, which is no carrier", licence.carrier))?;
        let document = RslDocument::parse(&body);
        let read = document.read(origin(&record.url), target, carrier, conditions, options);
        remarks = remarks.with(&read);
        said.extend(read.statements);
    }
    match (config, Origin::parse(origin(&record.url))) {
        (Some(config), Ok(origin)) => said.extend(config.reviews.statements(&origin)),
        // A configuration that is not kept is `verify`'s finding.
        _ => said.extend(signals::recorded(record).into_iter().filter(|one| one.source == Source::Terms)),
    }
    Ok(Some((said, remarks)))
}

/// A query that was not written, as the record says, and its configuration does not: else whoever forges one could have it excused.
fn query_kept(record: &Record, config: Option<&Decided>) -> Option<String> {
    record.query.as_ref().filter(|_| config.is_some_and(|config| config.queries == QueryForm::Keep))?;
    Some("it says that its query was not written, and its configuration keeps queries".to_owned())
}

/// A grant that the record relies on and its configuration does not hold.
fn granted_otherwise(record: &Record, decision: &DecisionRecord, config: Option<&Decided>) -> Option<String> {
    let first = decision.grants.first()?;
    let Some(config) = config else {
        return Some(format!("it relies on the grant {}, and its configuration is not kept", first.reference));
    };
    let origin = Origin::parse(origin(&record.url)).ok()?;
    let last = decision.stages.last().map_or(&decision.at, |stage| &stage.at);
    let at = last.parse::<WallTime>().ok();
    let holds = |stated: &GrantRecord, grant: &Grant| {
        grant.origins().contains(&origin)
            && grant.purposes().iter().any(|purpose| purpose.as_str() == stated.purpose)
            && (grant.basis().as_str(), grant.reference()) == (&*stated.basis, &*stated.reference)
            && (grant.approved_by(), grant.expires().to_string()) == (&*stated.approved_by, stated.expires.clone())
            && at.is_some_and(|at| at < grant.expires())
    };
    let missing =
        decision.grants.iter().find(|stated| !config.grants.all().iter().any(|grant| holds(stated, grant)))?;
    Some(format!(
        "it relies on a grant of {} by {} {}, which its configuration does not hold for {origin} at that time",
        missing.purpose, missing.basis, missing.reference
    ))
}

/// A decision on one purpose that its verdict, grants and setting for silence do not lead to.
fn decided_otherwise(decision: &DecisionRecord, silence: Option<Silence>) -> Option<String> {
    let hidden = decision.reason == Reason::FetchCoding.code();
    decision.purposes.iter().find_map(|(purpose, one)| {
        let granted = decision.grants.iter().any(|grant| grant.purpose == *purpose);
        let wanted = match one.verdict.as_str() {
            _ if granted => "proceed",
            _ if hidden => "refuse",
            "denied" => "refuse",
            // Before the answer nobody is refused by silence.
            "unspecified" if !decision.stages.is_empty() => silence?.as_str(),
            _ => "proceed",
        };
        (one.decision != wanted).then(|| {
            format!("it says {} for {purpose}, which is {}: that leads to {wanted}", one.decision, one.verdict)
        })
    })
}

/// The level that is declared, and whether the record was refused for it; what it gets wrong of the level. `None` where the record
/// is of something else: other refusals come before this one.
pub(super) fn held_to_level(record: &Record, level: Option<UseCeiling>) -> Option<Result<(UseCeiling, bool), String>> {
    let decision = record.decision.as_ref().filter(|_| record.errand == "page")?;
    let reason = Reason::from_code(&decision.reason)?;
    let is_refused = reason == Reason::SignalUse;
    if !(is_refused || reason.is_ok() && record.request.is_some()) {
        return None;
    }
    let (stated, wanted) = (decision.content_use_level.as_deref(), level.map(UseCeiling::as_str));
    if stated != wanted {
        return Some(Err(format!("it declares the use level {stated:?}, its configuration {wanted:?}")));
    }
    level.map(|level| Ok((level, is_refused)))
}

/// Whether every declared purpose was granted.
pub(super) fn is_granted(record: &Record) -> bool {
    let grants = record.decision.as_ref().map_or(&[][..], |decision| &decision.grants);
    record.agent.purposes.iter().all(|purpose| grants.iter().any(|grant| grant.purpose == *purpose))
}

/// A level or a lowest `use=` that the record gets wrong, and a page that was kept, or refused, against them.
fn above(record: &Record, said: &SiteSaid<'_>, level: Option<UseCeiling>, target: &[u8]) -> Option<String> {
    let (level, is_refused) = match held_to_level(record, level)? {
        Ok(held) => held,
        Err(problem) => return Some(problem),
    };
    let found = signals::ceiling(record, said, target);
    let stated = record.constraints.as_ref().and_then(|held| held.use_ceiling.as_deref());
    let words = found.map(UseCeiling::as_str);
    if stated != words {
        return Some(format!("it says {stated:?} of use=, its evidence {words:?}"));
    }
    let is_above = found.is_some_and(|ceiling| level > ceiling) && !is_granted(record);
    let reason = record.decision.as_ref().map_or("", |decision| &*decision.reason);
    (is_above != is_refused)
        .then(|| format!("it says {reason}, by its evidence use= is {words:?}, and {} is declared", level.as_str()))
}

/// Access or rule.
fn wrong_access(record: &Record, verdict: &comity_robots::Verdict) -> Option<String> {
    let decision = record.decision.as_ref()?;
    let refused = decision.reason == Reason::RobotsDisallow.code();
    if refused == verdict.allowed {
        let says = if verdict.allowed { "allows" } else { "refuses" };
        return Some(format!("it says {}, its copy {says} the URL", decision.reason));
    }
    let stated = record.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    let found = verdict.rule.as_ref().map(|rule| (rule.line, rule.pattern.as_str()));
    (stated != found).then(|| format!("it names {}, its copy {}", rule(stated), rule(found)))
}

/// What hangs on no target: the delay, and what follows from the record's own verdicts.
fn wrong_settings(record: &Record, said: &SiteSaid<'_>, silence: Option<Silence>) -> Option<String> {
    let stated = record.robots.as_ref().and_then(|robots| robots.crawl_delay_ms);
    let found = said.rules.crawl_delay().map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
    if stated != found {
        return Some(format!("it names a Crawl-delay of {stated:?} ms, its copy {found:?}"));
    }
    decided_otherwise(is_about_uses(record)?, silence)
}

/// The decision of a page that was not refused by its rules: a file that speaks about use is asked for whatever it says.
pub(super) fn is_about_uses(record: &Record) -> Option<&DecisionRecord> {
    let decision = record.decision.as_ref()?;
    (decision.reason != Reason::RobotsDisallow.code() && record.errand == "page").then_some(decision)
}

/// Verdicts, and what follows from them.
fn wrong_uses(record: &Record, said: &SiteSaid<'_>, target: &[u8]) -> Option<String> {
    let decision = is_about_uses(record)?;
    let preferences = signals::preferences(record, said, target)?;
    let differs = Purpose::ALL.into_iter().find_map(|purpose| {
        let stated = &decision.purposes.get(purpose.as_str())?.verdict;
        let found = preferences.verdict(purpose);
        (stated != found.as_str())
            .then(|| format!("it says {stated} for {}, its evidence {}", purpose.as_str(), found.as_str()))
    });
    let is_denial =
        |reason: Reason| reason.is_signal() && !matches!(reason, Reason::SignalUnspecified | Reason::SignalUse);
    let by_signal = Reason::from_code(&decision.reason).is_some_and(is_denial);
    differs
        .or_else(|| {
            let is_wrong = by_signal && !signals::denies_all(record, &preferences);
            is_wrong.then(|| "it was refused by a signal, and not every purpose is denied".to_owned())
        })
        .or_else(|| {
            // What silence is set to is not known here: it may have refused.
            let is_kept = record.request.is_some() && Reason::from_code(&decision.reason).is_some_and(Reason::is_ok);
            (is_kept && signals::refuses(record, &preferences))
                .then(|| "it was kept, and its evidence denies every purpose".to_owned())
        })
}

pub(super) fn rule(rule: Option<(u32, &str)>) -> String {
    rule.map_or_else(|| "no rule".to_owned(), |(line, pattern)| format!("line {line}, {pattern:?}"))
}
