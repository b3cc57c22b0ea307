//! Several addresses of one origin (RFC 8305): who is tried when, who is used, who is charged.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use comity_fetch::FetchConfig;
use comity_policy::Reason;
use comity_url::CrawlUrl;
use support::{AGENT, Rig, Script, Step, ok, send};

const SIX: &str = "fd00::1";
const FOUR: &str = "10.0.0.1";

fn steps() -> Vec<Step> {
    vec![Step::Request, send(ok("x")), Step::Hold]
}

fn serve() -> Script {
    Script::Serve(steps())
}

fn late(millis: u64) -> Script {
    Script::Late(Duration::from_millis(millis), steps())
}

/// `site.test` has these addresses; each does what its script says.
fn rig(plan: &[(&str, Script)]) -> Rig {
    let addresses: Vec<IpAddr> = plan.iter().map(|(text, _)| text.parse().unwrap()).collect();
    let names = BTreeMap::from([("site.test".to_owned(), Ok(addresses))]);
    let plan: BTreeMap<IpAddr, Script> = plan.iter().map(|(text, s)| (text.parse().unwrap(), s.clone())).collect();
    let allow_addresses = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
    let config = FetchConfig { allow_addresses, ..FetchConfig::new(AGENT) };
    Rig::over(config, names, move |addr, _| plan[&addr.ip()].clone())
}

#[tokio::test(start_paused = true)]
async fn the_first_that_connects_is_used_and_a_dead_family_costs_a_quarter_of_a_second() {
    let far = |n: u8| format!("10.0.0.{n}");
    let four_dead: Vec<String> = (2..=5).map(far).collect();
    let mut long: Vec<(&str, Script)> = four_dead.iter().map(|text| (text.as_str(), Script::Hang)).collect();
    long.push((FOUR, serve()));
    // Addresses with what they do, whom the request goes to, after how many milliseconds, connections begun.
    type Row<'a> = (&'a str, Vec<(&'a str, Script)>, &'a str, u128, usize);
    let rows: Vec<Row<'_>> = vec![
        ("IPv6 alone", vec![(SIX, serve())], SIX, 0, 1),
        ("IPv4 alone", vec![(FOUR, serve())], FOUR, 0, 1),
        ("both live", vec![(SIX, serve()), (FOUR, serve())], SIX, 0, 1),
        ("IPv6 dead", vec![(SIX, Script::Hang), (FOUR, serve())], FOUR, 250, 2),
        ("IPv6 refused", vec![(SIX, Script::Refuse), (FOUR, serve())], FOUR, 0, 2),
        ("IPv6 slow, within its start", vec![(SIX, late(249)), (FOUR, serve())], SIX, 249, 1),
        ("IPv6 slow, IPv4 faster", vec![(SIX, late(900)), (FOUR, late(100))], FOUR, 350, 2),
        ("IPv6 slow, IPv4 slower", vec![(SIX, late(400)), (FOUR, late(300))], SIX, 400, 2),
        ("four dead", long, FOUR, 1000, 5),
    ];
    for (name, plan, peer, millis, begun) in rows {
        let rig = rig(&plan);
        let page = rig.fetch("http://site.test/").await;
        let capture = &page.fetched.capture;
        assert_eq!(page.fault(), None, "{name}: {:?}", capture.detail);
        let connect = capture.timings.connect.unwrap();
        assert_eq!((capture.peer.unwrap().to_string().as_str(), connect.as_millis()), (peer, millis), "{name}");
        assert_eq!(rig.log.peers().len(), begun, "{name}");
        assert_eq!(rig.log.requests(), 1, "{name}: the losers got no byte");
        assert_eq!(rig.pacer.in_flight(), 0, "{name}");
        // The gap runs at the peer that was asked, and nowhere else.
        let other = CrawlUrl::parse("http://other.test/").unwrap();
        for (address, _) in &plan {
            let at = std::net::SocketAddr::new(address.parse().unwrap(), 80);
            let turn = rig.pacer.try_slot(other.origin(), vec![at], rig.now()).map(drop).map_err(|ready| ready.clock);
            let expected = if *address == peer { Err(Reason::RateAddress) } else { Ok(()) };
            assert_eq!(turn, expected, "{name}: {address}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_lost_comes_last_the_next_time() {
    let rig = rig(&[(SIX, Script::Hang), (FOUR, serve())]);
    rig.fetch("http://site.test/").await;
    rig.fetcher.close_all_idle();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let again = rig.fetch("http://site.test/").await;
    assert_eq!(again.fetched.capture.timings.connect, Some(Duration::ZERO));
    assert_eq!(rig.log.peers().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_winner_whose_turn_went_to_another_is_not_used() {
    // IPv6 takes 400 ms; meanwhile its turn is taken by another origin, since IPv4 is charged from 250 ms on.
    let rig = rig(&[(SIX, late(400)), (FOUR, late(900))]);
    let permit = rig.permit("http://site.test/").await;
    let other = CrawlUrl::parse("http://other.test/").unwrap();
    let take = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let at = format!("[{SIX}]:80").parse().unwrap();
        rig.pacer.try_slot(other.origin(), vec![at], rig.now()).unwrap()
    };
    let mut sink = comity_fetch::Collect::default();
    let (mut fetched, slot) = tokio::join!(rig.fetcher.fetch(permit, &mut sink), take);
    assert_eq!(fetched.capture.fault, None, "{:?}", fetched.capture.detail);
    assert_eq!(fetched.capture.peer, Some(FOUR.parse().unwrap()));
    assert_eq!(rig.log.requests(), 1);
    rig.settle(&mut fetched);
    drop(slot);
    assert_eq!(rig.pacer.in_flight(), 0);
}
