use serde::Serialize;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::rules::{GRANT, OVERRIDE, Rule, SECTIONS, Says, TERMS};

/// A sentence of one fact, with the key that it comes from.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Fact {
    pub(super) section: &'static str,
    pub(super) key: String,
    /// Null where the configuration does not hold the key.
    pub(super) value: Json,
    pub(super) says: String,
}

/// What the configuration says, section by section.
pub(super) fn facts(config: &Table) -> Vec<Fact> {
    let plain = SECTIONS.iter().flat_map(|(section, rules)| rules.iter().map(|rule| fact(section, rule, config)));
    let mut facts: Vec<Fact> = plain.collect();
    facts.extend(exits(config));
    facts.extend(exceptions("override", OVERRIDE, config));
    facts.extend(exceptions("grant", GRANT, config));
    facts.extend(exceptions("terms", TERMS, config));
    facts.extend(optouts(config));
    facts
}

/// What a rule says of a configuration.
pub(super) fn fact(section: &'static str, rule: &Rule, config: &Table) -> Fact {
    let value = rule.key.split_once('.').and_then(|(table, key)| config.get(table)?.get(key));
    Fact {
        section,
        key: rule.key.to_owned(),
        value: value.map_or(Json::Null, as_json),
        says: says(rule, rule.key, value),
    }
}

/// An empty list, and an empty text, are as good as none.
fn says(rule: &Rule, key: &str, value: Option<&Value>) -> String {
    let Some(text) = value.map(as_text).filter(|text| !text.is_empty()) else {
        return if rule.absent == "not recorded" { format!("{key}: not recorded.") } else { rule.absent.to_owned() };
    };
    match rule.says {
        Says::Value(sentence) => sentence.replacen("{}", &text, 1),
        Says::Words(words) => match words.iter().find(|(word, _)| *word == text) {
            Some((_, sentence)) => (*sentence).to_owned(),
            None => format!("{key} is {text}."),
        },
    }
}

/// Proxies by their number alone: an address may be that of somebody's home.
fn exits(config: &Table) -> Option<Fact> {
    let listed = |key: &str| config.get("fetch")?.get(key)?.as_array().map(Vec::len);
    let number = listed("proxies").unwrap_or(0) + listed("proxy").unwrap_or(0);
    let says = match number {
        0 => "It leaves directly, through no proxy.".to_owned(),
        number => format!("It leaves through proxies: {number} are configured."),
    };
    Some(Fact { section: "Who crawls", key: "fetch.proxy".to_owned(), value: json!(number), says })
}

fn exceptions(name: &'static str, rules: &[Rule], config: &Table) -> Vec<Fact> {
    const SECTION: &str = "Exceptions";
    let all = config.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        let what = if name == "terms" { "review of terms" } else { name };
        let says = format!("There is no {what}.");
        return vec![Fact { section: SECTION, key: name.to_owned(), value: Json::Null, says }];
    }
    let each = all.iter().enumerate().flat_map(|(n, one)| {
        rules.iter().map(move |rule| {
            let (key, value) = (format!("{name}[{n}].{}", rule.key), one.get(rule.key));
            // The number goes in first: a text from outside may hold the mark, too.
            let numbered = |text: &'static str| text.split("{n}").collect::<Vec<_>>().join(&(n + 1).to_string());
            let says = numbered_says(rule, &key, value, numbered);
            Fact { section: SECTION, key, value: value.map_or(Json::Null, as_json), says }
        })
    });
    each.collect()
}

fn numbered_says(rule: &Rule, key: &str, value: Option<&Value>, numbered: impl Fn(&'static str) -> String) -> String {
    match (&rule.says, value.map(as_text).filter(|text| !text.is_empty())) {
        (Says::Value(sentence), Some(text)) => numbered(sentence).replacen("{}", &text, 1),
        (Says::Words(words), Some(text)) => match words.iter().find(|(word, _)| *word == text) {
            Some((_, sentence)) => numbered(sentence),
            None => format!("{key} is {text}."),
        },
        (_, None) if rule.absent == "not recorded" => format!("{key}: not recorded."),
        (_, None) => numbered(rule.absent),
    }
}

fn optouts(config: &Table) -> Vec<Fact> {
    const SECTION: &str = "Opt-outs";
    let files = config.get("optout").and_then(|optout| optout.get("files")?.as_array());
    let files = files.map(Vec::as_slice).unwrap_or_default();
    if files.is_empty() {
        let says = "No opt-out file is configured; opt-outs that `comity optout` added to the crawl hold all the same.";
        return vec![Fact {
            section: SECTION,
            key: "optout.files".to_owned(),
            value: json!([]),
            says: says.to_owned(),
        }];
    }
    let each = files.iter().enumerate().flat_map(|(n, file)| {
        let (key, text) = (format!("optout.files[{n}]"), as_text(file));
        let named = format!("Whoever is listed in {text} is not visited at all.");
        let digest = format!("Which lines {text} held is not recorded: its digest stands nowhere in the crawl.");
        [
            Fact { section: SECTION, key: key.clone(), value: as_json(file), says: named },
            Fact { section: SECTION, key: format!("{key}, digest"), value: Json::Null, says: digest },
        ]
    });
    each.collect()
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(as_text).collect::<Vec<_>>().join(", "),
        Value::Table(table) => {
            table.iter().map(|(key, value)| format!("{key} {}", as_text(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Days and moments as text.
fn as_json(value: &Value) -> Json {
    match value {
        Value::Integer(number) => json!(number),
        Value::Boolean(is) => json!(is),
        Value::Float(number) => json!(number),
        Value::Array(all) => all.iter().map(as_json).collect(),
        Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), as_json(value))).collect(),
        Value::String(_) | Value::Datetime(_) => json!(as_text(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, key: &str) -> String {
        let facts = facts(&text.parse().unwrap());
        facts.iter().find(|fact| fact.key == key).map(|fact| fact.says.clone()).unwrap()
    }

    #[test]
    fn each_key_makes_its_own_sentence() {
        let rows = [
            ("[agent]\nname = \"A{}{n}/1\"", "agent.name", "The crawler calls itself A{}{n}/1."),
            ("", "agent.name", "agent.name: not recorded."),
            ("", "archive.keep_payload", "Bodies are kept without an end."),
            (
                "[robots]\nstrict_4xx = []",
                "robots.strict_4xx",
                "A robots.txt that answers 4xx means that there are no rules; 429 closes its site.",
            ),
            ("[robots]\ndialect = \"new\"", "robots.dialect", "robots.dialect is new."),
            (
                "[politeness]\nadaptive = false",
                "politeness.adaptive",
                "The time of an origin's answers does not slow the crawl.",
            ),
            (
                "[[override]]\nid = \"x{n}\"\nexpires = 2027-01-31",
                "override[0].expires",
                "Override 1 ends at 2027-01-31.",
            ),
            ("[[override]]\nid = \"x{n}{}\"", "override[0].id", "Override 1 is named x{n}{}."),
            ("[[override]]\nid = \"x\"", "override[0].basis", "override[0].basis: not recorded."),
            (
                "[[grant]]\n[[grant]]\nreference = \"L 17\"",
                "grant[1].reference",
                "Grant 2 is found under the reference L 17.",
            ),
            ("", "grant", "There is no grant."),
            ("", "terms", "There is no review of terms."),
            (
                "[[terms]]\nverdicts = { ai_train = \"denied\", search = \"allowed\" }",
                "terms[0].verdicts",
                "Review 1 found: ai_train denied, search allowed.",
            ),
            (
                "[fetch]\nproxies = [\"http://10.0.0.1:1\"]",
                "fetch.proxy",
                "It leaves through proxies: 1 are configured.",
            ),
        ];
        for (text, key, sentence) in rows {
            assert_eq!(said(text, key), sentence, "{text}");
        }
    }

    /// A key that is renamed must not fall silent here.
    #[test]
    fn every_key_is_one_that_is_documented() {
        let reference = include_str!("../../../../../docs/configuration.md");
        let plain = SECTIONS.iter().flat_map(|(_, rules)| rules.iter());
        for rule in plain.chain(OVERRIDE).chain(GRANT) {
            let key = rule.key.rsplit('.').next().unwrap();
            assert!(reference.contains(&format!("| `{key}` |")), "{}", rule.key);
        }
    }
}
