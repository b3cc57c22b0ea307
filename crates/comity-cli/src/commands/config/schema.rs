//! The JSON Schema of a configuration file, made of the registry.

use comity::config::keys::{Form, Key, Kind, SECTIONS, Section, Unset};
use serde_json::{Map, Value, json};

/// Indented, as it is kept in `configs/comity.schema.json`.
pub(super) fn text() -> String {
    serde_json::to_string_pretty(&schema()).unwrap_or_default()
}

fn schema() -> Value {
    let top = SECTIONS.iter().filter(|section| !section.name.contains('.'));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "comity configuration",
        "description": "Made by `comity config schema`. docs/configuration.md says more about each key.",
        "type": "object",
        "additionalProperties": false,
        "properties": top.map(|section| (section.name.to_owned(), whole(section))).collect::<Map<_, _>>(),
    })
}

fn whole(section: &Section) -> Value {
    let keys = section.keys.iter().map(|key| (key.name.to_owned(), of_key(key)));
    let below = SECTIONS.iter().filter_map(|other| {
        let name = other.name.strip_prefix(section.name)?.strip_prefix('.')?;
        Some((name.to_owned(), whole(other)))
    });
    let table = json!({
        "type": "object",
        "description": section.about,
        "additionalProperties": false,
        "properties": keys.chain(below).collect::<Map<_, _>>(),
    });
    match section.form {
        Form::Once => table,
        Form::Many => json!({"type": "array", "description": section.about, "items": table}),
    }
}

fn of_key(key: &Key) -> Value {
    let mut schema = kind(key);
    let Some(object) = schema.as_object_mut() else { return schema };
    object.insert("description".to_owned(), json!(description(key)));
    if let Some(value) = default(key) {
        object.insert("default".to_owned(), value);
    }
    schema
}

/// The sentence of a key, and what a schema cannot say of it.
fn description(key: &Key) -> String {
    let unset = match key.default {
        Unset::Value(_) => String::new(),
        Unset::Required => " Required.".to_owned(),
        Unset::None(words) | Unset::From(words) => format!(" Default: {words}."),
    };
    // A schema can bound numbers, not spans and sizes.
    let range = match (key.kind, key.range) {
        (Kind::Span | Kind::Size, Some((least, most))) => format!(" {least} to {most}."),
        _ => String::new(),
    };
    format!("{}{range}{unset}", key.meaning)
}

/// The default as JSON, where there is one.
pub(super) fn default(key: &Key) -> Option<Value> {
    let Unset::Value(text) = key.default else { return None };
    let table: toml::Table = toml::from_str(&format!("value = {text}")).ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

const SPAN: &str = r"^\s*[0-9]+(\.[0-9]{1,6})?\s*(ms|s|m|h|d)\s*$";
const SIZE: &str = r"^\s*[0-9]+(\.[0-9]{1,6})?\s*(B|KB|KiB|MB|MiB|GB|GiB)\s*$";
const MOMENT: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$";

fn kind(key: &Key) -> Value {
    let list = |items: Value| json!({"type": "array", "items": items});
    match key.kind {
        Kind::Text | Kind::Path => json!({"type": "string"}),
        Kind::Texts | Kind::Paths => list(json!({"type": "string"})),
        Kind::Choice(words) => json!({"enum": words}),
        // Hyphens are accepted for underlines.
        Kind::Choices(words) => {
            let hyphens = words.iter().filter(|word| word.contains('_')).map(|word| word.replace('_', "-"));
            list(json!({"enum": words.iter().map(ToString::to_string).chain(hyphens).collect::<Vec<_>>()}))
        }
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Numbers => list(json!({"type": "integer", "minimum": 0, "maximum": u16::MAX})),
        Kind::Number => {
            let range =
                key.range.and_then(|(least, most)| Some((least.parse::<u64>().ok()?, most.parse::<u64>().ok()?)));
            match range {
                Some((least, most)) => json!({"type": "integer", "minimum": least, "maximum": most}),
                None => json!({"type": "integer", "minimum": 0}),
            }
        }
        Kind::Span => json!({"type": "string", "pattern": SPAN}),
        Kind::Size => json!({"type": "string", "pattern": SIZE}),
        Kind::Map => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Kind::Moment => json!({"type": "string", "pattern": MOMENT}),
    }
}
