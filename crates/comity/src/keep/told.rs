//! What sites say of themselves, as the gate heard it: robots.txt and the files in which they speak about use, kept as evidence and
//! recorded.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use comity_archive::{Basis, Context, Event, EvidenceKind, Fetched, NotFetched, Target};
use comity_fetch::BoxFuture;
use comity_gate::{RecalledFile, RecalledRobots, Recorder, RobotsVisit, SiteFileOutcome, SiteFileVisit};
use comity_policy::{Digest, Errand};
use comity_url::{CrawlUrl, Origin};

use super::Keeper;
use crate::{Error, RobotsSeen};

impl Recorder for Keeper {
    fn robots_visit(&self, visit: RobotsVisit) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.robots.fetch_add(1, Ordering::Relaxed);
            self.learn(&visit.for_origin, visit.capture.status, visit.file.as_ref().map(|(_, bytes)| bytes));
            self.listeners.tell(|| crate::Event::Robots(self.robots_seen(&visit)));
            let kept = self.keep_robots(visit).await;
            if let Err(error) = kept {
                tracing::error!(%error, "robots.txt could not be recorded");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn site_file_visit(&self, visit: SiteFileVisit) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.keep_file(visit).await {
                tracing::error!(%error, "a site's file could not be recorded");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn site_file_recalled(&self, recalled: RecalledFile) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let RecalledFile { kind, file, fetched, status, copy } = recalled;
            let kept = self.blocking(move |store| {
                let bytes = copy.as_ref().map(|(_, bytes)| bytes.as_ref());
                store.beside().evidence.put(kind.into(), &file, fetched, status, bytes).map(drop)
            });
            if let Err(error) = kept.await {
                tracing::error!(%error, "a file of an earlier crawl could not be kept as evidence");
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        })
    }

    fn robots_recalled(&self, recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let RecalledRobots { for_origin, fetched, status, file } = recalled;
            self.learn(&for_origin, Some(status), file.as_ref().map(|(_, bytes)| bytes));
            let kept = self.blocking(move |store| {
                let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
                let url = for_origin.robots_url();
                store.beside().evidence.put(EvidenceKind::RobotsTxt, &url, fetched, status, bytes).map(drop)
            });
            if let Err(error) = kept.await {
                tracing::error!(%error, "the robots.txt of an earlier crawl could not be kept as evidence");
            }
        })
    }
}

impl Keeper {
    fn robots_seen(&self, visit: &RobotsVisit) -> RobotsSeen {
        let (origin, digest) = (visit.for_origin.clone(), visit.file.as_ref().map(|(digest, _)| *digest));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match digest {
            Some(digest) if seen.len() < MOST_SEEN || seen.contains_key(&origin) => seen.insert(origin.clone(), digest),
            _ => None,
        };
        let changed = before.is_some() && before != digest;
        RobotsSeen { origin, url: visit.capture.url.clone(), status: visit.capture.status, digest, changed }
    }

    fn learn(&self, origin: &Origin, status: Option<u16>, file: Option<&Bytes>) {
        match (file, status) {
            (Some(bytes), _) => self.sites.learn(origin, bytes),
            (None, Some(400..=428 | 430..=499)) => self.sites.learn_absent(origin),
            (None, _) => {}
        }
    }

    async fn keep_robots(&self, visit: RobotsVisit) -> Result<(), Error> {
        let RobotsVisit { for_origin, hop, capture, file } = visit;
        let (url, fetched, status) = (capture.url.clone(), capture.started, capture.status);
        let context = Context { hops: hop, attempt: 1, ..Context::default() };
        let errand = Errand::Robots { for_origin, hop };
        let robots_copy = file.as_ref().map(|(digest, _)| *digest);
        self.blocking(move |store| {
            // Absence is evidence too: an answer without a file is a sighting without bytes.
            let Some(status) = status else { return Ok(()) };
            let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
            store.beside().evidence.put(EvidenceKind::RobotsTxt, &url, fetched, status, bytes).map(drop)
        })
        .await?;
        let event = Fetched { capture, errand, robots_copy, earlier: None, context };
        self.append(Event::Fetched(Box::new(event))).await.map(drop)
    }
}

impl Keeper {
    /// Keeps the licences that stand within a page as evidence: the page itself may be withheld for them.
    pub(crate) async fn licences_within(&self, page: &CrawlUrl, texts: Vec<(Digest, Bytes)>) -> Result<(), Error> {
        if texts.is_empty() {
            return Ok(());
        }
        let (url, now) = (page.clone(), self.clock.wall());
        self.blocking(move |store| {
            texts.iter().try_for_each(|(_, text)| {
                store.beside().evidence.put(EvidenceKind::Licence, &url, now, WITHIN_A_PAGE, Some(text)).map(drop)
            })
        })
        .await
    }

    /// A request for a file in which a site speaks about use: the sighting first, absence too, then the record.
    async fn keep_file(&self, visit: SiteFileVisit) -> Result<(), Error> {
        let SiteFileVisit { kind, file: place, hop, url, decision, outcome } = visit;
        let kind = EvidenceKind::from(kind);
        // Whoever reads the record of a hop sees whose file it was.
        let via = (hop > 0).then_some(place);
        let context = Context { via: via.clone(), hops: hop, attempt: 1, file: Some(kind), ..Context::default() };
        let event = match outcome {
            SiteFileOutcome::Asked(capture, file) => {
                if let Some(status) = capture.status {
                    // What redirects led to is seen where the terms were named, too: reviews are held against that.
                    let moved = via.clone().filter(|_| kind == EvidenceKind::Terms && file.is_some());
                    let (places, fetched) = ([Some(url.clone()), moved], capture.started);
                    self.blocking(move |store| {
                        let bytes = file.as_ref().map(|(_, bytes)| bytes.as_ref());
                        let mut places = places.iter().flatten();
                        places.try_for_each(|url| {
                            store.beside().evidence.put(kind, url, fetched, status, bytes).map(drop)
                        })
                    })
                    .await?;
                }
                let errand = Errand::Judged(decision);
                Event::Fetched(Box::new(Fetched {
                    capture: *capture,
                    errand,
                    robots_copy: None,
                    earlier: None,
                    context,
                }))
            }
            SiteFileOutcome::NotAsked(reason, detail) => Event::NotFetched(Box::new(NotFetched {
                target: Target::Url(url),
                reason,
                basis: Basis::Decision(decision),
                at: self.clock.wall(),
                until: None,
                detail,
                context,
            })),
        };
        self.append(event).await.map(drop)
    }
}

/// The status of the sighting of a licence that stands within a page: that page's answer is a record of its own.
const WITHIN_A_PAGE: u16 = 200;

/// Origins whose robots.txt is held against the next one, for listeners. Of more a change is not told.
const MOST_SEEN: usize = 65_536;
