use comity_policy::Instant;

use super::due::{Due, Key, Place};
use super::shares::Shares;
use crate::Class;

/// The origins that come due, a line for each class, and whose turn it is among the classes.
///
/// Within a class the order is that of [`Due`]; tickets are drawn for all of them together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    due: [Due; Class::ALL.len()],
    shares: Shares,
    tickets: u64,
}

impl Lines {
    /// As [`Due::place`].
    #[inline]
    pub(super) fn place(
        &mut self,
        class: Class,
        origin: u32,
        place: &mut Option<Place>,
        due: Option<Instant>,
        now: Instant,
    ) {
        let line = &mut self.due[class.place()];
        line.skip_tickets(self.tickets);
        line.place(origin, place, due, now);
        self.tickets = line.last_ticket();
    }

    /// As [`Due::put`].
    #[inline]
    pub(super) fn put(&mut self, class: Class, origin: u32, place: Place) {
        self.due[class.place()].put(origin, place);
    }

    /// As [`Due::remove`].
    #[inline]
    pub(super) fn remove(&mut self, class: Class, origin: u32, place: Place) {
        self.due[class.place()].remove(origin, place);
    }

    /// The class whose turn it is of those in which something is due at `now`, and what has been due for longest in it.
    #[inline]
    pub(super) fn choose(&mut self, now: Instant) -> Option<(Class, Key)> {
        let Self { due, shares, .. } = self;
        if let Some(class) = only(due) {
            shares.alone(class);
            return due[class.place()].first_due(now).map(|first| (class, first));
        }
        let class = shares.choose(|class| due[class.place()].first_due(now).is_some())?;
        due[class.place()].first_due(now).map(|first| (class, first))
    }

    /// The chosen class had a URL looked at.
    #[inline]
    pub(super) const fn charge(&mut self) {
        self.shares.charge();
    }

    /// As [`Due::first_ones`].
    pub(super) fn first_ones(&self, class: Class, now: Instant) -> impl Iterator<Item = u32> + '_ {
        self.due[class.place()].first_ones(now)
    }

    /// As [`Due::collect_due`], for each class.
    pub(super) fn collect_due(&mut self, now: Instant, n: usize) -> Vec<u32> {
        let mut origins = Vec::new();
        self.due.iter_mut().for_each(|line| line.collect_due(now, n, &mut origins));
        origins
    }

    /// As [`Due::touch`].
    #[inline]
    pub(super) fn touch(&self, class: Class, at: Instant) -> u64 {
        self.due[class.place()].touch(at)
    }

    /// Those due at `now`, up to `n` of each class, since any may have the next `n` turns.
    pub(super) fn all_due(&self, now: Instant, n: usize) -> impl Iterator<Item = u32> + '_ {
        self.due.iter().flat_map(move |line| line.all_due(now).take(n))
    }

    /// When the first origin is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.iter().filter_map(Due::next).min()
    }

    /// Up to `count` origins that are not due at `now`: the earliest first, then the stuck ones.
    pub(super) fn waiting(&self, now: Instant, count: usize) -> Vec<u32> {
        let mut keys: Vec<Key> = self.due.iter().flat_map(|line| line.waiting(now).take(count)).collect();
        keys.sort_unstable();
        let stuck = self.due.iter().flat_map(Due::stuck_ones);
        keys.into_iter().map(|key| key.2).chain(stuck).take(count).collect()
    }

    /// How many origins only an event can make due.
    pub(super) fn stuck(&self) -> usize {
        self.due.iter().map(Due::stuck).sum()
    }

    /// As [`Due::ticket`].
    pub(super) const fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// As [`Due::skip_tickets`].
    pub(super) fn skip_tickets(&mut self, last: u64) {
        self.tickets = self.tickets.max(last);
    }

    /// The ticket drawn last.
    pub(super) const fn last_ticket(&self) -> u64 {
        self.tickets
    }
}

/// The class that has all origins that time makes due; `None` when there are several, or none.
#[inline]
fn only(due: &[Due; Class::ALL.len()]) -> Option<Class> {
    let mut busy = Class::ALL.into_iter().filter(|class| !due[class.place()].is_idle());
    busy.next().filter(|_| busy.next().is_none())
}
