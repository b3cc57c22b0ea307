//! Header fields and robots metas of a page: a row per case.

use crate::support::{Case, head, letters};
use comity_signals::{Place, Profile, Purpose, SignalOptions, Source, UnixSeconds, UseCeiling, Verdict, page_signals};

/// Field name, value.
type Fields<'a> = &'a [(&'a str, &'a str)];

const X: &str = "X-Robots-Tag";

fn case<'a>(fields: Fields<'_>, html: &'a str) -> Case<'a> {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Case { fields, html, ..Case::default() }
}

/// Literal and cautious verdicts in the order search, ai_input, ai_train, tdm.
#[test]
fn verdicts_in_both_profiles() {
    let rows: [(&str, Fields<'_>, &str, &str, &str); 20] = [
        ("noindex", &[(X, "noindex")], "", "d---", "d---"),
        ("none", &[(X, "NONE")], "", "d---", "d---"),
        ("all", &[(X, "all, index, follow")], "", "----", "----"),
        ("other agent", &[(X, "otherbot: noindex, noai")], "", "----", "----"),
        ("prefix does not leak", &[(X, "otherbot: nofollow"), (X, "noindex")], "", "d---", "d---"),
        ("our prefix does not leak", &[(X, "comitybot: noai"), (X, "otherbot: noindex")], "", "--d-", "--d-"),
        ("nosnippet", &[(X, "nosnippet")], "", "----", "-d--"),
        ("max-snippet:0", &[(X, "max-snippet: 0")], "", "----", "-d--"),
        ("max-snippet:1", &[(X, "max-snippet:1")], "", "----", "----"),
        ("noarchive", &[(X, "noarchive")], "", "----", "-dd-"),
        ("nocache", &[(X, "nocache")], "", "----", "----"),
        ("noai, noml", &[(X, "noai"), (X, "noml")], "", "--d-", "--d-"),
        ("noimage… on a page", &[(X, "noimageindex, noimageai")], "", "----", "----"),
        ("robots-tag", &[("Robots-Tag", "*=noindex; ComityBot=noai")], "", "d-d-", "d-d-"),
        ("meta", &[], "<meta name=robots content=noindex>", "d---", "d---"),
        ("meta for us", &[], "<meta name='ComityBot' content='noai, noindex'>", "d-d-", "d-d-"),
        ("meta for another", &[], "<meta name=googlebot content=noindex>", "----", "----"),
        ("header and meta add up", &[(X, "noai")], "<meta name=robots content=noindex>", "d-d-", "d-d-"),
        ("yes against no", &[("content-signal", "ai-train=yes"), ("content-usage", "train-ai=n")], "", "--d-", "--d-"),
        ("yes against noindex", &[("content-usage", "search=y"), (X, "noindex")], "", "d---", "d---"),
    ];
    for (name, fields, html, literal, cautious) in rows {
        for (profile, wanted) in [(Profile::Literal, literal), (Profile::Cautious, cautious)] {
            let options = SignalOptions { profile, ..SignalOptions::default() };
            let outcome = Case { options, ..case(fields, html) }.read();
            assert_eq!(outcome.verdicts(), wanted, "{name}, {}", profile.as_str());
            let derives = outcome.page.statements.iter().any(|s| s.derived);
            assert_eq!(derives, literal != wanted, "{name}: what only the cautious profile says is marked derived");
        }
    }
}

#[test]
fn images() {
    let image = Case { image: true, ..case(&[(X, "noimageindex, noimageai")], "") }.read();
    assert_eq!(image.verdicts(), "d-d-");
    let page = case(&[(X, "noimageindex, noimageai")], "").read().page;
    assert_eq!((page.image_index, page.image_ai_train), (false, Verdict::Denied));
}

#[test]
fn constraints() {
    let silent = case(&[], "").read().page;
    assert!(silent.follow && silent.cache && silent.image_index && silent.translate);
    assert_eq!((silent.snippet_max, silent.use_ceiling, silent.unavailable_after), (None, None, None));

    let page = case(
        &[(X, "nofollow, noarchive"), (X, "max-snippet:50"), (X, "max-snippet:20, max-snippet:-1"), (X, "notranslate")],
        "",
    );
    let page = page.read().page;
    assert_eq!((page.follow, page.cache, page.translate, page.snippet_max), (false, false, false, Some(20)));

    let fields: Fields<'_> = &[("Content-Signal", "use=full"), ("content-signal", "use=reference, search=yes")];
    let outcome = case(fields, "").read();
    assert_eq!(outcome.page.use_ceiling, Some(UseCeiling::Reference));
    assert_eq!(outcome.page.statements[0].place, Place::Header(1));
}

#[test]
fn unavailable_after_denies_once_it_has_passed() {
    let fields: Fields<'_> = &[(X, "unavailable_after: 2026-01-02"), (X, "unavailable_after: 2026-01-01T00:00:00Z")];
    let date = UnixSeconds::parse("2026-01-01").expect("a date");
    for (now, verdicts) in [(date.0 - 1, "----"), (date.0, "----"), (date.0 + 1, "d---")] {
        let outcome = Case { now: UnixSeconds(now), ..case(fields, "") }.read();
        assert_eq!(outcome.verdicts(), verdicts, "{now}");
        assert_eq!(outcome.page.unavailable_after, Some(date), "the earliest date counts");
    }
    let page = case(fields, "").read().page;
    let denial = page.expired(UnixSeconds(date.0 + 1)).expect("passed");
    assert_eq!((denial.place, denial.raw.as_str()), (Place::Header(1), "unavailable_after: 2026-01-01T00:00:00Z"));
}

#[test]
fn diagnostics() {
    let rows: [(Fields<'_>, &str, &[&str]); 6] = [
        (&[(X, "noindex, nosuchrule")], "", &["xrobots_unknown_rule"]),
        (&[(X, "unavailable_after: soon")], "", &["xrobots_bad_date"]),
        (&[(X, "otherbot: nosuchrule")], "", &[]),
        (&[], "<meta name=robots content='otherbot: noindex'>", &["xrobots_unknown_rule"]),
        (&[("Content-Usage", "train-ai=n;")], "", &["aipref_unparsable"]),
        (&[("Content-Signal", "/a ai-train=no")], "", &["signal_unknown_key"]),
    ];
    for (fields, html, codes) in rows {
        assert_eq!(case(fields, html).read().codes(), codes, "{fields:?} {html}");
    }
}

#[test]
fn joined_fields_are_one_statement_of_the_whole_header() {
    let outcome = case(&[("content-usage", "train-ai=n"), ("CONTENT-USAGE", "search=y")], "").read();
    let denial = outcome.preferences.denial(Purpose::AiTrain).expect("train-ai=n");
    assert_eq!((denial.place, denial.raw.as_str()), (Place::Whole, "train-ai=n, search=y"));
    let single = case(&[("content-usage", "train-ai=n")], "").read();
    assert_eq!(single.page.statements[0].place, Place::Header(0));
}

#[test]
fn bytes_that_are_no_text_void_a_dictionary_and_cost_others_one_rule() {
    let fields: [(&str, &[u8]); 2] = [("content-usage", b"train-ai=n, \xff"), (X, b"\xff, noindex")];
    let page = page_signals(&fields, &head(""), "ComityBot", false);
    assert_eq!(page.statements.len(), 1);
    assert_eq!(page.statements[0].source, Source::HeaderXRobotsTag);
}

#[test]
fn the_page_never_lifts_what_robots_txt_denies_and_the_reverse() {
    let robots = "User-agent: *\nContent-Signal: ai-train=no, ai-input=yes\nContent-Usage: search=y\n";
    let fields: Fields<'_> = &[("content-signal", "ai-train=yes, ai-input=no, search=yes")];
    let outcome = Case { robots: Some(robots), ..case(fields, "") }.read();
    assert_eq!(outcome.verdicts(), "add-");
    assert_eq!(letters(&outcome.robots.preferences), "aad-");
    assert_eq!(outcome.preferences.denial(Purpose::AiInput).map(|s| s.source), Some(Source::HeaderContentSignal));
}
