//! `/.well-known/tdmrep.json` of an origin: asked for once a day, judged and paced like a page (invariant 2), before its first page.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{CookieUse, Keep, Read, Request, ResponseHead, Sink, Want};
use comity_policy::{
    Capture, Decision, Digest, Hold, Judgement, OriginPace, Permit, Reason, SiteFileState, TdmCopy, TdmFile, WallTime,
};
use comity_signals::{Declared, Purpose, Tdmrep};
use comity_url::{CrawlUrl, Origin};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::cache::RobotsKey;
use crate::flight::{Flight, RESOLVER_RETRIES, RESOLVER_WAIT, When};
use crate::{Admission, Gate, RobotsNews, SiteFileOutcome, SiteFileVisit};

/// Whether a site's tdmrep.json is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskTdmrep {
    /// Never.
    #[default]
    Never,
    /// Where a declared purpose is one that it speaks about: `tdm`, and `ai_train`, which is derived from it.
    WhenNeeded,
    /// Of every site.
    Always,
}

impl AskTdmrep {
    /// Whether it is asked for under these purposes.
    #[must_use]
    pub fn asks(self, purposes: &[Declared]) -> bool {
        let speaks = |declared: &Declared| matches!(declared.judged(), Some(Purpose::Tdm | Purpose::AiTrain));
        match self {
            Self::Never => false,
            Self::WhenNeeded => purposes.iter().any(speaks),
            Self::Always => true,
        }
    }
}

/// Redirects that are followed on the way (TDMRep allows them and names no number; our choice: as of robots.txt).
const MOST_HOPS: u8 = 5;
/// A turn that lies further ahead is told instead of waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes taken of the file: one more than is read, so that a longer one is known to be longer.
const MOST_READ: usize = Tdmrep::MAX_BYTES + 1;

/// What one request came to.
enum Step {
    /// It is settled.
    Known(TdmFile),
    /// It was not asked for; `own_word` when the site itself would not have it.
    NotAsked { own_word: bool },
    /// It goes on there.
    Redirect(CrawlUrl, u16),
    /// Not now.
    Later(Hold),
}

/// Why there is no permit.
enum NoTurn {
    Later(Hold),
    NotAsked(Arc<Decision>, Reason, Option<String>),
}

impl Gate {
    /// Makes sure that tdmrep.json of `origin` is known as well as it can be now; joins a fetch under way. `Some`: not yet.
    pub(crate) async fn tdmrep(&self, origin: &Origin) -> Option<Hold> {
        let mut news = self.join_tdmrep(&self.key(origin))?;
        loop {
            if let Some(found) = news.borrow_and_update().clone() {
                return found.hold;
            }
            if news.changed().await.is_err() {
                // The task was aborted or panicked: nothing was learnt.
                return Some(Hold { reason: Reason::FetchCancelled, wait: Some(PATIENCE) });
            }
        }
    }

    /// The channel of the fetch under way, begun now if one is due.
    fn join_tdmrep(&self, key: &RobotsKey) -> Option<watch::Receiver<Option<RobotsNews>>> {
        let mut flights = self.tdm_flights();
        if let Some(flight) = flights.get(key).filter(|flight| !flight.task.is_finished()) {
            return Some(flight.news.clone());
        }
        if !self.inner.cache.tdm_is_due(key, self.inner.clock.wall()) {
            return None;
        }
        let (sender, news) = watch::channel(None);
        let task = tokio::spawn(fly(self.clone(), key.clone(), sender)).abort_handle();
        flights.insert(key.clone(), Flight { news: news.clone(), task });
        Some(news)
    }
}

/// The task of one fetch. Boxed: a redirect to another origin asks for robots.txt there.
fn fly(
    gate: Gate,
    key: RobotsKey,
    sender: watch::Sender<Option<RobotsNews>>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let hold = gate.learn_tdmrep(&key).await;
        gate.tdm_flights().remove(&key);
        drop(sender.send(Some(gate.news(&key.0, hold))));
    })
}

impl Gate {
    /// Follows the chain to its end, and puts in force what it came to.
    async fn learn_tdmrep(&self, key: &RobotsKey) -> Option<Hold> {
        let (origin, cache) = (&key.0, &self.inner.cache);
        let before = cache.tdm(key);
        let mut url = TdmFile::url(origin)?;
        let mut asked = Vec::new();
        for hop in 0..=MOST_HOPS {
            asked.push(url.clone());
            match self.step(origin, &url, hop).await {
                Step::Known(file) => return self.tdmrep_known(key, file, before.as_deref()),
                Step::Later(hold) => return Some(hold),
                Step::NotAsked { own_word } => {
                    let file = self.outcome(SiteFileState::NotAsked, None);
                    return self.tdmrep_known(key, file, before.as_deref().filter(|_| !own_word));
                }
                Step::Redirect(target, status) if hop == MOST_HOPS || asked.contains(&target) => {
                    let file = self.outcome(SiteFileState::RedirectLimit, Some(status));
                    return self.tdmrep_known(key, file, before.as_deref());
                }
                Step::Redirect(target, _) => url = target,
            }
        }
        None
    }

    fn tdmrep_known(&self, key: &RobotsKey, mut file: TdmFile, before: Option<&TdmFile>) -> Option<Hold> {
        // What was not learnt takes nothing back.
        if matches!(file.state, SiteFileState::Unreachable | SiteFileState::NotAsked) {
            file.copy = before.and_then(|before| before.copy.clone());
        }
        tracing::debug!(origin = %key.0, state = file.state.as_str(), status = file.status, "tdmrep.json");
        self.inner.cache.store_tdm(key.clone(), Arc::new(file));
        None
    }

    fn outcome(&self, state: SiteFileState, status: Option<u16>) -> TdmFile {
        let asked = self.inner.clock.wall();
        TdmFile { state, status, asked, until: asked.after(state.life()), final_url: None, copy: None }
    }

    /// One hop: judged, in its turn, fetched, recorded.
    async fn step(&self, origin: &Origin, url: &CrawlUrl, hop: u8) -> Step {
        let visit =
            |decision, outcome| SiteFileVisit { for_origin: origin.clone(), hop, url: url.clone(), decision, outcome };
        let permit = match self.tdmrep_permit(url).await {
            Ok(permit) => permit,
            // Behind a redirect nobody waits for another origin's turn: the chain would begin anew.
            Err(NoTurn::Later(_)) if hop > 0 => return Step::Known(self.outcome(SiteFileState::Unreachable, None)),
            Err(NoTurn::Later(hold)) => return Step::Later(hold),
            Err(NoTurn::NotAsked(decision, reason, detail)) => {
                let outcome = SiteFileOutcome::NotAsked(reason, detail);
                self.inner.recorder.tdmrep_visit(visit(decision, outcome)).await;
                if reason == Reason::FetchDnsTimeout {
                    return Step::Known(self.outcome(SiteFileState::Unreachable, None));
                }
                let word = matches!(reason, Reason::RobotsDisallow | Reason::RobotsDisallowAll | Reason::Optout);
                return Step::NotAsked { own_word: word && hop == 0 };
            }
        };
        let decision = match permit.errand() {
            comity_policy::Errand::Judged(decision) => decision.clone(),
            comity_policy::Errand::Robots { .. } => return Step::NotAsked { own_word: false },
        };
        let request = Request { max_body: Some(MOST_READ as u64), cookies: CookieUse::None, ..Request::default() };
        let mut sink = Bounded::default();
        let fetched = self.inner.fetcher.fetch_with(permit, &request, &mut sink).await;
        if let Some(receipt) = fetched.receipt {
            let _paced = self.settle(receipt, fetched.outcome);
        }
        let capture = fetched.capture;
        let file = self.read(origin, &capture, sink.0.into());
        let kept = file.as_ref().map(|(digest, bytes, _)| (*digest, bytes.clone()));
        let step = self.meaning(origin, &capture, file.map(|(digest, _, rules)| (digest, rules)));
        self.inner.recorder.tdmrep_visit(visit(decision, SiteFileOutcome::Asked(Box::new(capture), kept))).await;
        step
    }

    /// The bytes that are read of a whole answer, and what they say.
    fn read(&self, origin: &Origin, capture: &Capture, body: Bytes) -> Option<(Digest, Bytes, Arc<Tdmrep>)> {
        let is_file = capture.status.is_some_and(|status| (200..300).contains(&status) && status != 206);
        // A longer file is cut by our own bound, and read as far as that.
        let is_whole = capture.fault.is_none() || body.len() >= MOST_READ;
        (is_file && is_whole).then(|| {
            let digest = Digest::from_bytes(Sha256::digest(&body).into());
            let rules = Arc::new(Tdmrep::parse(&body, origin.as_str()));
            (digest, body, rules)
        })
    }

    fn meaning(&self, origin: &Origin, capture: &Capture, file: Option<(Digest, Arc<Tdmrep>)>) -> Step {
        let known = |state| Step::Known(self.outcome(state, capture.status));
        match (capture.status, file) {
            (Some(status), Some((digest, rules))) => {
                let copy = TdmCopy { digest, fetched: capture.started, rules };
                let own = TdmFile::url(origin).is_some_and(|own| own == capture.url);
                let final_url = (!own).then(|| capture.url.clone());
                Step::Known(TdmFile { copy: Some(copy), final_url, ..self.outcome(SiteFileState::Read, Some(status)) })
            }
            (Some(status @ (301 | 302 | 303 | 307 | 308)), None) => {
                match capture.field("location").map(|location| capture.url.join(location)) {
                    Some(Ok(target)) => Step::Redirect(target, status),
                    _ => known(SiteFileState::Absent),
                }
            }
            (Some(300..=399), None) => known(SiteFileState::Absent),
            (Some(400..=428 | 430..=499), None) => known(SiteFileState::Absent),
            _ => known(SiteFileState::Unreachable),
        }
    }

    /// The right to ask for the file: access alone counts, since what is read here is what the site says of use.
    async fn tdmrep_permit(&self, url: &CrawlUrl) -> Result<Permit, NoTurn> {
        let mut closing = self.inner.closing.subscribe();
        let later = |reason, wait| NoTurn::Later(Hold { reason, wait: Some(wait) });
        // A robots.txt that is over before it is looked at stays over.
        let (mut rounds, mut tries) = (3, 0);
        loop {
            if *self.inner.closing.borrow() {
                return Err(later(Reason::FetchCancelled, PATIENCE));
            }
            let allowance = match self.judge_access(url) {
                Judgement::Allow(allowance) => allowance,
                Judgement::Refuse(refusal) => {
                    return Err(NoTurn::NotAsked(refusal.decision().clone(), refusal.reason(), None));
                }
                Judgement::Hold(hold) => return Err(NoTurn::Later(hold)),
                Judgement::NeedsRobots(origin) => {
                    rounds -= 1;
                    match self.robots_when(&origin, When::Due).await.hold {
                        Some(hold) => return Err(NoTurn::Later(hold)),
                        None if rounds == 0 => return Err(later(Reason::ParkRobots, PATIENCE)),
                        None => continue,
                    }
                }
            };
            let decision = allowance.decision().clone();
            let turn = match self.admit(allowance, OriginPace::default()).await {
                Admission::Permit(permit) => return Ok(permit),
                Admission::OptedOut(refusal) => {
                    return Err(NoTurn::NotAsked(refusal.decision().clone(), refusal.reason(), None));
                }
                // As robots.txt: a resolver that fails once may answer the next time.
                Admission::Refuse(refused) if refused.reason == Reason::FetchDnsTimeout && tries < RESOLVER_RETRIES => {
                    tries += 1;
                    tokio::time::sleep(RESOLVER_WAIT * tries).await;
                    continue;
                }
                Admission::Refuse(refused) => {
                    return Err(NoTurn::NotAsked(decision, refused.reason, Some(refused.detail)));
                }
                Admission::Wait(turn) => turn.ready,
            };
            let now = self.inner.clock.now();
            let wait = turn.at.since(now).max(Duration::from_millis(1));
            if wait > PATIENCE {
                return Err(later(turn.clock, wait));
            }
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => {}
                () = self.sleep_until(now.after(wait)) => {}
            }
        }
    }
}

/// Keeps the first bytes, and counts on nobody sending more than is asked for.
#[derive(Debug, Default)]
struct Bounded(Vec<u8>);

impl Sink for Bounded {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, decoded: &[u8]) {
        let room = MOST_READ.saturating_sub(self.0.len());
        self.0.extend_from_slice(decoded.get(..room).unwrap_or(decoded));
    }

    #[expect(clippy::disallowed_methods, reason = "tdmrep.json speaks about use, and is not used")]
    fn keep(&mut self, _read: Read) -> Keep {
        Keep::unjudged()
    }
}

/// Whether a copy of what is known is over.
pub(crate) fn is_due(known: Option<&TdmFile>, now: WallTime) -> bool {
    known.is_none_or(|file| file.is_due(now))
}
