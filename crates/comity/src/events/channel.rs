//! The channel of events: a ring that is bounded in number and in bytes, from which each reader takes at its own pace.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Event;

/// Where events are sent in. The channel ends with its last clone.
#[derive(Debug)]
pub(super) struct Sender(Arc<Ring>);

/// One who reads.
#[derive(Debug)]
pub(super) struct Receiver {
    ring: Arc<Ring>,
    /// The number of the event that comes next.
    next: u64,
}

#[derive(Debug)]
struct Ring {
    held: Mutex<Held>,
    told: Notify,
    senders: AtomicUsize,
    readers: AtomicUsize,
    /// Events, and bytes, that are held at most.
    most: (usize, usize),
}

#[derive(Debug, Default)]
struct Held {
    events: VecDeque<(Arc<Event>, usize)>,
    /// The number of the oldest.
    first: u64,
    bytes: usize,
}

impl Sender {
    pub(super) fn new(events: usize, bytes: usize) -> Self {
        let (senders, readers) = (AtomicUsize::new(1), AtomicUsize::new(0));
        let most = (events.max(1), bytes);
        Self(Arc::new(Ring { held: Mutex::default(), told: Notify::new(), senders, readers, most }))
    }

    pub(super) fn has_readers(&self) -> bool {
        self.0.readers.load(Ordering::Acquire) > 0
    }

    pub(super) fn send(&self, event: Event) {
        let bytes = event.bytes();
        let mut held = self.0.lock();
        held.events.push_back((Arc::new(event), bytes));
        held.bytes += bytes;
        // The newest is told however large it is.
        while held.events.len() > 1 && (held.events.len() > self.0.most.0 || held.bytes > self.0.most.1) {
            held.drop_oldest();
        }
        drop(held);
        self.0.told.notify_waiters();
    }

    pub(super) fn subscribe(&self) -> Receiver {
        let held = self.0.lock();
        self.0.readers.fetch_add(1, Ordering::AcqRel);
        Receiver { ring: self.0.clone(), next: held.end() }
    }
}

impl Clone for Sender {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::AcqRel);
        Self(self.0.clone())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.told.notify_waiters();
        }
    }
}

impl Receiver {
    /// The next event, and how many were lost before it; without one when nobody sends any more.
    pub(super) async fn next(&mut self) -> (Option<Event>, u64) {
        let mut lost = 0;
        loop {
            // Before it is looked: what is told after that ends the wait.
            let told = self.ring.told.notified();
            {
                let held = self.ring.lock();
                if self.next < held.first {
                    lost += held.first - self.next;
                    self.next = held.first;
                }
                let place = usize::try_from(self.next - held.first).ok();
                if let Some((event, _)) = place.and_then(|place| held.events.get(place)) {
                    let event = event.clone();
                    drop(held);
                    self.next += 1;
                    return (Some(Arc::unwrap_or_clone(event)), lost);
                }
            }
            if self.ring.senders.load(Ordering::Acquire) == 0 {
                return (None, lost);
            }
            told.await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut held = self.ring.lock();
        if self.ring.readers.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody would read them: whoever comes later hears of what comes later.
            while !held.events.is_empty() {
                held.drop_oldest();
            }
        }
    }
}

impl Ring {
    /// Nothing is left half done under the lock.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn drop_oldest(&mut self) {
        if let Some((_, bytes)) = self.events.pop_front() {
            self.bytes -= bytes;
            self.first += 1;
        }
    }

    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use comity_policy::Reason;
    use comity_url::CrawlUrl;

    use super::*;

    fn skipped(path: &str) -> Event {
        let url = CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
        Event::Skipped { via: url.clone(), url, reason: Reason::UrlScope }
    }

    fn path(event: Option<Event>) -> Option<String> {
        match event {
            Some(Event::Skipped { url, .. }) => Some(url.request_target().trim_start_matches('/').to_owned()),
            _ => None,
        }
    }

    #[tokio::test]
    async fn the_oldest_go_by_number_and_by_bytes_and_are_counted() {
        for (most, bytes, sent, lost) in [(3, usize::MAX, 5, 2), (100, 3 * skipped("0").bytes(), 5, 2), (100, 0, 5, 4)]
        {
            let sender = Sender::new(most, bytes);
            let mut reader = sender.subscribe();
            (0..sent).for_each(|n| sender.send(skipped(&n.to_string())));
            let (first, missed) = reader.next().await;
            assert_eq!((path(first), missed), (Some(lost.to_string()), lost), "{most} {bytes}");
            for n in lost + 1..sent {
                assert_eq!(path(reader.next().await.0), Some(n.to_string()));
            }
            drop(sender);
            assert!(reader.next().await.0.is_none(), "it ends with its last sender");
        }
    }

    #[tokio::test]
    async fn each_reader_has_its_own_pace_and_hears_what_comes_after_it() {
        let sender = Sender::new(10, usize::MAX);
        assert!(!sender.has_readers());
        let mut early = sender.subscribe();
        sender.send(skipped("0"));
        let mut late = sender.subscribe();
        let waiting = tokio::spawn(async move { path(late.next().await.0) });
        tokio::task::yield_now().await;
        sender.clone().send(skipped("1"));
        assert_eq!(waiting.await.unwrap(), Some("1".to_owned()));
        assert_eq!(path(early.next().await.0), Some("0".to_owned()));
        drop(early);
        assert!(!sender.has_readers() && sender.0.lock().events.is_empty(), "nothing is held for nobody");
        let mut again = sender.subscribe();
        sender.send(skipped("2"));
        assert_eq!((path(again.next().await.0), again.next), (Some("2".to_owned()), 3));
    }
}
