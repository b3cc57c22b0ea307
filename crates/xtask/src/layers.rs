use std::collections::BTreeMap;
use std::path::Path;

use crate::step;

/// The levels of the house (docs/architecture.md): a crate may name only crates of lower levels.
const LEVELS: [(&str, u8); 13] = [
    ("comity-robots", 0),
    ("comity-url", 0),
    ("comity-store", 0),
    ("comity-signals", 1),
    ("comity-policy", 2),
    ("comity-frontier", 3),
    ("comity-extract", 3),
    ("comity-fetch", 3),
    ("comity-archive", 3),
    ("comity-gate", 4),
    ("comity", 5),
    ("comity-gateway", 6),
    ("comity-cli", 7),
];

/// The gate may use levels 0 to 3 but these: what is fetched and in which order is not its business.
const NOT_FOR_THE_GATE: [&str; 2] = ["comity-frontier", "comity-extract"];

/// The synthetic web may use any library crate; only the CLI (for `demo`) and dev-dependencies may name it.
const TESTWEB: &str = "comity-testweb";

/// Fails when a dependency of the workspace points up or sideways.
pub(crate) fn check() -> Result<(), String> {
    let manifests = manifests(&step::root().join("crates"))?;
    let wrong = violations(&manifests);
    if wrong.is_empty() { Ok(()) } else { Err(format!("the layers are broken:\n  {}", wrong.join("\n  "))) }
}

/// Crate name to the names in its `[dependencies]`.
type Manifests = BTreeMap<String, Vec<String>>;

fn manifests(crates: &Path) -> Result<Manifests, String> {
    let mut found = Manifests::new();
    for entry in std::fs::read_dir(crates).map_err(|e| format!("{}: {e}", crates.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path().join("Cargo.toml");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let manifest: toml::Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(toml::Value::as_str)
            .ok_or_else(|| format!("{}: no package name", path.display()))?;
        let keys = manifest.get("dependencies").and_then(toml::Value::as_table);
        found.insert(name.to_owned(), keys.map(|t| t.keys().cloned().collect()).unwrap_or_default());
    }
    Ok(found)
}

fn violations(manifests: &Manifests) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, dependencies) in manifests.iter().filter(|(name, _)| name.as_str() != "xtask") {
        for dependency in dependencies.iter().filter(|d| *d == "comity" || d.starts_with("comity-")) {
            if let Some(why) = violation(name, dependency) {
                wrong.push(format!("{name} -> {dependency}: {why}"));
            }
        }
        if name != TESTWEB && level(name).is_none() {
            wrong.push(format!("{name}: no level; add it to crates/xtask/src/layers.rs and docs/architecture.md"));
        }
    }
    wrong
}

fn violation(name: &str, dependency: &str) -> Option<String> {
    if dependency == TESTWEB {
        return (name != "comity-cli").then(|| "only the CLI and dev-dependencies may name the synthetic web".into());
    }
    if name == TESTWEB {
        return (dependency == "comity-cli").then(|| "the synthetic web uses libraries only".into());
    }
    if name == "comity-gate" && NOT_FOR_THE_GATE.contains(&dependency) {
        return Some("the gate neither queues nor extracts".into());
    }
    match (level(name), level(dependency)) {
        (Some(own), Some(other)) if other < own => None,
        (own, other) => Some(format!("level {own:?} may not name level {other:?}")),
    }
}

fn level(name: &str) -> Option<u8> {
    LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_points_down_only() {
        check().unwrap();
    }

    #[test]
    fn arrows_up_and_sideways_are_found() {
        let rows = [
            ("comity-policy", "comity-fetch", true),
            ("comity-fetch", "comity-frontier", true),
            ("comity-gate", "comity-extract", true),
            ("comity", "comity-testweb", true),
            ("comity-cli", "comity-testweb", false),
            ("comity-testweb", "comity", false),
            ("comity-gate", "comity-fetch", false),
            ("comity-new", "comity-url", true),
        ];
        for (name, dependency, broken) in rows {
            let manifests = Manifests::from([(name.to_owned(), vec![dependency.to_owned()])]);
            assert_eq!(!violations(&manifests).is_empty(), broken, "{name} -> {dependency}");
        }
    }
}
