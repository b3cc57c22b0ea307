//! The registry of every key: its kind, default, range, meaning and source, in one table per section.
//!
//! From it come `comity config show`, `check`, `schema` and `keys`, the variables `COMITY_SECTION_KEY`, and
//! `docs/reference/config.md`.
//!
//! **To add a key**: put it into its `section!` of `config/file.rs` and act on it; add a row here, in the file of its section; add
//! it to `docs/configuration.md` and `configs/crawl.toml` (or `gateway.toml`); run `COMITY_BLESS=1 cargo test -p comity-cli --test
//! command config`, which writes the two generated files anew. Tests say which of these was forgotten. A whole new section also
//! takes a row in [`SECTIONS`].

mod crawl;
mod exceptions;
mod fetch;
mod gateway;
mod store;
#[cfg(test)]
mod tests;

/// A section of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// As written between brackets: `politeness`, `fetch.proxy`.
    pub name: &'static str,
    /// Whether it stands once, or as often as needed.
    pub form: Form,
    /// What its keys are about, in one line.
    pub about: &'static str,
    /// Its keys, in the order of the documentation.
    pub keys: &'static [Key],
}

/// How often a section may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Once: `[name]`.
    Once,
    /// As often as needed: `[[name]]`.
    Many,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name within the section.
    pub name: &'static str,
    /// What may be written.
    pub kind: Kind,
    /// What holds when nothing is written.
    pub default: Unset,
    /// What a number counts: `requests`; empty where the kind says it (spans, sizes).
    pub unit: &'static str,
    /// Least and most, as they are written; a value outside is refused.
    pub range: Option<(&'static str, &'static str)>,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// Where default and bounds come from: a standard, a decision page, or our choice.
    pub source: &'static str,
    /// Its short form on the command line of `comity crawl`.
    pub flag: Option<&'static str>,
    /// Never shown.
    pub secret: bool,
}

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A list of texts.
    Texts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of some of these words.
    Choices(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A whole number, 0 or more.
    Number,
    /// A list of whole numbers.
    Numbers,
    /// A span of time as text: `500ms`, `15m`.
    Span,
    /// A number of bytes as text: `10MiB`.
    Size,
    /// A file or folder.
    Path,
    /// A list of files.
    Paths,
    /// A table of texts by name.
    Map,
    /// A day, or a moment with its zone.
    Moment,
}

/// What holds when a key is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// This value, as TOML writes it.
    Value(&'static str),
    /// Nothing: the key has to be written.
    Required,
    /// No value at all; in words what that means.
    None(&'static str),
    /// A value that depends on others; in words.
    From(&'static str),
}

impl Kind {
    /// In one or two words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Texts => "list of texts",
            Self::Choice(_) => "one of",
            Self::Choices(_) => "some of",
            Self::Switch => "true or false",
            Self::Number => "number",
            Self::Numbers => "list of numbers",
            Self::Span => "span of time",
            Self::Size => "size",
            Self::Path => "path",
            Self::Paths => "list of paths",
            Self::Map => "table of texts",
            Self::Moment => "day or moment",
        }
    }

    /// The words that may be written, where only some may.
    #[must_use]
    pub const fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Choice(words) | Self::Choices(words) => words,
            _ => &[],
        }
    }

    /// True for lists, which a variable may give separated by commas.
    #[must_use]
    pub const fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Choices(_) | Self::Numbers | Self::Paths)
    }
}

impl Key {
    const fn new(name: &'static str, kind: Kind, default: Unset, meaning: &'static str) -> Self {
        let (unit, range, source, flag, secret) = ("", None, OURS, None, false);
        Self { name, kind, default, unit, range, meaning, source, flag, secret }
    }

    const fn of(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    const fn within(mut self, least: &'static str, most: &'static str) -> Self {
        self.range = Some((least, most));
        self
    }

    const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// What its values count, in a word or two; empty where they count nothing.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Span => "time",
            Kind::Size if self.unit.is_empty() => "bytes",
            _ => self.unit,
        }
    }
}

impl Section {
    /// `section.key`.
    #[must_use]
    pub fn path(&self, key: &Key) -> String {
        format!("{}.{}", self.name, key.name)
    }

    /// The variable of a key, `COMITY_POLITENESS_DELAY`; those of sections that stand many times have none.
    #[must_use]
    pub fn variable(&self, key: &Key) -> Option<String> {
        (self.form == Form::Once).then(|| variable(&self.path(key)))
    }

    /// Its head, `[politeness]` or `[[override]]`.
    #[must_use]
    pub fn head(&self) -> String {
        match self.form {
            Form::Once => format!("[{}]", self.name),
            Form::Many => format!("[[{}]]", self.name),
        }
    }
}

/// `COMITY_` and the path in capitals, its points as underlines.
pub(super) fn variable(path: &str) -> String {
    format!("COMITY_{}", path.replace('.', "_").to_ascii_uppercase())
}

/// Every section, in the order of the documentation.
pub const SECTIONS: &[Section] = &[
    crawl::AGENT,
    crawl::CRAWL,
    crawl::REVISIT,
    crawl::TRAPS,
    crawl::KEYS,
    crawl::POLITENESS,
    crawl::ROBOTS,
    exceptions::OVERRIDE,
    exceptions::OPTOUT,
    exceptions::SIGNALS,
    exceptions::GRANT,
    exceptions::TERMS,
    fetch::FETCH,
    fetch::PROXY,
    store::STATE,
    store::FRONTIER,
    store::ARCHIVE,
    store::TELEMETRY,
    gateway::GATEWAY,
    gateway::CUSTOMER,
];

/// Every key with its section.
pub fn all() -> impl Iterator<Item = (&'static Section, &'static Key)> {
    SECTIONS.iter().flat_map(|section| section.keys.iter().map(move |key| (section, key)))
}

/// The key of a path `section.key`.
#[must_use]
pub fn find(path: &str) -> Option<(&'static Section, &'static Key)> {
    let (section, name) = path.rsplit_once('.')?;
    let section = SECTIONS.iter().find(|known| known.name == section)?;
    section.keys.iter().find(|key| key.name == name).map(|key| (section, key))
}

const OURS: &str = "our choice";
const PURPOSES: &[&str] =
    &["search", "ai_input", "ai_train", "tdm", "archive", "research", "monitoring", "own_site", "other"];
