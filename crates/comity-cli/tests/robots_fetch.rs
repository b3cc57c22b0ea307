//! `comity robots fetch`, and the other commands that ask a site, against webs on loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use comity_testweb::{Answer, Coding, Served, Site, Target, Web};
use serde_json::{Value, json};
use support::Ran;
use tokio::runtime::Runtime;

const RULES: &str = "User-agent: *\nDisallow: /private/\n";

/// A file as it should be served.
fn good() -> Answer {
    Answer::text(RULES).field("ETag", "\"1\"").field("Last-Modified", "Mon, 30 Nov 2026 08:00:00 GMT")
}

/// A web that is up as long as this is held.
struct Up {
    served: Served,
    _runtime: Runtime,
    home: tempfile::TempDir,
}

fn up(sites: impl IntoIterator<Item = Site>) -> Up {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let web = sites.into_iter().fold(Web::builder(1), |web, site| web.site(site)).build().unwrap();
    let served = runtime.block_on(web.serve_loopback()).unwrap();
    Up { served, _runtime: runtime, home: tempfile::tempdir().unwrap() }
}

impl Up {
    fn origin(&self, site: usize) -> String {
        self.served.origins()[site].clone()
    }

    /// `comity robots …` as somebody who may ask loopback.
    fn robots(&self, args: &[&str]) -> Ran {
        self.asks(&[&["robots"], args].concat())
    }

    /// `comity …`, likewise.
    fn asks(&self, args: &[&str]) -> Ran {
        let mut all = args.to_vec();
        all.extend(["--agent", "OwnerBot/1.0", "--contact", "owner@example.com", "--allow-address", "127.0.0.0/8"]);
        let names: Vec<String> = self
            .served
            .names()
            .iter()
            .flat_map(|(name, at)| ["--resolve".to_owned(), format!("{name}={}", at[0])])
            .collect();
        all.extend(names.iter().map(String::as_str));
        comity(self.home.path(), &all)
    }

    fn fetch(&self, site: usize, more: &[&str]) -> Ran {
        self.robots(&[&["fetch", &self.origin(site)], more].concat())
    }
}

fn robots(home: &Path, args: &[&str]) -> Ran {
    comity(home, &[&["robots"], args].concat())
}

fn comity(home: &Path, args: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(args)
        .env("HOME", home)
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn everything_is_said_of_a_chain_and_its_file() {
    let file = good().field("Cache-Control", "max-age=7200").field("Age", "200").coding(Coding::Gzip);
    let up = up([Site::new().robots_answer(Answer::redirect(301, "/moved")).page("/moved", file)]);
    let ran = up.fetch(0, &["--once", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report = ran.json();
    let origin = up.origin(0);
    assert_eq!(report["chain"].as_array().unwrap().len(), 2);
    assert_eq!(report["chain"][0]["to"], format!("{origin}/moved"));
    assert_eq!(report["chain"][0]["meaning"], "redirect");
    assert!(report["chain"][1]["exchange"]["first_byte_ms"].as_f64().unwrap() > 0.0);
    assert_eq!((&report["class"], &report["status"]), (&json!("parsed"), &json!(200)));
    let file = &report["file"];
    assert_eq!(file["sha256"], "efc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a");
    assert_eq!(
        (&file["bytes"], &file["content_encoding"], &file["etag"]),
        (&json!(RULES.len()), &json!("gzip"), &json!("\"1\""))
    );
    assert_eq!(file["text"], RULES);
    let life = &report["life"];
    assert_eq!((&life["life_s"], &life["max_age_s"], &life["age_s"]), (&json!(7000), &json!(7000), &json!(200)));
    assert_eq!(report["advice"], json!([]));
    assert!(report["means"].as_str().unwrap().starts_with("Crawlers follow these rules until 20"));
    let seen = up.served.log();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].request.field("user-agent").unwrap(), "OwnerBot/1.0 (+owner@example.com)");
}

/// The codes of all advice given.
fn codes(report: &Value) -> BTreeSet<String> {
    report["advice"].as_array().unwrap().iter().map(|advice| advice["code"].as_str().unwrap().to_owned()).collect()
}

/// An answer of the application, and what it has to be advised of.
type Row = (&'static str, Site, &'static [&'static str]);

/// Every code where it belongs, and nowhere else.
fn advised() -> Vec<Row> {
    let site = |answer: Answer| Site::new().robots_answer(answer);
    let with = |kind: &str, body: Vec<u8>| good().content(kind, body);
    let html = |status: u16| Answer::status(status).content("text/html", "<!DOCTYPE html><h1>Oops</h1>");
    let utf16 = RULES.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    vec![
        ("as it should be", site(good()), &[]),
        ("a 404", site(Answer::status(404)), &[]),
        ("moved on the same site", site(Answer::redirect(301, "/r")).page("/r", good()), &[]),
        ("a cookie", site(good().field("Set-Cookie", "a=b")), &["application"]),
        ("powered by", site(good().field("X-Powered-By", "PHP/8")), &["application"]),
        ("private", site(good().field("Cache-Control", "private, max-age=60")), &["application"]),
        ("no-store", site(good().field("Cache-Control", "no-store")), &["application"]),
        ("public", site(good().field("Cache-Control", "public, max-age=60")), &[]),
        ("slow", site(good().delay(Duration::from_millis(1100))), &["application"]),
        ("not that slow", site(good().delay(Duration::from_millis(300))), &[]),
        ("rules as text/html", site(with("text/html; charset=utf-8", RULES.into())), &["application", "html"]),
        ("a page as text/plain", site(with("text/plain", b"\n<HTML>x</HTML>".to_vec())), &["html"]),
        ("no validators", site(Answer::text(RULES)), &["no_validators"]),
        ("an ETag only", site(Answer::text(RULES).field("ETag", "\"1\"")), &[]),
        ("500", site(Answer::text("oops").with_status(500)), &["server_error"]),
        ("502 with a page", site(html(502)), &["server_error"]),
        ("500 with a page", site(html(500)), &["missing_as_5xx", "server_error"]),
        ("503 with a page and a time", site(Answer::retry_after(503, 60)), &["server_error"]),
        ("429", site(Answer::retry_after(429, 60)), &["too_many_requests"]),
        ("403", site(Answer::status(403)), &["forbidden"]),
        ("410", site(Answer::status(410)), &[]),
        ("too long", site(with("text/plain", format!("{RULES}{}", "#\n".repeat(256_000)).into())), &["too_long"]),
        ("as long as may be", site(with("text/plain", format!("{RULES}{}", "#".repeat(511_000)).into())), &[]),
        ("empty", site(with("text/plain", b"\r\n ".to_vec())), &["empty"]),
        ("a comment only", site(with("text/plain", b"# all are welcome\n".to_vec())), &[]),
        ("a byte-order mark", site(with("text/plain", format!("\u{feff}{RULES}").into())), &["byte_order_mark"]),
        ("UTF-16", site(with("text/plain", utf16)), &["utf16"]),
        ("moved to another site", site(Answer::redirect(301, Target::at(0, "/robots.txt"))), &["off_site"]),
    ]
}

#[test]
fn advice_is_given_where_it_belongs_and_nowhere_else() {
    let rows = advised();
    let up = up(rows.iter().map(|(_, site, _)| site.clone()));
    let mut given = BTreeSet::new();
    for (at, (name, _, expected)) in rows.iter().enumerate() {
        let ran = up.fetch(at, &["--once", "--json"]);
        let found = codes(&ran.json());
        assert_eq!(found, expected.iter().map(ToString::to_string).collect(), "{name}: {}", ran.out);
        given.extend(found);
    }
    assert_eq!(given.len(), 12, "every code that one answer can earn: {given:?}");
    let page = support::page("robots.md");
    let listed = |code: &&String| page.contains(&format!("| `{code}` |"));
    assert_eq!(given.iter().filter(|code| !listed(code)).collect::<Vec<_>>(), Vec::<&String>::new(), "docs/robots.md");
}

#[test]
fn two_answers_are_compared_after_the_delay_of_the_site() {
    let file = |text: &str| good().content("text/plain", format!("User-agent: *\nCrawl-delay: 2\n{text}"));
    let up = up([
        Site::new().robots_answers([file("Disallow: /a\n"), file("Disallow: /b\n")]),
        Site::new().robots_answers([file(""), Answer::status(503)]),
        Site::new().robots(RULES),
        Site::new().robots("User-agent: *\nCrawl-delay: 100\n"),
        Site::new().robots_answer(Answer::status(503)),
    ]);
    let rows =
        [(0, Some(false), true), (1, Some(false), true), (2, Some(true), false), (3, None, false), (4, None, false)];
    for (site, same, advised) in rows {
        let ran = up.fetch(site, &["--json"]);
        let report = ran.json();
        assert_eq!(report["again"]["same"].as_bool(), same, "{site}: {}", report["again"]);
        assert_eq!(codes(&report).contains("varies"), advised, "{site}");
        let arrived: Vec<u64> =
            up.served.log().iter().filter(|seen| seen.site == Some(site)).map(|seen| seen.arrived_us).collect();
        assert_eq!(arrived.len(), if same.is_some() { 2 } else { 1 }, "{site}");
        assert!(
            site != 0 || arrived[1] - arrived[0] >= 2_000_000,
            "the second came after the Crawl-delay: {arrived:?}"
        );
    }
}

#[test]
fn a_delay_holds_over_runs_of_the_command() {
    let up = up([Site::new().robots("User-agent: *\nCrawl-delay: 3\n")]);
    let expect = up.home.path().join("expect.toml");
    std::fs::write(&expect, "[[expect]]\nagents = [\"Bot\"]\nallowed = [\"/\"]\n").unwrap();
    assert_eq!(up.fetch(0, &["--once"]).code, 0);
    let second = up.robots(&["test", "--origin", &up.origin(0), "--expect", expect.to_str().unwrap()]);
    assert!(second.code == 0 && second.err.contains("an earlier run asked this site"), "{}", second.err);
    let log = up.served.log();
    assert!(log[1].arrived_us - log[0].arrived_us >= 3_000_000, "{:?}", log[1].arrived_us - log[0].arrived_us);
}

#[test]
fn copies_are_dated_compared_and_kept_once() {
    let file = |text: &str| good().content("text/plain", text.to_owned()).field("Cache-Control", "max-age=3600");
    let (old, new) = ("User-agent: *\nDisallow: /a\n", "User-agent: *\nDisallow: /b\n");
    let up = up([Site::new().robots_answers([file(old), file(old), file(new), file(new), Answer::status(503)])]);
    let dir = tempfile::tempdir().unwrap();
    let fetch = || {
        let ran = up.fetch(0, &["--once", "--diff", "--json", "--dir", dir.path().to_str().unwrap()]);
        (ran.code, ran.json())
    };
    let (code, first) = fetch();
    assert_eq!((code, &first["diff"], &first["copies"]["before"]), (0, &Value::Null, &Value::Null));
    let (code, same) = fetch();
    assert_eq!((code, &same["diff"]), (0, &json!({"differs": false, "lines": []})));
    assert_eq!(same["copies"]["since"], first["asked"]);
    let (code, changed) = fetch();
    let lines = json!([{"op": "-", "line": 2, "text": "Disallow: /a"}, {"op": "+", "line": 2, "text": "Disallow: /b"}]);
    assert_eq!((code, &changed["diff"]), (1, &json!({"differs": true, "lines": lines})));
    assert_eq!(changed["copies"]["old"]["fetched"], same["asked"], "the old one was seen last then");
    let until = changed["copies"]["old_until"].as_str().unwrap();
    assert!(until > changed["asked"].as_str().unwrap(), "an hour of the old copy's life");
    let before = changed["means_before"].as_str().unwrap();
    assert!(before.contains("may go by the copy of") && before.contains("24 h at most"), "{before}");
    let (code, later) = fetch();
    assert_eq!((code, &later["copies"]["old_until"]), (0, &changed["copies"]["old_until"]), "counted from the change");
    let (code, down) = fetch();
    assert_eq!((code, &down["class"], &down["diff"]), (1, &json!("unreachable"), &Value::Null));
    let before = down["means_before"].as_str().unwrap();
    assert!(before.contains("disallowed for 30 days") && before.contains("the copy of"), "{before}");
    let folder = dir.path().join(format!("http_{}", up.origin(0)["http://".len()..].replace(':', "@")));
    let mut kept: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .filter(|text| !text.starts_with('{'))
        .collect();
    kept.sort();
    assert_eq!(kept, [old, new], "each change once");
    assert_eq!(std::fs::read_to_string(folder.join("index.jsonl")).unwrap().lines().count(), 5);
}

#[test]
fn copies_lie_in_the_state_folder_of_the_user_and_a_folder_that_cannot_be_is_said() {
    let up = up([Site::new().robots(RULES)]);
    assert_eq!(up.fetch(0, &["--once"]).code, 0);
    assert_eq!(std::fs::read_dir(up.home.path().join(".local/state/comity/robots")).unwrap().count(), 1);
    let file = up.home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let ran = up.fetch(0, &["--once", "--dir", file.to_str().unwrap()]);
    assert_eq!(ran.code, 5);
    assert!(ran.err.starts_with("error: ") && ran.err.contains("hint: copies are kept there"), "{}", ran.err);
    assert_eq!(up.served.log().len(), 1, "nothing is asked when it could not be kept");
}

#[test]
fn siblings_are_compared_and_none_inherits() {
    let named = |name: &str, answer: Answer| Site::new().name(name).robots_answer(answer);
    let up = up([
        named("a.test", good()),
        named("www.a.test", good()),
        named("b.test", good()),
        named("www.b.test", Answer::status(404)),
        named("c.test", good()),
        named("www.c.test", Answer::redirect(301, Target::at(4, "/robots.txt"))),
        named("d.test", good()),
    ]);
    let rows = [
        (0, 0, "same", "parsed"),
        (2, 1, "differs", "absent"),
        (4, 0, "same", "parsed"),
        (6, 0, "not_there", "unreachable"),
    ];
    for (site, code, relation, class) in rows {
        let ran = up.fetch(site, &["--once", "--siblings", "--json"]);
        let siblings = &ran.json()["siblings"];
        assert_eq!((ran.code, siblings.as_array().unwrap().len()), (code, 1), "{site}: {siblings}");
        assert_eq!((&siblings[0]["relation"], &siblings[0]["class"]), (&json!(relation), &json!(class)), "{site}");
        let to = if site == 4 { json!(format!("{}/robots.txt", up.origin(4))) } else { Value::Null };
        assert_eq!(siblings[0]["redirects_to"], to, "{site}");
    }
    let text = up.fetch(2, &["--once", "--siblings"]).out;
    assert!(text.contains("DIFFERS   http://www.b.test"), "{text}");
    assert!(text.contains("none inherits from another"), "{text}");
}

#[test]
fn exit_codes_and_errors_for_people() {
    let up = up([
        Site::new().robots("User-agent: *\nDisallow: private/\n"),
        Site::new().robots_answer(Answer::status(503)),
        Site::new().robots("User-agent: *\nDisallow: /search\n"),
        Site::new().robots_answer(Answer::reset()),
    ]);
    let codes: Vec<i32> = (0..4).map(|site| up.fetch(site, &["--once"]).code).collect();
    assert_eq!(codes, [1, 1, 0, 6], "an error of the linter, a closed site, worth knowing only, no answer");
    let no_answer = up.fetch(3, &["--once"]);
    assert!(no_answer.out.contains("everything is disallowed to crawlers until it answers"), "{}", no_answer.out);
    assert!(no_answer.err.contains("error: ") && no_answer.err.contains("fetch.reset"), "{}", no_answer.err);
    let identity = ["--agent", "OwnerBot/1.0", "--contact", "owner@example.com"];
    let rows: [(&[&str], i32, &str); 7] = [
        (&["fetch", "example.com"], 2, "hint: https://example.com, without path"),
        (&["fetch", "https://example.com/robots.txt"], 2, "hint: https://example.com, without path"),
        (&["fetch", "ftp://example.com"], 2, "is no origin"),
        (
            &["fetch", "https://example.com", "--agent", "Googlebot/2.1", "--contact", "a@b.cd"],
            2,
            "impersonates nobody",
        ),
        (&["fetch", "https://example.com"], 2, "hint: run `comity init` once, or give --agent and --contact"),
        (
            &["fetch", "http://127.0.0.1:1", identity[0], identity[1], identity[2], identity[3]],
            6,
            "hint: --allow-address",
        ),
        (&["fetch", "http://x.invalid", identity[0], identity[1], identity[2], identity[3]], 6, "fetch.dns"),
    ];
    for (args, code, said) in rows {
        let ran = robots(up.home.path(), args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
    assert!(
        !up.home.path().join(".local/state/comity/robots/http_127.0.0.1@1").join("index.jsonl").exists(),
        "not asked"
    );
}

#[test]
fn who_is_opted_out_sees_no_request() {
    let up = up([Site::new().robots(RULES)]);
    let folder = up.home.path().join(".config/comity");
    std::fs::create_dir_all(&folder).unwrap();
    let line = json!({"action": "add", "target": up.origin(0), "requested_by": "owner@a.test",
        "reason": "letter of 30 November", "at": "2026-11-30T09:15:00.000Z"});
    std::fs::write(folder.join("optout.jsonl"), format!("{line}\n")).unwrap();
    let ran = up.fetch(0, &["--once", "--siblings"]);
    assert_eq!(ran.code, 6);
    assert!(
        ran.out.contains("not asked: optout") && ran.err.contains("hint: comity optout list"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert_eq!(up.robots(&["agents", &up.origin(0)]).code, 6);
    assert!(up.served.log().is_empty());
}

#[test]
fn the_identity_of_init_is_used() {
    let up = up([Site::new().robots(RULES)]);
    let folder = up.home.path().join(".config/comity");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = "[agent]\nname = \"HomeBot/2.0\"\ncontact = \"home@example.com\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n";
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    let ran = robots(up.home.path(), &["fetch", &up.origin(0), "--once"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(up.served.log()[0].request.field("user-agent").unwrap(), "HomeBot/2.0 (+home@example.com)");
}

#[test]
fn the_report_reads_well_and_what_would_act_on_a_terminal_is_shown() {
    let file = "User-agent: *\nDisallow: private/\nDisallow: /\u{1b}[31m\n";
    let up = up([Site::new().robots_answer(good().content("text/plain", file.to_owned())).name("a.test")]);
    let text = up.fetch(0, &["--once"]).out;
    for part in [
        "\n  chain      http://a.test",
        "\n  class      parsed (200)\n",
        "\n  size       50 bytes\n",
        "\nE     2  Disallow: private/\n",
        "\nE     2  R002 never-matches: ",
        "\n         fix: Disallow: /private/\n",
        "Disallow: /\\u{1b}[31m\n",
        "\n1 error, ",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    let long = format!("{RULES}{}Disalow: /x\n{}", "# more\n".repeat(200), "# more\n".repeat(200));
    let up = self::up([Site::new().robots(long)]);
    let text = up.fetch(0, &["--once"]).out;
    assert!(text.contains("  203  Disalow: /x\n") && text.contains("lines without a warning"), "{text}");
    assert!(text.lines().count() < 60, "{text}");
}

#[test]
fn expectations_and_agents_are_held_against_a_site() {
    let up = up([
        Site::new().robots("User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n"),
        Site::new().robots_answer(Answer::status(404)),
        Site::new().robots_answer(Answer::status(503)),
    ]);
    let expect = up.home.path().join("expect.toml");
    std::fs::write(&expect, "[[expect]]\nagents = [\"Bot\"]\nrefused = [\"/private/x\"]\n").unwrap();
    let test = |site: usize| {
        up.robots(&["test", "--origin", &up.origin(site), "--expect", expect.to_str().unwrap(), "--json"])
    };
    assert_eq!((test(0).code, test(0).json()), (0, json!({"misses": []})));
    let missing = test(1);
    assert_eq!(
        (missing.code, missing.json()["misses"][0]["got"].as_str()),
        (1, Some("allowed")),
        "no file, no refusal"
    );
    assert!(missing.err.contains("there is none (404); read as an empty file"), "{}", missing.err);
    let down = test(2);
    assert_eq!((down.code, down.out.as_str()), (6, ""));
    assert!(down.err.contains("answers 503") && down.err.contains("hint: "), "{}", down.err);
    let agents = up.robots(&["agents", &up.origin(0), "--json"]);
    let report = agents.json();
    let verdict = |token: &str| {
        let all = report["agents"].as_array().unwrap();
        all.iter().find(|agent| agent["token"] == token).unwrap()["allowed"].as_bool()
    };
    assert_eq!((agents.code, verdict("GPTBot"), verdict("Googlebot")), (0, Some(false), Some(true)));
    assert_eq!(up.robots(&["agents", &up.origin(2)]).code, 6);
}

/// A page that cannot be had is no page that may not be: nothing is told of its site as if that were all.
#[test]
fn the_signals_of_a_page_that_cannot_be_had_are_not_told() {
    let up = up([
        Site::new().robots("User-agent: *\nCrawl-delay: 200\n").page("/", Answer::text("x")),
        Site::new().robots(RULES).page("/", Answer::reset()),
        Site::new().robots_answer(Answer::status(503)),
    ]);
    let nobody = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let rows = [
        (up.origin(0), "rate.crawl_delay"),
        (up.origin(1), "fetch.reset"),
        (up.origin(2), "answers 503"),
        (nobody, "fetch.refused"),
    ];
    for (origin, said) in rows {
        let ran = up.asks(&["signals", &format!("{origin}/")]);
        assert_eq!((ran.code, ran.out.as_str()), (6, ""), "{origin}: {}", ran.err);
        assert!(ran.err.contains(said), "{origin}: {}", ran.err);
    }
}

#[test]
fn the_signals_of_a_page_are_asked_for_in_its_turn() {
    let page = Answer::text("").content("text/html", "<title>x</title><meta name=tdm-reservation content=0>");
    let site = Site::new()
        .robots("User-agent: *\nContent-Signal: ai-train=no, search=no\nDisallow: /closed\n")
        .page("/page", page.field("X-Robots-Tag", "nosnippet"))
        .page("/.well-known/tdmrep.json", Answer::text(r#"[{"location":"/","tdm-reservation":1}]"#));
    let up = up([site]);
    let ran = up.asks(&["signals", &format!("{}/page", up.origin(0)), "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let verdicts = json!({"search": "denied", "ai_input": "denied", "ai_train": "denied", "tdm": "allowed"});
    assert_eq!(ran.json()["verdicts"], verdicts);
    let asked: Vec<String> = up.served.log().iter().map(|seen| seen.request.target_text().into_owned()).collect();
    assert_eq!(asked, ["/robots.txt", "/.well-known/tdmrep.json", "/page"]);
    // What may not be crawled is not asked for, to read signals either.
    let ran = up.asks(&["signals", &format!("{}/closed", up.origin(0))]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("robots.disallow"), "{}", ran.err);
    assert!(
        ran.out.contains("crawling disallowed") && ran.out.contains("tdmrep.file"),
        "what the site says: {}",
        ran.out
    );
    assert!(up.served.log().iter().all(|seen| seen.request.target() != b"/closed"));
}
