use crate::Class;

/// Whose turn it is among the classes: deficit round robin, a look at one URL being one unit.
///
/// Refused URLs count too: they cost no turn of their origin, but a class with a million of them must not keep the others from
/// being looked at.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The class that is being served.
    current: Class,
    /// What it has left.
    left: u8,
}

impl Shares {
    /// The class to serve, of those in which something `is_due`; `None` when there are none.
    pub(super) fn choose(&mut self, is_due: impl Fn(Class) -> bool) -> Option<Class> {
        for _ in 0..=Class::ALL.len() {
            if self.left > 0 && is_due(self.current) {
                return Some(self.current);
            }
            self.current = self.current.next();
            self.left = self.current.share();
        }
        None
    }

    /// No other class has anything: it is at the start of its turn, so that one that comes waits for one share at most.
    #[inline]
    pub(super) const fn alone(&mut self, class: Class) {
        (self.current, self.left) = (class, class.share());
    }

    /// One URL of the class was looked at.
    #[inline]
    pub(super) const fn charge(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}
