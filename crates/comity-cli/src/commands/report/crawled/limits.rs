//! What the configurations that records name ask of pace.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use comity::config::ConfigFile;
use comity::policy::{AddressLimits, Floor, Network, Politeness};

use super::exceptions::Exceptions;
use crate::commands::report::chain::Broken;
use crate::commands::report::configs;

/// What one configuration asks for.
#[derive(Debug, Default)]
pub(super) struct Limit {
    /// Own floor between two requests to an origin, in milliseconds.
    pub(super) floor_ms: i64,
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
        let is_name = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        let path = self.dir.join("configs").join(format!("{digest}.toml"));
        let limit = if is_name && path.is_file() {
            let (found, text) = configs::read(&path)?;
            if found != digest {
                return Err(format!("configs/{digest}.toml is not what its name says: its digest is {found}"));
            }
            text.parse::<toml::Table>().map(|table| exceptions.written(&table)).ok();
            toml::from_str::<ConfigFile>(&text).map(|file| Limit::of(&file)).unwrap_or_default()
        } else {
            exceptions.configs_gone += 1;
            Limit::default()
        };
        let limit = Rc::new(limit);
        self.known.insert(digest.to_owned(), limit.clone());
        Ok(limit)
    }
}

impl Limit {
    fn of(file: &ConfigFile) -> Self {
        let networks = |texts: &Option<Vec<String>>| -> Vec<Network> {
            texts.iter().flatten().filter_map(|text| text.parse().ok()).collect()
        };
        let (typed, defaults) = (&file.politeness, Politeness::default());
        let explicit = typed.address_gap.is_some() || typed.per_address.is_some();
        let rules = Politeness {
            address_gap: typed.address_gap.map_or(defaults.address_gap, |span| span.0),
            shared_addresses: networks(&typed.shared_addresses),
            own_networks: networks(&file.fetch.allow_addresses),
            address_limits: if explicit { AddressLimits::Everywhere } else { AddressLimits::PublicOnly },
            ..defaults
        };
        let floor = typed.delay.map_or(Duration::ZERO, |span| span.0);
        Self { floor_ms: millis(floor), adaptive: typed.adaptive.unwrap_or(true), rules }
    }

    /// The gap between two requests to an address, in milliseconds.
    pub(super) fn gap_ms(&self, address: IpAddr) -> i64 {
        millis(self.rules.gap_for(address, Floor::Least))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
