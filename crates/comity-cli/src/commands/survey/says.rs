//! What the bytes of the files of a site say: no request, no clock.

use std::collections::{BTreeMap, BTreeSet};

use comity_gate::signals::{
    AgentGroups, AiTxt, HeadFacts, PageReader, PolicyToken, Preferences, Purpose, Reservation, RobotsSignals,
    SignalOptions, TdmReading, Tdmrep, UnixSeconds, Verdict,
};
use comity_robots::{AgentUse, Dialect, ExtensionKind, KnownAgent, Robots};

use super::restriction::Restriction;
use super::row::{Count, MOST_TOKENS, Says};

/// A token that no file names: what holds for everybody else.
const NOBODY: &str = "comity-survey-nobody";
/// What is asked about.
const ROOT: &[u8] = b"/";
/// Values of one kind that a row holds, and bytes of each.
const MOST_VALUES: usize = 32;
const LONGEST_VALUE: usize = 1024;

/// Reads a robots.txt for everybody.
pub(super) fn robots(robots: &Robots, host: &str) -> Says {
    let rules = RobotsSignals::compile(robots, &[NOBODY], Dialect::Standard);
    let tokens = named_tokens(robots);
    let may = |token: &str| robots.rules(&[token], Dialect::Standard).allows(ROOT);
    let lint = comity_robots::lint(robots, Some(host));
    let mut codes = BTreeMap::new();
    for finding in &lint.findings {
        *codes.entry(finding.code.as_str().to_owned()).or_default() += 1;
    }
    Says {
        denied_at_root: tokens.iter().filter(|token| !may(token)).cloned().collect(),
        tokens,
        uses: uses(robots),
        root_allowed: rules.rules().allows(ROOT),
        restriction: Restriction::of(robots, "*", rules.rules()).as_str().to_owned(),
        restriction_ai_train: restriction_ai_train(robots),
        content_signal: values(robots, ExtensionKind::ContentSignal),
        content_usage: values(robots, ExtensionKind::ContentUsage),
        license: values(robots, ExtensionKind::License),
        policy_tokens: PolicyToken::all().filter(|p| robots.names(p.token)).map(|p| p.token.to_owned()).collect(),
        verdicts: verdicts(&rules.read(ROOT, SignalOptions::default()).preferences),
        crawl_delay: rules.rules().crawl_delay().map(|delay| delay.as_secs_f64()),
        sitemaps: robots.sitemaps().count() as u64,
        lint: codes,
    }
}

/// The tokens of the user-agent lines, `*` left out.
fn named_tokens(robots: &Robots) -> Vec<String> {
    let tokens = robots.groups().flat_map(|group| group.agents()).filter_map(|agent| agent.token());
    let tokens: BTreeSet<String> =
        tokens.filter(|token| !token.is_empty() && *token != "*").map(str::to_ascii_lowercase).collect();
    tokens.into_iter().take(MOST_TOKENS).collect()
}

fn uses(robots: &Robots) -> BTreeMap<String, Count> {
    let classes = AgentGroups::compile(robots, Dialect::Standard).classes(ROOT);
    let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
    classes
        .iter()
        .map(|class| {
            let of = Count { named: count(class.named.len()), denied: count(class.denied.len()) };
            (class.agent_use.as_str().to_owned(), of)
        })
        .collect()
}

fn restriction_ai_train(robots: &Robots) -> String {
    let trains = KnownAgent::all().filter(|agent| agent.uses().any(|of| of == AgentUse::AiTrain));
    let named = trains.map(|agent| agent.token()).filter(|token| robots.names(token));
    let strictest = named.map(|token| Restriction::of(robots, token, &robots.rules(&[token], Dialect::Standard))).max();
    strictest.map_or("unnamed", Restriction::as_str).to_owned()
}

fn values(robots: &Robots, kind: ExtensionKind) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for line in robots.extensions().filter(|line| line.kind() == kind) {
        let value: String = line.text().chars().take(LONGEST_VALUE).collect();
        if values.len() < MOST_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// What is not silence, by purpose.
pub(super) fn verdicts(preferences: &Preferences) -> BTreeMap<String, String> {
    let all = Purpose::ALL.into_iter().map(|purpose| (purpose, preferences.verdict(purpose)));
    let said = all.filter(|(_, verdict)| *verdict != Verdict::Unspecified);
    said.map(|(purpose, verdict)| (purpose.to_string(), verdict.as_str().to_owned())).collect()
}

/// Number of rules, reservation and policy at `/` of a tdmrep.json.
pub(super) fn tdmrep(body: &[u8], origin: &str) -> (u64, Option<String>, Option<String>) {
    let file = Tdmrep::parse(body, origin);
    let reading = TdmReading::of_file(&file, ROOT, SignalOptions::default());
    let reservation = reading.effective().map(Reservation::as_str).map(str::to_owned);
    (file.rule_count() as u64, reservation, reading.policy)
}

/// What an ai.txt says of training on `/`.
pub(super) fn ai_txt(body: &[u8]) -> Option<String> {
    AiTxt::parse(body, &[NOBODY]).statement(ROOT).map(|said| said.verdict.as_str().to_owned())
}

/// Header fields and head of the home page.
pub(super) fn home<V: AsRef<[u8]>>(
    fields: &[(String, V)],
    head: &HeadFacts,
    now: UnixSeconds,
) -> (BTreeMap<String, String>, Vec<String>) {
    let signals = PageReader { token: NOBODY, image: false, options: SignalOptions::default() }.read(fields, head);
    let tdm = TdmReading::read(None, ROOT, fields, head, SignalOptions::default());
    let preferences = tdm.preferences(signals.preferences(Preferences::none(), now));
    let terms = head.licences.iter().map(|link| link.href.chars().take(LONGEST_VALUE).collect());
    (verdicts(&preferences), terms.take(MOST_VALUES).collect())
}
