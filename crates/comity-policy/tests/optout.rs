//! Opt-outs: what a target covers, which texts are targets, and what a line holds.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;

use comity_policy::{OptOutAction, OptOutLine, OptOutTarget, OptOuts, Reason, WallTime};
use comity_url::Origin;
use proptest::prelude::*;

fn line(action: OptOutAction, target: &str) -> OptOutLine {
    OptOutLine::new(action, target.parse().unwrap(), "owner@a.test", "asked by letter", WallTime::default()).unwrap()
}

fn with(targets: &[&str]) -> OptOuts {
    let mut optouts = OptOuts::default();
    for (n, target) in (1..).zip(targets) {
        optouts.apply(line(OptOutAction::Add, target), &Arc::from("f"), n);
    }
    optouts
}

fn origin(text: &str) -> Origin {
    Origin::parse(text).unwrap()
}

#[test]
fn a_domain_covers_its_sub_domains_and_an_origin_exactly_itself() {
    let rows: [(&str, &[&str], &[&str]); 8] = [
        (
            "a.test",
            &["http://a.test", "https://a.test:8443", "https://www.a.test", "http://x.y.a.test:81"],
            &["http://test", "http://ba.test", "http://a.test.org", "http://a-test", "http://b.test"],
        ),
        (
            "https://a.test",
            &["https://a.test", "https://a.test:443", "HTTPS://A.TEST./"],
            &["http://a.test", "https://a.test:8443", "https://www.a.test"],
        ),
        ("http://a.test:8080", &["http://a.test:8080"], &["http://a.test", "https://a.test:8080"]),
        ("WWW.Example.Test.", &["http://www.example.test"], &["http://example.test"]),
        ("bücher.test", &["https://xn--bcher-kva.test", "https://www.bücher.test"], &["https://bucher.test"]),
        ("127.0.0.1", &["http://127.1:81", "https://127.0.0.1"], &["http://127.0.0.2", "http://1"]),
        ("2001:DB8::1", &["http://[2001:db8:0::1]:81"], &["http://[2001:db8::2]"]),
        ("test", &["http://a.test", "http://test"], &["http://a.example"]),
    ];
    for (target, covered, free) in rows {
        let optouts = with(&[target]);
        for text in covered {
            let refusal = optouts.refusal(&origin(text), WallTime::default());
            assert_eq!(refusal.map(|r| r.reason()), Some(Reason::Optout), "{target} covers {text}");
        }
        for text in free {
            assert!(optouts.covering(&origin(text)).is_none(), "{target} leaves {text} alone");
        }
        let shown = optouts.standing()[0].line.target.to_string();
        assert_eq!(shown.parse::<OptOutTarget>().unwrap().to_string(), shown, "{target}");
    }
}

#[test]
fn what_is_no_target_is_refused_with_what_to_write() {
    let rows = [
        ("", "neither"),
        ("*.a.test", "covers its sub-domains"),
        ("*", "covers its sub-domains"),
        (".a.test", "neither"),
        ("a.test/path", "neither"),
        ("a.test:8080", "neither"),
        ("https://a.test/path", "path"),
        ("ftp://a.test", "neither http nor https"),
        ("me@a.test", "neither"),
        ("a test", "neither"),
        ("https://", "host"),
        ("[::1]:81", "http://a.test:8080"),
    ];
    for (text, says) in rows {
        let error = text.parse::<OptOutTarget>().unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

#[test]
fn the_words_of_a_line_are_needed_and_bounded() {
    let target: OptOutTarget = "a.test".parse().unwrap();
    let most = ["x".repeat(200), "x".repeat(1000)];
    let rows = [
        ("", "why", Some("requested_by")),
        ("who", " ", Some("reason")),
        ("who\n", "why\r\nand more", Some("reason")),
        (&most[0], &most[1], None),
        (&format!("{}x", most[0]), "why", Some("requested_by")),
        ("who", &format!("{}x", most[1]), Some("reason")),
    ];
    for (requested_by, reason, field) in rows {
        let made = OptOutLine::new(OptOutAction::Add, target.clone(), requested_by, reason, WallTime::default());
        assert_eq!(made.err().map(|(field, _)| field), field, "{requested_by:?} {reason:?}");
    }
}

#[test]
fn a_remove_ends_exactly_its_target_and_the_first_line_stays_the_evidence() {
    let mut optouts = with(&["a.test", "https://www.a.test", "a.test"]);
    assert_eq!(optouts.covering(&origin("https://a.test")).unwrap().number, 1);
    assert_eq!(optouts.covering(&origin("https://www.a.test")).unwrap().number, 2, "the origin's own line");
    optouts.apply(line(OptOutAction::Remove, "https://www.a.test"), &Arc::from("f"), 4);
    assert_eq!(optouts.covering(&origin("https://www.a.test")).unwrap().number, 1, "the domain still covers it");
    optouts.apply(line(OptOutAction::Remove, "www.a.test"), &Arc::from("f"), 5);
    assert_eq!(optouts.len(), 1, "no part of a domain can be taken out of it");
    optouts.apply(line(OptOutAction::Remove, "A.test."), &Arc::from("f"), 6);
    assert!(optouts.is_empty());
}

proptest! {
    /// A host is covered exactly when it is the domain, or ends in a dot and the domain.
    #[test]
    fn covering_is_by_whole_labels(host in "[a-c]{1,2}(\\.[a-c]{1,2}){0,3}", domain in "[a-c]{1,2}(\\.[a-c]{1,2}){0,2}") {
        let expected = host == domain || host.ends_with(&format!(".{domain}"));
        let covered = with(&[&domain]).covering(&origin(&format!("http://{host}:81"))).is_some();
        prop_assert_eq!(covered, expected);
    }

    /// Replaying a file over what it gave before changes nothing: re-reading is safe.
    #[test]
    fn replaying_is_idempotent(moves in prop::collection::vec((any::<bool>(), 0..3_usize), 0..12)) {
        let targets = ["a.test", "b.a.test", "https://a.test"];
        let play = |optouts: &mut OptOuts| {
            for (n, (add, which)) in (1..).zip(&moves) {
                let action = if *add { OptOutAction::Add } else { OptOutAction::Remove };
                optouts.apply(line(action, targets[*which]), &Arc::from("f"), n);
            }
        };
        let mut optouts = OptOuts::default();
        play(&mut optouts);
        let once = optouts.clone();
        play(&mut optouts);
        let targets = |optouts: &OptOuts| -> Vec<String> {
            optouts.standing().iter().map(|one| one.line.target.to_string()).collect()
        };
        prop_assert_eq!(targets(&once), targets(&optouts));
    }
}
