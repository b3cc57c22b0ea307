//! The forward proxy on paused time: what the customer gets, what the site sees, who waits.

mod support;

use std::io::Read as _;
use std::time::Duration;

use comity_gateway::{CombineTokens, Surface, UserAgentRule};
use comity_testweb::{Answer, Auditor, Coding, ConnectFault, Site, Target};
use serde_json::json;
use support::{Profile, Reply, get};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const RULES: &str = "User-agent: *\nCrawl-delay: 2\nDisallow: /private/\n";

fn site() -> Site {
    Site::new().name("a.example").robots(RULES).otherwise(|_| Answer::text("page"))
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_rule_and_line_and_cannot_come_from_a_site() {
    let forged = Answer::text("x").field("Comity-Reason", "ok").field("Comity-Decision", "1").field("X-Own", "1");
    let room = Profile::default().open([site().page("/forged", forged)]).unwrap();
    let refused = room.get("http://a.example/private/x", &[]).await;
    assert_eq!((refused.status, refused.field("comity-reason")), (403, Some("robots.disallow")));
    assert_eq!(
        refused.field("proxy-status"),
        Some("comity; error=http_request_denied; details=\"robots.disallow: disallow at line 3\"")
    );
    assert_eq!(refused.field("content-type"), Some("application/problem+json"));
    assert_eq!(refused.field("cache-control"), Some("no-store"));
    let body = refused.json();
    assert_eq!(body["decision_id"], refused.field("comity-decision").unwrap());
    assert_eq!((&body["rule"]["line"], &body["rule"]["pattern"]), (&json!(3), &json!("/private/")));
    assert_eq!((&body["robots"]["state"], &body["robots"]["http_status"]), (&json!("fresh"), &json!(200)));
    let forged = room.get("http://a.example/forged", &[]).await;
    assert_eq!((forged.status, forged.field("x-own")), (200, Some("1")));
    assert_eq!((forged.field("comity-reason"), forged.field("comity-decision")), (None, None));
    assert_eq!(forged.field("via"), Some("1.1 comity"));
    assert_eq!(room.seen(), ["/robots.txt", "/forged"]);
}

#[tokio::test(start_paused = true)]
async fn a_body_goes_on_in_its_coding_and_a_head_stays_a_head() {
    let text = "a page of some length ".repeat(100);
    let room = Profile::default().open([site().page("/zip", Answer::text(&text).coding(Coding::Gzip))]).unwrap();
    let coded = room.get("http://a.example/zip", &[("Accept-Encoding", "gzip")]).await;
    assert_eq!((coded.status, coded.field("content-encoding")), (200, Some("gzip")));
    let mut plain = String::new();
    flate2::read::GzDecoder::new(coded.bytes.as_slice()).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, text);
    let head = room.raw(get("http://a.example/zip", &[]).replacen("GET", "HEAD", 1).as_bytes()).await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
    let log = room.observer.log();
    assert_eq!(log.last().unwrap().request.method(), "HEAD");
    let asked = &log[1].request;
    assert_eq!(asked.field("accept-encoding").as_deref(), Some("gzip"), "what the customer can read, not what we can");
    assert_eq!(log[2].request.field("accept-encoding"), None);
}

#[tokio::test(start_paused = true)]
async fn a_site_sees_the_customers_fields_and_none_of_the_networks() {
    let room = Profile::default().open([site()]).unwrap();
    let fields = [
        ("User-Agent", "CustBot/1 (+https://c.example)"),
        ("Cookie", "a=1"),
        ("Comity-Token", "CustBot"),
        ("Comity-Purpose", "search"),
        ("X-Forwarded-For", "1.2.3.4"),
    ];
    assert_eq!(room.get("http://a.example/x", &fields).await.status, 200);
    let log = room.observer.log();
    let (robots, page) = (&log[0].request, &log[1].request);
    assert_eq!(robots.field("user-agent").as_deref(), Some("examplenet/1.0 (+https://net.example/bot)"));
    let names: Vec<_> = page.fields().map(|(name, _)| name.to_ascii_lowercase()).collect();
    assert_eq!(names, ["host", "user-agent", "cookie", "via"]);
    assert_eq!(page.field("user-agent").as_deref(), Some("CustBot/1 (+https://c.example)"));
}

#[tokio::test(start_paused = true)]
async fn robots_txt_is_served_from_the_gate_however_many_ask() {
    let gone = Site::new().name("b.example").robots_answer(Answer::status(404));
    let down = Site::new().name("c.example").robots_answer(Answer::status(503));
    let room = Profile::default().open([site(), gone, down]).unwrap();
    for n in 0..20 {
        let reply = room.get("http://a.example/robots.txt", &[]).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, RULES), "{n}");
        assert_eq!(reply.field("comity-robots"), Some("cache"));
        assert!(reply.field("age").is_some());
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    assert_eq!(room.get("http://b.example/robots.txt", &[]).await.status, 404);
    let unreachable = room.get("http://c.example/robots.txt", &[]).await;
    assert_eq!((unreachable.status, unreachable.field("comity-reason")), (503, Some("robots.unreachable")));
    assert!(unreachable.field("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(room.seen(), ["/robots.txt"; 3]);
}

#[tokio::test(start_paused = true)]
async fn customers_wait_in_turn_and_break_no_delay() {
    let mut profile = Profile::default();
    profile.gateway.hold_max = Duration::from_secs(60);
    let room = std::sync::Arc::new(profile.open([site()]).unwrap());
    let asking: Vec<_> = (0..20)
        .map(|n| {
            let room = room.clone();
            tokio::spawn(async move { room.get(&format!("http://a.example/{n}"), &[]).await.status })
        })
        .collect();
    for one in asking {
        assert_eq!(one.await.unwrap(), 200);
    }
    // Robots are fetched by the network, pages by a customer without a User-Agent: the same client.
    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&room.observer);
    assert!(audit.is_clean(), "{audit}");
    let refused = room.get("http://a.example/private/", &[]).await;
    assert_eq!(refused.status, 403, "a refusal waits for nobody");
}

#[tokio::test(start_paused = true)]
async fn a_customer_who_goes_away_gives_back_his_place() {
    let mut profile = Profile::default();
    profile.gateway.max_held = 2;
    let room = profile.open([site()]).unwrap();
    assert_eq!(room.get("http://a.example/1", &[]).await.status, 200);
    let mut held = Vec::new();
    for n in 2..4 {
        let mut connection = room.connect(Surface::Proxy);
        connection.write_all(get(&format!("http://a.example/{n}"), &[]).as_bytes()).await.unwrap();
        held.push(connection);
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    let full = room.get("http://a.example/4", &[]).await;
    assert_eq!((full.status, full.field("comity-reason")), (429, Some("conc.customer")));
    assert!(full.field("proxy-status").unwrap().contains("error=connection_limit_reached"));
    drop(held);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(room.get("http://a.example/5", &[]).await.status, 200);
    assert_eq!(room.seen(), ["/robots.txt", "/1", "/5"], "what nobody waits for is not asked");
    assert_eq!(room.gateway.gate().in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_site_have_names_and_refusals_of_the_network_others() {
    let dead = Site::new().name("d.example").connect_fault(ConnectFault::Refused);
    let faulty = site()
        .page("/silent", Answer::silence())
        .page("/reset", Answer::reset())
        .page("/big", Answer::text("x".repeat(11 << 20)))
        .page("/broken", Answer::text("no gzip at all").field("Content-Encoding", "gzip"))
        .page("/away", Answer::redirect(302, Target::here("/private/x")));
    let room = Profile::default().open([faulty, dead]).unwrap();
    let rows = [
        ("http://a.example/silent", 504, "fetch.timeout.head", "http_response_timeout"),
        ("http://a.example/reset", 502, "fetch.reset", "connection_terminated"),
        ("http://a.example/big", 502, "fetch.too_large", "http_response_body_size"),
        ("http://none.example/", 502, "fetch.dns", "dns_error"),
        ("http://d.example/", 503, "robots.unreachable", "http_request_denied"),
        ("http://a.example:25/", 403, "target.port", "http_request_denied"),
        ("http://127.0.0.1/", 403, "target.address", "destination_ip_prohibited"),
    ];
    for (url, status, reason, error) in rows {
        let reply = room.get(url, &[]).await;
        assert_eq!((reply.status, reply.field("comity-reason")), (status, Some(reason)), "{url}: {}", reply.body);
        assert!(reply.field("proxy-status").unwrap().contains(error), "{url}: {reply:?}");
        assert!(!reply.body.contains("127.0.0.1") || url.contains("127.0.0.1"), "{}", reply.body);
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let broken = room.get("http://a.example/broken", &[]).await;
    assert_eq!((broken.status, broken.body.as_str()), (200, "no gzip at all"), "the coding is the customer's affair");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let away = room.get("http://a.example/away", &[]).await;
    assert_eq!((away.status, away.field("location").is_some()), (302, true), "redirects are the customer's to follow");
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_in_a_circle_is_refused() {
    let room = Profile::default().open([site()]).unwrap();
    let circle = room.get("http://a.example/", &[("Via", "1.1 other, 1.1 comity")]).await;
    assert_eq!((circle.status, circle.field("comity-reason")), (508, Some("target.loop")));
    assert!(circle.field("proxy-status").unwrap().contains("error=proxy_loop_detected"));
    let fine = room.get("http://a.example/", &[("Via", "1.1 other")]).await;
    assert_eq!(fine.status, 200);
    assert_eq!(
        room.observer
            .log()
            .last()
            .unwrap()
            .request
            .fields()
            .filter(|(name, _)| name.eq_ignore_ascii_case("via"))
            .count(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn tunnels_other_methods_and_content_are_refused_with_an_explanation() {
    let room = Profile::default().open([site()]).unwrap();
    let credentials = support::credentials();
    let rows = [
        ("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443", 403, "robots.unseen_path"),
        ("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0", 405, "target.method"),
        ("TRACE http://a.example/ HTTP/1.1\r\nHost: a.example", 405, "target.method"),
        ("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5", 400, "target.content"),
        ("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked", 400, "target.content"),
        ("GET https://a.example/ HTTP/1.1\r\nHost: a.example", 400, "target.scheme"),
        ("OPTIONS * HTTP/1.1\r\nHost: a.example", 400, "target.syntax"),
    ];
    for (head, status, reason) in rows {
        let reply = room.raw(format!("{head}\r\nProxy-Authorization: {credentials}\r\n\r\n").as_bytes()).await;
        assert_eq!((reply.status, reply.field("comity-reason")), (status, Some(reason)), "{head}");
        assert_eq!(reply.closed, reason == "target.content", "{head}: {reply:?}");
        if status == 405 {
            assert_eq!(reply.field("allow"), Some("GET, HEAD"));
        }
    }
    assert_eq!(room.seen(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_customer_without_purposes_is_held_to_every_denial_and_one_with_a_rule_for_its_agent_to_that() {
    let signals = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n";
    let open = || [Site::new().name("a.example").robots(signals).otherwise(|_| Answer::text("page"))];
    let mut none = Profile::default();
    none.gateway.customer.purposes.clear();
    let refused = none.open(open()).unwrap().get("http://a.example/", &[]).await;
    assert_eq!((refused.status, refused.field("comity-reason")), (403, Some("signal.ai_train")));
    let mut strict = Profile::default();
    strict.gateway.customer.user_agent = UserAgentRule::ContainsToken;
    let room = strict.open(open()).unwrap();
    let browser = room.get("http://a.example/", &[("User-Agent", "Mozilla/5.0")]).await;
    assert_eq!((browser.status, browser.field("comity-reason")), (403, Some("auth.token")));
    assert_eq!(room.get("http://a.example/", &[("User-Agent", "CustBot/1")]).await.status, 200);
    let denied = room.get("http://a.example/", &[("User-Agent", "CustBot/1"), ("Comity-Purpose", "tdm")]).await;
    assert_eq!(denied.field("comity-reason"), Some("auth.purpose"));
}

#[tokio::test(start_paused = true)]
async fn the_networks_own_name_counts_where_tokens_are_combined() {
    let rules = "User-agent: examplenet\nDisallow: /\n\nUser-agent: custbot\nAllow: /\n";
    for (combine, status) in [(CombineTokens::All, 403), (CombineTokens::Customer, 200)] {
        let mut profile = Profile::default();
        profile.gateway.combine_tokens = combine;
        let room = profile.open([Site::new().name("a.example").robots(rules).page("/x", Answer::text("x"))]).unwrap();
        assert_eq!(room.get("http://a.example/x", &[]).await.status, status, "{combine:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_takes_one_request_after_the_other_and_bounds_its_heads() {
    let room = Profile::default().open([site()]).unwrap();
    let mut connection = room.connect(Surface::Proxy);
    for path in ["/1", "/private/x", "/2"] {
        connection.write_all(get(&format!("http://a.example{path}"), &[]).as_bytes()).await.unwrap();
        let reply = Reply::read(&mut connection, false).await;
        assert_eq!(reply.status, if path == "/private/x" { 403 } else { 200 }, "{path}");
    }
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(connection.read(&mut [0; 1]).await.unwrap(), 0, "nor is it kept for ever");
    let long = "x".repeat(70 << 10);
    let reply = room.get("http://a.example/3", &[("X-Long", &long)]).await;
    assert_eq!((reply.status, reply.closed), (431, true));
    let many: Vec<_> = (0..101).map(|n| format!("X-{n}")).collect();
    let fields: Vec<_> = many.iter().map(|name| (name.as_str(), "1")).collect();
    assert_eq!(room.get("http://a.example/4", &fields).await.status, 431);
    let mut slow = room.connect(Surface::Proxy);
    slow.write_all(b"GET http://a.example/5 HTTP/1.1\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(slow.write_all(b"Host: a.example\r\n\r\n").await.is_err(), "a head has ten seconds");
}

#[tokio::test(start_paused = true)]
async fn customers_who_do_not_read_fill_the_room_and_not_the_memory() {
    let mut profile = Profile::default();
    profile.gateway.max_buffered = 500 << 10;
    let big = || Answer::text("x".repeat(300 << 10));
    let room = profile.open([site().page("/1", big()).page("/2", big())]).unwrap();
    let mut lazy = room.connect(Surface::Proxy);
    lazy.write_all(get("http://a.example/1", &[]).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let full = room.get("http://a.example/2", &[]).await;
    assert_eq!((full.status, full.field("comity-reason")), (429, Some("conc.total")));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(room.get("http://a.example/small", &[]).await.status, 200, "what fits goes on");
    assert_eq!(Reply::read(&mut lazy, false).await.bytes.len(), 300 << 10);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(room.get("http://a.example/2", &[]).await.status, 200);
}
