//! The known crawlers: who runs them, what for, and how they read robots.txt.

/// The table, one claim a line; see its head for the format.
const TABLE: &str = include_str!("known_agents.tsv");

/// A crawler, fetcher or control token of the table, which is data with a source and a date for each claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAgent {
    token: &'static str,
    /// Its lines.
    lines: &'static str,
}

/// What an agent's fetches, or the content under a control token, are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AgentUse {
    /// A search engine.
    Search,
    /// Search answers written by a model.
    AiSearch,
    /// Content for a model at the moment a user asks.
    AiUser,
    /// Training of models.
    AiTrain,
    /// An archive.
    Archive,
    /// Content or data is sold on.
    DataSale,
    /// Ads and their landing pages.
    Ads,
    /// Analysis for site owners and marketing.
    Seo,
    /// Previews of shared links.
    Preview,
    /// Several at the operator's choice.
    Mixed,
    /// Something else.
    Other,
}

/// In what an agent departs from a plain crawler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Oddity {
    /// A token that never appears in a request: it steers what is done with pages that another agent fetched.
    ControlOnly,
    /// Fetches because a user asked for this page.
    UserTriggered,
    /// The `*` group does not apply to it.
    IgnoresGlobal,
    /// The operator says that robots.txt may not be applied.
    MayIgnoreRobots,
    /// No longer documented by its operator.
    Legacy,
}

/// One statement about an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What is said.
    pub value: &'static str,
    /// Where it was read.
    pub source: &'static str,
    /// When it was written down: `YYYY-MM-DD`.
    pub date: &'static str,
}

const USES: [(&str, AgentUse); 11] = [
    ("search", AgentUse::Search),
    ("ai_search", AgentUse::AiSearch),
    ("ai_user", AgentUse::AiUser),
    ("ai_train", AgentUse::AiTrain),
    ("archive", AgentUse::Archive),
    ("data_sale", AgentUse::DataSale),
    ("ads", AgentUse::Ads),
    ("seo", AgentUse::Seo),
    ("preview", AgentUse::Preview),
    ("mixed", AgentUse::Mixed),
    ("other", AgentUse::Other),
];

const ODDITIES: [(&str, Oddity); 5] = [
    ("control_only", Oddity::ControlOnly),
    ("user_triggered", Oddity::UserTriggered),
    ("ignores_global", Oddity::IgnoresGlobal),
    ("may_ignore_robots", Oddity::MayIgnoreRobots),
    ("legacy", Oddity::Legacy),
];

impl AgentUse {
    /// The word of the table, such as `ai_train`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        USES.iter().find(|(_, agent_use)| *agent_use == self).map_or("", |(word, _)| word)
    }

    /// Whether a model gets the content.
    #[must_use]
    pub const fn is_ai(self) -> bool {
        matches!(self, Self::AiSearch | Self::AiUser | Self::AiTrain)
    }
}

impl Oddity {
    /// The word of the table, such as `control_only`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ODDITIES.iter().find(|(_, oddity)| *oddity == self).map_or("", |(word, _)| word)
    }
}

impl KnownAgent {
    /// Every agent of the table, in its order. Cost: a pass over some 20 KB.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut rest = TABLE;
        core::iter::from_fn(move || {
            rest = skip(rest, |line| line.starts_with(['#', '@']));
            let token = fields(rest)?[0];
            let behind = skip(rest, |line| line.strip_prefix(token).is_some_and(|claim| claim.starts_with('\t')));
            let lines = rest.get(..rest.len() - behind.len())?;
            rest = behind;
            Some(Self { token, lines })
        })
    }

    /// The agent of this token, ASCII case ignored.
    #[must_use]
    pub fn find(token: &str) -> Option<Self> {
        Self::all().find(|agent| agent.token.eq_ignore_ascii_case(token))
    }

    /// The token as its operator writes it.
    #[must_use]
    pub const fn token(&self) -> &'static str {
        self.token
    }

    /// Who runs it.
    #[must_use]
    pub fn operator(&self) -> &'static str {
        self.claim("operator").map_or("", |claim| claim.value)
    }

    /// What it is for; at least one.
    pub fn uses(&self) -> impl Iterator<Item = AgentUse> {
        let words = self.claim("use").into_iter().flat_map(|claim| claim.value.split(','));
        words.filter_map(|word| USES.iter().find(|(known, _)| *known == word).map(|(_, agent_use)| *agent_use))
    }

    /// The tokens that are asked in turn before `*`, its own first.
    pub fn chain(&self) -> impl Iterator<Item = &'static str> {
        let next = self.claim("chain").into_iter().flat_map(|claim| claim.value.split(','));
        core::iter::once(self.token).chain(next)
    }

    /// In what it departs from a plain crawler.
    pub fn oddities(&self) -> impl Iterator<Item = Oddity> {
        let words = self.claims("oddity").map(|claim| claim.value);
        words.filter_map(|word| ODDITIES.iter().find(|(known, _)| *known == word).map(|(_, oddity)| *oddity))
    }

    /// Whether it departs in this way.
    #[must_use]
    pub fn is(&self, oddity: Oddity) -> bool {
        self.oddities().any(|own| own == oddity)
    }

    /// What a Disallow for it does, in the words of its operator or of those who quote them.
    #[must_use]
    pub fn effect(&self) -> Option<Claim> {
        self.claim("effect")
    }

    /// Everything the table says of one kind: `operator`, `use`, `chain`, `oddity`, `effect`.
    pub fn claims(&self, kind: &str) -> impl Iterator<Item = Claim> {
        let lines = self.lines.lines().filter_map(fields).filter(move |[_, claimed, ..]| *claimed == kind);
        lines.filter_map(|[_, _, value, source]| {
            let (date, place) = self::source(source)?;
            Some(Claim { value, source: place, date })
        })
    }

    fn claim(&self, kind: &str) -> Option<Claim> {
        self.claims(kind).next()
    }
}

/// The four fields of a claim line at the start of `text`.
fn fields(text: &'static str) -> Option<[&'static str; 4]> {
    let mut parts = text.lines().next()?.split('\t');
    Some([parts.next()?, parts.next()?, parts.next()?, parts.next()?])
}

/// `text` without the lines at its start that `skipped` names.
fn skip(mut text: &'static str, skipped: impl Fn(&'static str) -> bool) -> &'static str {
    while let Some((line, rest)) = text.split_once('\n') {
        if !skipped(line) {
            break;
        }
        text = rest;
    }
    text
}

/// Date and place of a source.
fn source(name: &str) -> Option<(&'static str, &'static str)> {
    let sources = TABLE.lines().filter_map(|line| line.strip_prefix('@'));
    sources.filter_map(|line| line.split_once('\t')).find(|(known, _)| *known == name)?.1.split_once('\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_line_of_the_table_is_read() {
        let mut claims = 0;
        for line in TABLE.lines().filter(|line| !line.starts_with(['#', '@'])) {
            let [token, kind, value, from] = fields(line).unwrap();
            assert_eq!(line.matches('\t').count(), 3, "{line}");
            assert!(source(from).is_some(), "{line}");
            let agent = KnownAgent::find(token).unwrap();
            assert!(agent.claims(kind).any(|claim| claim.value == value), "{line}");
            match kind {
                "use" => assert_eq!(agent.uses().count(), value.split(',').count(), "{line}"),
                "oddity" => assert!(agent.oddities().any(|oddity| oddity.as_str() == value), "{line}"),
                "chain" => assert!(agent.chain().skip(1).all(|next| KnownAgent::find(next).is_some()), "{line}"),
                "operator" | "effect" => assert!(!value.is_empty(), "{line}"),
                _ => panic!("{line}"),
            }
            claims += 1;
        }
        assert!(claims > 200, "{claims}");
    }

    #[test]
    fn every_agent_stands_once_with_operator_and_use() {
        let agents: Vec<_> = KnownAgent::all().collect();
        for (at, agent) in agents.iter().enumerate() {
            assert!(!agent.operator().is_empty() && agent.uses().count() > 0, "{}", agent.token());
            let again = agents.iter().skip(at + 1).any(|other| other.token.eq_ignore_ascii_case(agent.token));
            assert!(!again, "{} stands twice", agent.token());
        }
    }

    #[test]
    fn sources_are_dated() {
        let effect = KnownAgent::find("gptbot").unwrap().effect().unwrap();
        assert!(effect.value.contains("train"));
        assert!(effect.date.len() == 10 && effect.source.starts_with("signals reference"));
    }
}
