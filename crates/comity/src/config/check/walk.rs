//! The names and kinds of a file, held against the registry.

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::{Problem, place};
use crate::config::environment::nested;
use crate::config::keys::{self, Form, Kind, SECTIONS, Section};
use crate::config::near::nearest;
use crate::config::{ConfigError, ConfigFile};

/// One key as written.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) section: &'static Section,
    pub(super) name: &'static str,
    /// Which entry of a section that stands many times.
    pub(super) entry: usize,
    pub(super) value: Value,
    /// Where the value begins.
    at: usize,
    /// Where each item of a list does.
    items: Vec<(String, usize)>,
}

/// What was found so far.
pub(super) struct Walk<'a> {
    text: &'a str,
    pub(super) problems: Vec<Problem>,
    /// The keys whose names and kinds are right.
    pub(super) leaves: Vec<Leaf>,
    /// Entries of which a key was left out: `section` and number.
    pub(super) broken: Vec<(&'static str, usize)>,
    /// Keys of the wrong kind.
    pub(super) wrong: Vec<String>,
    pub(super) missing: Vec<&'static str>,
    pub(super) keys: usize,
}

impl Leaf {
    pub(super) fn path(&self) -> String {
        format!("{}.{}", self.section.name, self.name)
    }

    fn shown(&self) -> String {
        format!("{} {}", self.section.head(), self.name)
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (problems, leaves, broken, wrong, missing) = Default::default();
        Self { text, problems, leaves, broken, wrong, missing, keys: 0 }
    }

    /// The sections of a document.
    pub(super) fn document(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let (text, at) = (name.get_ref().as_ref(), name.span().start);
            match SECTIONS.iter().find(|section| section.name == text) {
                Some(section) => self.section(section, value.get_ref(), at),
                None => self.unknown_section(text, value.get_ref().is_table(), at),
            }
        }
    }

    fn unknown_section(&mut self, name: &str, is_table: bool, at: usize) {
        let owner = keys::all().find(|(_, key)| key.name == name);
        let near = nearest(name, SECTIONS.iter().map(|section| section.name), 0.75);
        let (shown, what, hint) = match (is_table, owner, near) {
            (false, Some((section, _)), _) => {
                (name.to_owned(), "no section has been named yet", Some(format!("it stands in {}", section.head())))
            }
            (_, _, near) => {
                let head = near.and_then(|near| SECTIONS.iter().find(|known| known.name == near)).map(Section::head);
                (format!("[{name}]"), "unknown section", head.map(|head| format!("did you mean {head}?")))
            }
        };
        self.tell(at, Some(shown), what.to_owned(), hint);
    }

    fn section(&mut self, section: &'static Section, value: &DeValue<'_>, at: usize) {
        match (section.form, value) {
            (Form::Once, DeValue::Table(table)) => self.keys(section, 0, table),
            (Form::Many, DeValue::Array(entries)) if entries.iter().all(|entry| entry.get_ref().is_table()) => {
                for (entry, table) in entries.iter().filter_map(|entry| entry.get_ref().as_table()).enumerate() {
                    self.keys(section, entry, table);
                }
            }
            _ => {
                let hint = format!("write {} on a line of its own, and its keys below", section.head());
                self.tell(at, Some(section.head()), "it is a section".to_owned(), Some(hint));
            }
        }
    }

    fn keys(&mut self, section: &'static Section, entry: usize, table: &DeTable<'_>) {
        for (name, value) in table {
            let (text, at) = (name.get_ref().as_ref(), name.span().start);
            let below = format!("{}.{text}", section.name);
            if let Some(known) = section.keys.iter().find(|key| key.name == text) {
                self.keys += 1;
                let items = match value.get_ref() {
                    DeValue::Array(items) => {
                        items.iter().map(|item| (shown(item.get_ref()), item.span().start)).collect()
                    }
                    _ => Vec::new(),
                };
                let (at, value) = (value.span().start, plain(value.get_ref()));
                self.key(Leaf { section, name: known.name, entry, value, at, items });
            } else if let Some(known) = SECTIONS.iter().find(|known| known.name == below) {
                self.section(known, value.get_ref(), at);
            } else {
                self.unknown_key(section, text, at);
            }
        }
    }

    fn unknown_key(&mut self, section: &Section, name: &str, at: usize) {
        let owner = keys::all().find(|(_, key)| key.name == name).map(|(owner, _)| owner);
        let near = |from: f64| {
            nearest(name, section.keys.iter().map(|key| key.name), from).map(|near| format!("did you mean {near}?"))
        };
        // A letter too few is likelier than another section: `origin` is a key of [[terms]], and `origins` one of [[override]].
        let hint =
            near(0.95).or_else(|| owner.map(|owner| format!("it stands in {}", owner.head()))).or_else(|| near(0.8));
        self.tell(at, Some(format!("{} {name}", section.head())), "unknown key".to_owned(), hint);
    }

    /// A key alone, so that what is wrong with its kind is told of it and of nothing else.
    fn key(&mut self, leaf: Leaf) {
        match alone(&leaf) {
            Ok(()) => self.leaves.push(leaf),
            Err(error) => {
                let hide = keys::find(&leaf.path()).is_some_and(|(_, key)| key.secret);
                let error = if hide { ConfigError::new("it is not of its kind") } else { error };
                let error = match (error.advice(), expected(&leaf)) {
                    (None, Some(expected)) => error.hint(expected),
                    _ => error,
                };
                self.blame(&leaf, &error);
                self.broken.push((leaf.section.name, leaf.entry));
                self.wrong.push(leaf.path());
            }
        }
    }

    /// A problem of a key: at the item of a list that it names, where it names one.
    pub(super) fn blame(&mut self, leaf: &Leaf, error: &ConfigError) {
        let item = leaf.items.iter().find(|(text, _)| !text.is_empty() && error.what().contains(text.as_str()));
        let at = item.map_or(leaf.at, |(_, at)| *at);
        let hint = error.advice().map(ToOwned::to_owned);
        self.tell(at, Some(leaf.shown()), error.what().to_owned(), hint);
    }

    pub(super) fn tell(&mut self, at: usize, key: Option<String>, what: String, hint: Option<String>) {
        let (line, column) = place(self.text, at);
        self.problems.push(Problem { line: Some(line), column: Some(column), key, what, hint });
    }
}

/// What a key takes.
fn expected(leaf: &Leaf) -> Option<String> {
    let (_, key) = keys::find(&leaf.path())?;
    let example = match key.kind {
        Kind::Span => ", as \"500ms\" or \"15m\"",
        Kind::Size => ", as \"512KB\" or \"10MiB\"",
        _ => "",
    };
    let words = format!("{}{example}", key.kind.words());
    Some(match (key.kind.choices(), key.range) {
        ([], None) => format!("write a {words}"),
        ([], Some((least, most))) => format!("write a {words}, {least} to {most}"),
        (choices, _) => format!("write {words} {}", choices.join(", ")),
    })
}

fn alone(leaf: &Leaf) -> Result<(), ConfigError> {
    let mut table = nested(leaf.section.name, leaf.name, leaf.value.clone());
    if leaf.section.form == Form::Many {
        as_list(&mut table, leaf.section.name);
    }
    ConfigFile::of_table(&table).map(drop)
}

/// Makes the table of a section the only entry of a list.
fn as_list(table: &mut toml::Table, section: &str) {
    let (name, rest) = section.split_once('.').map_or((section, None), |(name, rest)| (name, Some(rest)));
    match (table.get_mut(name), rest) {
        (Some(Value::Table(below)), Some(rest)) => as_list(below, rest),
        (Some(value), None) => *value = Value::Array(vec![value.clone()]),
        _ => {}
    }
}

/// A text as it is looked for in messages.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        _ => String::new(),
    }
}

/// The value without its places. A number that does not fit becomes text, which no key for numbers takes.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::String(number.to_string()), Value::Integer),
        DeValue::Float(number) => {
            number.to_string().parse().map_or_else(|_| Value::String(number.to_string()), Value::Float)
        }
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(moment) => Value::Datetime(*moment),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| plain(item.get_ref())).collect()),
        DeValue::Table(table) => Value::Table(
            table.iter().map(|(name, value)| (name.get_ref().to_string(), plain(value.get_ref()))).collect(),
        ),
    }
}
