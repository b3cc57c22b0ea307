//! What does not fit together: the configuration is resolved, the key that is to blame is taken out, and so on until it resolves.

use std::path::Path;

use comity_policy::WallTime;
use toml::{Table, Value};

use super::Further;
use super::walk::{Leaf, Walk};
use crate::config::environment::insert;
use crate::config::keys::Form;
use crate::config::{ConfigError, ConfigFile, CrawlConfig, expiring};

/// Keys that are judged together: when one is wrong, the others are not judged.
const TOGETHER: [&[&str]; 4] = [
    &["agent.name", "agent.tokens"],
    &["agent.signing_key", "agent.signature_agent"],
    &["revisit.min", "revisit.max", "revisit.start"],
    &["fetch.proxies", "fetch.proxy", "fetch.proxy_country", "fetch.proxy_pool"],
];

/// Resolves what is left of the file until nothing is wrong any more, and tells what was.
pub(super) fn resolve(walk: &mut Walk<'_>, folder: &Path, below: &ConfigFile, now: WallTime, further: Further<'_>) {
    let broken = walk.broken.clone();
    walk.leaves.retain(|leaf| leaf.section.form == Form::Once || !broken.contains(&(leaf.section.name, leaf.entry)));
    for wrong in walk.wrong.clone() {
        drop_with(&mut walk.leaves, &wrong);
    }
    let trial = Trial { folder, below, now, further };
    walk.missing = trial.missing(&walk.leaves, &walk.wrong);
    while let Err(error) = trial.resolve(&walk.leaves) {
        let Some(at) = trial.culprit(&walk.leaves, &error) else {
            let hint = error.advice().map(ToOwned::to_owned);
            let problem = super::Problem { line: None, column: None, key: None, what: error.to_string(), hint };
            walk.problems.push(problem);
            return;
        };
        let leaf = walk.leaves.remove(at);
        walk.blame(&leaf, &error);
        if leaf.section.form == Form::Many {
            walk.leaves.retain(|other| other.section.name != leaf.section.name || other.entry != leaf.entry);
            drop_with(&mut walk.leaves, leaf.section.name);
        } else {
            drop_with(&mut walk.leaves, &leaf.path());
        }
    }
}

/// Takes out what cannot be judged without `path`.
fn drop_with(leaves: &mut Vec<Leaf>, path: &str) {
    let is_named =
        |named: &str, path: &str| path == named || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('.'));
    for group in TOGETHER.iter().filter(|group| group.iter().any(|named| is_named(named, path))) {
        leaves.retain(|leaf| !group.iter().any(|named| is_named(named, &leaf.path())));
    }
}

struct Trial<'a> {
    folder: &'a Path,
    below: &'a ConfigFile,
    now: WallTime,
    further: Further<'a>,
}

impl Trial<'_> {
    /// What has to come from elsewhere: other layers, or flags.
    fn missing(&self, leaves: &[Leaf], wrong: &[String]) -> Vec<&'static str> {
        let file = self.file(leaves);
        let rows = [
            ("[agent] name", "agent.name", file.agent.name.is_none()),
            ("[agent] contact", "agent.contact", file.agent.contact.is_none()),
            ("[crawl] seeds", "crawl.seeds", file.crawl.seeds.is_none() && file.gateway.customer.is_none()),
        ];
        let is_missing = |(_, path, none): &(&str, &str, bool)| *none && !wrong.iter().any(|wrong| wrong == path);
        rows.into_iter().filter(is_missing).map(|(key, ..)| key).collect()
    }

    fn resolve(&self, leaves: &[Leaf]) -> Result<(), ConfigError> {
        let mut file = self.file(leaves);
        file.agent.name.get_or_insert_with(|| "MyBot/1.0".to_owned());
        file.agent.contact.get_or_insert_with(|| "bot@example.com".to_owned());
        file.crawl.seeds.get_or_insert_with(|| vec!["https://example.com/".to_owned()]);
        (self.further)(&file)?;
        let config = CrawlConfig::resolve(file)?;
        expiring(&config.overrides, self.now).map(drop)
    }

    /// The file with these keys alone, over the layers below.
    fn file(&self, leaves: &[Leaf]) -> ConfigFile {
        let mut table = Table::new();
        for leaf in leaves.iter().filter(|leaf| leaf.section.form == Form::Once) {
            insert(&mut table, leaf.section.name, leaf.name, leaf.value.clone());
        }
        for (section, entries) in lists(leaves) {
            let list = entries.into_iter().map(|(_, keys)| Value::Table(keys)).collect();
            match section.rsplit_once('.') {
                Some((above, name)) => insert(&mut table, above, name, Value::Array(list)),
                None => drop(table.insert(section.to_owned(), Value::Array(list))),
            }
        }
        // Each key was read alone before, so that all of them together are read, too.
        let mut read = ConfigFile::of_table(&table).unwrap_or_default();
        read.anchor(self.folder);
        let mut file = self.below.clone();
        file.overlay(read);
        file
    }

    /// The key that an error is about: the one that its place names, else the first without which it is another error, or none.
    fn culprit(&self, leaves: &[Leaf], error: &ConfigError) -> Option<usize> {
        let place = error.place().unwrap_or_default();
        if let Some(named) = named(leaves, place) {
            return Some(named);
        }
        let section = place.trim_start_matches('[').split([']', ' ']).next().unwrap_or_default();
        let of_section = |leaf: &Leaf| {
            leaf.section.name.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let known = leaves.iter().any(of_section);
        let mut candidates = (0..leaves.len()).rev().filter(|at| !known || leaves.get(*at).is_some_and(of_section));
        candidates.find(|at| {
            let mut without = leaves.to_vec();
            let left = without.remove(*at);
            if left.section.form == Form::Many {
                without.retain(|other| other.section.name != left.section.name || other.entry != left.entry);
            }
            self.resolve(&without).err().is_none_or(|other| other.to_string() != error.to_string())
        })
    }
}

/// The entries of every section that stands many times, numbered as in the file.
fn lists(leaves: &[Leaf]) -> Vec<(&'static str, Vec<(usize, Table)>)> {
    let mut lists: Vec<(&'static str, Vec<(usize, Table)>)> = Vec::new();
    for leaf in leaves.iter().filter(|leaf| leaf.section.form == Form::Many) {
        let at = lists.iter().position(|(section, _)| *section == leaf.section.name).unwrap_or_else(|| {
            lists.push((leaf.section.name, Vec::new()));
            lists.len() - 1
        });
        let Some((_, entries)) = lists.get_mut(at) else { continue };
        if entries.last().is_none_or(|(number, _)| *number != leaf.entry) {
            entries.push((leaf.entry, Table::new()));
        }
        if let Some((_, keys)) = entries.last_mut() {
            keys.insert(leaf.name.to_owned(), leaf.value.clone());
        }
    }
    lists
}

/// The key that a place names: `[crawl] scope`, `[[override]] 2 (https://a.test), basis`, `[[grant]] number 1, basis`, `seed`.
fn named(leaves: &[Leaf], place: &str) -> Option<usize> {
    let place = if place == "seed" { "[crawl] seeds" } else { place };
    let (section, rest) = place.trim_start_matches('[').split_once(']')?;
    let rest = rest.trim_start_matches(']').trim();
    let of = |leaf: &&Leaf| leaf.section.name == section;
    if !place.starts_with("[[") {
        return leaves.iter().position(|leaf| of(&leaf) && leaf.name == rest);
    }
    let number: usize = rest.split([' ', ',']).find_map(|word| word.parse().ok())?;
    let entries = lists(leaves).into_iter().find(|(name, _)| *name == section)?.1;
    let (entry, _) = entries.get(number.checked_sub(1)?)?;
    let name = rest.rsplit(", ").next().unwrap_or_default();
    let is_entry = |leaf: &Leaf| of(&leaf) && leaf.entry == *entry;
    leaves.iter().position(|leaf| is_entry(leaf) && leaf.name == name).or_else(|| leaves.iter().position(is_entry))
}
