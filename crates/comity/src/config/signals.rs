//! `[signals]`: what is made of what sites say about use.

use comity_gate::AskTdmrep;
use comity_policy::Silence;

use super::resolve::one_of;
use super::{ConfigError, ConfigFile};

/// `[signals]`, resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSettings {
    /// What is done where nobody says anything about a declared purpose.
    pub silence: Silence,
    /// Whether a site's tdmrep.json is asked for.
    pub tdmrep: AskTdmrep,
}

const SILENCES: [(&str, Silence); 2] = [("proceed", Silence::Proceed), ("refuse", Silence::Refuse)];
const TDMREPS: [(&str, AskTdmrep); 2] = [("needed", AskTdmrep::WhenNeeded), ("always", AskTdmrep::Always)];

pub(super) fn signals(file: &ConfigFile) -> Result<SignalSettings, ConfigError> {
    Ok(SignalSettings {
        silence: one_of("[signals] unspecified", file.signals.unspecified.as_deref(), &SILENCES)?,
        tdmrep: one_of("[signals] tdmrep", file.signals.tdmrep.as_deref(), &TDMREPS)?,
    })
}

/// Every key with its value in force.
pub(super) fn resolved(settings: SignalSettings, file: &mut ConfigFile) {
    file.signals.unspecified = Some(settings.silence.as_str().to_owned());
    let word = TDMREPS.iter().find(|(_, value)| *value == settings.tdmrep).map(|(word, _)| (*word).to_owned());
    file.signals.tdmrep = word;
}
