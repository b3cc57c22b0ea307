use tokio::sync::watch;

/// Holds a crawl and lets it go on, from anywhere. Cheap to clone.
///
/// Held, it sends nothing new: what is in flight is finished, handled and recorded, and everything else waits in the queue. To finish a page
/// may take a request, too: for the licences that it names, without which it cannot be decided on, and for copies of its terms, where
/// `[signals]` asks for them. All clocks go on: delays, back-offs and the lives of robots.txt run as ever, so that nothing is sooner than it would have been,
/// and `max_duration` counts the time, too. A crawl that is held does not end by itself; [`StopHandle`](crate::StopHandle) ends it.
#[derive(Clone, Debug)]
pub struct PauseHandle {
    sender: watch::Sender<bool>,
}

impl PauseHandle {
    pub(crate) fn new() -> (Self, watch::Receiver<bool>) {
        let (sender, receiver) = watch::channel(false);
        (Self { sender }, receiver)
    }

    /// Nothing new is sent from here on.
    pub fn pause(&self) {
        self.sender.send_replace(true);
    }

    /// It goes on.
    pub fn resume(&self) {
        self.sender.send_replace(false);
    }

    /// Whether it is held.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        *self.sender.borrow()
    }
}
