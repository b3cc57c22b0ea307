//! What origins say now, held against pages that were fetched before.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use comity::policy::WallTime;
use comity_archive::{Record, SignalRecord};
use comity_robots::{Dialect, MatchedRule, Robots, RuleSet, request_target};
use comity_signals::{
    AgentGroups, PolicyGroups, Preferences, Purpose, SignalOptions, Source, Statement, Tdmrep, Verdict,
};

use super::rows::{Said, Why};
use crate::commands::audit;

/// Every origin that was asked, and the copies that came.
#[derive(Debug)]
pub(super) struct Today {
    pub(super) at: WallTime,
    pub(super) sites: HashMap<String, Site>,
    /// By SHA-256.
    pub(super) copies: BTreeMap<String, Vec<u8>>,
}

/// What one origin says.
#[derive(Debug)]
pub(super) enum Site {
    /// Its rules, and what is known of its tdmrep.json.
    Answered(Box<Answered>),
    /// The operator does not visit it any more.
    OptedOut,
    /// Nobody knows.
    Unknown,
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) robots: Robots,
    pub(super) digest: Option<String>,
    pub(super) tdmrep: TdmToday,
    /// As the crawl read robots.txt.
    dialect: Dialect,
    /// Rules for the tokens of the record before.
    compiled: Option<(Vec<String>, RuleSet)>,
    /// What its groups for policy tokens deny.
    policies: PolicyGroups,
    /// What it says to the agents of others.
    agents: AgentGroups,
    /// As the crawl read signals.
    options: SignalOptions,
}

#[derive(Debug)]
pub(super) enum TdmToday {
    /// It says nothing, or does not matter for the purpose.
    Silent,
    File(Tdmrep, String),
    /// It could not be had.
    Unknown,
}

/// What today's words mean for a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Now {
    /// They do not deny it.
    Open,
    Denied(Why),
    Unknown,
}

impl Answered {
    /// Dialect and options are the crawl's own.
    pub(super) fn new(
        robots: Robots,
        digest: Option<String>,
        tdmrep: TdmToday,
        (dialect, options): (Dialect, SignalOptions),
    ) -> Self {
        let (policies, agents) = (PolicyGroups::compile(&robots, dialect), AgentGroups::compile(&robots, dialect));
        Self { robots, digest, tdmrep, dialect, compiled: None, policies, agents, options }
    }

    /// What it says beside the answer, `others` included; `lifted` where a refusal of access does not count. Its rules were compiled
    /// before.
    fn said(&self, others: Vec<Statement>, lifted: bool) -> Option<audit::SiteSaid<'_>> {
        let (_, rules) = self.compiled.as_ref()?;
        let tdmrep = match &self.tdmrep {
            TdmToday::File(file, _) => Some(file),
            TdmToday::Silent | TdmToday::Unknown => None,
        };
        let (policies, agents, options) = (&self.policies, &self.agents, self.options);
        Some(audit::SiteSaid { rules, policies, agents, tdmrep, others, lifted, options, page: None })
    }

    fn rules(&mut self, tokens: &[String]) -> &RuleSet {
        let kept = self.compiled.take().filter(|(of, _)| of == tokens);
        let compiled = kept.unwrap_or_else(|| {
            let names: Vec<&str> = tokens.iter().map(String::as_str).collect();
            (tokens.to_vec(), self.robots.rules(&names, self.dialect))
        });
        &self.compiled.insert(compiled).1
    }
}

impl Today {
    /// What is said today of the use of a page: access, then use. Exceptions hold as recorded, until they end.
    pub(super) fn judge(&mut self, record: &Record, purpose: Purpose, silence_refuses: bool) -> Now {
        let at = self.at;
        let site = origin(&record.url).and_then(|origin| self.sites.get_mut(origin));
        let answered = match site {
            Some(Site::OptedOut) => return Now::Denied(Why::new("optout")),
            // Of a URL that was cut today's rules cannot be asked.
            Some(Site::Answered(answered)) if record.url.len() as u64 == record.url_length => answered,
            _ => return Now::Unknown,
        };
        let mut target = request_target(&record.url);
        if record.query.is_some() {
            target = audit::path(&record.url);
        }
        let digest = answered.digest.clone();
        let exceptions = match Exceptions::of(record, purpose.as_str(), at) {
            Ok(exceptions) => exceptions,
            Err(why) => return Now::Denied(why),
        };
        let rules = answered.rules(&record.agent.product_tokens);
        // Whether a query is at hand that is as good as that which was not written.
        let mut knows_rules = record.query.is_none();
        match access(rules, &target, record.query.is_some()) {
            Access::Open(like) => {
                knows_rules |= like.is_some();
                target = like.map_or(target, Cow::Owned);
            }
            // With a query, if with none that is known: a line for the bare path is not meant.
            _ if exceptions.access && record.query.is_some() => target = Cow::Owned([&*target, b"?"].concat()),
            _ if exceptions.access => {}
            Access::Refused(rule) => return Now::Denied(refused(rule.as_ref(), digest)),
            Access::Unknown => return Now::Unknown,
        }
        if exceptions.usage {
            return Now::Open;
        }
        // What ai.txt, licences and reviewed terms said stands in the record.
        let Some(said) = answered.said(audit::recorded(record), exceptions.access) else { return Now::Unknown };
        let path = audit::path(&record.url);
        let is_known = record.query.is_none() || !said.hangs_on_query(&path);
        let none = audit::NoWords::of(&said);
        // What no query changes denies whatever the rest says.
        let said = if is_known { said } else { said.with_any_query(&path, knows_rules, &none) };
        let found = preferences(record, &said, &target);
        match found.verdict(purpose) {
            Verdict::Denied => Now::Denied(denied(&found, purpose, answered)),
            _ if answer_denies(record, purpose, is_known) => {
                Now::Denied(Why::new(&format!("signal.{}", purpose.as_str())))
            }
            _ if !is_known => Now::Unknown,
            Verdict::Unspecified if silence_refuses => Now::Denied(Why::new("signal.unspecified")),
            _ if matches!(answered.tdmrep, TdmToday::Unknown) => Now::Unknown,
            _ => Now::Open,
        }
    }
}

/// Whether a page may be asked for.
enum Access {
    /// With a query that is as good as that which was not written.
    Open(Option<Vec<u8>>),
    Refused(Option<MatchedRule>),
    /// It hangs on a query that was not written.
    Unknown,
}

/// By the target, or by its path alone, whatever the query was.
fn access(rules: &RuleSet, target: &[u8], any_query: bool) -> Access {
    if !any_query {
        let verdict = rules.verdict(target);
        return if verdict.allowed { Access::Open(None) } else { Access::Refused(verdict.rule) };
    }
    let any = rules.with_any_query(target);
    let mut deciding = any.deciding().unwrap_or_default().iter();
    match (any.may_allow(), any.may_refuse()) {
        (true, true) => Access::Unknown,
        // One that is read as it is written: queries are given in the form in which rules compare them.
        (true, false) => Access::Open(
            deciding.map(|(_, query)| [target, b"?", query].concat()).find(|like| rules.verdict(like).allowed),
        ),
        (false, _) => Access::Refused(deciding.next().and_then(|(evidence, _)| evidence.to_verdict().rule)),
    }
}

/// What was lifted for a page, and is lifted still.
struct Exceptions {
    access: bool,
    usage: bool,
}

impl Exceptions {
    /// `Err` where a permission that the page rests on has ended.
    fn of(record: &Record, purpose: &str, at: WallTime) -> Result<Self, Why> {
        let ended = |expires: &str| expires.parse::<WallTime>().is_ok_and(|end| end <= at);
        let (mut access, mut usage) = (false, false);
        let Some(decision) = &record.decision else { return Ok(Self { access, usage }) };
        if let Some(found) = &decision.r#override {
            // `robots_5xx_as_404` lifts no rule: it stood in for a file that could not be had.
            access = found.lifted.iter().any(|lifted| lifted.scope == "robots");
            usage = found.lifted.iter().any(|lifted| lifted.scope == "signals");
            if ended(&found.expires) && (access || usage) {
                return Err(Why::new("override.expired"));
            }
        }
        if let Some(grant) = decision.grants.iter().find(|grant| grant.purpose == purpose) {
            if ended(&grant.expires) {
                return Err(Why::new("grant.expired"));
            }
            usage = true;
        }
        Ok(Self { access, usage })
    }
}

/// The rules of today with what the page itself said then; where the record does not hold all of that, the site's words alone.
fn preferences(record: &Record, said: &audit::SiteSaid<'_>, target: &[u8]) -> Preferences {
    audit::preferences(record, said, target).unwrap_or_else(|| said.preferences(target))
}

/// A denial by the answer itself, which no file of today undoes: in a record that does not say enough to be read anew, and where
/// what the site says is not known.
fn answer_denies(record: &Record, purpose: Purpose, is_known: bool) -> bool {
    let cut = record.omitted.signals > 0 || record.decision.as_ref().is_none_or(|found| found.stages.is_empty());
    let denies = |one: &&SignalRecord| one.purpose == purpose.as_str() && one.verdict == "denied";
    (cut || !is_known) && record.signals.iter().filter(denies).any(|one| !of_site(one))
}

/// What a file of the site's said.
fn of_site(one: &SignalRecord) -> bool {
    one.source.starts_with("robots.")
        || [Source::TdmrepFile, Source::DerivedTdm, Source::AiTxt, Source::TrustTxt, Source::Rsl, Source::Terms]
            .iter()
            .any(|source| source.as_str() == one.source)
}

fn refused(rule: Option<&MatchedRule>, digest: Option<String>) -> Why {
    let statement = rule.map(|rule| Said {
        source: "robots.rule".to_owned(),
        raw: rule.pattern.clone(),
        place: format!("line {}", rule.line),
        digest,
    });
    Why { statement, ..Why::new("robots.disallow") }
}

fn denied(found: &Preferences, purpose: Purpose, answered: &Answered) -> Why {
    let said = found.statements().iter().find(|one| one.purpose == purpose && one.verdict == Verdict::Denied);
    let statement = said.map(|one| {
        let digest = match (one.source, &answered.tdmrep) {
            (Source::TdmrepFile | Source::DerivedTdm, TdmToday::File(_, digest)) => Some(digest.clone()),
            (source, _) if source.as_str().starts_with("robots.") => answered.digest.clone(),
            _ => None,
        };
        Said::of_statement(one, digest)
    });
    Why { statement, ..Why::new(&format!("signal.{}", purpose.as_str())) }
}

/// Scheme, host and port of a URL.
pub(super) fn origin(url: &str) -> Option<&str> {
    let host = url.find("://")? + 3;
    let end = url.get(host..)?.find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    url.get(..end)
}
