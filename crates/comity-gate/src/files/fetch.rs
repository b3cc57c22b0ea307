use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{BoxFuture, CookieUse, Keep, Read, Request, ResponseHead, Sink, Want};
use comity_policy::{
    Capture, Decision, Digest, Hold, Judgement, OriginPace, Permit, Reason, Review, SiteCopy, SiteFile, SiteFileKind,
    SiteFileState, SiteRules,
};
use comity_signals::RslDocument;
use comity_url::{CrawlUrl, Origin};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::FileKey;
use crate::flight::{Flight, RESOLVER_RETRIES, RESOLVER_WAIT, When};
use crate::{Admission, Gate, SiteFileOutcome, SiteFileVisit};

/// Redirects that are followed on the way (TDMRep allows them and names no number; our choice: as of robots.txt).
const MOST_HOPS: u8 = 5;
/// A turn that lies further ahead is told instead of waited for; turns that others take meanwhile count.
const PATIENCE: Duration = Duration::from_secs(60);
/// What one request came to.
enum Step {
    /// It is settled.
    Known(SiteFile),
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
    /// Makes sure that the files of `origin` are known as well as they can be now, and that its next judgement has them; joins
    /// fetches under way. `Some`: not yet.
    pub(crate) async fn site_files(&self, origin: &Origin) -> Option<Hold> {
        let key = self.key(origin);
        let needed = self.inner.cache.files_needed(&key, &self.terms().reviews, self.inner.clock.wall());
        if needed.is_empty() {
            return None;
        }
        let mut found = Vec::with_capacity(needed.len());
        for (name, known) in needed {
            let file = match known {
                Some(file) => file,
                None => match self.site_file(&name).await {
                    Ok(file) => file,
                    Err(hold) if name.origin() == origin || *self.inner.closing.borrow() => return Some(hold),
                    Err(_) => self.without_turn(&name).await,
                },
            };
            found.push((name, file));
        }
        self.inner.cache.files_known(key, found, self.inner.clock.wall());
        None
    }

    /// Nobody waits for the turn of another origin: the file counts as unreachable. What an earlier copy says holds on, and what
    /// another flight has learnt meanwhile.
    async fn without_turn(&self, key: &FileKey) -> Arc<SiteFile> {
        match self.inner.cache.files().and_then(|files| files.get(key)) {
            Some(landed) if !landed.is_due(self.inner.clock.wall()) => landed,
            before => self.file_known(key, self.outcome(SiteFileState::Unreachable, None), before.as_deref()).await,
        }
    }

    /// Learns files that an answer from `origin` has named, as far as `patience` goes; what is left is asked for before the next
    /// page of it. Gives what is known of each afterwards. Of what the pages of one origin name two dozen are asked for at most.
    #[must_use = "nothing is learnt until it is awaited"]
    pub fn learn_named<'a>(
        &'a self,
        origin: &'a Origin,
        named: &'a [(SiteFileKind, CrawlUrl)],
        patience: Duration,
    ) -> BoxFuture<'a, Vec<Option<Arc<SiteFile>>>> {
        Box::pin(self.learnt(origin, named, patience))
    }

    async fn learnt(
        &self,
        origin: &Origin,
        named: &[(SiteFileKind, CrawlUrl)],
        patience: Duration,
    ) -> Vec<Option<Arc<SiteFile>>> {
        let Some(files) = self.inner.cache.files() else { return vec![None; named.len()] };
        let (site, now) = (self.key(origin), self.inner.clock.wall());
        let keys = named.iter().map(|(kind, url)| FileKey::at(*kind, url.clone())).collect();
        let keys = files.name(&site, keys);
        let mut learnt: Vec<_> = keys.iter().map(|key| files.in_life(key.as_ref()?, now)).collect();
        if keys.iter().zip(&learnt).any(|(key, known)| key.is_some() && known.is_none()) {
            let learning = async {
                for (key, known) in keys.iter().zip(&mut learnt) {
                    if let (Some(key), None) = (key, &known) {
                        *known = self.site_file(key).await.ok();
                    }
                }
            };
            let _all = tokio::time::timeout(patience, learning).await;
            let all = keys.iter().zip(&learnt);
            files.want(&site, |file| {
                let ours = all.clone().find(|(key, _)| (*key).as_ref() == Some(file));
                ours.map(|(_, known)| known.is_none())
            });
        }
        let held = |(key, known): (&Option<FileKey>, Option<_>)| known.or_else(|| files.get(key.as_ref()?));
        keys.iter().zip(learnt).map(held).collect()
    }

    /// What is known of a licence that an answer names; `None` where nothing is, or none is asked for.
    #[must_use]
    pub fn named_licence(&self, url: &CrawlUrl) -> Option<Arc<SiteFile>> {
        let file = self.inner.cache.files()?.get(&FileKey::at(SiteFileKind::Licence, url.clone()))?;
        (!file.is_due(self.inner.clock.wall())).then_some(file)
    }

    /// Reviews whose text is another by now, with the digest of what stands there: to be read anew. Where terms are not copied,
    /// and where there is no copy, nothing is known.
    #[must_use]
    pub fn outdated_reviews(&self) -> Vec<(Arc<Review>, Digest)> {
        let Some(files) = self.inner.cache.files() else { return Vec::new() };
        let changed = |review: &Arc<Review>| {
            let file = files.get(&FileKey::at(SiteFileKind::Terms, review.url().clone()))?;
            let found = file.copy.as_ref()?.digest;
            (found != review.digest()?).then(|| (review.clone(), found))
        };
        self.terms().reviews.all().iter().filter_map(changed).collect()
    }

    /// Which files are asked for.
    #[must_use]
    pub fn asks(&self) -> super::AskFiles {
        self.inner.cache.files().map(super::FileCache::asks).unwrap_or_default()
    }

    /// One file as well as it can be known now; else when to look again.
    async fn site_file(&self, key: &FileKey) -> FileNews {
        // The task was aborted or panicked: nothing was learnt.
        let lost = || Hold { reason: Reason::FetchCancelled, wait: Some(PATIENCE) };
        let mut news = match self.join_file(key).ok_or_else(lost)? {
            Joined::Known(file) => return Ok(file),
            Joined::Flight(news) => news,
        };
        loop {
            if let Some(found) = news.borrow_and_update().clone() {
                return found;
            }
            news.changed().await.map_err(|_| lost())?;
        }
    }

    /// The fetch under way, begun now if one is due.
    fn join_file(&self, key: &FileKey) -> Option<Joined> {
        let files = self.inner.cache.files()?;
        let mut flights = self.file_flights();
        if let Some(flight) = flights.get(key).filter(|flight| flight.is_flying()) {
            return Some(Joined::Flight(flight.news.clone()));
        }
        if let Some(file) = files.in_life(key, self.inner.clock.wall()) {
            return Some(Joined::Known(file));
        }
        let (sender, news) = watch::channel(None);
        let task = tokio::spawn(fly(self.clone(), key.clone(), sender)).abort_handle();
        flights.insert(key.clone(), Flight { news: news.clone(), task });
        Some(Joined::Flight(news))
    }
}

/// How a fetch ended: what is known of the file now, or when to look again.
pub(crate) type FileNews = Result<Arc<SiteFile>, Hold>;

/// What whoever wants a file has to do with it.
enum Joined {
    /// Nothing.
    Known(Arc<SiteFile>),
    /// To wait.
    Flight(watch::Receiver<Option<FileNews>>),
}

/// The task of one fetch. Boxed: a redirect to another origin asks for robots.txt there.
fn fly(gate: Gate, key: FileKey, sender: watch::Sender<Option<FileNews>>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let found = gate.learn_file(&key).await;
        gate.file_flights().remove(&key);
        drop(sender.send(Some(found)));
    })
}

impl Gate {
    /// Follows the chain to its end, and puts in force what it came to.
    async fn learn_file(&self, key: &FileKey) -> FileNews {
        let nowhere = || Hold { reason: Reason::FetchCancelled, wait: Some(PATIENCE) };
        let files = self.inner.cache.files().ok_or_else(nowhere)?;
        let mut before = files.get(key);
        if before.is_none() {
            before = self.recall_file(key).await;
            if let Some(file) = before.as_ref().filter(|file| !file.is_due(self.inner.clock.wall())) {
                return Ok(file.clone());
            }
        }
        let first = key.url().ok_or_else(nowhere)?;
        let (mut url, mut asked) = (first.clone(), Vec::new());
        for hop in 0..=MOST_HOPS {
            asked.push(url.clone());
            let file = match self.step((key, &first), &url, hop).await {
                Step::Known(file) => file,
                Step::Later(hold) => return Err(hold),
                Step::NotAsked { own_word } => {
                    let file = self.outcome(SiteFileState::NotAsked, None);
                    return Ok(self.file_known(key, file, before.as_deref().filter(|_| !own_word)).await);
                }
                Step::Redirect(target, status) if hop == MOST_HOPS || asked.contains(&target) => {
                    self.outcome(SiteFileState::RedirectLimit, Some(status))
                }
                Step::Redirect(target, _) => {
                    url = target;
                    continue;
                }
            };
            return Ok(self.file_known(key, file, before.as_deref()).await);
        }
        Err(nowhere())
    }

    async fn file_known(&self, key: &FileKey, mut file: SiteFile, before: Option<&SiteFile>) -> Arc<SiteFile> {
        // What was not learnt takes nothing back.
        if matches!(file.state, SiteFileState::Unreachable | SiteFileState::NotAsked) {
            file.copy = before.and_then(|before| before.copy.clone());
        }
        tracing::debug!(%key, state = file.state.as_str(), status = file.status, "site file");
        self.put_file(key, file).await
    }

    /// Remembers it, then puts it in force.
    async fn put_file(&self, key: &FileKey, file: SiteFile) -> Arc<SiteFile> {
        let file = Arc::new(file);
        self.remember_file(key, &file).await;
        if let Some(files) = self.inner.cache.files() {
            files.store(key.clone(), file.clone());
        }
        file
    }

    fn outcome(&self, state: SiteFileState, status: Option<u16>) -> SiteFile {
        let asked = self.inner.clock.wall();
        SiteFile { state, status, asked, until: asked.after(state.life()), final_url: None, copy: None }
    }

    /// One hop: judged, in its turn, fetched, recorded.
    async fn step(&self, (key, first): (&FileKey, &CrawlUrl), url: &CrawlUrl, hop: u8) -> Step {
        let visit = |decision, outcome| SiteFileVisit {
            kind: key.kind,
            file: first.clone(),
            hop,
            url: url.clone(),
            decision,
            outcome,
        };
        let permit = match self.file_permit(url).await {
            Ok(permit) => permit,
            // Behind a redirect nobody waits for another origin's turn: the chain would begin anew.
            Err(NoTurn::Later(_)) if hop > 0 => return Step::Known(self.outcome(SiteFileState::Unreachable, None)),
            Err(NoTurn::Later(hold)) => return Step::Later(hold),
            Err(NoTurn::NotAsked(decision, reason, detail)) => {
                let outcome = SiteFileOutcome::NotAsked(reason, detail);
                self.inner.recorder.site_file_visit(visit(decision, outcome)).await;
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
        let most = key.kind.most_bytes();
        let request = Request { max_body: Some(most as u64), cookies: CookieUse::None, ..Request::default() };
        let mut sink = Bounded { most, taken: Vec::new() };
        let fetched = self.inner.fetcher.fetch_with(permit, &request, &mut sink).await;
        if let Some(receipt) = fetched.receipt {
            let _paced = self.settle(receipt, fetched.outcome);
        }
        let capture = fetched.capture;
        let file = self.read(key, &capture, sink.taken.into());
        let kept = file.as_ref().map(|(digest, bytes, _)| (*digest, bytes.clone()));
        if let Some((digest, bytes)) = &kept {
            self.remember_copy(*digest, bytes).await;
        }
        let step = self.meaning(first, &capture, file.map(|(digest, _, rules)| (digest, rules)));
        self.inner.recorder.site_file_visit(visit(decision, SiteFileOutcome::Asked(Box::new(capture), kept))).await;
        step
    }

    /// The bytes that are read of a whole answer, and what they say.
    fn read(&self, key: &FileKey, capture: &Capture, body: Bytes) -> Option<(Digest, Bytes, SiteRules)> {
        let is_file = capture.status.is_some_and(|status| (200..300).contains(&status) && status != 206);
        // A longer file is cut by our own bound, and read as far as that.
        let is_whole = capture.fault.is_none() || body.len() >= key.kind.most_bytes();
        (is_file && is_whole).then(|| {
            let digest = Digest::from_bytes(Sha256::digest(&body).into());
            let rules = SiteRules::read(key.kind, &body, key.origin(), self.inner.compiler.token_lists());
            (digest, body, rules)
        })
    }

    fn meaning(&self, first: &CrawlUrl, capture: &Capture, file: Option<(Digest, SiteRules)>) -> Step {
        let known = |state| Step::Known(self.outcome(state, capture.status));
        match (capture.status, file) {
            (Some(status), Some((digest, rules))) => {
                let read = self.outcome(SiteFileState::Read, Some(status));
                let until = read.asked.after(life(&rules));
                let copy = SiteCopy { digest, fetched: capture.started, rules };
                let final_url = (capture.url != *first).then(|| capture.url.clone());
                Step::Known(SiteFile { copy: Some(copy), final_url, until, ..read })
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
    async fn file_permit(&self, url: &CrawlUrl) -> Result<Permit, NoTurn> {
        let mut closing = self.inner.closing.subscribe();
        let later = |reason, wait| NoTurn::Later(Hold { reason, wait: Some(wait) });
        // A robots.txt that is over before it is looked at stays over.
        let (mut rounds, mut tries, mut patience) = (3, 0, PATIENCE);
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
            if wait > patience {
                return Err(later(turn.clock, wait));
            }
            patience = patience.saturating_sub(wait);
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => {}
                () = self.sleep_until(now.after(wait)) => {}
            }
        }
    }
}

/// How long a copy is not asked for again: a day, and a licence as long as it says of itself, up to thirty days
/// (signals reference §8.2; the bound is our choice).
fn life(rules: &SiteRules) -> Duration {
    let day = SiteFileState::Read.life();
    match rules {
        SiteRules::Licence(document) if document.is_conformant() => {
            day * document.max_age_days().clamp(1, RslDocument::DEFAULT_MAX_AGE_DAYS)
        }
        _ => day,
    }
}

/// Keeps the first bytes, and counts on nobody sending more than is asked for.
#[derive(Debug)]
struct Bounded {
    most: usize,
    taken: Vec<u8>,
}

impl Sink for Bounded {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, decoded: &[u8]) {
        let room = self.most.saturating_sub(self.taken.len());
        self.taken.extend_from_slice(decoded.get(..room).unwrap_or(decoded));
    }

    #[expect(clippy::disallowed_methods, reason = "these files speak about use, and are not used")]
    fn keep(&mut self, _read: Read) -> Keep {
        Keep::unjudged()
    }
}
