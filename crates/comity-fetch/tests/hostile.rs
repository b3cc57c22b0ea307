//! Every hostile scenario ends inside its limit with its reason, and the next site is unaffected.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{FetchConfig, Refused};
use comity_policy::{Reason, Truncation};
use comity_testweb::hostile::{Hostile, HostileNet, Scenario, Speech};
use comity_url::{CrawlUrl, Origin};
use support::{Page, Rig};

fn rig() -> (Rig, HostileNet) {
    let hostile = Hostile::new().unwrap();
    let config = FetchConfig { extra_roots_pem: vec![hostile.root_pem().to_vec()], ..support::config() };
    let net = hostile.net();
    (Rig::on(Arc::new(net.clone()), config), net)
}

fn url(scenario: Scenario) -> String {
    let scheme = if scenario.speech() == Speech::Plain { "http" } else { "https" };
    format!("{scheme}://{}/page", scenario.host())
}

/// How a scenario must end.
struct End {
    fault: Option<Reason>,
    status: Option<u16>,
    truncated: Option<Truncation>,
    /// Seconds, from and to.
    seconds: (u64, u64),
}

const fn fine(status: u16) -> End {
    End { fault: None, status: Some(status), truncated: None, seconds: (0, 0) }
}

const fn fails(fault: Reason, seconds: u64) -> End {
    End { fault: Some(fault), status: None, truncated: None, seconds: (seconds, seconds) }
}

const fn flawed(fault: Reason) -> End {
    End { fault: Some(fault), status: Some(200), truncated: None, seconds: (0, 0) }
}

const fn cut(fault: Reason, truncated: Truncation, seconds: u64) -> End {
    End { fault: Some(fault), status: Some(200), truncated: Some(truncated), seconds: (seconds, seconds) }
}

fn expected(scenario: Scenario) -> End {
    use Reason as R;
    use Scenario as S;
    use Truncation as T;
    match scenario {
        S::Good | S::FoldedField | S::LongBody | S::Http2Good => fine(200),
        S::RedirectLoop | S::RedirectFile | S::RedirectScript | S::RedirectPrivate => fine(302),
        S::Silent | S::SlowHead | S::Http2Silent => fails(R::FetchTimeoutHead, 15),
        S::HangUp | S::ResetAfterRequest | S::ResetInHead => fails(R::FetchReset, 0),
        S::EndlessHead | S::EndlessLine | S::EndlessInterim | S::ManyFields | S::HugeField => fails(R::FetchHeaders, 0),
        S::SplitField | S::NotHttp | S::BinaryNoise | S::TwoLengths | S::NegativeLength => fails(R::FetchProtocol, 0),
        S::LengthAndChunks => fine(200),
        S::SlowBody => cut(R::FetchSlow, T::Time, 10),
        S::EndlessBody | S::EndlessChunks => cut(R::FetchTooLarge, T::Length, 0),
        S::ResetInBody | S::ShortBody => cut(R::FetchReset, T::Disconnect, 0),
        S::ChunkNoise | S::ChunkOverflow | S::ChunkExtension | S::EndlessTrailers => {
            cut(R::FetchProtocol, T::Unspecified, 0)
        }
        S::FalseCoding | S::CutCoding | S::UnknownCoding | S::StackedCodings => flawed(R::FetchCoding),
        bomb if bomb.is_bomb() => cut(R::FetchRatio, T::Length, 0),
        S::TlsExpired | S::TlsWrongName | S::TlsSelfSigned | S::TlsNoise => fails(R::FetchTls, 0),
        S::TlsSilent => fails(R::FetchTimeoutConnect, 10),
        S::Http2RapidReset => fails(R::FetchReset, 0),
        S::Http2Oversized | S::Http2EmptyData | S::Http2EndlessBody => cut(R::FetchProtocol, T::Unspecified, 0),
        _ => fails(R::FetchProtocol, 0),
    }
}

/// What is wrong with how it ended.
fn complaint(scenario: Scenario, page: &Page) -> Option<String> {
    let (name, end, capture) = (scenario.name(), expected(scenario), &page.fetched.capture);
    let found = (page.fault(), page.status(), capture.truncated);
    let right = found == (end.fault, end.status, end.truncated)
        && page.failed() == end.fault.filter(|_| end.status.is_none())
        && capture.detail.is_some() == end.fault.is_some()
        && page.body.len() <= 10 << 20
        && capture.body.len() <= 10 << 20
        && capture.response_head.len() <= 64 << 10;
    let size = (page.body.len(), capture.body.len());
    (!right).then(|| format!("{name}: {found:?} {:?}, {size:?} bytes: {:?}", page.failed(), capture.detail))
}

#[tokio::test(start_paused = true)]
async fn every_scenario_ends_in_its_limit_with_its_reason() {
    let mut complaints = Vec::new();
    for &scenario in Scenario::ALL {
        let (rig, net) = rig();
        let page = rig.fetch(&url(scenario)).await;
        complaints.extend(complaint(scenario, &page));
        let (name, seconds) = (scenario.name(), expected(scenario).seconds);
        let took = page.took.as_secs();
        if !(seconds.0..=seconds.1).contains(&took) {
            complaints.push(format!("{name}: took {took} s"));
        }
        assert_eq!(net.connections(), 1, "{name}: nothing was asked twice");
        assert_eq!(rig.pacer.in_flight(), 0, "{name}");
        // The next URL of another origin is unaffected.
        let before = rig.now();
        let next = rig.fetch(&url(Scenario::Good)).await;
        assert_eq!((next.fault(), next.text().as_str()), (None, "hello"), "after {name}");
        assert!(rig.now().since(before) <= Duration::from_secs(2), "after {name}");
        eprintln!("{name}: {} → {:?}", scenario.text(), page.fault().map_or("ok", Reason::code));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[tokio::test(start_paused = true)]
async fn all_at_once_each_ends_as_it_does_alone() {
    let (rig, net) = rig();
    let rig = Arc::new(rig);
    let all: Vec<_> = Scenario::ALL
        .iter()
        .map(|&scenario| {
            let rig = Arc::clone(&rig);
            tokio::spawn(async move { (scenario, rig.fetch(&url(scenario)).await) })
        })
        .collect();
    let mut complaints = Vec::new();
    for task in all {
        let (scenario, page) = task.await.unwrap();
        complaints.extend(complaint(scenario, &page));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert_eq!((rig.pacer.in_flight(), net.connections()), (0, Scenario::ALL.len()));
}

#[tokio::test(start_paused = true)]
async fn redirects_lead_nowhere_that_is_not_public_http() {
    let (rig, net) = rig();
    let rows = [
        (Scenario::RedirectLoop, Ok(())),
        (Scenario::RedirectFile, Err(None)),
        (Scenario::RedirectScript, Err(None)),
        (Scenario::RedirectPrivate, Err(Some(Reason::AddressPrivate))),
    ];
    for (scenario, end) in rows {
        let page = rig.fetch(&url(scenario)).await;
        let location = page.fetched.capture.field("location").unwrap().to_owned();
        let target = page.fetched.capture.url.join(&location);
        let found = match target {
            Err(_) => Err(None),
            Ok(target) => {
                rig.fetcher.candidates(target.origin()).await.map(drop).map_err(|refused| Some(refused.reason))
            }
        };
        assert_eq!(found, end, "{location}");
    }
    assert_eq!(net.connections(), rows.len(), "no hop was followed");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_turns_private_between_two_answers_is_refused() {
    let (rig, net) = rig();
    let page = rig.fetch("http://rebind.hostile.test/").await;
    assert_eq!(page.text(), "hello");
    // Within the life of the answer nobody is asked; after it the new answer meets the guard.
    assert_eq!(rig.fetch("http://rebind.hostile.test/").await.text(), "hello");
    tokio::time::sleep(Duration::from_secs(61)).await;
    let origin = Origin::parse("http://rebind.hostile.test").unwrap();
    let refused: Refused = rig.fetcher.candidates(&origin).await.unwrap_err();
    assert_eq!(refused.reason, Reason::AddressPrivate);
    // A permit that was made for it all the same connects to nobody.
    let before = net.connections();
    let url = CrawlUrl::parse("http://rebind.hostile.test/").unwrap();
    let permit = rig.permit_at(&url, vec!["127.0.0.1:80".parse().unwrap()]).await;
    let mut fetched = rig.fetcher.fetch(permit, &mut comity_fetch::Collect::default()).await;
    assert_eq!((fetched.capture.fault, net.connections()), (Some(Reason::AddressPrivate), before));
    rig.settle(&mut fetched);
}
