//! What `--help` teaches beside flags: an example of every command. One table, so that a test can run through it.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The command line with its examples.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    for (path, example) in EXAMPLES {
        let words: Vec<&str> = path.split(' ').collect();
        command = taught(command, &words, example);
    }
    command.after_help(FIRST_STEPS)
}

fn taught(command: Command, path: &[&str], example: &str) -> Command {
    match path {
        [] => command.after_help(format!("Example:\n  {example}")),
        [first, rest @ ..] => command.mut_subcommand(*first, |below| taught(below, rest, example)),
    }
}

const FIRST_STEPS: &str = "First steps:\n  comity demo                          a polite crawl on this machine, offline\n  \
                           comity init                          who you are, once\n  \
                           comity crawl --plan URL              what sites allow and ask for, before anything is fetched\n  \
                           comity crawl URL --dir D             the crawl; the same line goes on with it\n  \
                           comity explain URL --dir D           why a URL was or was not fetched\n\n\
                           Exit codes: 0 done, 1 findings, 2 usage, 3 limit, 4 interrupted or waiting, 5 storage, 6 network.";

/// Command and example; each example is a line that the command takes.
const EXAMPLES: &[(&str, &str)] = &[
    ("demo", "comity demo --dir demo"),
    ("crawl", "comity crawl https://example.com/ --dir crawl --max-pages 100 --delay 2s"),
    ("config show", "comity config show --config crawl.toml"),
    ("config check", "comity config check crawl.toml"),
    ("config schema", "comity config schema"),
    ("config keys", "comity config keys --json"),
    ("new", "comity new my-crawler --comity ~/comity"),
    ("completions", "comity completions bash"),
    ("man", "comity man --out man1"),
    ("gateway", "comity gateway --config gateway.toml"),
    ("init", "comity init --agent MyBot/1.0 --contact https://example.com/bot"),
    ("records", "comity records crawl"),
    ("verify", "comity verify crawl --json"),
    ("wacz", "comity wacz crawl --out crawl.wacz"),
    ("audit", "comity audit crawl --floor 1s"),
    ("dossier", "comity dossier https://example.com --dir crawl"),
    ("export", "comity export crawl --for search --out usable --recheck"),
    ("report", "comity report crawl --html report.html"),
    (
        "erase",
        "comity erase crawl --url https://example.com/p --reason \"asked by its author\" --request T-17 --dry-run",
    ),
    ("prune", "comity prune crawl --dry-run"),
    ("explain", "comity explain https://example.com/private --dir crawl"),
    ("frontier stats", "comity frontier stats crawl"),
    ("frontier list", "comity frontier list crawl --stuck"),
    ("frontier park", "comity frontier park crawl https://example.com --why \"they asked for a pause\" --for 2h"),
    ("frontier release", "comity frontier release crawl https://example.com"),
    ("frontier seed", "comity frontier seed crawl https://example.org/"),
    ("frontier export", "comity frontier export crawl --output queue.jsonl"),
    ("frontier import", "comity frontier import new-crawl queue.jsonl --config crawl.toml"),
    ("reload", "comity reload crawl --show"),
    ("optout add", "comity optout add example.com --requested-by \"Ann Example\" --reason \"letter of 2026-11-30\""),
    (
        "optout remove",
        "comity optout remove example.com --requested-by \"Ann Example\" --reason \"asked to come back\"",
    ),
    ("optout list", "comity optout list --json"),
    ("robots check", "comity robots check --robots robots.txt --agent MyBot /private/page"),
    ("robots explain", "comity robots explain --robots robots.txt --agent MyBot /private/page"),
    ("robots lint", "comity robots lint robots.txt --origin https://example.com"),
    ("robots test", "comity robots test robots.txt --expect expected.toml"),
    ("robots diff", "comity robots diff old.txt new.txt --urls urls.txt --exit-code"),
    ("robots agents", "comity robots agents robots.txt --url /blog/"),
    ("robots fetch", "comity robots fetch https://example.com"),
    ("robots batch", "comity robots batch"),
    ("extract", "comity extract --url https://example.com/ page.html"),
    ("sitemap", "comity sitemap --url https://example.com/sitemap.xml sitemap.xml"),
    ("signals", "comity signals https://example.com/"),
    ("survey", "comity survey origins.txt --out rows.jsonl"),
    ("url batch", "comity url batch"),
    ("identity show", "comity identity show"),
    ("identity page", "comity identity page --dir public"),
    ("identity ranges", "comity identity ranges"),
    ("identity key new", "comity identity key new bot.pem"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Commands whose output is no JSON on demand, and why.
    const WITHOUT_JSON: &[(&str, &str)] = &[
        ("config schema", "it is JSON"),
        ("new", "writes files"),
        ("completions", "prints a script"),
        ("man", "prints pages"),
        ("gateway", "serves; its decisions are JSON lines"),
        ("init", "writes a file"),
        ("wacz", "writes a file"),
        ("dossier", "writes a file"),
        ("records", "prints JSON lines"),
        ("frontier export", "prints JSON lines"),
        ("robots batch", "answers in JSON lines"),
        ("url batch", "answers in JSON lines"),
        ("signals batch", "answers in JSON lines"),
        ("optout add", "writes a line"),
        ("optout remove", "writes a line"),
        ("identity ranges", "it is JSON"),
    ];

    /// Every command that does something, by its words.
    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path =
                if path.is_empty() { below.get_name().to_owned() } else { format!("{path} {}", below.get_name()) };
            if !below.is_subcommand_required_set() && below.get_name() != "key" {
                found.push((path.clone(), below.clone()));
            }
            leaves(below, &path, found);
        }
    }

    fn all() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        leaves(&command(), "", &mut found);
        assert!(found.len() > 40, "{}", found.len());
        found
    }

    #[test]
    fn the_tree_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_that_it_takes() {
        for (path, leaf) in all() {
            if path == "signals batch" {
                continue;
            }
            let help = leaf
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_else(|| panic!("comity {path} has no example"));
            let line = help.strip_prefix("Example:\n  ").unwrap_or_else(|| panic!("comity {path}: {help}"));
            assert!(line.starts_with(&format!("comity {path}")), "{line}");
            // Words in quotes are one.
            let words = line
                .split('"')
                .enumerate()
                .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() });
            let read = command().try_get_matches_from(words);
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
        }
    }

    #[test]
    fn every_command_that_prints_data_prints_it_as_json_too() {
        let named: BTreeSet<&str> = WITHOUT_JSON.iter().map(|(path, _)| *path).collect();
        let mut left = named.clone();
        for (path, leaf) in all() {
            let has = leaf.get_arguments().any(|arg| arg.get_long() == Some("json"));
            assert!(
                has != named.contains(path.as_str()),
                "comity {path}: --json, or a reason in the table, and not both"
            );
            left.remove(path.as_str());
        }
        assert!(left.is_empty(), "no such commands: {left:?}");
    }

    #[test]
    fn every_flag_says_what_it_does_and_what_holds_without_it() {
        let mut silent: Vec<String> = Vec::new();
        for (path, leaf) in all() {
            for arg in leaf
                .get_arguments()
                .filter(|arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version")
            {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "comity {path}: {} says nothing", arg.get_id());
                let takes_one = arg.get_action().takes_values() && !arg.is_positional() && !arg.is_required_set();
                let says = help.to_ascii_lowercase();
                let says = ["default", "may be repeated", "without", "required", "only", "instead", "unless"]
                    .iter()
                    .any(|word| says.contains(word));
                let has_default = !arg.get_default_values().is_empty();
                if takes_one && !says && !has_default {
                    silent.push(format!("comity {path} --{}: what holds without it? {help}", arg.get_id()));
                }
            }
        }
        assert!(silent.is_empty(), "{silent:#?}");
    }
}
