//! Seeds for a crawl that has begun.

use comity_frontier::{Offer, Offered};
use comity_policy::Reason;
use comity_url::CrawlUrl;
use serde_json::json;

use super::{Answer, Control, ControlError};

/// Seeds taken at once.
const MOST: usize = 1000;

impl Control {
    /// `seed`: adds seeds. A row for each: `new`, `seen` or `refused` with its reason, a pattern of the scope that leaves it out among them. Nothing is added when one is no URL.
    pub(super) async fn seed(&self, texts: &[String]) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        if texts.is_empty() || texts.len() > MOST {
            return Err(ControlError::usage(format!("{} seeds: give 1 to {MOST} at once", texts.len())));
        }
        let urls = texts.iter().map(|text| seed(text)).collect::<Result<Vec<_>, _>>()?;
        let _taking_in = held.taking_in().await?;
        let left_out: Vec<Option<Reason>> = urls.iter().map(|url| held.left_out(url)).collect();
        let taken: Vec<CrawlUrl> =
            urls.iter().zip(&left_out).filter(|(_, out)| out.is_none()).map(|(url, _)| url.clone()).collect();
        held.widen(&taken)?;
        let offers = taken.iter().map(|url| Offer::seed(url.clone(), held.key(url))).collect();
        let mut offered = held.frontier().offer(offers).await?.into_iter();
        held.poke();
        // An answer for each, in their order: of those that were offered the queue's.
        let answers = left_out.into_iter().filter_map(|out| out.map(Offered::Refused).or_else(|| offered.next()));
        let rows = urls.iter().zip(answers).map(|(url, offered)| {
            let (outcome, reason) = match offered {
                Offered::New => ("new", None),
                Offered::Seen => ("seen", None),
                Offered::Refused(reason) => ("refused", Some(reason.code())),
            };
            tracing::info!(%url, outcome, "seed of the operator's");
            json!({"url": url.to_string(), "outcome": outcome, "reason": reason})
        });
        Ok(Answer { rows: rows.collect(), about: json!({"next": null}) })
    }
}

fn seed(text: &str) -> Result<CrawlUrl, ControlError> {
    CrawlUrl::parse(text).map_err(|error| {
        ControlError::usage(format!("{text:?}: {error}")).hint("seeds are absolute http or https URLs; none was added")
    })
}
