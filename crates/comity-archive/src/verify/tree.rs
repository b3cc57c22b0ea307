use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::append_file::OPEN_SUFFIX;
use crate::names::{INDEX_END, RECORDS_END, WARC_ENDS};

/// The files of a crawl directory.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// By their common base name.
    pub(super) pairs: BTreeMap<String, Pair>,
    /// Indexes beside WARC files.
    pub(super) indexes: Vec<Entry>,
    /// Files in `records` and `warc` that are of no family.
    pub(super) strangers: Vec<String>,
    /// Of these, parts of files that were to replace one that is there.
    pub(super) leavings: Vec<String>,
    /// What else lies in the directory itself.
    pub(super) beside: Vec<String>,
}

/// A records file and the WARC file beside it.
#[derive(Debug, Default)]
pub(super) struct Pair {
    pub(super) records: Option<Entry>,
    pub(super) warc: Option<Entry>,
}

impl Pair {
    /// Whether `entry` is one of the two, or the index beside the WARC. `base`: their common name.
    pub(super) fn has(&self, entry: &Entry, base: &str) -> bool {
        let index = entry.name.strip_prefix("warc/").and_then(|name| name.strip_suffix(INDEX_END));
        [&self.records, &self.warc].into_iter().flatten().any(|one| one.name == entry.name)
            || (self.warc.is_some() && index == Some(base))
    }
}

/// Day and serial of a base name, `{prefix}-{17 digits}-{serial}-{tag}`: a prefix may change between runs.
fn age(base: &str) -> Option<(&str, &str)> {
    let mut parts = base.rsplit('-').skip(1);
    let (serial, day) = (parts.next()?, parts.next()?);
    Some((day, serial))
}

/// A file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its final name below the crawl directory: how checkpoints name it.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whether it still has its `.open` suffix.
    pub(super) open: bool,
}

/// What comity writes into a crawl directory. The report is made of the rest, on demand: nothing speaks for the page itself.
const KNOWN: [&str; 12] = [
    "crawl.toml",
    "configs",
    "chain",
    "checkpoints.jsonl",
    "erasing.json",
    "records",
    "warc",
    "evidence",
    "state",
    crate::LOCK_FILE,
    crate::READING_FILE,
    crate::erase::REPORT_FILE,
];

impl Tree {
    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        for name in names(dir)? {
            if !KNOWN.contains(&name.as_str()) {
                tree.beside.push(name);
            }
        }
        for folder in ["records", "warc"] {
            for name in names(&dir.join(folder))? {
                tree.place(dir, folder, &name);
            }
        }
        let strangers = std::mem::take(&mut tree.strangers);
        (tree.leavings, tree.strangers) = strangers.into_iter().partition(|name| tree.is_leaving(name));
        Ok(tree)
    }

    /// The pair that was begun last.
    pub(super) fn youngest(&self) -> Option<(&str, &Pair)> {
        self.pairs.iter().max_by_key(|(base, _)| age(base)).map(|(base, pair)| (base.as_str(), pair))
    }

    /// Whether a kill leaves it: a part of a file of a pair that is there.
    fn is_leaving(&self, name: &str) -> bool {
        let Some((folder, name)) = name.strip_suffix(".tmp").and_then(|name| name.split_once('/')) else {
            return false;
        };
        let name = name.strip_suffix(OPEN_SUFFIX).unwrap_or(name);
        let ends: &[&str] = if folder == "records" { &[RECORDS_END] } else { &[INDEX_END, WARC_ENDS[0], WARC_ENDS[1]] };
        ends.iter().any(|end| name.strip_suffix(end).is_some_and(|base| self.pairs.contains_key(base)))
    }

    /// True when no file is still open: the crawl was closed, and not killed.
    pub(super) fn is_closed(&self) -> bool {
        let files = self.pairs.values().flat_map(|pair| [&pair.records, &pair.warc]).flatten();
        !files.into_iter().any(|entry| entry.open)
    }

    fn place(&mut self, dir: &Path, folder: &str, name: &str) {
        let last = name.strip_suffix(OPEN_SUFFIX).unwrap_or(name);
        let entry = Entry {
            name: format!("{folder}/{last}"),
            path: dir.join(folder).join(name),
            open: last.len() < name.len(),
        };
        let base = |end: &str| last.strip_suffix(end).filter(|base| !base.is_empty()).map(ToOwned::to_owned);
        match folder {
            "records" => match base(RECORDS_END) {
                Some(base) if self.pairs.get(&base).is_none_or(|pair| pair.records.is_none()) => {
                    self.pairs.entry(base).or_default().records = Some(entry);
                }
                _ => self.strangers.push(format!("{folder}/{name}")),
            },
            _ => match (WARC_ENDS.iter().find_map(|end| base(end)), base(INDEX_END)) {
                (Some(base), _) if self.pairs.get(&base).is_none_or(|pair| pair.warc.is_none()) => {
                    self.pairs.entry(base).or_default().warc = Some(entry);
                }
                (None, Some(_)) if !entry.open => self.indexes.push(entry),
                _ => self.strangers.push(format!("{folder}/{name}")),
            },
        }
    }
}

/// Names in a folder, sorted; one that is not there has none.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
