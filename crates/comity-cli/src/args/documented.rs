//! Each `comity …` line of the documentation names commands and flags that exist.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};

use super::Cli;

/// What is wrong with a line of a code block, if it calls comity.
fn fault(root: &Command, line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches("$ ");
    let line = line.strip_prefix("cargo run --release -- ").map_or(line.to_owned(), |rest| format!("comity {rest}"));
    let call = line.split("   ").next()?.split(" # ").next()?.split(" | ").next()?;
    let mut words = call.split_whitespace().map(|word| word.trim_matches(|c| "[]()…`,;:".contains(c)));
    // `comity = "0.1"` is a line of a manifest.
    (words.next()? == "comity" && !call.contains(" = ")).then_some(())?;
    let (mut command, mut path) = (root, "comity".to_owned());
    let mut may_name_a_command = true;
    for word in words.flat_map(|word| word.split('|')) {
        if let Some(flag) = word.strip_prefix("--") {
            let name = flag.split('=').next().unwrap_or(flag);
            let is_known = name.is_empty() || command.get_arguments().any(|known| known.get_long() == Some(name));
            if !is_known && !["help", "version"].contains(&name) {
                return Some(format!("`{path}` has no flag --{name}"));
            }
            may_name_a_command = false;
        } else if may_name_a_command && command.has_subcommands() {
            let found = command.find_subcommand(word);
            // `stats|list|park`: the first stands for all, and each was looked for.
            let Some(found) = found.or_else(|| root_of(root, &path, word)) else {
                let is_open = word.is_empty() || word.chars().any(|c| c.is_uppercase() || !c.is_ascii());
                return (!is_open).then(|| format!("`{path}` has no command `{word}`"));
            };
            (command, path) = (found, format!("{path} {word}"));
        } else {
            may_name_a_command = false;
        }
    }
    None
}

/// The command beside the last of `path`, for alternatives.
fn root_of<'a>(root: &'a Command, path: &str, word: &str) -> Option<&'a Command> {
    let parents = path.split(' ').skip(1).collect::<Vec<_>>();
    let (_, above) = parents.split_last()?;
    above.iter().try_fold(root, |command, name| command.find_subcommand(name))?.find_subcommand(word)
}

/// The lines of code blocks, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            return None;
        }
        (is_fenced || line.starts_with("    ")).then_some((at + 1, line))
    })
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

#[test]
fn commands_and_flags_of_the_documentation_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut found);
    let command = Cli::command();
    let (mut wrong, mut calls) = (Vec::new(), 0);
    for page in found {
        let text = std::fs::read_to_string(&page).unwrap();
        for (line, words) in code(&text) {
            calls += usize::from(words.trim().starts_with("comity "));
            wrong.extend(fault(&command, words).map(|what| format!("{}:{line}: {what}", page.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(calls > 50, "{calls} calls found: the blocks are not read any more");
}

#[test]
fn what_does_not_exist_is_told() {
    let root = Cli::command();
    let rows = [
        ("comity crawl https://example.com/ --max-pages 100 --dir first", None),
        ("comity crwal x", Some("`comity` has no command `crwal`")),
        ("comity robots check --robot F", Some("`comity robots check` has no flag --robot")),
        ("comity robots explain | lint F --json", None),
        ("comity frontier stats|list DIR", None),
        ("curl --proxy x", None),
    ];
    for (line, expected) in rows {
        assert_eq!(fault(&root, line).as_deref(), expected, "{line}");
    }
}
