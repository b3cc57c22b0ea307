use crate::exit::Failure;

/// What asks a command to end: Ctrl-C (SIGINT), and SIGTERM, which service supervisors send.
pub(crate) struct Stops {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Stops {
    /// From now on they do not end the process any more.
    ///
    /// # Errors
    /// When the system takes no handler.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).map_err(|e| Failure::unavailable(format!("no signals to listen to: {e}")));
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// From now on they do not end the process any more.
    ///
    /// # Errors
    /// None here.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self {})
    }

    /// The next one; those of one instant count once.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// The next one.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
