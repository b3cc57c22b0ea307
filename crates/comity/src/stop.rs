use tokio::sync::watch;

/// How a running crawl is asked to end.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// It is not.
    #[default]
    Run,
    /// Nothing new is sent; what is in flight is finished and recorded.
    Drain,
    /// Now: what is in flight is dropped and stays in the queue.
    Now,
}

/// Asks a crawl to end. Cheap to clone; asking twice for less changes nothing.
#[derive(Clone, Debug)]
pub struct StopHandle {
    sender: watch::Sender<Stop>,
}

impl StopHandle {
    pub(crate) fn new() -> (Self, watch::Receiver<Stop>) {
        let (sender, receiver) = watch::channel(Stop::Run);
        (Self { sender }, receiver)
    }

    /// Finish what is in flight, then end.
    pub fn drain(&self) {
        self.ask(Stop::Drain);
    }

    /// End now.
    pub fn now(&self) {
        self.ask(Stop::Now);
    }

    fn ask(&self, wanted: Stop) {
        self.sender.send_if_modified(|stop| {
            let stronger = wanted > *stop;
            *stop = wanted.max(*stop);
            stronger
        });
    }
}
