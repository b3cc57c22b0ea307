//! Captures that repeat another: which, and how that is said (archive reference §3, "Revisit").

use std::collections::{HashMap, VecDeque};

use comity_policy::{Capture, Digest, Errand};

use crate::prepare::Half;
use crate::{Earlier, Fetched};

/// Bodies below this are stored each time: pointing elsewhere costs about as much (our choice).
const LEAST_BODY: u64 = 512;

/// Why a capture need not hold its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// The body is the same, byte for byte.
    SamePayload,
    /// The site said so: 304.
    NotModified,
}

/// The capture that holds the content of another.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) earlier: Earlier,
    pub(crate) profile: Profile,
}

impl Profile {
    /// The value of `WARC-Profile`: an opaque name, so `http:` stays.
    pub(crate) const fn uri(self) -> &'static str {
        match self {
            Self::SamePayload => "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            Self::NotModified => "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
        }
    }

    /// Its last part: what records say.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::SamePayload => "identical-payload-digest",
            Self::NotModified => "server-not-modified",
        }
    }
}

/// What the caller says that the capture repeats, where that holds.
pub(crate) fn stated(event: &Fetched, half: &Half) -> Option<Repeat> {
    let earlier = event.earlier.clone()?;
    if event.capture.status == Some(304) {
        return Some(Repeat { earlier, profile: Profile::NotModified });
    }
    let same = is_eligible(event) && earlier.payload_sha256 == half.digests.payload_sha256;
    same.then_some(Repeat { earlier, profile: Profile::SamePayload })
}

/// True for a body that may stand for others and may be left out: whole, not tiny, not evidence of its own.
pub(crate) fn is_eligible(event: &Fetched) -> bool {
    is_whole(&event.capture) && event.capture.body.len() >= LEAST_BODY && matches!(event.errand, Errand::Judged(_))
}

/// True when nothing of the answer is missing.
pub(crate) fn is_whole(capture: &Capture) -> bool {
    capture.truncated.is_none() && capture.fault.is_none()
}

/// What the body of an answer is. A capture only repeats one of its own class: what holds a page is never an error page
/// that looks the same (our choice).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AnswerClass {
    /// 2xx: the content of its URL.
    Content,
    /// Anything else.
    Other,
}

impl AnswerClass {
    pub(crate) const fn of(capture: &Capture) -> Self {
        if matches!(capture.status, Some(200..=299)) { Self::Content } else { Self::Other }
    }
}

/// Which bodies of this run the archive holds, by their SHA-256: the youngest [`Payloads::REMEMBERED`].
#[derive(Debug, Default)]
pub(crate) struct Payloads {
    captures: HashMap<(AnswerClass, Digest), Earlier>,
    order: VecDeque<(AnswerClass, Digest)>,
}

impl Payloads {
    const REMEMBERED: usize = 32_768;
    /// URLs above this are not remembered, so that the whole stays small.
    const LONGEST_URL: usize = 2048;

    pub(crate) fn find(&self, class: AnswerClass, payload: Digest) -> Option<&Earlier> {
        self.captures.get(&(class, payload))
    }

    pub(crate) fn remember(&mut self, class: AnswerClass, capture: &Earlier) {
        let key = (class, capture.payload_sha256);
        if capture.url.as_str().len() > Self::LONGEST_URL || self.captures.contains_key(&key) {
            return;
        }
        self.captures.insert(key, capture.clone());
        self.order.push_back(key);
        if self.order.len() > Self::REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.captures.remove(&oldest);
        }
    }
}
