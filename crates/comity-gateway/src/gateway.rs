use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use comity_fetch::Fetcher;
use comity_gate::{AskFiles, AskTdmrep, Gate, GateConfig};
use comity_policy::{Clock, Random};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::config::{CombineTokens, GatewayConfig, GatewayError};
use crate::copies::Copies;
use crate::id::decision_id;
use crate::room::Room;

/// The policy gateway: the crawler's gate before other people's requests. Cheap to clone; clones are one gateway.
///
/// It decides nothing by itself: every verdict comes from [`comity_policy::judge`], every turn from the gate's pacer
/// (invariant 14), and every request leaves through [`Fetcher`] with a permit.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) house: Arc<House>,
}

/// What all connections share.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) fetcher: Fetcher,
    pub(crate) config: GatewayConfig,
    /// SHA-256 of the settings, in every decision record.
    pub(crate) version: String,
    pub(crate) copies: Arc<Copies>,
    pub(crate) held: Semaphore,
    pub(crate) room: Room,
    draining: AtomicBool,
    random: Arc<dyn Random>,
}

impl Gateway {
    /// A gateway over `fetcher`, with the gate settings of the network's own identity. Call within a runtime.
    ///
    /// The gate's tokens become the customer's and, where combined, the network's; its recorder is kept.
    ///
    /// # Errors
    /// Settings that must not start; see [`GatewayError`].
    pub fn new(
        fetcher: Fetcher,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        gate: GateConfig,
        config: GatewayConfig,
    ) -> Result<Self, GatewayError> {
        config.check()?;
        let version = version(&gate, &config);
        let copies = Arc::new(Copies::before(gate.recorder.clone()));
        let ask = AskFiles { tdmrep: ask_tdmrep(gate.ask.tdmrep, &config), ..gate.ask };
        let gate = GateConfig { token_lists: token_lists(&gate, &config), recorder: copies.clone(), ask, ..gate };
        let house = House {
            gate: Gate::new(fetcher.clone(), clock, random.clone(), gate),
            fetcher,
            version,
            copies,
            held: Semaphore::new(config.max_held.min(Semaphore::MAX_PERMITS)),
            room: Room::new(config.max_buffered),
            draining: AtomicBool::new(false),
            random,
            config,
        };
        Ok(Self { house: Arc::new(house) })
    }

    /// The gate behind it: one with a crawler of the same process, if that is wanted.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.house.gate
    }

    /// The settings in force.
    #[must_use]
    pub fn config(&self) -> &GatewayConfig {
        &self.house.config
    }
}

impl House {
    pub(crate) fn next_id(&self) -> String {
        decision_id(self.gate.clock().wall(), &*self.random)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

/// Each of the customer's tokens is a list of its own, so that the strictest of them wins; the network's list is one
/// fallback, as the crawler has it.
fn token_lists(gate: &GateConfig, config: &GatewayConfig) -> Vec<Vec<comity_robots::ProductToken>> {
    let mut lists: Vec<_> = config.customer.tokens.iter().map(|token| vec![token.clone()]).collect();
    if config.combine_tokens == CombineTokens::All {
        lists.push(gate.identity.tokens().to_vec());
    }
    lists
}

/// Whether tdmrep.json is asked for: where needed goes by what the customer may declare, and one without purposes may want
/// anything.
fn ask_tdmrep(asked: AskTdmrep, config: &GatewayConfig) -> AskTdmrep {
    let purposes = &config.customer.purposes;
    match asked {
        AskTdmrep::WhenNeeded if purposes.is_empty() || asked.asks(purposes) => AskTdmrep::Always,
        AskTdmrep::WhenNeeded => AskTdmrep::Never,
        AskTdmrep::Always | AskTdmrep::Never => asked,
    }
}

/// The settings that decide, by digest: two nodes with the same one decide alike. Secrets take no part, nor do opt-outs,
/// whose files grow meanwhile.
fn version(gate: &GateConfig, config: &GatewayConfig) -> String {
    let GatewayConfig { customer, combine_tokens, ports, hold_max, .. } = config;
    let settings = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {customer:?} {combine_tokens:?} {ports:?} {hold_max:?}",
        gate.identity,
        gate.politeness,
        gate.robots,
        gate.max_rate,
        gate.max_rate_domain,
        gate.overrides.all(),
        gate.ask,
        gate.grants.all(),
        gate.reviews.all(),
        gate.options,
        gate.conditions,
        gate.level
    );
    let digest: [u8; 32] = Sha256::digest(settings.as_bytes()).into();
    format!("sha256:{}", comity_policy::Digest::from_bytes(digest))
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("config", &self.house.config).finish_non_exhaustive()
    }
}
