//! What the configuration of each WARC file says of addresses, and of slow origins.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use comity::config::ConfigFile;
use comity::policy::{AddressLimits, Floor, Network, Politeness, WallTime};

use super::floors::LINGERS;
use super::requests::{Request, Wire};

/// Limits of WARC files, each of which is written under one configuration; the places are those of [`Wire::files`].
#[derive(Debug)]
pub(super) struct Limits {
    files: Vec<(WallTime, Limit)>,
    /// The gap to ask for on every address, whatever a configuration says.
    gap: Option<Duration>,
    /// Whether each run began without knowing anything of an origin's answers.
    pub(super) from_nothing: bool,
}

#[derive(Clone, Debug, Default)]
struct Limit {
    rules: Politeness,
    adaptive: bool,
}

impl Limits {
    /// As [`super::floors::Floors::read`]. `gap` and `adaptive` are asked for whatever the configurations say.
    pub(super) fn read(wire: &Wire, dir: &Path, gap: Option<Duration>, adaptive: bool) -> Self {
        let now = ConfigFile::read(&dir.join("crawl.toml")).ok();
        let none_shared = |file: &ConfigFile| file.state.dir.as_ref().is_none_or(|dir| dir.as_os_str().is_empty());
        let from_nothing = now.as_ref().is_some_and(none_shared);
        let now = now.as_ref().map(Limit::of).unwrap_or_default();
        let mut known: HashMap<&str, Limit> = HashMap::new();
        let mut limit = |digest| {
            let path = dir.join("configs").join(format!("{digest}.toml"));
            let read = || ConfigFile::read(&path).map_or_else(|_| now.clone(), |file| Limit::of(&file));
            known.entry(digest).or_insert_with(read).clone()
        };
        let files = wire.agents.iter().map(|agent| {
            let found = agent.config.as_deref().map_or_else(|| now.clone(), &mut limit);
            (agent.since, Limit { adaptive: found.adaptive || adaptive, ..found })
        });
        Self { files: files.collect(), gap, from_nothing }
    }

    /// The gap that holds between requests to this address: the least of the request's file and of those shortly before.
    pub(super) fn gap(&self, request: &Request, address: IpAddr) -> Duration {
        let gaps = self.in_force(request).map(|limit| limit.rules.gap_for(address, Floor::Least));
        self.gap.or_else(|| gaps.min()).unwrap_or_default()
    }

    /// Whether twice the time of its answers is a delay of its own.
    pub(super) fn is_adaptive(&self, request: &Request) -> bool {
        self.in_force(request).all(|limit| limit.adaptive)
    }

    fn in_force(&self, request: &Request) -> impl Iterator<Item = &Limit> {
        let files = self.files.get(..=request.file).unwrap_or_default().iter().rev();
        let mut older = false;
        files.map_while(move |(since, limit)| {
            let recent = !older;
            older = since.after(LINGERS) < request.at;
            recent.then_some(limit)
        })
    }
}

impl Limit {
    /// What else a configuration names need not be there any more: only these settings are read.
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
        Self { rules, adaptive: typed.adaptive.unwrap_or(true) }
    }
}
