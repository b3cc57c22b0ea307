use std::cmp::Reverse;

use super::document::{Content, Licence, Limits, RslDocument, UsageList};
use super::pointer::RslCarrier;
use super::usage::Usage;
use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground};
use crate::{Diagnostics, Place, Profile, Purpose, SignalOptions, Source, Statement, Verdict};

/// What the operator is and does, for licences that ask (signals reference §1.5). By default nothing is known and nothing met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RslConditions {
    /// Our class: `commercial`, `non-commercial`, `education`, `government`, `personal`.
    pub user: Option<String>,
    /// Our region: ISO 3166-1 alpha-2, or `EU`.
    pub region: Option<String>,
    /// Conditions that are met already: payment types, `server`, `reporting`, `custom`.
    pub satisfies: Vec<String>,
}

/// What RSL documents say of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RslReading {
    /// At most one statement per document and purpose, and a derived one for `ai-index`.
    pub statements: Vec<Statement>,
    /// True when a permission became a denial because its condition is not met.
    pub license_required: bool,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

impl RslReading {
    /// Of a document that is named and could not be had.
    #[must_use]
    pub fn unfetchable() -> Self {
        let at = Carried { source: Source::Rsl, place: Place::Whole, raw: "", path: None };
        let mut found = Found::default();
        found.note(DiagnosticCode::RslUnfetchable, at, "");
        Self { diagnostics: found.diagnostics, ..Self::default() }
    }
}

/// The uses in the order of records.
const USAGES: [(Usage, Purpose); 4] = [
    (Usage::Search, Purpose::Search),
    (Usage::AiInput, Purpose::AiInput),
    (Usage::AiTrain, Purpose::AiTrain),
    (Usage::All, Purpose::Tdm),
];

/// Members of the European Union, for licences that name it.
const EU: [&str; 27] = [
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT", "LU", "LV",
    "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK",
];

impl RslDocument {
    /// What the document says of the resource at `target` (path and query) of `origin`, as in `https://example.com`.
    ///
    /// - Of the contents whose `url` matches, for each use the one with the longest pattern that yields a verdict; equally
    ///   long ones are read together. An empty `url` stands for the page in which the document or the link to it stands.
    /// - Within one content a prohibition wins over a permission, and a list of permissions is closed: what it leaves out is
    ///   denied. Only an explicit `all` speaks about text and data mining as a whole.
    /// - A permission whose condition is not met is a denial, marked as conditional.
    /// - A document that does not conform permits nothing; in the cautious profile its prohibitions count.
    ///
    /// Source: RSL-SPEC-1.0 through signals reference §8.3. Cost: a match per content.
    #[must_use]
    pub fn read(
        &self,
        origin: &str,
        target: &[u8],
        carrier: RslCarrier,
        conditions: &RslConditions,
        options: SignalOptions,
    ) -> RslReading {
        let mut found = Found::default();
        for code in self.oddities() {
            found.note(code, Carried { source: Source::Rsl, place: Place::Whole, raw: "", path: None }, "");
        }
        let scopes = self.scopes(origin, target, carrier);
        let question = Question { conditions, conformant: self.is_conformant() };
        if self.is_conformant() || options.profile == Profile::Cautious {
            for (usage, purpose) in USAGES {
                if let Some(answer) = scopes.iter().find_map(|scope| question.ask(scope, usage)) {
                    answer.state(&mut found, purpose);
                }
            }
            if options.profile == Profile::Cautious {
                let index = scopes.iter().find_map(|scope| question.ask(scope, Usage::AiIndex));
                if let Some(answer) = index.filter(|answer| answer.finding == Finding::Prohibited) {
                    found.state(answer.at(), Purpose::AiInput, Verdict::Denied, Ground::Derived);
                }
            }
        }
        let Found { statements, diagnostics } = found;
        let license_required = statements.iter().any(|statement| statement.conditional);
        RslReading { statements, license_required, diagnostics }
    }

    /// The contents that match, the longest pattern first, equally long ones together.
    fn scopes(&self, origin: &str, target: &[u8], carrier: RslCarrier) -> Vec<Scope<'_>> {
        let mut matching: Vec<(u32, u32, &Content)> = Vec::new();
        for (index, content) in (0..).zip(&self.contents) {
            if let Some(length) = match_length(content, origin, target, carrier) {
                matching.push((length, index, content));
            }
        }
        matching.sort_by_key(|(length, index, _)| (Reverse(*length), *index));
        matching
            .chunk_by(|(a, ..), (b, ..)| a == b)
            .map(|equal| equal.iter().map(|(_, index, content)| (*index, *content)).collect())
            .collect()
    }
}

fn match_length(content: &Content, origin: &str, target: &[u8], carrier: RslCarrier) -> Option<u32> {
    if content.url.is_empty() {
        return carrier.is_of_the_page().then_some(0);
    }
    content.place.as_ref()?.match_length(origin, target)
}

/// Contents that are read together.
type Scope<'a> = Vec<(u32, &'a Content)>;

struct Question<'a> {
    conditions: &'a RslConditions,
    conformant: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finding {
    Prohibited,
    /// Left out of a closed list of permissions.
    LeftOut,
    Granted,
    Conditional,
}

struct Answer<'a> {
    finding: Finding,
    index: u32,
    content: &'a Content,
    list: &'a UsageList,
}

impl Question<'_> {
    fn ask<'a>(&self, scope: &[(u32, &'a Content)], usage: Usage) -> Option<Answer<'a>> {
        let licences = || scope.iter().flat_map(|(n, content)| content.licences.iter().map(move |l| (*n, *content, l)));
        let prohibition = licences().find_map(|(index, content, licence)| {
            let list = licence.prohibits.iter().find(|list| list.set.covers(usage))?;
            Some(Answer { finding: Finding::Prohibited, index, content, list })
        });
        if prohibition.is_some() || !self.conformant {
            return prohibition;
        }
        let grants = licences().filter_map(|(index, content, licence)| {
            let list = licence.permits.iter().find(|list| list.set.covers(usage))?;
            let finding = if self.meets(content, licence) { Finding::Granted } else { Finding::Conditional };
            Some(Answer { finding, index, content, list })
        });
        // The first without a condition that is not met, else the first.
        let best = grants.reduce(|known, next| match (known.finding, next.finding) {
            (Finding::Conditional, Finding::Granted) => next,
            _ => known,
        });
        if best.is_some() || usage == Usage::All {
            return best;
        }
        licences().find_map(|(index, content, licence)| {
            let list = licence.permits.first()?;
            Some(Answer { finding: Finding::LeftOut, index, content, list })
        })
    }

    /// Whether every condition of a licence is met.
    fn meets(&self, content: &Content, licence: &Licence) -> bool {
        let satisfies = |name: &str| self.conditions.satisfies.iter().any(|met| met.eq_ignore_ascii_case(name));
        let paid = licence.payments.iter().all(|payment| payment.kind == "free" || satisfies(&payment.kind));
        paid && (!content.server || satisfies("server"))
            && (!licence.reporting || satisfies("reporting"))
            && within(&licence.users, self.conditions.user.as_deref(), is_word)
            && within(&licence.regions, self.conditions.region.as_deref(), is_in)
    }
}

impl Answer<'_> {
    fn at(&self) -> Carried<'_> {
        let path = Some(self.content.url.as_str()).filter(|url| !url.is_empty());
        Carried { source: Source::Rsl, place: Place::Element(self.index), raw: &self.list.raw, path }
    }

    fn state(&self, found: &mut Found, purpose: Purpose) {
        let (verdict, ground) = match self.finding {
            Finding::Prohibited | Finding::LeftOut => (Verdict::Denied, Ground::Said),
            Finding::Granted => (Verdict::Allowed, Ground::Said),
            Finding::Conditional => (Verdict::Denied, Ground::Conditional),
        };
        found.state(self.at(), purpose, verdict, ground);
    }
}

/// Whether `own` is covered by limits; what is not known never is.
fn within(limits: &Limits, own: Option<&str>, covers: impl Fn(&str, &str) -> bool) -> bool {
    if limits.permitted.is_none() && limits.prohibited.is_none() {
        return true;
    }
    let Some(own) = own else { return false };
    let listed = |list: &Option<Vec<String>>| list.iter().flatten().any(|word| covers(word, own));
    !listed(&limits.prohibited) && (limits.permitted.is_none() || listed(&limits.permitted))
}

fn is_word(word: &str, own: &str) -> bool {
    word.eq_ignore_ascii_case(own)
}

/// Whether a region that is named holds ours. Of `EU` as our own, no single member is known to hold it.
fn is_in(word: &str, own: &str) -> bool {
    word.eq_ignore_ascii_case(own)
        || (word.eq_ignore_ascii_case("EU") && EU.iter().any(|member| own.eq_ignore_ascii_case(member)))
}
