//! All carriers of one resource together, and what comes in floods.

use comity_robots::{Dialect, Robots};
use comity_signals::{
    Carriers, HeadFacts, OthersTokens, PolicyToken, Preferences, Purpose, ResourceReader, ResourceSignals, RobotsMeta,
    RobotsReading, RobotsSignals, RslConditions, SignalOptions, Source, Tdmrep, UnixSeconds, Verdict,
};
use proptest::prelude::*;

use crate::support::letters;

const TOKEN: &str = "ComityBot";

fn compile(robots: &str) -> RobotsSignals {
    RobotsSignals::compile(&Robots::parse(robots.as_bytes()), &[TOKEN], Dialect::Standard)
}

fn robots(robots: &str, target: &str) -> RobotsReading {
    compile(robots).read(target.as_bytes(), SignalOptions::default())
}

fn all(robots: &str, tdmrep: &str, fields: &[(String, String)], head: &HeadFacts) -> ResourceSignals {
    let (robots, tdmrep) = (compile(robots), Tdmrep::parse(tdmrep.as_bytes(), "https://example.com"));
    let conditions = RslConditions::default();
    let reader =
        ResourceReader { token: TOKEN, image: false, options: SignalOptions::default(), conditions: &conditions };
    let carriers = Carriers {
        origin: "https://example.com",
        target: b"/page",
        robots: Some(&robots),
        tdmrep: Some(&tdmrep),
        ai_txt: None,
        trust_txt: None,
        fields,
        head,
        licences: &[],
    };
    reader.read(&carriers, UnixSeconds(0))
}

#[test]
fn policy_tokens_speak_by_their_own_group_alone() {
    let token = PolicyToken::all().next().map(|policy| policy.token).unwrap_or_default();
    let rows = [
        (format!("User-agent: {token}\nDisallow: /\n"), "--d-"),
        (format!("User-agent: {}\nDisallow: /\n", token.to_uppercase()), "--d-"),
        (format!("User-agent: {token}\nDisallow: /other\n"), "----"),
        (format!("User-agent: {token}\nDisallow: /\nAllow: /page\n"), "----"),
        (format!("User-agent: {token}\nAllow: /\n"), "----"),
        (format!("User-agent: {token}-x\nDisallow: /\n"), "----"),
        (format!("User-agent: *\nDisallow: /other\nUser-agent: {token}\nDisallow: /\n"), "--d-"),
        ("User-agent: *\nDisallow: /x\n".to_owned(), "----"),
        (format!("User-agent: *\nUser-agent: {token}\nDisallow: /\n"), "----"),
    ];
    for (text, wanted) in rows {
        let reading = robots(&text, "/page");
        assert_eq!(letters(&reading.preferences), wanted, "{text}");
        assert_eq!(reading.preferences.is_denied_by_proposals_alone(Purpose::AiTrain), wanted == "--d-", "{text}");
        let bare = Robots::parse(text.as_bytes()).rules(&[TOKEN], Dialect::Standard);
        assert_eq!(compile(&text).rules().allows(b"/page"), bare.allows(b"/page"), "access never changes: {text}");
    }
}

#[test]
fn a_proposal_stands_back_as_evidence() {
    let token = PolicyToken::all().next().map(|policy| policy.token).unwrap_or_default();
    let text = format!("User-agent: {token}\nDisallow: /\n");
    let fields = [("X-Robots-Tag".to_owned(), "noai".to_owned())];
    let signals = all(&text, "[]", &fields, &HeadFacts::default());
    let denial = signals.preferences.denial(Purpose::AiTrain).map(|statement| statement.source);
    assert_eq!(denial, Some(Source::HeaderXRobotsTag));
    assert!(!signals.preferences.is_denied_by_proposals_alone(Purpose::AiTrain));
}

#[test]
fn tokens_of_others_count_only_where_the_operator_says_so() {
    let text =
        "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: OAI-SearchBot\nDisallow: /\n\nUser-agent: *\nAllow: /\n";
    let rows = [
        (OthersTokens::Off, "----", 0),
        (OthersTokens::Record, "----", 3),
        (OthersTokens::Deny { least: 0 }, "-dd-", 3),
        (OthersTokens::Deny { least: 1 }, "-dd-", 3),
        (OthersTokens::Deny { least: 2 }, "--d-", 3),
        (OthersTokens::Deny { least: 3 }, "----", 3),
    ];
    for (others_tokens, wanted, classes) in rows {
        let reading = compile(text).read(b"/page", SignalOptions { others_tokens, ..SignalOptions::default() });
        assert_eq!(letters(&reading.preferences), wanted, "{others_tokens:?}");
        assert_eq!(reading.others.len(), classes, "{others_tokens:?}");
        assert!(reading.preferences.statements().iter().all(|s| s.derived));
    }
}

#[test]
fn a_thousand_of_everything_is_read_and_stays_small() {
    let robots: String = (0..1000)
        .map(|n| format!("User-agent: *\nContent-Signal: /p{n} ai-train=no\nContent-Usage: a=\"{n}\", train-ai=y\n"))
        .chain((0..1000).map(|n| format!("License: https://a.test/{n}\n")))
        .collect();
    let mut fields = Vec::new();
    for n in 0..1000 {
        let members = (0..20).map(|m| format!("k{n}-{m}=y")).collect::<Vec<_>>().join(", ");
        fields.push(("Content-Usage".to_owned(), members));
        fields.push(("Content-Signal".to_owned(), format!("x{n}=yes, ai-train=yes")));
        fields.push(("X-Robots-Tag".to_owned(), format!("other{n}: noindex, unknown{n}")));
        fields.push(("Link".to_owned(), format!("<https://a.test/l{n}>; rel=license; type=\"application/rsl+xml\"")));
        fields.push(("tdm-reservation".to_owned(), "1".to_owned()));
    }
    let meta = |n: usize| RobotsMeta { name: "robots".to_owned(), content: format!("odd{n}, ").repeat(100) };
    let head = HeadFacts { robots: (0..1000).map(meta).collect(), ..HeadFacts::default() };
    let signals = all(&robots, "[", &fields, &head);
    assert!(signals.preferences.statements().len() < 64);
    assert!(signals.licences.documents.len() <= 16 && signals.constraints.license_urls.len() <= 32);
    assert!(signals.diagnostics.iter().map(|d| d.as_slice().len()).sum::<usize>() < 400);
    assert!(signals.diagnostics.iter().map(|d| d.omitted()).sum::<u32>() > 1000, "what is left out is counted");
}

/// §13 of the signals reference: whatever breaks a dictionary, nothing is permitted by it.
#[test]
fn a_broken_dictionary_permits_nothing() {
    let broken = [
        "Train-AI=y",
        "train-ai = y",
        "train-ai=y search=y",
        "train-ai=y;",
        "train-ai=y,",
        "train-ai=y,,search=y",
        "train-ai=y, \u{201c}x\u{201d}=y",
        "train-ai='y'",
        "train-ai=y, b=\u{fc}",
        "train-ai=y, =n",
        "train-ai=y, 9=y",
        "train-ai=y, x=1234567890123456",
        "train-ai=y, x=1.2345",
        "train-ai=y, x=:a",
        "train-ai=y, x=?2",
        "train-ai=y, x=(a",
        "train-ai=y, x=\"a",
        "train-ai=y, x=@1.5",
        "train-ai=y, x=%\"%FF\"",
        "train-ai=y\u{0}",
        ",train-ai=y",
        "\ttrain-ai=y",
    ];
    for text in broken {
        let fields = [("Content-Usage".to_owned(), text.to_owned())];
        let signals = all("", "[]", &fields, &HeadFacts::default());
        assert_eq!(signals.preferences, Preferences::none(), "{text:?}");
        assert!(!signals.diagnostics.iter().all(|d| d.as_slice().is_empty()), "{text:?}");
        // A good line before or behind it is void with it.
        // White space in front is lawful behind a comma.
        for fields in
            [["train-ai=y", text], [text, "train-ai=y"]].into_iter().filter(|[_, last]| !last.starts_with('\t'))
        {
            let fields = fields.map(|value| ("content-usage".to_owned(), value.to_owned()));
            let signals = all("", "[]", &fields, &HeadFacts::default());
            assert_ne!(signals.preferences.verdict(Purpose::AiTrain), Verdict::Allowed, "{fields:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_whatever_the_carriers_hold(
        robots in "(User-agent: (\\*|GPTBot|AI2Bot|__usage_ai-training)\n|Disallow: /\n|License: [ -~]{0,20}\n|[ -~]{0,30}\n){0,8}",
        tdmrep in "[ -~]{0,60}",
        values in prop::collection::vec(("(link|tdm-policy|content-usage|x-robots-tag|robots-tag)", "[\\PC]{0,40}"), 0..6),
    ) {
        all(&robots, &tdmrep, &values, &HeadFacts::default());
    }
}
