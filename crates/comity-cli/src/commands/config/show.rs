//! Every setting, its value, and the layer that it comes from.

use comity::config::keys::{Form, Key, SECTIONS, Section, Unset};
use comity::config::{ConfigFile, CrawlConfig};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use super::super::print;
use super::schema::default;
use crate::args::ConfigShowArgs;
use crate::exit::{Exit, Failure};
use crate::settings::layers::{at, table};
use crate::settings::{From, Layers};

/// One setting as it is shown.
struct Setting {
    section: &'static Section,
    key: Option<&'static Key>,
    value: Option<Value>,
    from: From,
}

/// `comity config show`.
pub(crate) fn run(args: &ConfigShowArgs) -> Result<Exit, Failure> {
    let layers = Layers::of(&args.layers)?;
    let merged = layers.merged();
    if let Some(note) = unusable(&merged) {
        eprintln!("note: {note}");
    }
    let settings = settings(&layers, &merged);
    if args.json {
        print(&json!({"settings": settings.iter().map(object).collect::<Vec<_>>()}).to_string())?;
    } else {
        print(text(&settings).trim_end())?;
    }
    Ok(Exit::Done)
}

/// Why no crawl can start with these settings, other than for want of seeds.
fn unusable(merged: &ConfigFile) -> Option<String> {
    let error = resolved(merged).err()?;
    let hint = error.advice().map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(format!("a crawl does not start with these settings: {error}{hint}"))
}

fn resolved(merged: &ConfigFile) -> Result<CrawlConfig, comity::config::ConfigError> {
    let mut file = merged.clone();
    file.crawl.seeds.get_or_insert_with(|| vec!["https://example.com/".to_owned()]);
    CrawlConfig::resolve(file)
}

fn settings(layers: &Layers, merged: &ConfigFile) -> Vec<Setting> {
    let typed = table(merged);
    let in_force = resolved(merged).map(|config| table(&config.resolved())).unwrap_or_default();
    let mut settings = Vec::new();
    for section in SECTIONS {
        if section.form == Form::Many {
            if let Some(value) = at(&typed, section.name) {
                let from = layers.source_of_list(section);
                settings.push(Setting { section, key: None, value: Some(without_logins(value.clone())), from });
            }
            continue;
        }
        for key in section.keys {
            let path = section.path(key);
            let written = at(&typed, &path).cloned();
            let is_default = written.as_ref().is_none_or(|value| same(key, value));
            let from = layers.source(section, key, is_default);
            // A placeholder is no seed.
            let in_force = at(&in_force, &path).filter(|_| path != "crawl.seeds").cloned();
            let value = written.or(in_force).or_else(|| usual(key)).map(|value| hidden(key, value));
            settings.push(Setting { section, key: Some(key), value, from });
        }
    }
    settings
}

/// The default as TOML, where there is one.
fn usual(key: &Key) -> Option<Value> {
    let Unset::Value(text) = key.default else { return None };
    let table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    table.get("value").cloned()
}

/// True for the default, written otherwise too: `60s` is `1m`.
fn same(key: &Key, value: &Value) -> bool {
    let span = |value: &Value| value.as_str().and_then(|text| text.parse::<comity::config::Span>().ok());
    match usual(key) {
        Some(usual) => usual == *value || span(&usual).is_some() && span(&usual) == span(value),
        None => value.as_array().is_some_and(Vec::is_empty),
    }
}

fn hidden(key: &Key, value: Value) -> Value {
    if key.secret { Value::String("(secret)".to_owned()) } else { without_logins(value) }
}

/// Logins have no place in a URL, and nobody takes them from one; where somebody wrote one all the same, it is not repeated.
fn without_logins(value: Value) -> Value {
    match value {
        Value::String(text) if holds_login(&text) => Value::String("(not shown: it holds a login)".to_owned()),
        Value::Array(all) => Value::Array(all.into_iter().map(without_logins).collect()),
        Value::Table(all) => Value::Table(all.into_iter().map(|(key, one)| (key, without_logins(one))).collect()),
        other => other,
    }
}

fn holds_login(text: &str) -> bool {
    text.split_once("://").is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest).contains('@'))
}

fn object(setting: &Setting) -> Json {
    let (source, from) = match &setting.from {
        From::Default => ("default", None),
        From::File(path) => ("file", Some(path.display().to_string())),
        From::Environment(variable) => ("environment", Some(variable.clone())),
        From::Flag(flag) => ("flag", flag.map(ToOwned::to_owned)),
    };
    let key = setting.key;
    json!({
        "key": key.map_or_else(|| setting.section.name.to_owned(), |key| setting.section.path(key)),
        "value": setting.value,
        "default": key.and_then(default),
        "unset": key.and_then(words),
        "unit": key.map_or("", Key::unit),
        "source": source,
        "from": from,
    })
}

const fn words(key: &Key) -> Option<&'static str> {
    match key.default {
        Unset::Value(_) => None,
        Unset::Required => Some("required"),
        Unset::None(words) | Unset::From(words) => Some(words),
    }
}

/// TOML that can be used as it is, with unit, default and origin behind each value.
fn text(settings: &[Setting]) -> String {
    let mut lines = Vec::new();
    let mut section = "";
    for setting in settings {
        let Some(key) = setting.key else {
            list(&mut lines, setting);
            continue;
        };
        if section != setting.section.name {
            section = setting.section.name;
            lines.push(format!("\n{}", setting.section.head()));
        }
        // A value that is not to be seen cannot be used either.
        let line = match &setting.value {
            Some(value) if !key.secret => format!("{} = {value}", key.name),
            Some(value) => format!("# {} = {value}", key.name),
            None => format!("# {}", key.name),
        };
        lines.push(format!("{line:40} # {}", remark(setting, key)));
    }
    lines.join("\n").trim_start().to_owned()
}

fn remark(setting: &Setting, key: &Key) -> String {
    let unit = if key.unit().is_empty() { String::new() } else { format!("{}; ", key.unit()) };
    let usual = match key.default {
        Unset::Value(text) => text,
        Unset::Required => "required",
        Unset::None(words) | Unset::From(words) => words,
    };
    match &setting.from {
        From::Default => match key.default {
            Unset::Value(_) => format!("{unit}default"),
            _ => format!("{unit}default: {usual}"),
        },
        From::File(path) => format!("{unit}file {}; default {usual}", path.display()),
        From::Environment(variable) => format!("{unit}environment {variable}; default {usual}"),
        From::Flag(flag) => format!("{unit}flag {}; default {usual}", flag.unwrap_or("(arguments)")),
    }
}

fn list(lines: &mut Vec<String>, setting: &Setting) {
    let from = match &setting.from {
        From::File(path) => format!("file {}", path.display()),
        _ => "default".to_owned(),
    };
    for entry in setting.value.iter().filter_map(Value::as_array).flatten() {
        lines.push(format!("\n{:40} # {from}", setting.section.head()));
        let text = entry.as_table().map(ToString::to_string).unwrap_or_default();
        lines.extend(text.lines().map(ToOwned::to_owned));
    }
}
