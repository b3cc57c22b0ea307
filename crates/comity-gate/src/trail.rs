//! What a robots.txt flight asked, hop by hop: told to whoever waits for it, kept by nobody.

use bytes::Bytes;
use comity_fetch::Refused;
use comity_policy::{Capture, ChainEnd, RobotsEvent, Spool};
use comity_url::CrawlUrl;

use crate::fetched::{HopMeaning, NotFollowed, RobotsClass, RobotsHop};
use crate::flight::Landing;
use crate::reading::{Hop, KeptFile};

/// The hops of one flight, and where it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pub(crate) hops: Vec<RobotsHop>,
    pub(crate) class: Option<RobotsClass>,
    pub(crate) max_age: Option<std::time::Duration>,
    pub(crate) file: Option<KeptFile>,
}

impl Trail {
    /// One exchange, and what its answer means.
    pub(crate) fn asked(&mut self, capture: &Capture, hop: &Hop, body: Bytes) {
        let meaning = match hop {
            Hop::Redirect { target, .. } => HopMeaning::Redirect(target.clone()),
            Hop::Event(RobotsEvent::RedirectLimit { .. }) => HopMeaning::NotFollowed(NotFollowed::NoTarget),
            Hop::Event(_) => HopMeaning::Answer,
        };
        let mut capture = Box::new(capture.clone());
        let mut body = body;
        if matches!(meaning, HopMeaning::Redirect(_)) {
            // One body at a time, however long the chain is: nobody reads those on the way.
            (capture.body, body) = (Spool::default(), Bytes::new());
        }
        self.hops.push(RobotsHop { url: capture.url.clone(), meaning, capture: Some(capture), body });
    }

    /// A hop that was not asked: its name does not exist, or its address may not be connected to.
    pub(crate) fn not_asked(&mut self, url: &CrawlUrl, refused: &Refused) {
        let meaning = HopMeaning::NotAsked(refused.clone());
        self.hops.push(RobotsHop { url: url.clone(), meaning, capture: None, body: Bytes::new() });
    }

    /// The last redirect is not followed.
    pub(crate) fn not_followed(&mut self, end: ChainEnd) {
        if let Some(hop) = self.hops.last_mut() {
            hop.meaning = HopMeaning::NotFollowed(end.into());
        }
    }

    /// The end of the flight.
    pub(crate) fn landed(&mut self, landing: &Landing, file: Option<&KeptFile>) {
        self.class = Some(match landing {
            Landing::Event(event) => RobotsClass::of(event),
            Landing::Barred(refused) => {
                RobotsClass::Unreachable { cause: refused.reason, status: None, retry_after: None }
            }
            Landing::LeftAlone(cause) => RobotsClass::Unreachable { cause: *cause, status: None, retry_after: None },
            Landing::Later(ready) => RobotsClass::Later(*ready),
        });
        self.max_age = match landing {
            Landing::Event(RobotsEvent::Parsed { max_age, .. } | RobotsEvent::NotModified { max_age }) => *max_age,
            _ => None,
        };
        self.file = file.cloned();
    }
}
