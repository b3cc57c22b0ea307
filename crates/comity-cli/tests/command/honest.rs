//! Honest crawls of sites that say anything at all, queries written or not: the audit accuses none of them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use comity::Crawler;
use comity::config::{ByteSize, ConfigFile};
use comity::policy::SeededRandom;
use comity_fetch::SystemClock;
use comity_testweb::{Answer, Site, Target, Web};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use super::audit;
use super::queries::EPOCH;

/// Where words of a site hold.
const PLACES: [&str; 12] = ["/", "/x", "/*?a", "/*?a=1", "/x?b", "/*b=", "/y$", "/x?a=1$", "/*?", "/y?", "/x*$", "/*z"];
const TARGETS: [&str; 12] =
    ["/x", "/y", "/x/y", "/x?a=1", "/x?b=2", "/y?a", "/y?", "/x?z=z", "/x/y?a=1&b=2", "/x?%61=1", "/y?b=2", "/x/y?a"];

fn place() -> impl Strategy<Value = &'static str> {
    select(&PLACES[..])
}

/// A line of the group for everybody, or none.
fn line() -> impl Strategy<Value = String> {
    let yes = || select(vec!["yes", "no"]);
    prop_oneof![
        3 => (select(vec!["Allow", "Disallow"]), select(&PLACES[1..])).prop_map(|(name, at)| format!("{name}: {at}\n")),
        1 => (place(), select(vec!["y", "n"])).prop_map(|(at, said)| format!("Content-Usage: {at} train-ai={said}\n")),
        1 => (place(), yes(), select(vec!["full", "reference", "immediate"]))
            .prop_map(|(at, said, level)| format!("Content-Signal: {at} ai-train={said}, use={level}\n")),
        1 => yes().prop_map(|said| format!("Content-Signal: ai-train={said}, search=yes\n")),
        1 => place().prop_map(|at| format!("DisallowAITraining: {at}\n")),
    ]
}

fn robots() -> impl Strategy<Value = String> {
    let group = |token: &'static str| {
        proptest::option::of((place(), place())).prop_map(move |rules| {
            let text = |(no, yes)| format!("User-agent: {token}\nDisallow: {no}\nAllow: {yes}\n\n");
            rules.map(text).unwrap_or_default()
        })
    };
    (group("__usage_ai-training"), group("GPTBot"), vec(line(), 0..6))
        .prop_map(|(usage, other, lines)| format!("{usage}{other}User-agent: *\n{}", lines.concat()))
}

fn tdmrep() -> impl Strategy<Value = Option<String>> {
    let rule = (place(), 0..2).prop_map(|(at, said)| format!(r#"{{"location":"{at}","tdm-reservation":{said}}}"#));
    proptest::option::of(vec(rule, 1..3).prop_map(|rules| format!("[{}]", rules.join(","))))
}

fn ai_txt() -> impl Strategy<Value = Option<String>> {
    let text = (place(), place()).prop_map(|(no, yes)| format!("User-Agent: *\nDisallow: {no}\nAllow: {yes}\n"));
    proptest::option::of(text)
}

/// What an answer says of itself.
fn answer() -> impl Strategy<Value = Answer> {
    let page = "<head><meta name=tdm-reservation content=1></head>x";
    prop_oneof![
        3 => Just(Answer::text("x")),
        1 => select(vec!["use=full, ai-train=yes", "use=reference, ai-train=no", "use=immediate"])
            .prop_map(|said| Answer::text("x").field("Content-Signal", said)),
        1 => select(vec!["0", "1"]).prop_map(|said| Answer::text("x").field("tdm-reservation", said)),
        1 => select(vec!["noai", "noindex", "max-snippet:3"])
            .prop_map(|said| Answer::text("x").field("X-Robots-Tag", said)),
        1 => select(vec!["train-ai=n", "train-ai=y"])
            .prop_map(|said| Answer::text("x").field("Content-Usage", said)),
        1 => Just(Answer::status(200).content("text/html", page)),
    ]
}

/// How it is crawled.
#[derive(Clone, Debug)]
struct Terms {
    purposes: Vec<&'static str>,
    level: Option<&'static str>,
    form: &'static str,
    denies_by_others: bool,
}

fn terms() -> impl Strategy<Value = Terms> {
    let purposes = select(vec![vec!["search"], vec!["ai_train"], vec!["search", "ai_train"]]);
    let level = proptest::option::of(select(vec!["full", "reference"]));
    (purposes, level, select(vec!["keep", "drop", "hash"]), any::<bool>())
        .prop_map(|(purposes, level, form, denies_by_others)| Terms { purposes, level, form, denies_by_others })
}

impl Terms {
    fn set(&self, file: &mut ConfigFile) {
        file.crawl.seeds = Some(vec!["http://a.test/".to_owned()]);
        file.agent.purposes = Some(self.purposes.iter().map(ToString::to_string).collect());
        file.archive.min_free = Some(ByteSize(0));
        file.archive.query = Some(self.form.to_owned());
        file.signals.tdmrep = Some("always".to_owned());
        file.signals.ai_txt = Some(true);
        file.signals.content_use_level = self.level.map(str::to_owned);
        file.signals.infer_from_ai_tokens = self.denies_by_others.then(|| "deny".to_owned());
    }
}

async fn crawl(dir: &Path, site: Site, terms: &Terms) {
    let (net, _observer) = Web::builder(1).epoch(EPOCH).site(site).build().unwrap().in_memory();
    let crawler = Crawler::builder("QueryBot/1.0 (+https://example.com/bot)")
        .net(Arc::new(net))
        .clock(Arc::new(SystemClock::paused_at(EPOCH)))
        .random(Arc::new(SeededRandom::new(1)))
        .allow_addresses("10.0.0.0/8")
        .dir(dir)
        .configure(|file| terms.set(file));
    crawler.build().unwrap().run().await.unwrap();
}

/// The audit's word on an honest crawl: what it found, if anything.
fn accused(site: Site, terms: &Terms) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (home, dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    runtime.block_on(crawl(dir.path(), site, terms));
    let (code, found) = audit::audited(&home, dir.path(), &[]);
    (code != Some(0)).then(|| format!("{code:?} {:#}", found["violations"]))
}

fn site(robots: &str, files: [(&str, &Option<String>); 2], pages: &[(usize, Answer)]) -> Site {
    let target = |n: usize| TARGETS.get(n).copied().unwrap_or("/x");
    let mut site = Site::new().name("a.test").robots(robots.to_owned());
    for (at, text) in files {
        if let Some(text) = text {
            site = site.page(at, Answer::text(text.clone()));
        }
    }
    site = site.page("/", Answer::page(pages.iter().map(|(n, _)| Target::here(target(*n)))));
    let mut known = std::collections::BTreeSet::new();
    for (n, answer) in pages.iter().filter(|(n, _)| known.insert(*n)) {
        site = site.page(target(*n), answer.clone());
    }
    site
}

fn cases() -> u32 {
    let is_long = std::env::var("COMITY_TEST_SIZE").is_ok_and(|size| size == "all");
    if is_long { 600 } else { 32 }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn no_honest_crawl_is_accused(
        robots in robots(), tdmrep in tdmrep(), ai_txt in ai_txt(),
        pages in vec((0..TARGETS.len(), answer()), 1..6), terms in terms(),
    ) {
        let files = [("/.well-known/tdmrep.json", &tdmrep), ("/ai.txt", &ai_txt)];
        let found = accused(site(&robots, files, &pages), &terms);
        prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
    }
}

/// A refusal judges no use: verdicts of a URL that was refused for its query say nothing, and are held against nothing.
#[test]
fn a_refusal_for_its_query_is_not_held_against_what_is_said_of_uses() {
    let mut robots = "User-agent: *\nDisallow: /*?a=1\n".to_owned();
    writeln!(robots, "Content-Usage: /*?free=1 train-ai=y").unwrap();
    let tdmrep = Some(r#"[{"location":"/","tdm-reservation":1}]"#.to_owned());
    for form in ["keep", "drop", "hash"] {
        let terms = Terms { purposes: vec!["search", "ai_train"], level: None, form, denies_by_others: false };
        let files = [("/.well-known/tdmrep.json", &tdmrep), ("/ai.txt", &None)];
        let found = accused(site(&robots, files, &[(3, Answer::text("x"))]), &terms);
        assert_eq!(found, None, "{form}");
    }
}

/// What is odd may hang on the query where no word of uses does: who wrote none is not accused of having seen another oddity.
#[test]
fn groups_that_answer_differently_for_some_queries_accuse_nobody() {
    let robots =
        "User-agent: *\nContent-Usage: train-ai=y\nUser-agent: other\nAllow: /page?\n\nUser-agent: *\nDisallow: /*?a\n";
    for (at, form) in [("/page?b=1", "keep"), ("/page?b=1", "drop"), ("/page?b=1", "hash"), ("/page", "drop")] {
        let terms = Terms { purposes: vec!["search"], level: None, form, denies_by_others: false };
        let page = Answer::status(200).content("text/html", "<p>words");
        let site = Site::new().name("a.test").robots(robots.to_owned()).page("/", Answer::page([Target::here(at)]));
        let found = accused(site.page(at, page), &terms);
        assert!(found.is_none(), "{at} {form}: {found:?}");
    }
}
