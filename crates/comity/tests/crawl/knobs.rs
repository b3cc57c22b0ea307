//! How far signals are read beyond their own words: each value of each key changes what it should, and nothing else.

use comity::config::{ConfigFile, SignalsSection};
use comity_archive::OthersRecord;
use comity_testweb::{Answer, Site};

use crate::licences::{check, crawl, finish, html, licence, reads_licences, record, xml};
use crate::support::web;

/// What the operator is and does opens what a licence permits under a condition, and nothing else does.
#[tokio::test(start_paused = true)]
async fn a_condition_is_met_by_who_says_so() {
    type Says = fn(&mut comity::config::SignalsSection);
    let user = |words: &str| licence("ai-train", &format!("<permits type=\"user\">{words}</permits>"));
    let geo = |words: &str| licence("ai-train", &format!("<permits type=\"geo\">{words}</permits>"));
    let pay = |kind: &str| licence("ai-train", &format!("<payment type=\"{kind}\"/>"));
    let nothing: Says = |_| {};
    let rows: [(String, Says, Says); 3] = [
        (user("education"), |to| to.rsl_user = Some("education".into()), |to| to.rsl_user = Some("commercial".into())),
        (geo("EU"), |to| to.rsl_geo = Some("DE".into()), |to| to.rsl_geo = Some("US".into())),
        (
            pay("attribution"),
            |to| to.satisfies = Some(vec!["attribution".into()]),
            |to| to.satisfies = Some(vec!["purchase".into()]),
        ),
    ];
    for (text, meets, other) in rows {
        let inline = html(&format!("<script type='application/rsl+xml'>{text}</script>"));
        let robots = "User-agent: *\nLicense: https://lic.test/l.xml\nAllow: /\n";
        for (says, is_met) in [(nothing, false), (meets, true), (other, false)] {
            for by_robots in [true, false] {
                let site = Site::new().name("a.test").page("/linked", Answer::text("linked"));
                let site =
                    if by_robots { site.robots(robots).page("/", html("")) } else { site.page("/", inline.clone()) };
                let (net, observer) = web([site, Site::new().name("lic.test").page("/l.xml", xml(text.clone()))]);
                let dir = tempfile::tempdir().unwrap();
                let set = |file: &mut ConfigFile| {
                    reads_licences(file);
                    says(&mut file.signals);
                };
                finish(crawl(&net, dir.path(), &["ai_train"]), set).await;
                let found = record(dir.path(), "http://a.test/");
                assert_eq!(found.outcome == "fetched", is_met, "{text}, by robots.txt {by_robots}: {found:?}");
                let said = found.signals.iter().find(|one| one.source == "rsl" && one.purpose == "ai_train").unwrap();
                assert_eq!(said.conditional, !is_met, "{text}");
                check(dir.path(), &observer);
            }
        }
    }
}

type Says = fn(&mut SignalsSection);

/// A site's word, a setting, and whether the page is kept under it for `ai_train` and for `ai_input`.
#[tokio::test(start_paused = true)]
async fn each_knob_turns_what_it_names() {
    let nothing: Says = |_| {};
    let literal: Says = |to| to.profile = Some("literal".into());
    let map: Says = |to| to.aipref_legacy = Some("map".into());
    let lenient: Says = |to| to.signal_lenient_values = Some(true);
    let off: Says = |to| to.infer_from_ai_tokens = Some("off".into());
    let deny: Says = |to| to.infer_from_ai_tokens = Some("deny".into());
    let deny_two: Says = |to| {
        to.infer_from_ai_tokens = Some("deny".into());
        to.infer_min_tokens = Some(2);
    };
    let field = |name: &'static str, value: &'static str| Site::new().page("/", html("").field(name, value));
    let robots = |text: &str| Site::new().robots(text).page("/", html(""));
    let tdm = || Site::new().page("/", html("<meta name=tdm-reservation content=1>"));
    let index = "<rsl xmlns=\"https://rslstandard.org/rsl\"><content url=\"\"><license><prohibits type=\"usage\">ai-index\
                 </prohibits></license></content></rsl>";
    let index = || Site::new().page("/", html(&format!("<script type='application/rsl+xml'>{index}</script>")));
    let one = "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nAllow: /\n";
    let two = "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: ClaudeBot\nDisallow: /\n\nUser-agent: *\nAllow: /\n";
    let user = "User-agent: ChatGPT-User\nDisallow: /\n";
    let elsewhere = "User-agent: GPTBot\nDisallow: /private\n";
    let rows: [(&str, Site, Says, [bool; 2]); 24] = [
        ("noarchive", field("X-Robots-Tag", "noarchive"), nothing, [false, false]),
        ("noarchive, literal", field("X-Robots-Tag", "noarchive"), literal, [true, true]),
        ("nosnippet", field("X-Robots-Tag", "nosnippet"), nothing, [true, false]),
        ("nosnippet, literal", field("X-Robots-Tag", "nosnippet"), literal, [true, true]),
        ("tdm", tdm(), nothing, [false, true]),
        ("tdm, literal", tdm(), literal, [true, true]),
        ("ai-index", index(), nothing, [true, false]),
        ("ai-index, literal", index(), literal, [true, true]),
        ("its own word, literal", field("X-Robots-Tag", "noai"), literal, [false, true]),
        ("legacy", field("Content-Usage", "genai=n"), nothing, [true, true]),
        ("legacy, mapped", field("Content-Usage", "genai=n"), map, [false, true]),
        ("legacy in robots.txt, mapped", robots("User-agent: *\nContent-Usage: bots=n\n"), map, [false, false]),
        ("legacy y, mapped", field("Content-Usage", "genai=y"), map, [true, true]),
        ("disallow", field("Content-Signal", "ai-train=disallow"), nothing, [true, true]),
        ("disallow, leniently", field("Content-Signal", "ai-train=disallow"), lenient, [false, true]),
        ("0 in robots.txt, leniently", robots("User-agent: *\nContent-Signal: ai-input=0\n"), lenient, [true, false]),
        ("one agent of others", robots(one), nothing, [true, true]),
        ("one, off", robots(one), off, [true, true]),
        ("one, deny", robots(one), deny, [false, true]),
        ("one, two wanted", robots(one), deny_two, [true, true]),
        ("three, two wanted", robots(two), deny_two, [false, true]),
        ("a user's agent, deny", robots(user), deny, [true, false]),
        ("elsewhere, deny", robots(elsewhere), deny, [true, true]),
        ("all by *, deny", robots("User-agent: *\nDisallow: /private\n"), deny, [true, true]),
    ];
    for (name, site, says, kept) in rows {
        for (purpose, is_kept) in ["ai_train", "ai_input"].into_iter().zip(kept) {
            assert_eq!(is_kept_under(site.clone(), says, purpose).await, is_kept, "{name}, {purpose}");
        }
    }
}

/// Whether the page of a site is kept for a purpose under a setting.
async fn is_kept_under(site: Site, says: Says, purpose: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let (net, observer) = web([site.name("a.test").page("/linked", Answer::text("linked"))]);
    let set = |file: &mut ConfigFile| {
        reads_licences(file);
        says(&mut file.signals);
    };
    finish(crawl(&net, dir.path(), &[purpose]), set).await;
    check(dir.path(), &observer);
    let found = record(dir.path(), "http://a.test/");
    found.outcome == "fetched" && found.reason.starts_with("ok")
}

/// A ceiling refuses before the fetch where robots.txt has it, and withholds where the answer has it, whatever the purpose.
#[tokio::test(start_paused = true)]
async fn a_ceiling_binds_who_declares_a_level() {
    let line = |level: &str| {
        Site::new().robots(format!("User-agent: *\nContent-Signal: search=yes, use={level}\n")).page("/", html(""))
    };
    let field = |level: &str| Site::new().page("/", html("").field("Content-Signal", format!("use={level}")));
    type Row = (&'static str, Option<&'static str>, Option<&'static str>, bool);
    let rows: [Row; 8] = [
        ("nothing is declared", Some("immediate"), None, true),
        ("the same", Some("reference"), Some("reference"), true),
        ("below", Some("full"), Some("reference"), true),
        ("above", Some("reference"), Some("full"), false),
        ("far above", Some("immediate"), Some("full"), false),
        ("above the lowest", Some("immediate"), Some("reference"), false),
        ("no ceiling", None, Some("full"), true),
        ("no such ceiling", Some("anything"), Some("full"), true),
    ];
    for (name, ceiling, level, is_kept) in rows {
        for by_robots in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let plain = || Site::new().page("/", html(""));
            let site = ceiling.map_or_else(plain, if by_robots { line } else { field });
            let (net, observer) = web([site.name("a.test").page("/linked", Answer::text("linked"))]);
            let set = |file: &mut ConfigFile| file.signals.content_use_level = level.map(ToOwned::to_owned);
            finish(crawl(&net, dir.path(), &["archive"]), set).await;
            let found = record(dir.path(), "http://a.test/");
            let decision = found.decision.unwrap();
            let wanted = if is_kept { "ok" } else { "signal.use_ceiling" };
            assert!(decision.reason.starts_with(wanted), "{name}, by robots.txt {by_robots}: {decision:?}");
            assert_eq!(found.request.is_some(), is_kept || !by_robots, "{name}");
            let known = ceiling.filter(|ceiling| *ceiling != "anything");
            let held = found.constraints.and_then(|held| held.use_ceiling);
            assert_eq!((held.as_deref(), decision.content_use_level.as_deref()), (known, level), "{name}");
            let is_odd = found.diagnostics.iter().any(|one| one.code == "signal_bad_value");
            assert_eq!(is_odd, ceiling == Some("anything"), "{name}");
            check(dir.path(), &observer);
        }
    }
}

/// What agents of others meet is on record by default, with their own groups, for what is fetched and for what is refused.
#[tokio::test(start_paused = true)]
async fn what_agents_of_others_meet_is_on_record() {
    let robots = "User-agent: GPTBot\nUser-agent: AI2Bot\nDisallow: /linked\n\nUser-agent: PerplexityBot\nAllow: /\n\n\
                  User-agent: bingbot\nDisallow: /\n\nUser-agent: *\nAllow: /\n";
    let class = |named: &[&str], denied: &[&str]| {
        let own = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect();
        OthersRecord { named: own(named), denied: own(denied) }
    };
    let off: Says = |to| to.infer_from_ai_tokens = Some("off".into());
    let site = || Site::new().name("a.test").robots(robots).page("/", html("")).page("/linked", Answer::text("linked"));
    for (says, is_recorded) in [((|_| {}) as Says, true), (off, false)] {
        let dir = tempfile::tempdir().unwrap();
        let (net, observer) = web([site()]);
        finish(crawl(&net, dir.path(), &["search"]), |file| says(&mut file.signals)).await;
        for (path, denied) in [("/", &[][..]), ("/linked", &["GPTBot", "AI2Bot"][..])] {
            let mut found = record(dir.path(), &format!("http://a.test{path}")).robots.unwrap().others;
            for one in found.values_mut() {
                one.named.sort();
                one.denied.sort();
            }
            let mut wanted = std::collections::BTreeMap::new();
            if is_recorded {
                let mut denied = denied.to_vec();
                denied.sort_unstable();
                wanted.insert("ai_search".to_owned(), class(&["PerplexityBot"], &[]));
                wanted.insert("ai_train".to_owned(), class(&["AI2Bot", "GPTBot"], &denied));
            }
            assert_eq!(found, wanted, "{path}");
        }
        check(dir.path(), &observer);
    }
}
