use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_url::Origin;
use tokio::sync::{Mutex as Turnstile, MutexGuard as First};

/// Callers that wait for a permit, first come first served, a queue per origin.
///
/// Only the first of a queue looks at the clocks: however many wait, an origin costs one timer and no turn is lost to
/// a race. A caller that goes away leaves its queue; an empty queue is forgotten.
#[derive(Debug)]
pub(crate) struct Queues {
    origins: Mutex<Origins>,
    most: usize,
}

#[derive(Debug, Default)]
struct Origins {
    queues: HashMap<Origin, (Arc<Turnstile<()>>, u32)>,
    waiting: usize,
}

/// A place in the queue of one origin, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    queues: &'a Queues,
    origin: Origin,
    turnstile: Arc<Turnstile<()>>,
    /// How many stood in the queue before.
    pub(crate) ahead: u32,
}

impl Queues {
    /// Queues that hold so many callers in all.
    pub(crate) fn new(most: usize) -> Self {
        Self { origins: Mutex::default(), most }
    }

    /// The last place in the queue of `origin`; `None` when as many wait as may.
    pub(crate) fn join(&self, origin: &Origin) -> Option<Place<'_>> {
        let mut origins = self.lock();
        if origins.waiting >= self.most {
            return None;
        }
        origins.waiting += 1;
        let (turnstile, waiting) = origins.queues.entry(origin.clone()).or_default();
        *waiting += 1;
        let (turnstile, ahead) = (turnstile.clone(), *waiting - 1);
        Some(Place { queues: self, origin: origin.clone(), turnstile, ahead })
    }

    fn lock(&self) -> MutexGuard<'_, Origins> {
        // A panic inside leaves at worst one caller counted too many: the bound holds earlier.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Waits until it is the first of its queue, and stays that while the answer lives.
    pub(crate) async fn first(&self) -> First<'_, ()> {
        self.turnstile.lock().await
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut origins = self.queues.lock();
        origins.waiting = origins.waiting.saturating_sub(1);
        let Some((_, waiting)) = origins.queues.get_mut(&self.origin) else { return };
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            origins.queues.remove(&self.origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queues_are_bounded_and_forgotten_when_empty() {
        let queues = Queues::new(2);
        let origin = Origin::parse("http://a.test").unwrap();
        let (one, two) = (queues.join(&origin).unwrap(), queues.join(&origin).unwrap());
        assert_eq!((one.ahead, two.ahead), (0, 1));
        assert!(queues.join(&origin).is_none(), "full");
        let first = one.first().await;
        assert!(two.turnstile.try_lock().is_err(), "one at a time");
        drop(first);
        drop(one);
        assert!(two.turnstile.try_lock().is_ok());
        drop(two);
        assert!(queues.lock().queues.is_empty());
        assert_eq!(queues.lock().waiting, 0);
    }
}
