//! The public surface, as text: whoever changes it sees so in the diff of `public-api.txt`, and says so in the changelog.
//!
//! A walk over the sources, since the lint `unreachable_pub` makes every `pub` item one that others can name. What a macro makes
//! (the keys of the configuration) has its own list: docs/configuration.md.

use std::fs;
use std::path::{Path, PathBuf};

/// The `pub` items of one file: one line each, what it belongs to in front.
fn items(module: &str, text: &str) -> Vec<String> {
    let (mut found, mut owners) = (Vec::<String>::new(), Vec::<(usize, String)>::new());
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
        if item == "#[non_exhaustive]" {
            is_open = true;
            continue;
        }
        owners.retain(|(depth, _)| *depth < indent);
        let owner = owners.last().map_or("", |(_, owner)| owner).to_owned();
        let is_member = owner.starts_with("pub enum") || owner.starts_with("pub trait");
        let is_direct = owners.last().is_some_and(|(depth, _)| *depth + 4 == indent);
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
            owners.push((indent, item.split(" where ").next().unwrap_or_default().to_owned()));
        }
        if is_public {
            let owner = owner.trim_start_matches("pub ").split('(').next().unwrap_or_default();
            let owner = if owner.is_empty() { String::new() } else { format!("{owner} :: ") };
            let more = if is_open { " #[non_exhaustive]" } else { "" };
            found.push(format!("{module}: {owner}{item}{more}"));
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
    let mut lines = Vec::new();
    for file in sources(&root) {
        let module = file.strip_prefix(&root).unwrap().with_extension("").display().to_string().replace('\\', "/");
        lines.extend(items(&module, &fs::read_to_string(&file).unwrap()));
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
    assert_eq!(items("m", text), expected);
}
