//! Each crate as a stranger gets it: packed, and with the features that they choose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{print, step};

/// The features of `comity` that decide on their own, and those that each brings.
const FEATURES: [(&str, &[&str]); 5] =
    [("disk", &["warc"]), ("warc", &[]), ("proxy", &[]), ("select", &[]), ("parquet", &["warc"])];

/// What a crawl without features has none of: an engine for files, the archive, exits.
const NOT_BARE: [&str; 4] = ["fjall", "comity-archive", "tokio-socks", "parquet"];

/// Bytes of a packed crate at most, unpacked: ours hold sources and no fixtures.
const MOST_BYTES: u64 = 2 << 20;

/// What a search finds a crate by.
const FIELDS: [&str; 4] = ["description", "keywords", "categories", "repository"];

/// `cargo xtask packages`: everything of this page.
pub(crate) fn command() -> Result<(), String> {
    check()?;
    bare()?;
    every_form()?;
    pack()
}

/// Every manifest says what a registry asks for, has its files beside it, and points up nowhere by a version.
pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    for folder in crates()? {
        let manifest = manifest(&folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        wrong.extend(faults(&manifest, &folder).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("crates that cannot be packed:\n  {}", wrong.join("\n  "))) }
}

fn faults(manifest: &toml::Table, folder: &Path) -> Vec<String> {
    let empty = toml::Table::new();
    let package = manifest.get("package").and_then(toml::Value::as_table).unwrap_or(&empty);
    let mut wrong: Vec<String> =
        FIELDS.iter().filter(|field| !package.contains_key(**field)).map(|field| format!("no {field}")).collect();
    for list in ["keywords", "categories"] {
        let number = package.get(list).and_then(toml::Value::as_array).map_or(0, Vec::len);
        if number > 5 {
            wrong.push(format!("{number} {list}, 5 at most"));
        }
    }
    let files = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];
    wrong.extend(files.iter().filter(|file| !folder.join(file).is_file()).map(|file| format!("no {file}")));
    // A registry looks a version up, and the crate above is not there before this one is. Without one, it is left out.
    let dev = manifest.get("dev-dependencies").and_then(toml::Value::as_table).unwrap_or(&empty);
    if package.get("name").and_then(toml::Value::as_str) == Some("comity-fetch")
        && dev.get("comity-testweb").and_then(|testweb| testweb.get("path")).is_none()
    {
        wrong.push("comity-testweb stands above it: name it by its path alone".to_owned());
    }
    wrong
}

/// What `comity` without features is built from: gate and queue in memory. Builds nothing.
pub(crate) fn bare() -> Result<(), String> {
    let mut tree = step::cargo();
    tree.args(["tree", "-p", "comity", "--no-default-features", "-e", "normal", "--prefix", "none", "-f", "{p}"]);
    let output = tree.output().map_err(|e| format!("cargo tree: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let found: Vec<&str> = NOT_BARE.into_iter().filter(|name| names.contains(name)).collect();
    if !found.is_empty() || !names.contains("comity-gate") {
        return Err(format!("comity without features is to have its gate and none of this: {}", found.join(", ")));
    }
    Ok(())
}

/// Every form that its features can take.
pub(crate) fn every_form() -> Result<(), String> {
    for form in forms() {
        let name = if form.is_empty() { "none".to_owned() } else { form.join(",") };
        step::run(&format!("comity with the features {name}"), &mut with_features(&form))?;
    }
    Ok(())
}

fn with_features(features: &[&str]) -> Command {
    let mut command = step::cargo();
    let has_lints = step::answers("cargo-clippy", "--version");
    command.arg(if has_lints { "clippy" } else { "check" });
    command.args(["--quiet", "-p", "comity", "--no-default-features", "--features", &features.join(",")]);
    if has_lints {
        command.args(["--", "-D", "warnings"]);
    }
    command
}

/// All sets of features, those that come to the same once.
fn forms() -> BTreeSet<Vec<&'static str>> {
    let sets = (0..1_u32 << FEATURES.len()).map(|bits| {
        let chosen = FEATURES.iter().enumerate().filter(|(n, _)| bits & (1 << n) != 0);
        let all: BTreeSet<&str> =
            chosen.flat_map(|(_, (name, brings))| std::iter::once(*name).chain(brings.iter().copied())).collect();
        all.into_iter().collect()
    });
    sets.collect()
}

/// Packs every crate, and builds each from what is packed of it and of those that it stands on.
pub(crate) fn pack() -> Result<(), String> {
    let mut all = step::cargo();
    all.args(["package", "--workspace", "--allow-dirty", "--quiet"]);
    for example in examples()? {
        all.args(["--exclude", &example]);
    }
    step::run("packing every crate, and building what is packed", &mut all)?;
    for folder in crates()? {
        let packed = packed(&folder)?;
        let bytes: u64 = packed.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        print(&format!("{name:16} {:4} files {:8} bytes", packed.len(), bytes));
        if bytes > MOST_BYTES {
            return Err(format!(
                "{name}: {bytes} bytes are packed, {MOST_BYTES} at most: what is it that is so large?"
            ));
        }
    }
    Ok(())
}

/// The files of a packed crate that lie in its folder.
fn packed(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut list = step::cargo();
    list.args(["package", "--list", "--allow-dirty", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    let output = list.output().map_err(|e| format!("cargo package --list: {e}"))?;
    if !output.status.success() {
        return Err(format!("{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().map(|file| folder.join(file)).collect())
}

/// The folders of the crates that are published.
fn crates() -> Result<Vec<PathBuf>, String> {
    let folders = folders("crates")?;
    Ok(folders.into_iter().filter(|folder| !folder.ends_with("xtask")).collect())
}

/// The names of packages that are not: the examples.
fn examples() -> Result<Vec<String>, String> {
    let mut names = vec!["xtask".to_owned()];
    for folder in folders("examples")? {
        let manifest = manifest(&folder)?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
        names.extend(name.map(ToOwned::to_owned));
    }
    Ok(names)
}

fn folders(of: &str) -> Result<Vec<PathBuf>, String> {
    let path = step::root().join(of);
    let entries = std::fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut found: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    found.sort();
    Ok(found)
}

fn manifest(folder: &Path) -> Result<toml::Table, String> {
    let path = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.parse().map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_can_be_packed() {
        check().unwrap();
    }

    #[test]
    fn what_a_manifest_lacks_is_named() {
        let good = "[package]\nname = \"comity-fetch\"\ndescription = \"a\"\nkeywords = []\ncategories = []\nrepository = \"b\"\n\
                    [dev-dependencies]\ncomity-testweb = { path = \"../comity-testweb\" }\n";
        let folder = step::root().join("crates/comity-fetch");
        let found = |text: &str| faults(&text.parse().unwrap(), &folder);
        assert_eq!(found(good), Vec::<String>::new());
        for (from, to) in [
            ("description", "describes"),
            ("keywords = []", "keywords = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]"),
            ("{ path = \"../comity-testweb\" }", "{ workspace = true }"),
        ] {
            assert_eq!(found(&good.replace(from, to)).len(), 1, "{to}");
        }
        assert_eq!(faults(&good.parse().unwrap(), Path::new("/nowhere")).len(), 3);
    }

    /// Those that the manifest names, each set once.
    #[test]
    fn the_forms_are_those_of_the_manifest() {
        let manifest = manifest(&step::root().join("crates/comity")).unwrap();
        let named: BTreeSet<&str> = manifest["features"].as_table().unwrap().keys().map(String::as_str).collect();
        let known: BTreeSet<&str> = FEATURES.iter().map(|(name, _)| *name).chain(["default"]).collect();
        assert_eq!(named, known);
        for (name, brings) in FEATURES {
            let list = manifest["features"][name].as_array().unwrap();
            let own: Vec<&str> = list.iter().filter_map(|one| one.as_str().filter(|one| known.contains(one))).collect();
            assert_eq!(own, brings, "{name}");
        }
        assert_eq!(forms().len(), 20);
    }
}
