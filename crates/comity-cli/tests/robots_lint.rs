//! `comity robots lint`.

mod support;

use serde_json::{Value, json};
use support::{fixture, robots};

#[test]
fn findings_as_json() {
    let ran = robots(&["lint", "--json", &fixture("faults.robots.txt")], b"");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = ran.json();
    let findings = report["findings"].as_array().unwrap();
    let of =
        |code: &str| findings.iter().find(|finding| finding["code"] == code).unwrap_or_else(|| panic!("no {code}"));
    for (code, severity, line, column) in [
        ("R035", "error", 1, 1),
        ("R001", "warning", 10, 13),
        ("R002", "error", 5, 11),
        ("R010", "warning", 6, 11),
        ("R017", "warning", 7, 1),
        ("R014", "info", 8, 14),
        ("R031", "warning", 12, 10),
    ] {
        let finding = of(code);
        let place = (finding["line"].as_u64(), finding["column"].as_u64());
        assert_eq!((&finding["severity"], place), (&json!(severity), (Some(line), Some(column))), "{code}");
        assert!(finding["message"].is_string(), "{code}");
    }
    assert_eq!(of("R002")["fix"], "Disallow: /private/");
    assert!(of("R001")["message"].as_str().unwrap().contains("Disallow: /cart"));
}

#[test]
fn sarif_has_every_rule_and_result() {
    let ran = robots(&["lint", "--sarif", &fixture("faults.robots.txt")], b"");
    assert_eq!(ran.code, 1);
    let log = ran.json();
    assert_eq!(log["version"], "2.1.0");
    let rules: Vec<&Value> = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().iter().collect();
    assert_eq!(rules.len(), comity_robots::LintCode::all().count());
    let results = log["runs"][0]["results"].as_array().unwrap();
    let plain = robots(&["lint", "--json", &fixture("faults.robots.txt")], b"").json();
    assert_eq!(results.len(), plain["findings"].as_array().unwrap().len());
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64() >= Some(1), "{result}");
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("faults.robots.txt"), "{result}");
    }
}

/// The schema of OASIS, as the crate serde-sarif 0.8.0 carries it, but for a stray bracket in the pattern of a language; every
/// level, fixes, and an empty file.
#[test]
fn sarif_is_what_its_schema_says() {
    let schema = std::fs::read_to_string(fixture("sarif-2.1.0.schema.json")).unwrap();
    let schema = jsonschema::options().should_validate_formats(true).build(&schema.parse().unwrap()).unwrap();
    let faults = [
        ("-", &b"\xFF\xFEU\0"[..], 1),
        ("-", b"<html>\nUser-agent: *\nDisallow: a/ \xE9\nNoindex: /\nSitemap: x\nDisallow: /a\n", 5),
        ("-", b"", 0),
    ];
    for (name, file, least) in faults.into_iter().chain([(fixture("faults.robots.txt").as_str(), &b""[..], 7)]) {
        let log = robots(&["lint", "--sarif", name], file).json();
        assert!(log["runs"][0]["results"].as_array().unwrap().len() >= least, "{log}");
        let errors: Vec<_> = schema.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        // It finds what is wrong.
        for (place, wrong) in [
            ("/runs/0/tool/driver/rules/0/id", json!(7)),
            ("/runs/0/tool/driver/informationUri", json!("no uri")),
            ("/runs/0/columnKind", json!("bytes")),
            ("/version", json!("2.0.0")),
        ] {
            let mut changed = log.clone();
            *changed.pointer_mut(place).unwrap() = wrong;
            assert!(!schema.is_valid(&changed), "{place}");
        }
    }
}

#[test]
fn sarif_counts_columns_in_characters() {
    let file = "User-agent: *\r\nDisallow: /a/\rDisallow: /\u{e9}\u{e9}\0\n".as_bytes();
    let place = |flag: &str, key: &str, at: &str| {
        let report = robots(&["lint", flag, "-"], file).json();
        let all = if flag == "--json" { report["findings"].clone() } else { report["runs"][0]["results"].clone() };
        let found = all.as_array().unwrap().iter().find(|finding| finding[key] == "R022").unwrap().clone();
        found.pointer(at).unwrap().as_u64()
    };
    let region = "/locations/0/physicalLocation/region";
    assert_eq!(place("--json", "code", "/column"), Some(16));
    assert_eq!(place("--sarif", "ruleId", &format!("{region}/startColumn")), Some(14));
    assert_eq!(place("--sarif", "ruleId", &format!("{region}/startLine")), Some(3));
}

#[test]
fn only_errors_and_warnings_fail() {
    let rows: [(&[u8], i32, &str); 3] = [
        (b"User-agent: *\nDisallow: /a/\n", 0, "0 errors, 0 warnings, 0 worth knowing\n"),
        (b"User-agent: *\nDisallow: /a\n", 0, "0 errors, 0 warnings, 1 worth knowing\n"),
        (b"User-agent: *\nDisallow: a/\n", 1, "1 error, 0 warnings, 0 worth knowing\n"),
    ];
    for (file, code, last) in rows {
        let ran = robots(&["lint", "-"], file);
        assert_eq!(ran.code, code, "{}", ran.out);
        assert!(ran.out.ends_with(last), "{}", ran.out);
    }
    let ran = robots(&["lint", "-"], b"User-agent: *\nDisallow: a/\n");
    assert!(ran.out.starts_with("-:2:11: error[R002 never-matches] Disallow: a/ never matches"), "{}", ran.out);
    assert!(ran.out.contains("\n    fix: Disallow: /a/\n"), "{}", ran.out);
}

#[test]
fn sitemaps_are_held_against_the_origin() {
    let file = b"Sitemap: https://b.test/s\n";
    let codes = |args: &[&str]| robots(args, file).json()["findings"].as_array().unwrap().len();
    assert_eq!(codes(&["lint", "--json", "-"]), 0);
    assert_eq!(codes(&["lint", "--json", "--origin", "https://a.test", "-"]), 1);
    assert_eq!(codes(&["lint", "--json", "--origin", "https://b.test", "-"]), 0);
    assert_eq!(robots(&["lint", "--origin", "b.test:x", "-"], file).code, 2);
    assert_eq!(robots(&["lint", "/no/such/file"], b"").code, 2);
}
