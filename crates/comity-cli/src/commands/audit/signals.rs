//! What a record's evidence says about use: copies, fields, and the raw texts of the metas that spoke.

use comity_archive::{RawText, Record};
use comity_robots::{ExtensionKind, Pattern, RuleSet};
use comity_signals::{
    AgentGroups, EmbeddedFacts, HeadFacts, OthersTokens, PageReader, PolicyGroups, Preferences, Purpose, RobotsMeta,
    RobotsReading, SignalOptions, Source, Statement, TdmReading, Tdmrep, UnixSeconds, UseCeiling, Verdict,
};

/// What the site says beside the answer, as far as it is at hand.
pub(crate) struct SiteSaid<'a> {
    /// For the tokens of the record.
    pub(crate) rules: &'a RuleSet,
    pub(crate) policies: &'a PolicyGroups,
    pub(crate) agents: &'a AgentGroups,
    pub(crate) tdmrep: Option<&'a Tdmrep>,
    /// What ai.txt, trust.txt, licences and reviewed terms say.
    pub(crate) others: Vec<Statement>,
    /// The refusal of access was lifted: what the group says of uses holds all the same.
    pub(crate) lifted: bool,
    /// How the crawl reads signals.
    pub(crate) options: SignalOptions,
    /// What the page itself says, where its bytes were read again; else the raw texts of the record speak for it.
    pub(crate) page: Option<&'a HeadFacts>,
}

/// Files that say nothing, for what hangs on a query that is not known.
pub(crate) struct NoWords {
    rules: RuleSet,
    policies: PolicyGroups,
    agents: AgentGroups,
}

impl NoWords {
    pub(crate) fn of(said: &SiteSaid<'_>) -> Self {
        let rules = RuleSet::parse(b"", &[], said.rules.dialect());
        Self { rules, policies: PolicyGroups::default(), agents: AgentGroups::default() }
    }
}

impl<'a> SiteSaid<'a> {
    /// The words alone that no query of `path` changes; `knows_rules` where a query is at hand for which the rules decide as for
    /// the one that is not known.
    pub(crate) fn with_any_query(&self, path: &[u8], knows_rules: bool, none: &'a NoWords) -> Self {
        // Places of licences may hold queries.
        let others = self.others.iter().filter(|one| one.source != Source::Rsl).cloned();
        let keeps_rules = knows_rules && !self.lines_hang_on_query(path);
        Self {
            rules: if keeps_rules { self.rules } else { &none.rules },
            policies: if self.policies.hangs_on_query(path) { &none.policies } else { self.policies },
            agents: if self.agents_hang_on_query(path) { &none.agents } else { self.agents },
            tdmrep: self.tdmrep.filter(|file| !file.hangs_on_query(path)),
            others: others.collect(),
            lifted: self.lifted,
            options: self.options,
            page: self.page,
        }
    }

    /// Whether what the lines of robots.txt say of uses may be another thing with another query of `path`.
    pub(crate) fn lines_hang_on_query(&self, path: &[u8]) -> bool {
        let mut lines = self.rules.signals().iter().chain(self.rules.file_signals());
        let hangs = |text: &str| Pattern::new(text.as_bytes(), self.rules.dialect()).with_any_query(path).is_none();
        lines.any(|line| match line.kind {
            ExtensionKind::DisallowAiTraining | ExtensionKind::AllowAiTraining => hangs(&line.value),
            _ => line.path.as_deref().is_some_and(hangs),
        })
    }

    pub(crate) fn agents_hang_on_query(&self, path: &[u8]) -> bool {
        matches!(self.options.others_tokens, OthersTokens::Deny { .. }) && self.agents.hangs_on_query(path)
    }

    /// Whether what robots.txt and tdmrep.json say of uses may be another thing with another query of `path`.
    pub(crate) fn hangs_on_query(&self, path: &[u8]) -> bool {
        self.lines_hang_on_query(path)
            || self.agents_hang_on_query(path)
            || self.policies.hangs_on_query(path)
            || self.tdmrep.is_some_and(|file| file.hangs_on_query(path))
    }

    /// Of robots.txt, and what does not change with the answer.
    fn without_tdmrep(&self, target: &[u8]) -> Preferences {
        let read = if self.lifted { RobotsReading::despite_refusal } else { RobotsReading::of_usage };
        read(self.rules, target, self.options)
            .preferences
            .with(self.policies.denials(target))
            .with(self.agents.denials(target, self.options))
            .with(self.others.clone())
    }

    /// All of it.
    pub(crate) fn preferences(&self, target: &[u8]) -> Preferences {
        let known = self.without_tdmrep(target);
        match self.tdmrep {
            Some(file) => TdmReading::of_file(file, target, self.options).preferences(known),
            None => known,
        }
    }
}

/// The lowest `use=` that the evidence of `record` holds.
pub(super) fn ceiling(record: &Record, site: &SiteSaid<'_>, target: &[u8]) -> Option<UseCeiling> {
    let by_robots = RobotsReading::of_usage(site.rules, target, site.options).use_ceiling;
    let has_two = record.decision.as_ref().is_some_and(|decision| !decision.stages.is_empty());
    let fields = fields(record).filter(|_| has_two).unwrap_or_default();
    let said = PageReader { token: "", image: false, options: site.options }.read(&fields, &HeadFacts::default());
    UseCeiling::lower(by_robots, said.use_ceiling)
}

/// The preferences that `record` should hold; `None` where it does not say enough: statements were left out, or it was written
/// by a version that read less.
pub(crate) fn preferences(record: &Record, site: &SiteSaid<'_>, target: &[u8]) -> Option<Preferences> {
    let is_short = record.omitted.signals > 0 || record.signals.iter().any(|one| one.raw.len() >= RAW_BYTES);
    let is_cut = is_short && site.page.is_none();
    let has_two = record.decision.as_ref().is_some_and(|decision| !decision.stages.is_empty());
    if is_cut || (!has_two && record.signals.iter().any(|one| !is_before(&one.source))) {
        return None;
    }
    if !has_two {
        return Some(site.preferences(target));
    }
    let fields = fields(record)?;
    let head = site.page.cloned().unwrap_or_else(|| head(record));
    let image = is_image(record);
    let now = record.time.started.parse::<comity::policy::WallTime>().ok()?.unix_millis().div_euclid(1000);
    let options = site.options;
    let reading = TdmReading::read(site.tdmrep, target, &fields, &head, options);
    let mut found = reading.preferences(site.without_tdmrep(target));
    for token in &record.agent.product_tokens {
        found = PageReader { token, image, options }.read(&fields, &head).preferences(found, UnixSeconds(now));
    }
    Some(found)
}

pub(super) fn is_image(record: &Record) -> bool {
    let kind = record.response.as_ref().and_then(|response| response.media_type.as_deref());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("image/"))
}

/// At this many bytes a record cuts a statement's text.
const RAW_BYTES: usize = 2048;

/// Sources that are no page's, and are known before it is asked for.
const OTHERS: [Source; 4] = [Source::AiTxt, Source::TrustTxt, Source::Rsl, Source::Terms];

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

pub(super) fn fields(record: &Record) -> Option<Vec<(String, Vec<u8>)>> {
    let bytes = |value: &RawText| match value {
        RawText::Text(text) => Some(text.clone().into_bytes()),
        RawText::Bytes { base64 } => data_encoding::BASE64.decode(base64.as_bytes()).ok(),
    };
    let fields = record.response.iter().flat_map(|response| &response.fields);
    fields.map(|(name, value)| Some((name.clone(), bytes(value)?))).collect()
}

/// The page itself may be gone: the raw text of each meta that spoke stands in the record.
fn head(record: &Record) -> HeadFacts {
    let robots =
        raw(record, Source::MetaRobots).map(|content| RobotsMeta { name: "robots".to_owned(), content }).collect();
    let tdm_reservation = raw(record, Source::MetaTdm).collect();
    HeadFacts { robots, tdm_reservation, embedded: embedded(record), ..HeadFacts::default() }
}

/// What documents and images say within them, as the record has it.
pub(super) fn embedded(record: &Record) -> EmbeddedFacts {
    EmbeddedFacts {
        tdm_reservation: raw(record, Source::EmbeddedTdm).collect(),
        data_mining: raw(record, Source::EmbeddedPlus).collect(),
        ..EmbeddedFacts::default()
    }
}

/// The texts of a source, as a record has them.
fn raw(record: &Record, source: Source) -> impl Iterator<Item = String> {
    record.signals.iter().filter(move |one| one.source == source.as_str()).map(|one| one.raw.clone())
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
