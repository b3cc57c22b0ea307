//! The public surface, as text: whoever changes it sees so in the diff of `public-api.txt`, and says so in the changelog.
//!
//! What is there with a feature alone ends with its name, as `[disk]`.
//!
//! A walk over the sources, since the lint `unreachable_pub` makes every `pub` item one that others can name. What a macro makes
//! (the keys of the configuration) has its own list: docs/configuration.md.

use std::fs;
use std::path::{Path, PathBuf};

/// The feature that an attribute asks for.
fn feature(line: &str) -> Option<&str> {
    line.trim().strip_prefix("#[cfg(feature = \"")?.strip_suffix("\")]")
}

/// Modules that are there with a feature alone, `control/stopped`, and the feature: those of one file.
fn gated(file: &str, text: &str) -> Vec<(String, String)> {
    let folder = match file.rsplit_once('/') {
        Some((folder, "mod")) => format!("{folder}/"),
        None if file == "lib" => String::new(),
        _ => format!("{file}/"),
    };
    let lines = || text.lines().map(str::trim);
    let pairs = lines().zip(lines().skip(1)).filter_map(|(line, next)| {
        let name = next.rsplit_once("mod ")?.1.strip_suffix(';')?;
        Some((format!("{folder}{name}"), feature(line)?.to_owned()))
    });
    pairs.collect()
}

/// An item that others belong to: how far in it stands, its words, the features that it is there with.
type Owner = (usize, String, Vec<String>);

/// The `pub` items of one file: one line each, what it belongs to in front.
fn items(module: &str, text: &str, features: &[String]) -> Vec<String> {
    let (mut found, mut owners) = (Vec::<String>::new(), Vec::<Owner>::new());
    let mut with: Option<String> = None;
    let mut lines = text.lines().peekable();
    let mut is_open = false;
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let mut item = line.trim().to_owned();
        let opens_tests = |next: &&str| next.trim_start().starts_with("mod ") && next.ends_with('{');
        if item.starts_with("#[cfg(test)]") && lines.peek().is_some_and(opens_tests) {
            break;
        }
        if item.is_empty() || item.starts_with("//") {
            continue;
        }
        if item.starts_with("#[") {
            is_open |= item == "#[non_exhaustive]";
            with = feature(&item).map(ToOwned::to_owned).or(with);
            continue;
        }
        owners.retain(|(depth, ..)| *depth < indent);
        let (owner, of_owner) =
            owners.last().map_or(("", features), |(_, owner, features)| (owner, features.as_slice()));
        let (owner, mut needs) = (owner.to_owned(), of_owner.to_vec());
        needs.extend(with.take());
        needs.dedup();
        let is_member = owner.starts_with("pub enum") || owner.starts_with("pub trait");
        let is_direct = owners.last().is_some_and(|(depth, ..)| *depth + 4 == indent);
        let names_something = item.starts_with(|c: char| c.is_ascii_uppercase()) || item.starts_with("fn ");
        let is_public = item.starts_with("pub ") || (is_member && is_direct && names_something);
        let opens = ["impl", "pub enum", "pub struct", "pub trait"].iter().any(|word| item.starts_with(word));
        if !is_public && !opens {
            continue;
        }
        // The rest of a signature.
        let is_whole = |item: &str| {
            let ends = item.ends_with(['{', ';', '}']) || (item.ends_with([',', ')']) && !item.contains("where"));
            ends && item.matches('(').count() <= item.matches(')').count()
        };
        while !is_whole(&item) {
            let Some(next) = lines.next() else { break };
            item = format!("{item} {}", next.trim());
        }
        let item = item.trim_end_matches(['{', ',', ';']).trim().replace("( ", "(").replace(", )", ")");
        if opens {
            owners.push((indent, item.split(" where ").next().unwrap_or_default().to_owned(), needs.clone()));
        }
        if is_public {
            let owner = owner.trim_start_matches("pub ").split('(').next().unwrap_or_default();
            let owner = if owner.is_empty() { String::new() } else { format!("{owner} :: ") };
            let more = if is_open { " #[non_exhaustive]" } else { "" };
            let needs: String = needs.iter().map(|name| format!(" [{name}]")).collect();
            found.push(format!("{module}: {owner}{item}{more}{needs}"));
        }
        is_open = false;
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn surface() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |file: PathBuf| {
        let module = file.strip_prefix(&root).unwrap().with_extension("").display().to_string().replace('\\', "/");
        (module, fs::read_to_string(&file).unwrap())
    };
    let files: Vec<(String, String)> = sources(&root).into_iter().map(read).collect();
    let gated: Vec<(String, String)> = files.iter().flat_map(|(module, text)| gated(module, text)).collect();
    let mut lines = Vec::new();
    for (module, text) in &files {
        let is_below =
            |above: &str| module.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let features: Vec<String> =
            gated.iter().filter(|(above, _)| is_below(above)).map(|(_, feature)| feature.clone()).collect();
        // What stands in for a module that is not there is nothing that others can name.
        if !module.ends_with("/without") {
            lines.extend(items(module, text, &features));
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_public_surface_is_the_one_on_file() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt");
    let now = surface();
    if std::env::var_os("COMITY_WRITE_PUBLIC_API").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let only = |from: &str, other: &str, sign: char| -> Vec<String> {
        from.lines()
            .filter(|line| !other.lines().any(|known| known == *line))
            .map(|line| format!("{sign} {line}"))
            .collect()
    };
    let changes = [only(&kept, &now, '-'), only(&now, &kept, '+')].concat();
    assert!(
        changes.is_empty() && kept == now,
        "the public surface changed: say so in CHANGELOG.md, then COMITY_WRITE_PUBLIC_API=1 cargo test -p comity surface\n{}",
        changes.join("\n")
    );
}

#[test]
fn the_walk_sees_what_others_can_name() {
    let text = "/// A.\n#[non_exhaustive]\npub struct A {\n    pub x: u8,\n    y: u8,\n}\n\nimpl A {\n    pub fn f(\n        self,\n        x: u8,\n    ) -> u8 {\n        0\n    }\n\n    fn g() {}\n}\npub enum B {\n    One(u8),\n    Two { x: u8 },\n}\npub(crate) fn no() {}\n#[cfg(test)]\nmod tests {\n    pub fn no() {}\n}\n";
    let expected = [
        "m: pub struct A #[non_exhaustive]",
        "m: struct A :: pub x: u8",
        "m: impl A :: pub fn f(self, x: u8) -> u8",
        "m: pub enum B",
        "m: enum B :: One(u8)",
        "m: enum B :: Two { x: u8 }",
    ];
    assert_eq!(items("m", text, &[]), expected);
}

#[test]
fn what_a_feature_gives_bears_its_name() {
    let text = "#[cfg(feature = \"disk\")]\nimpl A {\n    /// F.\n    #[must_use]\n    pub fn f() {}\n}\nimpl A {\n    #[cfg(feature = \"warc\")]\n    #[must_use]\n    pub fn g() {}\n\n    pub fn h() {}\n}\n";
    let expected = [
        "m: impl A :: pub fn f() {} [x] [disk]",
        "m: impl A :: pub fn g() {} [x] [warc]",
        "m: impl A :: pub fn h() {} [x]",
    ];
    let found: Vec<String> = items("m", text, &["x".to_owned()]);
    assert_eq!(found, expected);
    let modules = "#[cfg(feature = \"disk\")]\nmod a;\nmod b;\n#[cfg(feature = \"warc\")]\npub mod c;\n";
    let pair = |name: &str, feature: &str| (name.to_owned(), feature.to_owned());
    assert_eq!(gated("lib", modules), [pair("a", "disk"), pair("c", "warc")]);
    assert_eq!(gated("d/mod", modules)[0], pair("d/a", "disk"));
    assert_eq!(gated("d", modules)[1], pair("d/c", "warc"));
}
