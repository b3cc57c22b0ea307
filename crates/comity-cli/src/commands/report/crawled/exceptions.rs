//! Overrides and grants: those that are written in the configurations, and what they did.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::{Table, Value};

use super::entry::Entry;
use super::totals::named;

/// Written exceptions that are listed.
const MOST: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// Each `[[override]]` and `[[grant]]` once, with its keys as they are written.
    pub(super) written: Vec<Written>,
    /// By id: requests that an override let through, and what it lifted for them.
    pub(super) overrides: BTreeMap<String, Used>,
    /// By purpose, basis and reference: records that rest on a grant.
    pub(super) grants: BTreeMap<String, u64>,
    /// Configurations that records name and the directory does not hold.
    pub(super) configs_gone: u64,
}

/// One exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Written {
    /// `override` or `grant`.
    pub(super) kind: &'static str,
    pub(super) keys: Vec<(String, String)>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Used {
    pub(super) requests: u64,
    /// By scope and reason.
    pub(super) lifted: BTreeMap<String, u64>,
}

impl Exceptions {
    /// Takes in a configuration that a record names.
    pub(super) fn written(&mut self, config: &Table) {
        for kind in ["override", "grant"] {
            for one in config.get(kind).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table) {
                let keys = one.iter().map(|(key, value)| (key.clone(), shown(value))).collect();
                let written = Written { kind, keys };
                if self.written.len() < MOST && !self.written.contains(&written) {
                    self.written.push(written);
                }
            }
        }
    }

    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        let Some(decision) = &entry.decision else { return };
        if let Some(hit) = decision.r#override.as_ref().filter(|_| entry.is_sent()) {
            let used: &mut Used = named(&mut self.overrides, &hit.id);
            used.requests += 1;
            for one in &hit.lifted {
                *named(&mut used.lifted, &format!("{}: {}", one.scope, one.reason)) += 1;
            }
        }
        for grant in &decision.grants {
            *named(&mut self.grants, &format!("{}, {}: {}", grant.purpose, grant.basis, grant.reference)) += 1;
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
