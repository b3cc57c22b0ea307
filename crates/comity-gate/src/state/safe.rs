//! What is remembered made safe against a power cut, for whoever has no crawl that sees to it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use super::StateDir;
use crate::Gate;

/// Between two syncs at least.
const EVERY: Duration = Duration::from_secs(1);
/// After a fault.
const AGAIN: Duration = Duration::from_secs(10);

impl Gate {
    /// Makes what it remembers safe against a power cut, within a second of being written, for as long as it is awaited; with no
    /// state directory it waits for ever. Nothing is done while nothing is written. A fault is logged, and tried again.
    ///
    /// To be awaited beside whatever uses the gate. A crawl does this by itself.
    pub async fn keep_safe(&self) -> Infallible {
        let Some(state) = &self.inner.state else { return std::future::pending().await };
        loop {
            if sync(state).await {
                tokio::time::sleep(EVERY).await;
                state.wrote.notified().await;
            } else {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Makes safe what it remembers, once: before the program ends. A fault is logged.
    pub async fn make_safe(&self) {
        if let Some(state) = &self.inner.state {
            sync(state).await;
        }
    }
}

/// Off the loop; true when it is safe.
async fn sync(state: &Arc<StateDir>) -> bool {
    let state = Arc::clone(state);
    match tokio::task::spawn_blocking(move || state.sync()).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::error!(%error, hint = error.hint(), "state directory");
            false
        }
        Err(error) => {
            tracing::error!(%error, "the state directory's thread failed");
            false
        }
    }
}
