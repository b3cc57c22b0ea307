//! The second decision: what an answer says of itself, before a byte of its body is kept (docs/decisions/0052).

use std::sync::Arc;

use comity_signals::{Declared, Preferences, Purpose, Remarks, Source, Statement, Verdict};
use comity_url::Origin;

use crate::{Decision, Grant, Lifting, NamedLicence, OverrideScope, Reason, Terms, WallTime};

/// Proof that the body of an answer may be kept. Whatever keeps bodies asks for one by value; it cannot be copied:
///
/// ```compile_fail
/// fn reuse(permit: comity_policy::ContentPermit) -> [comity_policy::ContentPermit; 2] {
///     [permit.clone(), permit] // no Clone
/// }
/// ```
///
/// Only [`judge_content`] gives one for a page. Elsewhere it has to be written out ([`ContentPermit::unjudged`]).
#[derive(Debug)]
#[must_use = "without it no body is kept"]
pub struct ContentPermit(());

impl ContentPermit {
    /// For bodies that are not taken for the declared purposes: robots.txt and other files that speak about use, and what a
    /// proxy passes on to the client that asked for it.
    pub const fn unjudged() -> Self {
        Self(())
    }
}

/// What is to become of an answer.
#[derive(Debug)]
pub enum Content {
    /// Its body may be kept and its links followed.
    Keep(ContentPermit, Arc<Decision>),
    /// Nothing of its body may be kept, handed on or followed; its head is recorded with this decision.
    Withhold(Arc<Decision>),
}

/// What a decision rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// What is known of the site before the request.
    #[default]
    Before,
    /// And the head of the answer.
    Headers,
    /// And the page itself.
    Page,
}

impl Stage {
    /// The word of records: `before_fetch`, `headers` or `page`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before_fetch",
            Self::Headers => "headers",
            Self::Page => "page",
        }
    }
}

/// What is done where nobody says anything about a declared purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    /// It is taken.
    #[default]
    Proceed,
    /// It is left.
    Refuse,
}

impl Silence {
    /// The word of configuration and records: `proceed` or `refuse`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proceed => "proceed",
            Self::Refuse => "refuse",
        }
    }
}

/// What an answer has said by a stage.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// What was known before and what the answer says, combined.
    pub preferences: Preferences,
    /// The licences that the answer names or holds, whose statements are among the preferences.
    pub licences: Vec<NamedLicence>,
    /// Whose words they are.
    pub stage: Stage,
    /// More may follow, so that silence is none yet.
    pub more: bool,
    /// What was known before and what the answer adds beside: constraints, and what was odd.
    pub remarks: Remarks,
    /// A page whose head could not be read to its end, since its content coding is unknown or broken: it may hold a refusal
    /// that nobody has seen.
    pub hidden: bool,
}

/// Decides a second time, by what the answer to a request that `before` let through has said so far.
///
/// It is withheld when every declared purpose is one that signals speak about, and each is denied, or unspecified under
/// [`Silence::Refuse`] once all was read. `noindex` and its kin (`none`, a past `unavailable_after`) deny `search` in the
/// record, and refuse with other denials, never by themselves (design §7). A signals override lifts the refusal.
///
/// A page that cannot be decoded is withheld as `fetch.coding` where its head could have refused every declared purpose: it is
/// not known that it did not.
#[must_use]
pub fn judge_content(before: &Arc<Decision>, said: Answered, origin: &Origin, terms: &Terms, now: WallTime) -> Content {
    let Answered { preferences, licences, stage, more, remarks, hidden } = said;
    let silence = if more { Silence::Proceed } else { terms.silence };
    let above = terms.is_above(&remarks);
    let grants = granted(&preferences, Doubt { hidden, above }, terms, origin, now);
    let refusal = refusal(&terms.purposes, &preferences, (silence, above), &grants);
    let by_word = refusal.is_some_and(|reason| reason != Reason::SignalUnspecified);
    let is_hidden = hidden && !by_word && a_page_could_refuse(terms, &grants);
    let refusal = if is_hidden { Some(Reason::FetchCoding) } else { refusal };
    let mut lifting = Lifting::again(before, terms, origin, now);
    let refusal = refusal.filter(|reason| !lifting.lifts(OverrideScope::Signals, *reason));
    let reason = refusal.unwrap_or(before.reason);
    let mut site = before.site.clone();
    site.licences.extend(licences);
    let second = Decision {
        reason,
        site,
        preferences,
        stage,
        before: Some(before.clone()),
        again: now,
        silence: terms.silence,
        remarks,
        level: terms.level,
        grants,
        ..Decision::clone(before)
    };
    let second = Arc::new(lifting.settle(second));
    match refusal {
        None => Content::Keep(ContentPermit(()), second),
        Some(_) => Content::Withhold(second),
    }
}

/// What may refuse a purpose that nobody denies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubt {
    /// Words of the page that cannot be read.
    pub(crate) hidden: bool,
    /// More is to be done with the content than `use=` permits.
    pub(crate) above: bool,
}

/// The grants that lift a denial, a silence that is set to refuse, or one that may be hidden words, of a declared purpose; where
/// more is declared than `use=` permits, those of each.
pub(crate) fn granted(
    preferences: &Preferences,
    doubt: Doubt,
    terms: &Terms,
    origin: &Origin,
    now: WallTime,
) -> Vec<(Purpose, Arc<Grant>)> {
    if terms.grants.all().is_empty() {
        return Vec::new();
    }
    let lifts = |purpose: &Purpose| match preferences.verdict(*purpose) {
        Verdict::Denied => true,
        Verdict::Unspecified => terms.silence == Silence::Refuse || doubt.hidden || doubt.above,
        Verdict::Allowed => doubt.above,
    };
    let judged = terms.purposes.iter().filter_map(|declared| declared.judged()).filter(lifts);
    judged.filter_map(|purpose| Some((purpose, terms.grants.find(origin, purpose, now)?.clone()))).collect()
}

/// The reason to leave what `preferences` speak of, if there is one: every declared purpose is judged, and refused; or more is to
/// be done with it than `use=` permits, and no grant holds for each purpose.
///
/// Nobody is refused by silence where it may yet be broken: `silence` is [`Silence::Proceed`] there.
pub(crate) fn refusal(
    purposes: &[Declared],
    preferences: &Preferences,
    (silence, above): (Silence, bool),
    grants: &[(Purpose, Arc<Grant>)],
) -> Option<Reason> {
    let is_granted = |purpose: Purpose| grants.iter().any(|(granted, _)| *granted == purpose);
    let is_above = above && !purposes.iter().all(|declared| declared.judged().is_some_and(is_granted));
    let by_use = by_purpose(purposes, preferences, silence, grants);
    match by_use {
        None | Some(Reason::SignalUnspecified) if is_above => Some(Reason::SignalUse),
        other => other,
    }
}

fn by_purpose(
    purposes: &[Declared],
    preferences: &Preferences,
    silence: Silence,
    grants: &[(Purpose, Arc<Grant>)],
) -> Option<Reason> {
    let judged = || purposes.iter().filter_map(|declared| declared.judged());
    let is_refused = |purpose: Purpose| match preferences.verdict(purpose) {
        _ if grants.iter().any(|(granted, _)| *granted == purpose) => false,
        Verdict::Denied => true,
        Verdict::Unspecified => silence == Silence::Refuse,
        Verdict::Allowed => false,
    };
    if !purposes.iter().all(|declared| declared.judged().is_some_and(is_refused)) {
        return None;
    }
    let is_silent = |purpose: Purpose| preferences.verdict(purpose) == Verdict::Unspecified;
    let denied = judged().find(|purpose| drops(preferences, *purpose)).map(|one| denied_by(preferences, one));
    denied.or_else(|| judged().any(is_silent).then_some(Reason::SignalUnspecified))
}

/// Whether there are words of a page that would refuse all that it is wanted for: every purpose is judged and held by no grant,
/// and one of them is more than `search`, of which the metas of a page can only say that an index is not to show it.
fn a_page_could_refuse(terms: &Terms, grants: &[(Purpose, Arc<Grant>)]) -> bool {
    let is_open = |purpose: Purpose| !grants.iter().any(|(granted, _)| *granted == purpose);
    let judged = || terms.purposes.iter().map(|declared| declared.judged());
    judged().all(|purpose| purpose.is_some_and(is_open)) && judged().flatten().any(|one| one != Purpose::Search)
}

/// The reason of a refusal whose first denied purpose is this: the site's own word, where there is one.
fn denied_by(preferences: &Preferences, purpose: Purpose) -> Reason {
    let denies = |said: &&Statement| said.purpose == purpose && said.verdict == Verdict::Denied && !is_noindex(said);
    let mut denials = preferences.statements().iter().filter(denies);
    if denials.all(|said| said.source == Source::Terms) { Reason::TermsDenied } else { Reason::of_signal(purpose) }
}

/// Whether a denial of `purpose` says more than that an index is not to show the page.
fn drops(preferences: &Preferences, purpose: Purpose) -> bool {
    let denies = |said: &&Statement| said.purpose == purpose && said.verdict == Verdict::Denied;
    preferences.statements().iter().filter(denies).any(|said| !is_noindex(said))
}

const fn is_noindex(said: &Statement) -> bool {
    matches!(said.purpose, Purpose::Search)
        && matches!(said.source, Source::HeaderXRobotsTag | Source::HeaderRobotsTag | Source::MetaRobots)
}
