//! From an origin to the addresses that may be connected to.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::time::Duration;

use comity_fetch::FetchConfig;
use comity_policy::Reason;
use comity_url::Origin;
use support::{Rig, answering, config, ok};

async fn candidates(rig: &Rig, origin: &str) -> Result<Vec<String>, Reason> {
    let found = rig.fetcher.candidates(&Origin::parse(origin).unwrap()).await;
    found.map(|list| list.iter().map(ToString::to_string).collect()).map_err(|refused| refused.reason)
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_host_gives_guarded_addresses_or_a_reason() {
    let mut settings = config();
    settings.resolve.insert("mapped.test".into(), vec!["10.9.9.9".parse().unwrap(), "10.9.9.8".parse().unwrap()]);
    settings.resolve.insert("void.test".into(), vec![]);
    settings.resolve.insert("a.test".into(), vec!["10.7.7.7".parse().unwrap()]);
    settings.resolve.insert("bad.test".into(), vec!["::ffff:169.254.169.254".parse().unwrap()]);
    settings.resolve.insert("six.test".into(), vec!["2606:4700::1".parse().unwrap(), "10.0.0.1".parse().unwrap()]);
    let rig = Rig::with(settings, |_, _| answering(ok("")));
    let private = Err(Reason::AddressPrivate);
    let rows: [(&str, Result<&[&str], Reason>); 19] = [
        ("http://10.1.2.3:8080", Ok(&["10.1.2.3:8080"])),
        ("https://8.8.8.8", Ok(&["8.8.8.8:443"])),
        ("http://[2606:4700::1]", Ok(&["[2606:4700::1]:80"])),
        ("http://127.0.0.1", private),
        ("http://2130706433", private),
        ("http://0x7f.1", private),
        ("http://[::1]", private),
        ("http://[::ffff:127.0.0.1]", private),
        ("http://[64:ff9b::7f00:1]", private),
        ("http://169.254.169.254", private),
        ("http://inside.test", private),
        ("http://bad.test", private),
        ("http://mixed.test", Ok(&["10.0.0.1:80"])),
        ("http://two.test:81", Ok(&["10.0.0.1:81", "10.0.0.2:81"])),
        ("http://mapped.test", Ok(&["10.9.9.9:80", "10.9.9.8:80"])),
        ("http://a.test", Ok(&["10.7.7.7:80"])),
        ("http://six.test", Ok(&["[2606:4700::1]:80", "10.0.0.1:80"])),
        ("http://void.test", Err(Reason::AddressNone)),
        ("http://nowhere.test", Err(Reason::FetchDns)),
    ];
    for (origin, expected) in rows {
        let expected = expected.map(|list| list.iter().map(ToString::to_string).collect());
        assert_eq!(candidates(&rig, origin).await, expected, "{origin}");
    }
    assert!(!rig.log.asked.lock().unwrap().iter().any(|name| name == "a.test"), "the map comes before the resolver");
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_resolver_have_their_reasons_and_bounds() {
    let rig = Rig::new(|_, _| answering(ok("")));
    for (origin, reason, seconds) in [
        ("http://empty.test", Reason::FetchDns, 0),
        ("http://again.test", Reason::FetchDnsTimeout, 0),
        ("http://silent.test", Reason::FetchDnsTimeout, 10),
    ] {
        let before = rig.now();
        assert_eq!(candidates(&rig, origin).await, Err(reason), "{origin}");
        assert_eq!(rig.now().since(before), Duration::from_secs(seconds), "{origin}");
    }
    let refused = rig.fetcher.candidates(&Origin::parse("http://inside.test").unwrap()).await.unwrap_err();
    assert_eq!(refused.to_string(), "address.private: inside.test is at 127.0.0.1, 169.254.169.254, not public");
}

#[tokio::test(start_paused = true)]
async fn answers_are_kept_for_a_minute_and_refusals_for_ten_seconds() {
    let rig = Rig::new(|_, _| answering(ok("")));
    let asked = || rig.log.asked.lock().unwrap().len();
    for (origin, life) in [("http://a.test", 60), ("http://nowhere.test", 10)] {
        let before = asked();
        let first = candidates(&rig, origin).await;
        tokio::time::sleep(Duration::from_secs(life - 1)).await;
        assert_eq!(candidates(&rig, origin).await, first);
        assert_eq!(asked() - before, 1, "{origin}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(candidates(&rig, origin).await, first);
        assert_eq!(asked() - before, 2, "{origin}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_from_the_cache_pass_the_guard_too() {
    // 10.0.0.1 is not listed here: neither the answer nor its kept copy gets past the guard.
    let mut settings = FetchConfig::new(support::AGENT);
    settings.resolve.insert("turn.test".into(), vec!["8.8.8.8".parse().unwrap()]);
    let rig = Rig::with(settings, |_, _| answering(ok("")));
    assert!(candidates(&rig, "http://turn.test").await.is_ok());
    assert_eq!(candidates(&rig, "http://a.test").await, Err(Reason::AddressPrivate));
    assert_eq!(candidates(&rig, "http://a.test").await, Err(Reason::AddressPrivate));
}

/// Spellings of addresses that must not be connected to, as a page could link to them.
const FORMS: [&str; 84] = [
    // Loopback, in every base and length that URLs allow.
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127.255.255.255",
    "2130706433",
    "2130706433.",
    "0x7f000001",
    "0x7F.0x0.0x0.0x1",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "0177.1",
    "0x7f.0.0.01",
    "00000177.0.0.1",
    "127.0x1",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "１２７.０.０.１",
    "127。0。0。1",
    "①②⑦.⓪.⓪.①",
    // This network, private, shared, benchmarking, documentation, reserved, broadcast, multicast.
    "0",
    "0.0.0.0",
    "0x0",
    "0.1.2.3",
    "10.0.0.1",
    "10.1",
    "167772161",
    "0xa000001",
    "012.0.0.1",
    "100.64.0.1",
    "1681915905",
    "172.16.0.1",
    "172.31.255.255",
    "2886729729",
    "192.168.0.1",
    "3232235521",
    "0xc0a80001",
    "0300.0250.0.1",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    // Metadata of the clouds.
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    // IPv6, its own and what it translates.
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::8.8.8.8]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::]",
    "[2001:0:53aa:64c::]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[100::1]",
    "[3fff::1]",
];

#[tokio::test(start_paused = true)]
async fn no_spelling_of_an_inner_address_gets_past_the_guard() {
    // Names would resolve to a public address here: none of these may be taken for a name.
    let rig = Rig::with(FetchConfig::new(support::AGENT), |_, _| answering(ok("")));
    let mut refused_as_url = 0;
    for form in FORMS {
        match comity_url::CrawlUrl::parse(&format!("http://{form}/latest/meta-data")) {
            Err(_) => refused_as_url += 1,
            Ok(url) => {
                let found = rig.fetcher.candidates(url.origin()).await;
                let reason = found.map_err(|refused| refused.reason);
                assert_eq!(reason, Err(Reason::AddressPrivate), "{form} is {}", url.origin());
            }
        }
    }
    assert!(refused_as_url <= 5, "{refused_as_url} are no URLs: then the guard was hardly asked");
    assert!(rig.log.asked.lock().unwrap().is_empty() && rig.log.peers().is_empty());
}
