use std::collections::BTreeSet;

use toml::{Table, Value};

use super::*;
use crate::config::environment::insert;
use crate::config::{ConfigError, ConfigFile, CrawlConfig};

/// A file with this one key, as text.
fn with(section: &Section, key: &str, value: &str) -> String {
    format!("{}\n{key} = {value}\n", section.head())
}

/// The names that serde knows, told when it meets one that it does not.
fn known_to_serde(head: &str) -> BTreeSet<String> {
    let error = ConfigFile::parse(&format!("{head}\nno-such-key = 1\n"), None).unwrap_err().to_string();
    let names = error.split('`').skip(3).step_by(2).map(ToOwned::to_owned).collect();
    assert!(error.contains("unknown field"), "{head}: {error}");
    names
}

#[test]
fn every_key_that_a_file_may_hold_has_a_row_and_every_row_is_such_a_key() {
    let sections: BTreeSet<String> = known_to_serde("");
    let top = SECTIONS.iter().map(|section| section.name).filter(|name| !name.contains('.'));
    assert_eq!(sections, top.map(ToOwned::to_owned).collect(), "sections");
    for section in SECTIONS {
        let below = SECTIONS.iter().filter_map(|other| other.name.strip_prefix(section.name)?.strip_prefix('.'));
        let rows: BTreeSet<String> =
            section.keys.iter().map(|key| key.name).chain(below).map(ToOwned::to_owned).collect();
        assert_eq!(known_to_serde(&section.head()), rows, "{}: add a row to config/keys", section.head());
    }
}

#[test]
fn rows_are_told_once_and_in_one_sentence() {
    let mut paths = BTreeSet::new();
    for (section, key) in all() {
        let path = section.path(key);
        assert!(paths.insert(path.clone()), "{path} twice");
        assert!(find(&path).is_some_and(|(_, found)| found.name == key.name), "{path}");
        let is_sentence =
            key.meaning.ends_with('.') && !key.meaning.contains(". ") && !key.meaning.contains(['|', '\n']);
        assert!(is_sentence && !key.source.is_empty(), "{path}: {}", key.meaning);
        assert_eq!(
            key.unit().is_empty(),
            !matches!(key.kind, Kind::Number | Kind::Span | Kind::Size) && key.unit.is_empty() || key.name == "asn",
            "{path}"
        );
    }
}

/// A value, and which kinds of key take it.
type Sample = (&'static str, fn(Kind) -> bool);

/// Values of every kind of TOML.
const SAMPLES: [Sample; 7] = [
    ("true", |kind| kind == Kind::Switch),
    ("7", |kind| kind == Kind::Number),
    ("\"7d\"", |kind| matches!(kind, Kind::Text | Kind::Choice(_) | Kind::Path | Kind::Span)),
    ("\"7KiB\"", |kind| matches!(kind, Kind::Text | Kind::Choice(_) | Kind::Path | Kind::Size)),
    // serde sees a table in it, which a table of texts takes.
    ("2026-11-30", |kind| matches!(kind, Kind::Moment | Kind::Map)),
    ("[7]", |kind| kind == Kind::Numbers),
    ("[\"a\"]", |kind| matches!(kind, Kind::Texts | Kind::Choices(_) | Kind::Paths)),
];

#[test]
fn every_key_takes_values_of_its_kind_and_no_other() {
    for (section, key) in all() {
        for (value, takes) in SAMPLES {
            let read = ConfigFile::parse(&with(section, key.name, value), None);
            assert_eq!(read.is_ok(), takes(key.kind), "{}: {value} {:?}", section.path(key), read.err());
        }
        let map = ConfigFile::parse(&with(section, key.name, "{ a = \"b\" }"), None);
        assert_eq!(map.is_ok(), key.kind == Kind::Map, "{}", section.path(key));
    }
}

fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
    let base =
        "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@b.c\"\n[crawl]\nseeds = [\"https://a.test/\"]\n[frontier]\n";
    let mut file = ConfigFile::parse(base, None)?;
    file.overlay(ConfigFile::parse(more, None)?);
    CrawlConfig::resolve(file)
}

/// Sections that a crawl resolves; those of the gateway are held against it in `comity-cli`.
fn of_crawl() -> impl Iterator<Item = (&'static Section, &'static Key)> {
    all().filter(|(section, _)| section.form == Form::Once && !section.name.starts_with("gateway"))
}

#[test]
fn every_default_is_what_holds_when_nothing_is_written() {
    let resolved = Table::try_from(resolve("").unwrap().resolved()).unwrap();
    for (section, key) in of_crawl() {
        let holds = resolved.get(section.name).and_then(|table| table.get(key.name));
        let path = section.path(key);
        // Not resolved, since writing them would make them hold on own networks too.
        if path == "politeness.per_address" || path == "politeness.address_gap" {
            continue;
        }
        match key.default {
            Unset::Value(text) => {
                let table: Table = toml::from_str(&format!("value = {text}")).unwrap();
                let is_empty = table.get("value").is_some_and(|value| value.as_str() == Some(""));
                let same = holds == table.get("value")
                    || holds.is_none() && is_empty
                    || span(holds).is_some_and(|holds| Some(holds) == span(table.get("value")));
                assert!(same, "{path}: {text}, in force is {holds:?}");
            }
            Unset::None(_) => {
                let is_nothing = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
                assert!(holds.is_none_or(is_nothing), "{path}: in force is {holds:?}");
            }
            Unset::Required | Unset::From(_) => {}
        }
    }
    let pace = comity_policy::Politeness::default();
    assert_eq!((pace.per_address, pace.address_gap.as_millis()), (2, 500), "as the two rows say");
}

fn span(value: Option<&Value>) -> Option<crate::config::Span> {
    value?.as_str()?.parse().ok()
}

#[test]
fn every_range_holds_at_both_ends_and_not_beyond() {
    for (section, key) in of_crawl() {
        let Some((least, most)) = key.range else { continue };
        let quoted = |text: &str| if key.kind == Kind::Number { text.to_owned() } else { format!("\"{text}\"") };
        // `start` lies between the other two; none of the rest depends on another key.
        let beside = if section.name == "revisit" && key.name != "min" { "min = \"1s\"\n" } else { "" };
        let beside = if key.name == "start" || key.name == "min" {
            format!("{beside}max = \"3650d\"\n")
        } else {
            beside.to_owned()
        };
        // How many it takes counts for denials alone.
        let beside =
            if key.name == "infer_min_tokens" { "infer_from_ai_tokens = \"deny\"\n".to_owned() } else { beside };
        let whole = |value: &str| format!("{}{beside}", with(section, key.name, &quoted(value)));
        for value in [least, most] {
            assert!(resolve(&whole(value)).is_ok(), "{}: {:?}", section.path(key), resolve(&whole(value)).err());
        }
        for value in [beyond(least, false), beyond(most, true)].into_iter().flatten() {
            assert!(resolve(&whole(&value)).is_err(), "{}: {value} is taken", section.path(key));
        }
    }
}

/// A value just outside; none where there is nothing below, or nothing that a number could hold.
fn beyond(edge: &str, above: bool) -> Option<String> {
    let split = edge.find(|c: char| !c.is_ascii_digit()).unwrap_or(edge.len());
    let (number, unit) = edge.split_at(split);
    let number: u64 = number.parse().unwrap();
    let next = if above { number.checked_add(1) } else { number.checked_sub(1) }?;
    Some(format!("{next}{unit}"))
}

#[test]
fn every_word_of_a_choice_is_taken_and_others_are_not() {
    for (section, key) in of_crawl() {
        for word in key.kind.choices() {
            let value = if key.kind.is_list() { format!("[\"{word}\"]") } else { format!("\"{word}\"") };
            assert!(resolve(&with(section, key.name, &value)).is_ok(), "{}: {value}", section.path(key));
        }
        if !key.kind.choices().is_empty() {
            let value = if key.kind.is_list() { "[\"nonsense\"]" } else { "\"nonsense\"" };
            assert!(resolve(&with(section, key.name, value)).is_err(), "{}", section.path(key));
        }
    }
}

#[test]
fn every_key_stands_in_the_reference_and_in_an_example() {
    let reference = include_str!("../../../../../docs/configuration.md");
    let examples =
        [include_str!("../../../../../configs/crawl.toml"), include_str!("../../../../../configs/gateway.toml")];
    for (section, key) in all() {
        let heads = [format!("`{}`", section.head()), format!("`{}`,", section.head())];
        let at = heads
            .iter()
            .find_map(|head| reference.find(&format!("# {head}\n")).or_else(|| reference.find(&format!("\n{head}"))));
        let part =
            at.and_then(|at| reference.get(at + 3..)).unwrap_or_else(|| panic!("{} has no section", section.head()));
        let row = format!("\n| `{}` |", key.name);
        let end = part.find("\n## ").unwrap_or(part.len());
        assert!(part[..end].contains(&row), "{} is not in docs/configuration.md", section.path(key));
        let stands = |text: &str| {
            let line = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{} = ", key.name));
            text.lines().any(line)
        };
        assert!(examples.iter().any(|text| stands(text)), "{} is in no example of configs/", section.path(key));
    }
}

#[test]
fn what_serde_writes_is_found_by_path() {
    let mut table = Table::new();
    insert(&mut table, "gateway.customer", "id", Value::String("c".to_owned()));
    assert_eq!(table, toml::from_str("[gateway.customer]\nid = \"c\"").unwrap());
}
