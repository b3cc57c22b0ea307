//! One door (invariant 14): every question is answered alike by a crawler's gate and by the gateway's decision API, with
//! the same rule at the same line, for the same robots.txt from the same site.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod corpus;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use comity_fetch::{FetchConfig, Fetcher, SystemClock};
use comity_gate::{Gate, GateConfig};
use comity_gateway::{CombineTokens, Surface};
use comity_policy::{Identity, Judge, Judgement, Politeness, Reason, SeededRandom, WallTime};
use comity_robots::ProductToken;
use comity_testweb::{Answer, MemoryNet, Site, Web, WebBuilder};
use comity_url::CrawlUrl;
use corpus::{Corpus, Question};
use serde_json::{Value, json};
use support::{Profile, Room};

/// What a door says, as far as both of them say it.
#[derive(Debug, PartialEq)]
struct Said {
    allowed: bool,
    /// `None` where only the turn lies ahead.
    reason: Option<String>,
    rule: Value,
    group: Value,
    state: Value,
    sha256: Value,
}

#[derive(Debug, Default)]
struct Count {
    alike: usize,
    allowed: usize,
    as_the_corpus: usize,
    unaskable: usize,
}

#[tokio::test(start_paused = true)]
async fn crawler_and_gateway_answer_alike() {
    let all = std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all");
    let mut corpora = vec![("own", Corpus::own())];
    match Corpus::shared(if all { 1 } else { 12 }) {
        Some(shared) => corpora.push(("shared", shared)),
        None => eprintln!("left out: no shared robots corpus beside the project"),
    }
    for (name, corpus) in corpora {
        let count = compare(corpus).await;
        eprintln!("{name}: {count:?}{}", if all { "" } else { ", a sample; COMITY_TEST_SIZE=all asks everything" });
        assert!(count.alike > 20 && count.allowed > 5 && count.alike > count.allowed + 5, "both verdicts occur");
    }
}

async fn compare(corpus: Corpus) -> Count {
    let mut count = Count { unaskable: corpus.unaskable, ..Count::default() };
    let mut by_token: BTreeMap<String, Vec<Question>> = BTreeMap::new();
    for question in corpus.questions {
        by_token.entry(question.token.clone()).or_default().push(question);
    }
    for (token, questions) in by_token {
        let (net, hosts, room) = put_up(&token, &questions, &corpus.files);
        let gate = crawler(&token, net);
        let mut api = room.connect(Surface::Api);
        for question in questions {
            let text = format!("http://{}{}", hosts[&question.file], question.target);
            let Ok(url) = CrawlUrl::parse(&text) else {
                count.unaskable += 1;
                continue;
            };
            let crawler = ask_crawler(&gate, &url).await;
            let gateway = ask_gateway(&mut api, &url).await;
            let reason = crawler.reason.clone();
            let gateway =
                Said { reason: gateway.reason.or_else(|| reason.filter(|code| code.starts_with("ok"))), ..gateway };
            assert_eq!(crawler, gateway, "{question:?}");
            count.alike += 1;
            count.allowed += usize::from(crawler.allowed);
            let by_robots = matches!(crawler.reason.as_deref(), Some("ok" | "ok.no_rules" | "robots.disallow"));
            if let (Some(expected), true) = (question.expected, by_robots && url.request_target() == question.target) {
                assert_eq!(crawler.allowed, expected, "the corpus says otherwise: {question:?}");
                count.as_the_corpus += 1;
            }
        }
    }
    count
}

/// A site for every file of these questions, and the gateway before them.
fn put_up(
    token: &str,
    questions: &[Question],
    files: &HashMap<String, Vec<u8>>,
) -> (MemoryNet, HashMap<String, String>, Room) {
    let mut hosts = HashMap::new();
    let mut web: WebBuilder = Web::builder(1);
    for question in questions {
        let next = format!("f{}.example", hosts.len());
        if hosts.contains_key(&question.file) {
            continue;
        }
        let answer = Answer::status(200).content("text/plain", files[&question.file].clone());
        web = web.site(Site::new().name(&next).robots_answer(answer));
        hosts.insert(question.file.clone(), next);
    }
    let (net, observer) = web.build().unwrap().in_memory();
    let mut profile = Profile::default();
    profile.gateway.customer.tokens = vec![ProductToken::new(token).unwrap()];
    profile.gateway.combine_tokens = CombineTokens::Customer;
    let room = profile.open_over(net.clone(), observer).unwrap();
    (net, hosts, room)
}

/// The gate as a crawler of this name has it.
fn crawler(token: &str, net: MemoryNet) -> Gate {
    let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
    let search = vec!["search".parse().unwrap()];
    let identity = Identity::new(&format!("{token}/1.0"), "https://e.example/bot", &[], search).unwrap();
    let own: Vec<_> = vec!["10.0.0.0/8".parse().unwrap()];
    let mut fetch = FetchConfig::new(identity.user_agent());
    fetch.allow_addresses.clone_from(&own);
    let fetcher = Fetcher::new(Arc::new(net), clock.clone(), fetch).unwrap();
    let politeness = Politeness { own_networks: own, ..Politeness::default() };
    let config = GateConfig { politeness, ..GateConfig::new(identity) };
    Gate::new(fetcher, clock, Arc::new(SeededRandom::new(1)), config)
}

async fn ask_crawler(gate: &Gate, url: &CrawlUrl) -> Said {
    gate.robots(url.origin()).await;
    let (allowed, decision) = match gate.judge(url) {
        Judgement::Allow(allowance) => (true, allowance.decision().clone()),
        Judgement::Refuse(refusal) => (false, refusal.decision().clone()),
        Judgement::Hold(hold) => {
            let reason = Some(hold.reason.to_string());
            return Said {
                allowed: false,
                reason,
                rule: json!(null),
                group: json!(null),
                state: json!(null),
                sha256: json!(null),
            };
        }
        Judgement::NeedsRobots(origin) => panic!("robots.txt of {origin} was fetched and is not known"),
    };
    let evidence = decision.robots.evidence();
    let rule = decision.rule.as_ref().map(|rule| {
        json!({"kind": rule.kind, "pattern": rule.pattern, "line": rule.line, "group_line": rule.group_line,
               "group": evidence.group, "priority": rule.priority})
    });
    Said {
        allowed,
        reason: Some(decision.reason.to_string()),
        rule: json!(rule),
        group: json!(evidence.group),
        state: json!(evidence.state.as_str()),
        sha256: json!(evidence.digest.map(|digest| digest.to_string())),
    }
}

async fn ask_gateway(api: &mut tokio::io::DuplexStream, url: &CrawlUrl) -> Said {
    let record = Room::decide_on(api, &json!({"url": url.as_str()})).await;
    let reason = record["reason"].as_str().unwrap();
    let known = Reason::from_code(reason).unwrap_or_else(|| panic!("{reason} is no reason"));
    Said {
        allowed: record["verdict"] != "deny",
        reason: (record["verdict"] != "wait").then(|| known.to_string()),
        rule: record["rule"].clone(),
        group: record["robots"]["group"].clone(),
        state: record["robots"]["state"].clone(),
        sha256: record["robots"]["sha256"].clone(),
    }
}
