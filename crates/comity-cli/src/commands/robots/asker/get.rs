//! Asks a site for something else than its robots.txt, by its rules.

use std::sync::Arc;

use comity_fetch::{Collect, Fetcher, SystemNet};
use comity_gate::Gate;
use comity_policy::{Capture, Judge, Judgement};
use comity_signals::Declared;
use comity_url::CrawlUrl;

use super::Asker;
use crate::exit::Failure;

/// What came, with its decoded body.
pub(crate) struct Got {
    pub(crate) capture: Capture,
    pub(crate) body: Vec<u8>,
}

/// Judges as somebody who only reads what is said about uses: no use is declared, so no statement about one refuses the
/// fetch. Access, opt-outs and pacing hold as ever.
struct ToRead(Gate);

impl Judge for ToRead {
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        self.0.judge_for(url, &[Declared::Other])
    }
}

impl Asker {
    /// One request for `url`, in its turn. `Err` says why it was not asked.
    pub(crate) fn get(&self, url: &CrawlUrl) -> Result<Got, String> {
        let clock = Arc::clone(self.gate.clock());
        let fetcher = Fetcher::new(Arc::new(SystemNet::new()), clock, self.fetch.clone()).map_err(|e| e.to_string())?;
        let got = self.runtime.block_on(async {
            let judge = ToRead(self.gate.clone());
            let permit = self.gate.permit_within(&judge, url, Gate::PATIENCE).await.map_err(|no| no.to_string())?;
            let mut sink = Collect::default();
            let fetched = fetcher.fetch(permit, &mut sink).await;
            if let Some(receipt) = fetched.receipt {
                let _paced = self.gate.settle(receipt, fetched.outcome);
            }
            Ok(Got { capture: fetched.capture, body: sink.body })
        });
        self.note(url.origin());
        got
    }

    /// The same, for something that has to be there.
    pub(crate) fn must_get(&self, url: &CrawlUrl) -> Result<Got, Failure> {
        let got = self.get(url).map_err(|why| Failure::unavailable(format!("{url}: {why}")))?;
        match (got.capture.status, got.capture.fault) {
            (None, Some(fault)) => Err(Failure::unavailable(format!("{url}: {}", fault.code()))),
            _ => Ok(got),
        }
    }
}
