//! Every hostile scenario ends inside its limit with its reason, and the next site is unaffected.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

#[path = "support/ends.rs"]
mod ends;
#[path = "hostile/reports.rs"]
mod reports;
mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{FetchConfig, Limits, Refused};
use comity_policy::Reason;
use comity_testweb::hostile::{Hostile, HostileNet, Scenario};
use comity_url::{CrawlUrl, Origin};
use ends::{complaint, expected};
use support::Rig;

fn rig() -> (Rig, HostileNet) {
    let hostile = Hostile::new().unwrap();
    let config = FetchConfig { extra_roots_pem: vec![hostile.root_pem().to_vec()], ..support::config() };
    let net = hostile.net();
    (Rig::on(Arc::new(net.clone()), config), net)
}

fn url(scenario: Scenario) -> String {
    ends::url(scenario, "")
}

#[tokio::test(start_paused = true)]
async fn every_scenario_ends_in_its_limit_with_its_reason() {
    let mut complaints = Vec::new();
    for &scenario in Scenario::ALL {
        let (rig, net) = rig();
        let page = rig.fetch(&url(scenario)).await;
        complaints.extend(complaint(scenario, &page.fetched, page.body.len()));
        let (name, took) = (scenario.name(), page.took.as_secs());
        if took != expected(scenario).limit.wait(&Limits::default()).as_secs() {
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
        complaints.extend(complaint(scenario, &page.fetched, page.body.len()));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert_eq!((rig.pacer.in_flight(), net.connections()), (0, Scenario::ALL.len()));
}

#[tokio::test(start_paused = true)]
async fn redirects_lead_nowhere_that_is_not_public_http() {
    let (rig, net) = rig();
    let private = Err(Some(Reason::AddressPrivate));
    let rows = [
        (Scenario::RedirectLoop, Ok(())),
        (Scenario::RedirectRing, Ok(())),
        (Scenario::RedirectFile, Err(None)),
        (Scenario::RedirectScript, Err(None)),
        (Scenario::RedirectPrivate, private),
        (Scenario::RedirectDecimal, private),
        (Scenario::RedirectOctal, private),
        (Scenario::RedirectShort, private),
        (Scenario::RedirectMapped, private),
        (Scenario::RedirectLinkLocal, private),
        (Scenario::RedirectName, private),
        // Public when it is asked for now; the test below waits.
        (Scenario::RedirectRebind, Ok(())),
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

/// Every field report that concerns hostile answers names a test that is there, and every scenario its end.
#[test]
fn the_page_says_how_each_scenario_ends_and_which_test_holds_which_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reference/hostile.md")).unwrap();
    let missing: Vec<String> =
        Scenario::ALL.iter().map(|scenario| ends::row(*scenario)).filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "docs/reference/hostile.md lacks these rows:\n{}", missing.join("\n"));
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, Scenario::ALL.len(), "rows of scenarios that are no longer");
    // `test name` (`path`), as the second table writes it.
    let held: Vec<(&str, &str)> = page
        .lines()
        .filter(|line| line.starts_with("| R"))
        .flat_map(|line| line.split("; "))
        .filter_map(|test| test.rsplit_once("` (`"))
        .filter_map(|(name, path)| Some((name.rsplit('`').next()?, path.split('`').next()?)))
        .collect();
    assert!(held.len() >= 22, "{held:?}");
    for (name, path) in held {
        let text = std::fs::read_to_string(root.join("crates").join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(text.contains(&format!("fn {name}(")), "{path} has no {name}");
    }
}
