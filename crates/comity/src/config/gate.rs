use std::path::{Path, PathBuf};
#[cfg(feature = "disk")]
use std::sync::Arc;

use comity_fetch::FetchConfig;
use comity_gate::GateConfig;
#[cfg(feature = "disk")]
use comity_gate::{StateDir, StateError};
use comity_policy::WallTime;

use super::resolve::{fetch, networks, politeness, rate, refuse_public, robots};
use super::{ConfigError, ConfigFile, agent, exceptions, exits, signals};

/// What crawler and gateway read alike: the sections `[agent]`, `[politeness]`, `[robots]`, `[signals]`, `[[override]]`,
/// `[[grant]]`, `[[terms]]`, `[optout]`, `[fetch]` and `[state]`, resolved.
#[derive(Clone, Debug)]
pub struct GateSettings {
    /// The settings of the gate, without state and recorder.
    pub gate: GateConfig,
    /// How pages are fetched.
    pub fetch: FetchConfig,
    /// What outlives the process; `None` when the configuration names no directory.
    pub state_dir: Option<PathBuf>,
    /// Settings that were raised to what politeness demands, and other things to be said at the start.
    pub notes: Vec<String>,
}

impl GateSettings {
    /// Resolves the sections that a gate needs, for one that starts at `now`.
    ///
    /// # Errors
    /// The first key whose value cannot be used, with a hint; an override that has run out.
    pub fn resolve(mut file: ConfigFile, now: WallTime) -> Result<Self, ConfigError> {
        let mut settings = Self::of(&mut file)?;
        settings.notes.extend(exceptions::expiring(&settings.gate.overrides, now)?);
        Ok(settings)
    }

    pub(super) fn of(file: &mut ConfigFile) -> Result<Self, ConfigError> {
        // Files named by the builder or by flags belong to the folder the process works in.
        file.agent.anchor(Path::new(""));
        file.archive.anchor(Path::new(""));
        file.optout.anchor(Path::new(""));
        file.fetch.anchor(Path::new(""));
        let identity = agent::identity(file)?;
        let purposes: Vec<&str> = identity.purposes().iter().map(|purpose| purpose.as_str()).collect();
        let mut notes = vec![format!("declared purposes: {}", purposes.join(", "))];
        let own_networks = networks("[fetch] allow_addresses", file.fetch.allow_addresses.as_deref())?;
        refuse_public(&own_networks)?;
        let fetch = fetch(file, &identity, own_networks.clone())?;
        if let Some(signer) = &fetch.signer {
            notes.push(format!("signed over https: {}, key {}", signer.agent().url(), signer.key().thumbprint()));
        }
        notes.extend(exits::note(&fetch));
        let politeness = politeness(file, own_networks, &mut notes)?;
        let optouts = exceptions::optouts(&file.optout)?;
        notes.extend(optouts.notes());
        let said = signals::signals(file)?;
        let gate = GateConfig {
            silence: said.silence,
            ask: said.ask,
            options: said.options,
            level: said.level,
            conditions: said.conditions,
            grants: signals::grants(file.grants.as_deref())?,
            reviews: signals::reviews(file.terms.as_deref())?,
            overrides: exceptions::overrides(file.overrides.as_deref())?,
            optouts,
            max_rate: rate("[politeness] max_rate", file.politeness.max_rate.as_deref())?,
            max_rate_domain: rate("[politeness] max_rate_domain", file.politeness.max_rate_domain.as_deref())?,
            robots: robots(file)?,
            politeness,
            ..GateConfig::new(identity)
        };
        let state_dir = file.state.dir.clone().filter(|dir| !dir.as_os_str().is_empty());
        if cfg!(not(feature = "disk")) && state_dir.is_some() {
            return Err(ConfigError::new("this program was built to remember nothing beyond its process")
                .at("[state] dir")
                .hint("build it with the feature `disk` of comity, or take the key out"));
        }
        Ok(Self { gate, fetch, state_dir, notes })
    }

    /// Opens the directory of `[state] dir`, if there is one.
    ///
    /// # Errors
    /// When another process holds it, or it cannot be read or written.
    #[cfg(feature = "disk")]
    pub fn open_state(&self, now: WallTime) -> Result<Option<Arc<StateDir>>, StateError> {
        let open = |dir: &PathBuf| StateDir::open(&dir.join("gate"), now).map(Arc::new);
        self.state_dir.as_ref().map(open).transpose()
    }
}
