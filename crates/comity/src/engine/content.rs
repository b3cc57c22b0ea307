//! What an answer says of its own use, read while it arrives: nothing of its body is kept before that is decided
//! (docs/decisions/0052).

use std::sync::Arc;

use bytes::Bytes;
use comity_extract::{PageLimits, PageReader};
use comity_fetch::{Keep, Read, ResponseHead};
use comity_gate::Gate;
use comity_policy::{Answered, Content, Decision, PaceFields, PaceNote, Reason, SiteFile, Stage, WallTime};
use comity_robots::ProductToken;
use comity_signals::{
    DiagnosticCode, EmbeddedFacts, HeadFacts, PageReader as SignalReader, PageSignals, PaymentDemand, Remarks,
    RslPointers, Source, Statement, TdmReading, UnixSeconds,
};
use comity_url::CrawlUrl;

use super::licences::PageLicences;

/// The second decision on one answer.
pub(super) struct ContentJudge {
    gate: Gate,
    tokens: Vec<ProductToken>,
    url: CrawlUrl,
    before: Arc<Decision>,
    /// Those fields of the head that speak about use.
    fields: Vec<(String, Bytes)>,
    /// What the head asks beside.
    asked: Remarks,
    image: bool,
    /// Reads the head of a page that is no page of the crawl, such as an error's.
    aside: Option<Box<PageReader>>,
    ruling: Option<Ruling>,
    /// A page whose head cannot be read to its end.
    hidden: bool,
}

/// What was decided last.
#[derive(Clone, Debug)]
pub(super) struct Ruling {
    pub(super) decision: Arc<Decision>,
    /// Whether links may be followed.
    pub(super) follow: bool,
    /// The answer itself, its fields and what was read of its page, said nothing of its use.
    pub(super) is_silent: bool,
    /// The licences of the page.
    pub(super) licences: PageLicences,
    /// What a page said could not be read to its end.
    pub(super) hidden: bool,
}

/// Names of fields that speak about the use of what they come with.
const SPEAKING: [&str; 7] =
    ["content-usage", "content-signal", "x-robots-tag", "robots-tag", "tdm-reservation", "tdm-policy", "link"];

impl ContentJudge {
    pub(super) fn new(gate: Gate, tokens: &[ProductToken], url: CrawlUrl, before: Arc<Decision>) -> Self {
        let (tokens, fields) = (tokens.to_vec(), Vec::new());
        let asked = Remarks::NONE;
        Self { gate, tokens, url, before, fields, asked, image: false, aside: None, ruling: None, hidden: false }
    }

    /// The head came; `more` when a page follows that may speak, too. False when the answer is withheld already.
    pub(super) fn head(&mut self, head: &ResponseHead<'_>, more: bool) -> bool {
        let speaks = |name: &str| SPEAKING.iter().any(|known| name.eq_ignore_ascii_case(known));
        self.asked = asked(head, self.gate.clock().wall());
        self.fields = head.fields.iter().filter(|(name, _)| speaks(name)).cloned().collect();
        self.image =
            head.content_type().is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("image/"));
        self.decide(&HeadFacts::default(), Stage::Headers, more)
    }

    /// Reads the head of what is no page of the crawl.
    pub(super) fn read_aside(&mut self, content_type: Option<&str>) {
        let reader = PageReader::new(&self.url, content_type, PageLimits::default());
        self.aside = Some(Box::new(reader)).filter(|reader| !reader.is_past_head());
    }

    pub(super) fn push(&mut self, decoded: &[u8]) {
        if let Some(aside) = &mut self.aside {
            aside.push(decoded);
        }
    }

    /// What follows cannot be decoded; `past_head` of the page that is read, if one is.
    pub(super) fn unreadable(&mut self, past_head: Option<bool>) {
        let past_head = past_head.or_else(|| self.aside.as_ref().map(|aside| aside.is_past_head()));
        self.hidden |= past_head == Some(false);
    }

    /// Whether the body may be kept, whose page has said `facts` so far; `past_head` when its head is over.
    pub(super) fn keep(&mut self, read: Read, facts: Option<(&HeadFacts, bool)>) -> Keep {
        let aside = self.aside.as_ref().map(|aside| (aside.head(), aside.is_past_head()));
        let said = facts.or(aside);
        if read == Read::Piece && !self.hidden && said.is_some_and(|(_, past_head)| !past_head) {
            return Keep::Undecided;
        }
        // Only a page may still say something.
        let more = read != Read::End && said.is_some();
        match (facts, self.aside.take()) {
            (_, Some(aside)) if read == Read::End => self.permit(&aside.finish().head, Stage::Page, more),
            (Some((facts, _)), aside) => {
                self.aside = aside;
                self.permit(facts, Stage::Page, more)
            }
            (None, Some(aside)) => {
                let kept = self.permit(aside.head(), Stage::Page, more);
                self.aside = Some(aside);
                kept
            }
            (None, None) => self.permit(&HeadFacts::default(), Stage::Page, more),
        }
    }

    /// The last word: of an answer whose body was not asked for, by its head.
    pub(super) fn finish(mut self, answered: bool) -> Option<Ruling> {
        let is_open = self.ruling.as_ref().is_some_and(|ruling| ruling.decision.reason.is_ok());
        if answered && is_open && self.stage() == Some(Stage::Headers) {
            self.decide(&HeadFacts::default(), Stage::Headers, false);
        }
        self.ruling
    }

    fn stage(&self) -> Option<Stage> {
        self.ruling.as_ref().map(|ruling| ruling.decision.stage)
    }

    fn decide(&mut self, facts: &HeadFacts, stage: Stage, more: bool) -> bool {
        matches!(self.permit(facts, stage, more), Keep::Keep(_))
    }

    fn tdm(&self, facts: &HeadFacts) -> TdmReading {
        let file = self.before.site.tdmrep.as_deref().and_then(SiteFile::tdmrep);
        let target = self.url.request_target().as_bytes();
        TdmReading::read(file, target, &self.fields, facts, self.gate.options())
    }

    fn permit(&mut self, facts: &HeadFacts, stage: Stage, more: bool) -> Keep {
        let now = || UnixSeconds(self.gate.clock().wall().unix_millis().div_euclid(1000));
        let (options, image) = (self.gate.options(), self.image);
        let read =
            |token: &ProductToken| SignalReader { token: token.as_str(), image, options }.read(&self.fields, facts);
        let signals: Vec<PageSignals> = self.tokens.iter().map(read).collect();
        let pointers = RslPointers::read(None, &self.fields, facts);
        let licences = PageLicences::read(&self.gate, &self.url, &pointers, facts);
        let follow = signals.iter().all(|signals| signals.follow);
        let is_silent = signals.iter().all(is_silent)
            && facts.tdm_reservation.is_empty()
            && facts.embedded == EmbeddedFacts::default()
            // Also where none is asked for: a later run may ask, and has to hear it then.
            && facts.inline_rsl.is_empty() && pointers.documents.is_empty()
            && !self.fields.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("tdm-"));
        let said = |signals: &PageSignals| -> Vec<Statement> {
            let dated = signals.unavailable_after.map(|_| now());
            signals.statements.iter().chain(dated.and_then(|now| signals.expired(now))).cloned().collect()
        };
        // What the later layers of TDMRep say takes the place of the earlier ones, so it counts once none can follow: before
        // that, what the file said stands.
        let before = self.before.remarks.clone().with(self.asked.clone()).with(&pointers);
        let (known, remarks) = if more && stage == Stage::Headers {
            (self.before.preferences.clone(), before)
        } else {
            let tdm = self.tdm(facts);
            (tdm.preferences(self.before.preferences.clone()), before.without_tdm().with(&tdm))
        };
        let (licensed, of_licences) = self.gate.licensed(&licences.known, &self.url);
        let preferences = known.with(signals.iter().flat_map(said)).with(licensed);
        let remarks = signals.iter().fold(remarks, |all, one| all.with(one)).with(of_licences);
        // A licence that is yet to be learnt may break a silence: what it leaves is decided a last time.
        let more = more || licences.has_unknown();
        let answered =
            Answered { preferences, licences: licences.known.clone(), stage, more, remarks, hidden: self.hidden };
        let (keep, decision) = match self.gate.judge_content(&self.before, answered, self.url.origin()) {
            Content::Keep(permit, decision) => (Keep::Keep(permit), decision),
            Content::Withhold(decision) if decision.reason == Reason::SignalUnspecified => (Keep::Silent, decision),
            Content::Withhold(decision) => (Keep::Refuse, decision),
        };
        self.ruling = Some(Ruling { decision, follow, is_silent, licences, hidden: self.hidden });
        keep
    }
}

/// Whether fields and metas ask for nothing.
fn is_silent(said: &PageSignals) -> bool {
    said.statements.is_empty() && said.unavailable_after.is_none() && said.use_ceiling.is_none()
}

/// What an answer asks of who asks: a price, and paces that cannot be read.
fn asked(head: &ResponseHead<'_>, now: WallTime) -> Remarks {
    let status = head.status;
    let demand = PaymentDemand::read(status, head.fields, None);
    let remarks = demand.map(|demand| Remarks::from(&demand)).unwrap_or_default();
    let fields = head.fields.iter().map(|(name, value)| (name.as_str(), &**value));
    PaceFields::read(fields, now).notes.into_iter().fold(remarks, |all, note| match note {
        PaceNote::RetryAfterInvalid => all.noting(DiagnosticCode::RetryAfterInvalid, Source::HeaderRetryAfter),
        PaceNote::RateLimitUnparsable => all.noting(DiagnosticCode::RatelimitUnparsable, Source::HeaderRateLimit),
    })
}
