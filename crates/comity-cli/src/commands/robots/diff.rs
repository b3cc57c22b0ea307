use std::io::BufRead;

use comity_robots::{Robots, RuleSet, Verdict, request_target};
use serde_json::{Value, json};

use super::asked::Asked;
use super::{answer, input};
use crate::args::DiffArgs;
use crate::commands::{many, print};
use crate::exit::{Exit, Failure};

/// Agents that are compared at most when none is named.
const MOST_AGENTS: usize = 500;

/// The longest line of the file of URLs.
const LONGEST_URL: u64 = 64 << 10;

/// Changes that are kept at most; more are counted.
const MOST_CHANGES: usize = 100_000;

/// An agent, with its rules in both files.
struct Compared {
    name: String,
    old: RuleSet,
    new: RuleSet,
}

/// A verdict that is another in the new file.
struct Change {
    agent: String,
    url: String,
    old: Verdict,
    new: Verdict,
}

/// `comity robots diff`.
pub(super) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let (old, new) = (input::robots(&args.old)?, input::robots(&args.new)?);
    let agents = compared(args, &old, &new)?;
    let (mut urls, mut omitted, mut changes) = (0_u64, 0_u64, Vec::new());
    let mut lines = input::open(&args.urls)?;
    while let Some(url) = next_url(&mut lines).map_err(|e| input::unreadable(&args.urls, &e))? {
        urls += 1;
        for change in agents.iter().filter_map(|agent| agent.change(&url)) {
            if changes.len() < MOST_CHANGES {
                changes.push(change);
            } else {
                omitted += 1;
            }
        }
    }
    if args.json {
        let changed: Vec<Value> = changes.iter().map(Change::json).collect();
        print(&json!({"changes": changed, "omitted": omitted}).to_string())?;
    } else {
        for change in &changes {
            print(&change.text())?;
        }
        let more = if omitted > 0 { format!(", {omitted} not shown") } else { String::new() };
        print(&format!(
            "{}, {}, {}{more}",
            many(urls, "URL"),
            many(agents.len() as u64, "agent"),
            match changes.len() as u64 + omitted {
                1 => "1 verdict changes".to_owned(),
                n => format!("{n} verdicts change"),
            }
        ))?;
    }
    Ok(if args.exit_code && !changes.is_empty() { Exit::Findings } else { Exit::Done })
}

fn compared(args: &DiffArgs, old: &Robots, new: &Robots) -> Result<Vec<Compared>, Failure> {
    if !args.agents.is_empty() {
        let asked = args.agents.iter().map(|agent| {
            let asked = Asked::agent(agent)?;
            let (old, new) = (asked.rules(old, args.dialect), asked.rules(new, args.dialect));
            Ok(Compared { name: agent.clone(), old, new })
        });
        return asked.collect();
    }
    let mut tokens: Vec<&str> = Vec::new();
    for agent in old.groups().chain(new.groups()).flat_map(|group| group.agents()) {
        let token = agent.token().filter(|token| *token != "*");
        let Some(token) = token.filter(|token| !tokens.iter().any(|known| known.eq_ignore_ascii_case(token))) else {
            continue;
        };
        if tokens.len() == MOST_AGENTS {
            eprintln!(
                "warning: the files name more than {MOST_AGENTS} agents; the rest is left out (--agent names some)"
            );
            break;
        }
        tokens.push(token);
    }
    // No file can name `*`, so it stands for every agent that none names.
    tokens.push("*");
    let rules = |robots: &Robots, token: &str| robots.rules(&[token], args.dialect.into());
    let compared = tokens.into_iter().map(|token| Compared {
        name: token.to_owned(),
        old: rules(old, token),
        new: rules(new, token),
    });
    Ok(compared.collect())
}

/// The next line that holds a URL; `None` at the end.
fn next_url(lines: &mut impl BufRead) -> std::io::Result<Option<String>> {
    loop {
        let mut bytes = Vec::new();
        std::io::Read::take(&mut *lines, LONGEST_URL).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.len() as u64 == LONGEST_URL && bytes.last() != Some(&b'\n') {
            let text = format!("a line is longer than {LONGEST_URL} bytes");
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text));
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            return Ok(Some(line.to_owned()));
        }
    }
}

impl Compared {
    fn change(&self, url: &str) -> Option<Change> {
        let target = request_target(url);
        if self.old.allows(&target) == self.new.allows(&target) {
            return None;
        }
        let (old, new) = (self.old.verdict(&target), self.new.verdict(&target));
        Some(Change { agent: self.name.clone(), url: url.to_owned(), old, new })
    }
}

impl Change {
    fn json(&self) -> Value {
        json!({
            "agent": self.agent,
            "url": self.url,
            "old": answer::word(self.old.allowed),
            "new": answer::word(self.new.allowed),
            "line": answer::line(&self.new),
            "old_line": answer::line(&self.old),
        })
    }

    fn text(&self) -> String {
        let side = |verdict: &Verdict| {
            let rule = verdict.rule.as_ref();
            let by = rule.map_or_else(
                || "no rule".to_owned(),
                |rule| format!("line {}, {}: {}", rule.line, rule.kind.as_str(), rule.pattern),
            );
            format!("{} ({by})", answer::word(verdict.allowed))
        };
        format!("{}  {}\n      {} -> {}", self.agent, self.url, side(&self.old), side(&self.new))
    }
}
