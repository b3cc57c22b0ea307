use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use crate::contestant::{Contestant, beside};
use crate::plan::{Plan, WebSize};

/// What the web does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// No delays: what a page costs.
    Speed,
    /// Delays and closed pages: who keeps to them.
    Polite,
}

/// What one crawl took, and what the web saw of it.
pub struct Run {
    pub took: Took,
    pub seen: Seen,
}

#[derive(Deserialize)]
pub struct Took {
    pub ended: bool,
    pub killed: bool,
    pub cpu_us: f64,
    pub rss_kib: f64,
}

#[derive(Deserialize)]
pub struct Seen {
    pub expected: u64,
    pub fetched: u64,
    pub repeats: u64,
    pub first_request_us: f64,
    pub span_us: f64,
    pub violations: u64,
    pub counts: BTreeMap<String, u64>,
    pub slots_used: u64,
    pub slots_offered: u64,
    pub tightest: Option<f64>,
    #[serde(rename = "cpu_us")]
    pub web_cpu_us: f64,
}

/// A speed run that takes longer is ended: something hangs.
const LONGEST: u64 = 300;

/// Every contestant's runs, round by round, so that a busy hour is everybody's.
pub fn rounds(plan: &Plan, scenario: Scenario) -> Vec<(&'static str, Vec<Run>)> {
    let asked = |one: &&Contestant| scenario == Scenario::Speed || one.is_crawler();
    let contestants: Vec<&Contestant> = plan.contestants.iter().filter(asked).collect();
    let rounds = if scenario == Scenario::Speed { plan.rounds } else { 1 };
    let mut runs: Vec<_> = contestants.iter().map(|one| (one.name(), Vec::new())).collect();
    for round in 0..rounds {
        for (one, (name, runs)) in contestants.iter().zip(&mut runs) {
            let run = crawl(plan, scenario, one);
            eprintln!(
                "round {round} {name}: {:.2} s of CPU, {} of {} pages{}",
                run.took.cpu_us / 1e6,
                run.seen.fetched,
                run.seen.expected,
                if run.took.ended { "" } else { ", FAILED" }
            );
            runs.push(run);
        }
    }
    runs
}

fn crawl(plan: &Plan, scenario: Scenario, contestant: &Contestant) -> Run {
    let dir = tempfile::tempdir().expect("a folder for lists of URLs");
    let (kind, size, seconds) = match scenario {
        Scenario::Speed if contestant.is_slow() => {
            ("speed", WebSize { pages: plan.pages_for_slow.min(plan.web.pages), ..plan.web }, LONGEST)
        }
        Scenario::Speed => ("speed", plan.web, LONGEST),
        Scenario::Polite => ("polite", WebSize { origins: 16, pages: 400, ..plan.web }, plan.polite_seconds),
    };
    let mut web = Web::start(kind, size, dir.path());
    web.ask("mark");
    let out = contestant.command(dir.path(), seconds).stderr(Stdio::inherit()).output().expect("measure runs");
    let took = String::from_utf8_lossy(&out.stdout).into_owned();
    let seen = web.ask("report");
    let took = serde_json::from_str(&took).unwrap_or_else(|e| panic!("{took:?}: {e}"));
    let seen = serde_json::from_str(&seen).unwrap_or_else(|e| panic!("{seen:?}: {e}"));
    Run { took, seen }
}

/// The web's process.
struct Web {
    child: Child,
    words: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Web {
    fn start(kind: &str, size: WebSize, dir: &Path) -> Self {
        let WebSize { origins, pages, bytes, links } = size;
        let mut command = Command::new(beside("crawl-web"));
        command.arg(kind).args([origins, pages, bytes, links].map(|n| n.to_string())).arg(dir);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the web starts");
        let words = child.stdin.take().expect("stdin is piped");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut web = Self { child, words, lines };
        assert_eq!(web.line(), "ready");
        web
    }

    fn ask(&mut self, word: &str) -> String {
        writeln!(self.words, "{word}").expect("the web listens");
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the web answers");
        line.trim_end().to_owned()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}
