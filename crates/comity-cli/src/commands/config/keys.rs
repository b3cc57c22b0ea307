//! Every key, as the page `docs/reference/config.md` and as JSON.

use comity::config::keys::{Key, SECTIONS, Section, Unset, all};
use serde_json::{Value, json};

use super::schema::default;

/// The page.
pub(super) fn page() -> String {
    let mut page = "# Every key\n\nMade by `comity config keys`; a test holds it against the code. [configuration.md](../configuration.md) says more about \
                    each key,\n`comity config schema` the same for editors. Sections in double brackets stand as often as needed.\n"
        .to_owned();
    for section in SECTIONS {
        page.push_str(&format!("\n## `{}`\n\n{}.\n\n", section.head(), capital(section.about)));
        page.push_str(
            "| key | kind | default | range | short forms | what it does | source |\n|---|---|---|---|---|---|---|\n",
        );
        for key in section.keys {
            page.push_str(&row(section, key));
        }
    }
    page
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn row(section: &Section, key: &Key) -> String {
    let mut kind = key.kind.words().to_owned();
    if !key.kind.choices().is_empty() {
        let words: Vec<String> = key.kind.choices().iter().map(|word| format!("`{word}`")).collect();
        kind = format!("{kind} {}", words.join(", "));
    } else if !key.unit.is_empty() {
        kind = format!("{kind} ({})", key.unit);
    }
    let range = key.range.map_or_else(|| "-".to_owned(), |(least, most)| format!("{least} to {most}"));
    let short: Vec<String> = section
        .variable(key)
        .into_iter()
        .chain(key.flag.map(ToOwned::to_owned))
        .map(|name| format!("`{name}`"))
        .collect();
    let short = if short.is_empty() { "-".to_owned() } else { short.join(", ") };
    let secret = if key.secret { " Never shown." } else { "" };
    format!(
        "| `{}` | {kind} | {} | {range} | {short} | {}{secret} | {} |\n",
        key.name,
        unset(key),
        key.meaning,
        key.source
    )
}

fn unset(key: &Key) -> String {
    match key.default {
        Unset::Value(text) => format!("`{text}`"),
        Unset::Required => "required".to_owned(),
        Unset::None(words) | Unset::From(words) => words.to_owned(),
    }
}

/// The same for programs.
pub(super) fn object() -> Value {
    let key = |(section, key): (&Section, &Key)| {
        json!({
            "key": section.path(key),
            "kind": key.kind.words(),
            "choices": key.kind.choices(),
            "default": default(key),
            "unset": match key.default {
                Unset::Value(_) => Value::Null,
                Unset::Required => json!("required"),
                Unset::None(words) | Unset::From(words) => json!(words),
            },
            "unit": key.unit(),
            "range": key.range.map(|(least, most)| [least, most]),
            "variable": section.variable(key),
            "flag": key.flag,
            "secret": key.secret,
            "meaning": key.meaning,
            "source": key.source,
        })
    };
    json!({"keys": all().map(key).collect::<Vec<_>>()})
}
