//! The gateway cases as an executable table: `tests/cases/gateway.jsonl` holds the rows that are built, and where the
//! whole file lies beside the project, each row of it is one of these or named below with the reason why not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use comity_gateway::{Auth, Surface};
use comity_policy::Politeness;
use comity_robots::ProductToken;
use comity_testweb::{Answer, Site};
use serde_json::{Value, json};
use support::{Profile, Reply, Room, credentials, get, secret};
use tokio::io::AsyncWriteExt as _;

const CASES: &str = include_str!("cases/gateway.jsonl");

/// Rows that the thin gateway does not play yet.
const LEFT: [(&str, &str); 22] = [
    ("gwp-014", "ports of tunnels: every CONNECT is refused so far"),
    ("gwp-016", "addresses of tunnels"),
    ("gwp-018", "addresses of tunnels"),
    ("gwp-019", "tunnels"),
    ("gwp-020", "tunnels"),
    ("gwp-021", "tunnels"),
    ("gwp-022", "tunnels"),
    ("gwp-023", "interception"),
    ("gwp-024", "interception"),
    ("gwp-030", "shares of several customers"),
    ("gwp-032", "overrides"),
    ("gwp-033", "overrides"),
    ("gwp-035", "dry run"),
    ("gwp-036", "audit chain"),
    ("gwp-037", "Squid"),
    ("gwp-038", "Squid"),
    ("gwp-039", "nginx"),
    ("gwp-040", "Envoy"),
    ("gwp-041", "Envoy"),
    ("gwp-042", "Envoy"),
    ("gwp-043", "leases of the decision API"),
    ("gwp-044", "reload"),
];

fn cases(text: &str) -> BTreeMap<String, Value> {
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|case| (case["id"].as_str().unwrap().to_owned(), case)).collect()
}

#[test]
fn every_row_is_played_or_left_by_name() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../shared/reference/gateway-cases.jsonl"].iter().collect();
    let Ok(whole) = std::fs::read_to_string(&path) else {
        eprintln!("left out: no shared gateway cases beside the project");
        return;
    };
    let (whole, own) = (cases(&whole), cases(CASES));
    for (id, case) in &whole {
        let left = LEFT.iter().find(|(name, _)| name == id);
        match (own.get(id), left) {
            (Some(played), None) => assert_eq!(played, case, "{id}: the project's copy differs"),
            (None, Some(_)) => {}
            _ => panic!("{id}: neither played nor left, or both"),
        }
    }
    eprintln!("{} rows played, {} left", own.len(), LEFT.len());
    assert_eq!(own.len() + LEFT.len(), whole.len());
}

#[tokio::test(start_paused = true)]
async fn every_row_that_is_built_holds() {
    for (id, case) in cases(CASES) {
        eprintln!("{id}");
        play(&case["given"], &case["when"], &case["then"]).await;
    }
}

async fn play(given: &Value, when: &Value, then: &Value) {
    let profile = profile(given);
    if when["start"] == json!(true) {
        let error = profile.open([]).err().unwrap().to_string();
        assert!(error.contains(then["stderr~"].as_str().unwrap()), "{error}");
        return;
    }
    let room = profile.open(sites(given, when)).unwrap();
    if let Some(raw) = when["raw"].as_str() {
        let reply = room.raw(raw.replace("Basic <c1>", &credentials()).as_bytes()).await;
        check(&room, "", &reply, then).await;
    } else if let Some(at) = when["at_ms"].as_object() {
        timed(&room, at, then).await;
    } else if let Some(sequence) = when["sequence"].as_array() {
        in_sequence(&room, sequence, then).await;
    } else if let Some(several) = when["get"].as_array() {
        for (ask, expected) in several.iter().zip(then["results"].as_array().unwrap()) {
            let purpose = ask["purpose"].as_str().unwrap();
            let reply = room.get("http://a.example/x", &[("Comity-Purpose", purpose)]).await;
            check(&room, "http://a.example/x", &reply, expected).await;
        }
    } else {
        let url = when["get"].as_str().or(when["get_raw_target"].as_str()).unwrap();
        let reply = room.raw(get_of(url, when).as_bytes()).await;
        check(&room, url, &reply, then).await;
        if !then["connected_to"].is_null() {
            rebinding(&room, url, then).await;
        }
    }
}

/// The profile of a row: the usual one (gateway reference §11) with what the row changes.
fn profile(given: &Value) -> Profile {
    let mut profile = Profile::default();
    let gateway = &mut profile.gateway;
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    if let Some(tokens) = given["customer"]["tokens"].as_array() {
        gateway.customer.tokens =
            tokens.iter().map(|token| ProductToken::new(token.as_str().unwrap()).unwrap()).collect();
    }
    let purposes = texts(&given["customer"]["purposes"]);
    if !purposes.is_empty() {
        gateway.customer.purposes = purposes.iter().map(|purpose| purpose.parse().unwrap()).collect();
    }
    if let Some(password) = given["customers"]["c1"].as_str() {
        gateway.auth = Auth::Basic(secret(password));
    }
    if let Some(listener) = given["listener"].as_str() {
        gateway.proxy = listener.parse().unwrap();
    }
    if given["auth"] == json!("none") {
        gateway.auth = Auth::None;
    }
    if let Some(hold) = given["hold_max_ms"].as_u64() {
        gateway.hold_max = Duration::from_millis(hold);
    }
    if let Some(rps) = given["origin_rps"].as_f64() {
        profile.politeness = Politeness { delay: Duration::from_secs_f64(1.0 / rps), ..profile.politeness };
    }
    if let Some(network) = given["default_token"].as_str() {
        profile.network = network.to_owned();
    }
    if let Some(allow) = given.get("allow_addresses") {
        profile.allow = texts(allow);
    }
    if let Some(answers) = given["dns_sequence"]["a.example"].as_array() {
        profile.dns =
            answers.iter().map(|answer| texts(answer).iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        profile.allow.clear();
    }
    profile
}

/// `a.example` and `b.example`, robots.txt as given or empty.
fn sites(given: &Value, when: &Value) -> Vec<Site> {
    let site = |host: &str| {
        let robots = &given["robots"][format!("http://{host}")];
        let status = robots["status"].as_u64().map_or(200, |status| u16::try_from(status).unwrap());
        let body = robots["body"].as_str().unwrap_or_default();
        let site = Site::new().name(host).robots_answer(Answer::text(body).with_status(status));
        let site = site.otherwise(|_| Answer::text("page"));
        match given["dns_sequence"][host][0][0].as_str() {
            Some(address) => site.address(address.parse().unwrap()),
            None => site,
        }
    };
    let mut sites = vec![site("a.example"), site("b.example")];
    let told = when["sequence"][0].as_str().and_then(|step| step.split_once(" -> origin 429 Retry-After: "));
    if let Some((_, seconds)) = told {
        sites[0] = site("a.example").page("/1", Answer::retry_after(429, seconds.parse().unwrap()));
    }
    sites
}

/// The request of a row, byte for byte where it names a target.
fn get_of(url: &str, when: &Value) -> String {
    let fields = when["headers"].as_object().into_iter().flatten();
    let mut more: Vec<_> = fields.map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    let given = when["proxy_authorization"].as_str().map(|text| {
        let pair = text.split('\'').nth(1).unwrap();
        format!("Basic {}", data_encoding::BASE64.encode(pair.as_bytes()))
    });
    if let Some(given) = &given {
        more.push(("Proxy-Authorization", given.as_str()));
    }
    get(url, &more)
}

/// Everything that a row says about one answer. What an allowed request rests on is asked of the decision API.
async fn check(room: &Room, url: &str, reply: &Reply, then: &Value) {
    if let Some(status) = then["status"].as_u64() {
        assert_eq!(u64::from(reply.status), status, "{}", reply.body);
    }
    for (name, value) in then["headers"].as_object().into_iter().flatten() {
        let (name, wanted) = (name.trim_end_matches('~'), value.as_str().unwrap());
        let found = reply.field(name).unwrap_or_else(|| panic!("{name} is missing: {reply:?}"));
        match (wanted, value) {
            ("<positive integer>", _) => assert!(found.parse::<u64>().unwrap() > 0, "{name}: {found}"),
            _ if then["headers"].get(format!("{name}~")).is_some() => {
                assert!(matches(found, wanted), "{name}: {found}")
            }
            _ => assert_eq!(found, wanted, "{name}"),
        }
    }
    if then["connection"] == json!("closed") {
        assert!(reply.closed, "the connection stays open");
    }
    let evidence = match reply.field("comity-reason") {
        Some(_) => reply.json(),
        None if reply.status == 200 && !url.is_empty() => {
            // The turn after an answer lies ahead: asked again when it has come.
            tokio::time::sleep(Duration::from_secs(5)).await;
            room.decide(&json!({"url": url})).await
        }
        None => Value::Null,
    };
    if let Some(reason) = then["reason"].as_str() {
        assert_eq!(evidence["reason"], reason, "{evidence}");
    }
    for part in ["rule", "robots"] {
        for (name, value) in then[part].as_object().into_iter().flatten() {
            assert_eq!(&evidence[part][name], value, "{part}.{name} of {evidence}");
        }
    }
    for (place, signal) in then["signals"].as_array().into_iter().flatten().enumerate() {
        for (name, value) in signal.as_object().unwrap() {
            let denied: Vec<_> =
                evidence["signals"].as_array().unwrap().iter().filter(|s| s["value"] == "no").collect();
            assert_eq!(&denied[place][name], value, "signals.{place}.{name} of {evidence}");
        }
    }
    seen_by_the_origin(room, then);
}

fn seen_by_the_origin(room: &Room, then: &Value) {
    if let Some(paths) = then["origin_requests"].as_array() {
        let allowed: Vec<_> = paths.iter().map(|path| path.as_str().unwrap()).collect();
        assert!(room.seen().iter().all(|path| allowed.contains(&path.as_str())), "{:?}", room.seen());
    }
    let log = room.observer.log();
    let pages = log.iter().filter(|seen| !seen.request.is_robots_txt());
    for page in pages {
        for name in then["origin_never_receives"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap();
            let (field, value) = name.split_once(": ").unwrap_or((name, ""));
            let found = page.request.field(field);
            assert!(found.is_none_or(|found| !value.is_empty() && !found.contains(value)), "the origin got {name}");
        }
        for (name, value) in then["origin_receives"].as_object().into_iter().flatten() {
            let found = page.request.field(name.trim_end_matches('~')).unwrap();
            assert!(matches(&found, value.as_str().unwrap()), "{name}: {found}");
        }
    }
}

/// The regular expressions of the cases: an anchor at the start and an escaped dot are all that they use.
fn matches(text: &str, pattern: &str) -> bool {
    let plain = pattern.replace("\\.", ".");
    match plain.strip_prefix('^') {
        Some(start) => text.starts_with(start),
        None => text.contains(&plain),
    }
}

/// Requests at given moments. The origin is known and rested before: a cold one pays one turn for its robots.txt. There
/// is one customer, so that "c2" is a second connection of c1.
async fn timed(room: &Room, at: &serde_json::Map<String, Value>, then: &Value) {
    room.decide(&json!({"url": "http://a.example/"})).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let mut asked = Vec::new();
    for (millis, what) in at {
        let path = what.as_str().unwrap().rsplit(' ').next().unwrap();
        let request = get(&format!("http://a.example{path}"), &[]);
        let (mut connection, after) = (room.connect(Surface::Proxy), Duration::from_millis(millis.parse().unwrap()));
        asked.push(tokio::spawn(async move {
            tokio::time::sleep(after).await;
            connection.write_all(request.as_bytes()).await.unwrap();
            Reply::read(&mut connection, false).await
        }));
    }
    let mut replies = Vec::new();
    for one in asked {
        replies.push(one.await.unwrap());
    }
    let statuses: Vec<_> = replies.iter().map(|reply| json!(reply.status)).collect();
    assert_eq!(json!(statuses), then["statuses"]);
    if !then["second"].is_null() {
        check(room, "", &replies[1], &then["second"]).await;
        tokio::time::sleep(Duration::from_millis(1000)).await;
        let next = room.get("http://a.example/next", &[]).await;
        assert_eq!(next.status, 200, "the refused call spent nothing");
    }
    if let Some(moments) = then["forwarded_at_ms"].as_array() {
        let log = room.observer.log();
        let pages: Vec<_> =
            log.iter().filter(|seen| !seen.request.is_robots_txt()).map(|seen| seen.arrived_us).collect();
        for (arrived, moment) in pages.iter().zip(moments) {
            let (after, wanted) = ((arrived - pages[0]) / 1000, moment.as_u64().unwrap());
            assert!(after.abs_diff(wanted) <= then["tolerance_ms"].as_u64().unwrap(), "{after} ms, not {wanted}");
        }
        assert_eq!(pages.len(), moments.len());
    }
}

/// One answer holds all customers back.
async fn in_sequence(room: &Room, sequence: &[Value], then: &Value) {
    let url =
        |step: &Value| step.as_str().unwrap().split(' ').find(|word| word.starts_with("http")).unwrap().to_owned();
    let first = room.get(&url(&sequence[0]), &[]).await;
    assert_eq!(first.status, 429);
    assert_eq!(first.field("comity-reason"), None, "the site's own answer");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = room.get(&url(&sequence[1]), &[]).await;
    check(room, "", &second, &then["c2"]).await;
}

/// The name answers otherwise the next time it is asked for: what was checked is what is connected to.
async fn rebinding(room: &Room, url: &str, then: &Value) {
    tokio::time::sleep(Duration::from_secs(120)).await;
    let again = room.get(url, &[]).await;
    assert_eq!((again.status, again.field("comity-reason")), (403, Some("target.address")));
    let connects = room.connects.lock().unwrap();
    let to: Vec<_> = connects.iter().map(|address| json!(address.ip().to_string())).collect();
    assert!(!to.is_empty() && to.iter().all(|address| *address == then["connected_to"]), "{to:?}");
    assert!(!to.contains(&then["never_connected_to"]));
}
