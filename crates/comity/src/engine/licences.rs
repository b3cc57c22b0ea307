//! The licences of a page, and the links to terms: what a page names is learnt before its bytes are kept for good
//! (docs/decisions/0060).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_extract::Page as Extracted;
use comity_gate::Gate;
use comity_policy::{
    Answered, Capture, Content, Decision, Digest, NamedLicence, Reason, Review, SiteCopy, SiteFile, SiteFileKind,
    SiteFileState, SiteRules, Spool, Truncation,
};
use comity_signals::{HeadFacts, RslCarrier, RslDocument, RslPointers, TdmReading};
use comity_url::CrawlUrl;
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::content::Ruling;
use super::reading::Found;
use crate::keep::{Earlier, MOST_TERMS, TermsLink, Trip};

/// How long a page waits for what it names. Longer turns are not waited for: the file is asked for before the next page of its
/// origin then, and this page is decided without it (our choice: a lease is two minutes).
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a page that is recorded waits for copies of terms.
const TERMS_PATIENCE: Duration = Duration::from_secs(10);

/// What a page names and holds of licences, where they are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct PageLicences {
    /// Those that are known, those within the page among them.
    pub(super) known: Vec<NamedLicence>,
    /// Named, and not known yet.
    unknown: Vec<(RslCarrier, CrawlUrl)>,
    /// The texts of those within the page.
    inline: Vec<(Digest, Bytes)>,
}

impl PageLicences {
    pub(super) fn read(gate: &Gate, url: &CrawlUrl, pointers: &RslPointers, facts: &HeadFacts) -> Self {
        let mut found = Self::default();
        if !gate.asks().licences {
            return found;
        }
        let now = gate.clock().wall();
        for text in facts.inline_rsl.iter().take(NamedLicence::MOST) {
            let bytes = Bytes::from(text.clone().into_bytes());
            let digest = Digest::from_bytes(Sha256::digest(&bytes).into());
            let rules = SiteRules::Licence(Arc::new(RslDocument::parse(&bytes)));
            let copy = Some(SiteCopy { digest, fetched: now, rules });
            let read = SiteFileState::Read;
            let file = SiteFile { state: read, status: None, asked: now, until: now, final_url: None, copy };
            found.known.push(NamedLicence { url: url.clone(), carrier: RslCarrier::Inline, file: Arc::new(file) });
            found.inline.push((digest, bytes));
        }
        for pointer in pointers.documents.iter().take(NamedLicence::MOST) {
            let Ok(url) = CrawlUrl::parse(&pointer.url) else { continue };
            match gate.named_licence(&url) {
                Some(file) => found.known.push(NamedLicence { url, carrier: pointer.carrier, file }),
                None => found.unknown.push((pointer.carrier, url)),
            }
        }
        found
    }

    /// One is named that is not known yet.
    pub(super) const fn has_unknown(&self) -> bool {
        !self.unknown.is_empty()
    }
}

/// What is said of a review whose text is another by now.
pub(super) fn outdated(review: &Review, found: Digest) -> String {
    let (url, origin) = (review.url(), review.origin());
    format!(
        "terms of {origin}: what stands at {url} is not the text that was reviewed, but sha256 {found}: read it anew"
    )
}

impl Shared {
    /// Learns the licences that a page names and nobody knew, and decides a last time. What is withheld then loses its body here,
    /// before anything is recorded, told or followed; so does, with a fault, what stays undecided since the crawl stops.
    pub(super) async fn with_licences(
        &self,
        trip: &Trip,
        (mut found, ruling): (Found, Option<Ruling>),
        capture: &mut Capture,
    ) -> Result<(Found, Option<Ruling>), crate::Error> {
        let Some(mut ruling) = ruling else { return Ok((found, None)) };
        let unknown = std::mem::take(&mut ruling.licences.unknown);
        if !unknown.is_empty() && !ruling.decision.is_withheld() {
            let learnt = self.learn_licences(trip, unknown).await;
            let now = self.clock.wall();
            let is_untried = self.gate.is_closing() && learnt.iter().any(|licence| licence.file.is_due(now));
            ruling = self.decided_again(trip, ruling, learnt);
            let is_withheld = ruling.decision.is_withheld();
            let is_denied = is_withheld && ruling.decision.reason != Reason::SignalUnspecified;
            if is_withheld || is_untried {
                let had_body = !capture.body.is_empty();
                let fault = match ruling.decision.reason {
                    // What the crawl stopped asking for is no silence: the page comes again.
                    _ if is_untried && !is_denied => Some(Reason::FetchCancelled),
                    // What was cut before it spoke is a fault of the exchange.
                    Reason::SignalUnspecified => capture.fault,
                    _ => None,
                };
                (capture.body, capture.fault, found) = (Spool::default(), fault, Found::default());
                capture.truncated = had_body.then_some(Truncation::Unspecified);
            }
        }
        self.keeper.licences_within(&trip.url, std::mem::take(&mut ruling.licences.inline)).await?;
        Ok((found, Some(ruling)))
    }

    async fn learn_licences(&self, trip: &Trip, unknown: Vec<(RslCarrier, CrawlUrl)>) -> Vec<NamedLicence> {
        let wanted: Vec<_> = unknown.iter().map(|(_, url)| (SiteFileKind::Licence, url.clone())).collect();
        let files = self.gate.learn_named(trip.url.origin(), &wanted, PATIENCE).await;
        let now = self.clock.wall();
        let state = SiteFileState::NotAsked;
        let not_asked =
            || Arc::new(SiteFile { state, status: None, asked: now, until: now, final_url: None, copy: None });
        let named = |((carrier, url), file): ((RslCarrier, CrawlUrl), Option<_>)| NamedLicence {
            url,
            carrier,
            file: file.unwrap_or_else(not_asked),
        };
        unknown.into_iter().zip(files).map(named).collect()
    }

    fn decided_again(&self, trip: &Trip, mut ruling: Ruling, learnt: Vec<NamedLicence>) -> Ruling {
        let Some(before) = ruling.decision.before.clone() else { return ruling };
        let (said, remarks) = self.gate.licensed(&learnt, &trip.url);
        ruling.licences.known.extend(learnt);
        let answered = Answered {
            preferences: ruling.decision.preferences.clone().with(said),
            licences: ruling.licences.known.clone(),
            stage: ruling.decision.stage,
            more: false,
            remarks: ruling.decision.remarks.clone().with(remarks),
            hidden: ruling.hidden,
        };
        ruling.decision = match self.gate.judge_content(&before, answered, trip.url.origin()) {
            // The permit was for the bytes as they came, which are kept.
            Content::Keep(_, decision) | Content::Withhold(decision) => decision,
        };
        ruling
    }

    /// The links to terms that an answer names, each once.
    pub(super) fn terms(&self, capture: &Capture, decision: &Decision, page: Option<&Extracted>) -> Vec<TermsLink> {
        let mut all: Vec<TermsLink> = Vec::new();
        let mut add = |rel, url: &str| {
            if all.len() < MOST_TERMS && !all.iter().any(|known| known.url == url) {
                all.push(TermsLink { rel, url: url.to_owned() });
            }
        };
        for link in page.iter().flat_map(|page| &page.links) {
            if let Some(rel) = link.terms() {
                add(rel, link.url.as_str());
            }
        }
        let head = page.map(|page| &page.head);
        let file = decision.site.tdmrep.as_deref().and_then(SiteFile::tdmrep);
        let target = capture.url.request_target().as_bytes();
        let none = HeadFacts::default();
        let tdm = TdmReading::read(file, target, &capture.fields, head.unwrap_or(&none), self.gate.options());
        let policy = tdm.policy.and_then(|policy| capture.url.join(&policy).ok());
        if let Some(url) = policy {
            add("tdm-policy", url.as_str());
        }
        for url in decision.site.licences.iter().filter_map(|named| named.file.licence()).flat_map(RslDocument::terms) {
            if let Ok(url) = CrawlUrl::parse(url) {
                add("rsl", url.as_str());
            }
        }
        all
    }

    /// Records an exchange with the links to terms that its answer names, then copies these where that is set. Gives what a later
    /// one can point at.
    pub(super) async fn recorded(
        &self,
        trip: &Trip,
        capture: Capture,
        decision: &Arc<Decision>,
        (earlier, terms): (Option<Earlier>, Vec<TermsLink>),
    ) -> Result<Option<Earlier>, crate::Error> {
        let stored = self.keeper.fetched(trip, capture, decision.clone(), (earlier, terms.clone())).await?;
        self.copy_terms(trip, &terms).await;
        Ok(stored)
    }

    /// Their digest is what a review is held against.
    async fn copy_terms(&self, trip: &Trip, links: &[TermsLink]) {
        if !links.is_empty() && self.gate.asks().terms {
            let urls = links.iter().filter_map(|link| CrawlUrl::parse(&link.url).ok());
            let wanted: Vec<_> = urls.map(|url| (SiteFileKind::Terms, url)).collect();
            let _kept = self.gate.learn_named(trip.url.origin(), &wanted, TERMS_PATIENCE).await;
        }
    }
}
