//! Asks every origin of an export what it says now: several at once, each in its turn, through the gate.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use comity::config::ConfigFile;
use comity_fetch::Fetcher;
use comity_gate::policy::Reason;
use comity_gate::{FetchedRobots, Gate, NoPermit, RobotsClass};
use comity_robots::Dialect;
use comity_signals::{Purpose, SignalOptions, Tdmrep};
use comity_url::{CrawlUrl, Origin};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use super::today::{Answered, Site, TdmToday, Today};
use crate::args::ExportArgs;
use crate::commands::asker::{Asker, Got, get_within};
use crate::exit::Failure;

/// Origins that are asked at the same time (our choice).
const AT_ONCE: u32 = 64;
/// Redirects of a tdmrep.json that are followed, each judged anew (as robots.txt, RFC 9309 §2.3.1.2; our choice).
const MOST_HOPS: usize = 5;

/// A tdmrep.json, and its bytes where it is one.
type Tdm = (TdmToday, Option<Vec<u8>>);

/// How the crawl reads robots.txt, and signals.
type How = (Dialect, SignalOptions);

/// Asks as the crawl did: by its dialect, and under its own name unless another is given.
pub(super) fn today(args: &ExportArgs, origins: &BTreeSet<String>) -> Result<Today, Failure> {
    let origins: Vec<Origin> = origins.iter().filter_map(|origin| Origin::parse(origin).ok()).collect();
    let Some(first) = origins.first() else {
        return Ok(Today { at: wall(), sites: HashMap::new(), copies: BTreeMap::new() });
    };
    let crawl = ConfigFile::read(&args.dir.join("crawl.toml"))?;
    let how = (crawl.read_rules()?.0, crawl.read_signals()?.options);
    let asker = Asker::open_as(&args.asker, first, AT_ONCE, &crawl)?;
    let fetcher = asker.fetcher().map_err(|error| Failure::usage(error.to_string()))?;
    let found = asker.ask_all(&origins);
    let mut files = if matches!(args.purpose, Purpose::AiTrain | Purpose::Tdm) {
        asker.runtime().block_on(tdmreps(asker.gate(), &fetcher, &found))
    } else {
        HashMap::new()
    };
    let mut today = Today { at: asker.gate().clock().wall(), sites: HashMap::new(), copies: BTreeMap::new() };
    for one in &found {
        asker.note(&one.origin);
        let file = files.remove(one.origin.as_str()).unwrap_or((TdmToday::Silent, None));
        let site = site(one, file, how, &mut today.copies);
        today.sites.insert(one.origin.to_string(), site);
    }
    Ok(today)
}

fn wall() -> comity::policy::WallTime {
    use comity::policy::Clock as _;
    comity_fetch::SystemClock::new().wall()
}

fn site(found: &FetchedRobots, (tdmrep, bytes): Tdm, how: How, copies: &mut BTreeMap<String, Vec<u8>>) -> Site {
    if matches!(found.class, RobotsClass::Unreachable { cause: Reason::Optout, .. }) {
        return Site::OptedOut;
    }
    let Some(robots) = found.robots() else { return Site::Unknown };
    let digest = found.file.as_ref().map(|(digest, bytes)| {
        copies.insert(digest.to_string(), bytes.to_vec());
        digest.to_string()
    });
    if let (TdmToday::File(_, digest), Some(bytes)) = (&tdmrep, bytes) {
        copies.insert(digest.clone(), bytes);
    }
    Site::Answered(Box::new(Answered::new(robots, digest, tdmrep, how)))
}

/// The tdmrep.json of each origin whose robots.txt is known.
async fn tdmreps(gate: &Gate, fetcher: &Arc<Fetcher>, found: &[FetchedRobots]) -> HashMap<String, Tdm> {
    let (mut asked, mut files) = (JoinSet::new(), HashMap::new());
    let mut left = found.iter().filter(|one| one.robots().is_some());
    loop {
        while asked.len() < AT_ONCE as usize
            && let Some(one) = left.next()
        {
            let (gate, fetcher, origin) = (gate.clone(), Arc::clone(fetcher), one.origin.clone());
            asked.spawn(async move {
                let file = tdmrep(&gate, &fetcher, &origin).await;
                (origin.to_string(), file)
            });
        }
        match asked.join_next().await {
            None => return files,
            Some(Ok((origin, file))) => drop(files.insert(origin, file)),
            Some(Err(error)) => eprintln!("note: an origin was lost: {error}"),
        }
    }
}

async fn tdmrep(gate: &Gate, fetcher: &Arc<Fetcher>, origin: &Origin) -> Tdm {
    let Ok(mut url) = CrawlUrl::parse(&format!("{origin}/.well-known/tdmrep.json")) else {
        return (TdmToday::Silent, None);
    };
    for _ in 0..=MOST_HOPS {
        let got = match get_within(gate, fetcher, &url, Some(Tdmrep::MAX_BYTES as u64 + 1)).await {
            Ok(got) => got,
            // As in a crawl: what may not be asked for says nothing.
            Err(NoPermit::Refused(_)) => return (TdmToday::Silent, None),
            Err(_) => return (TdmToday::Unknown, None),
        };
        match redirect(&got, &url) {
            Some(to) => url = to,
            None => return answered(got, origin),
        }
    }
    (TdmToday::Silent, None)
}

fn redirect(got: &Got, from: &CrawlUrl) -> Option<CrawlUrl> {
    let moved = matches!(got.capture.status, Some(301 | 302 | 303 | 307 | 308));
    let to = got.capture.field("location").filter(|_| moved)?;
    from.join(to).ok().filter(|to| to != from)
}

/// 2xx whole, or cut by our own bound, is a file; 3xx that leads nowhere and 4xx but 429 are none.
fn answered(got: Got, origin: &Origin) -> Tdm {
    let Got { capture, body } = got;
    match (capture.status, capture.fault) {
        (Some(206 | 429), _) => (TdmToday::Unknown, None),
        (Some(200..=299), None | Some(Reason::FetchTooLarge)) => {
            let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&body));
            (TdmToday::File(Tdmrep::parse(&body, origin.as_str()), digest), Some(body))
        }
        (Some(300..=499), _) => (TdmToday::Silent, None),
        _ => (TdmToday::Unknown, None),
    }
}
