//! What the configurations that records name ask of pace.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use comity::config::Span;
use comity::policy::{AddressLimits, Floor, Network, Politeness};
use toml::{Table, Value};

use super::exceptions::Exceptions;
use crate::commands::report::chain::Broken;
use crate::commands::report::configs;

/// What one configuration asks for.
#[derive(Debug, Default)]
pub(super) struct Limit {
    /// Own floor between two requests to an origin, in milliseconds; `None` where nothing says it: then nobody knows whether a request
    /// kept it.
    pub(super) floor_ms: Option<i64>,
    /// Whether twice the time of its answers is a delay of its own.
    pub(super) adaptive: bool,
    rules: Politeness,
}

/// Configurations by their digest, each read when the first record names it.
#[derive(Debug)]
pub(super) struct Limits {
    dir: PathBuf,
    known: HashMap<String, Rc<Limit>>,
    unnamed: Rc<Limit>,
}

impl Limits {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), known: HashMap::new(), unnamed: Rc::default() }
    }

    /// The limits that a record was made under; none where its configuration is not kept.
    ///
    /// # Errors
    /// When a configuration is not what its name says.
    pub(super) fn of(&mut self, digest: Option<&str>, exceptions: &mut Exceptions) -> Result<Rc<Limit>, Broken> {
        let Some(digest) = digest else { return Ok(self.unnamed.clone()) };
        if let Some(known) = self.known.get(digest) {
            return Ok(known.clone());
        }
        let table = self.read(digest)?;
        if let Some(table) = &table {
            exceptions.written(table);
        } else {
            exceptions.configs_gone += 1;
        }
        let limit = table.map(|table| Limit::of(&table)).unwrap_or_default();
        let limit = Rc::new(limit);
        self.known.insert(digest.to_owned(), limit.clone());
        Ok(limit)
    }

    /// `D/configs/SHA256.toml`, or `D/crawl.toml` where that is it. As a table: one of another version may have keys that this one has
    /// not, and its pace counts all the same.
    fn read(&self, digest: &str) -> Result<Option<Table>, Broken> {
        // Of outside bytes only a name of this form becomes a path.
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let kept = self.dir.join("configs").join(format!("{digest}.toml"));
        if kept.is_file() {
            let (found, text) = configs::read(&kept)?;
            if found != digest {
                return Err(format!("configs/{digest}.toml is not what its name says: its digest is {found}"));
            }
            return Ok(text.parse().ok());
        }
        let mark = self.dir.join("crawl.toml");
        let text = mark.is_file().then(|| configs::read(&mark)).transpose()?;
        Ok(text.filter(|(found, _)| found == digest).and_then(|(_, text)| text.parse().ok()))
    }
}

impl Limit {
    /// What is not written, or cannot be read, is not known: a crawl writes every key that is in force.
    fn of(config: &Table) -> Self {
        let key = |section: &str, key: &str| config.get(section).and_then(|table| table.get(key));
        let span = |name: &str| key("politeness", name)?.as_str()?.parse::<Span>().ok();
        let networks = |found: Option<&Value>| -> Vec<Network> {
            let texts = found.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            texts.filter_map(|text| text.parse().ok()).collect()
        };
        let defaults = Politeness::default();
        let is_explicit = ["address_gap", "per_address"].iter().any(|name| key("politeness", name).is_some());
        let rules = Politeness {
            address_gap: span("address_gap").map_or(defaults.address_gap, |span| span.0),
            shared_addresses: networks(key("politeness", "shared_addresses")),
            own_networks: networks(key("fetch", "allow_addresses")),
            address_limits: if is_explicit { AddressLimits::Everywhere } else { AddressLimits::PublicOnly },
            ..defaults
        };
        let adaptive = key("politeness", "adaptive").and_then(Value::as_bool).unwrap_or(true);
        Self { floor_ms: span("delay").map(|span| millis(span.0)), adaptive, rules }
    }

    /// The gap between two requests to an address, in milliseconds.
    pub(super) fn gap_ms(&self, address: IpAddr) -> i64 {
        millis(self.rules.gap_for(address, Floor::Least))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
