//! Asks a site for something else than its robots.txt, by its rules.

use comity_fetch::{Collect, ConfigError, Fetcher, Request};
use comity_gate::{Gate, NoPermit};
use comity_policy::{Capture, Judge, Judgement, Reason};
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

/// One request for `url`, in its turn, waited for at most [`Gate::PATIENCE`]; of the body at most `most` bytes.
pub(crate) async fn get_within(
    gate: &Gate,
    fetcher: &Fetcher,
    url: &CrawlUrl,
    most: Option<u64>,
) -> Result<Got, NoPermit> {
    let permit = gate.permit_within(&ToRead(gate.clone()), url, Gate::PATIENCE).await?;
    let request = Request { max_body: most, ..Request::default() };
    let mut sink = Collect::default();
    let fetched = fetcher.fetch_with(permit, &request, &mut sink).await;
    if let Some(receipt) = fetched.receipt {
        let _paced = gate.settle(receipt, fetched.outcome);
    }
    Ok(Got { capture: fetched.capture, body: sink.body })
}

impl Asker {
    /// One request for `url`, in its turn.
    fn asked(&self, url: &CrawlUrl) -> Result<Result<Got, NoPermit>, ConfigError> {
        let fetcher = self.fetcher()?;
        let got = self.runtime.block_on(get_within(&self.gate, &fetcher, url, None));
        self.note(url.origin());
        Ok(got)
    }

    /// One request for `url`, in its turn. `Err` says why it was not asked.
    pub(crate) fn get(&self, url: &CrawlUrl) -> Result<Got, String> {
        self.asked(url).map_err(|error| error.to_string())?.map_err(|no| no.to_string())
    }

    /// The same, for something that has to be there if it may be asked for. The inner `Err` says why it may not.
    pub(crate) fn must_get(&self, url: &CrawlUrl) -> Result<Result<Got, String>, Failure> {
        match self.asked(url).map_err(|error| Failure::usage(error.to_string()))? {
            Ok(Got { capture: Capture { status: None, fault: Some(fault), .. }, .. }) => {
                Err(Failure::unavailable(format!("{url}: {}", fault.code())))
            }
            Ok(got) => Ok(Ok(got)),
            Err(no) if refuses(&no) => Ok(Err(no.to_string())),
            Err(no) => Err(Failure::unavailable(format!("{url} was not asked: {no}"))),
        }
    }
}

/// Whether it may not be asked for. Else it cannot be, now or from here: no name, no network, no turn in time.
fn refuses(no: &NoPermit) -> bool {
    match no {
        NoPermit::Refused(refusal) => refusal.reason() != Reason::RobotsUnreachable,
        NoPermit::NotConnectable(refused) => refused.reason.is_refused_address(),
        _ => false,
    }
}
