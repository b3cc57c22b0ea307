use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the shape of a row.
pub(super) const SCHEMA: &str = "comity-survey/1";

/// What one origin asks for: a line of the survey. Written, and read back by `--against`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) schema: String,
    pub(super) origin: String,
    /// As the list says it; 1 is the first.
    pub(super) rank: Option<u64>,
    /// RFC 3339, when the answer was had; of an archive, when it was captured.
    pub(super) at: String,
    pub(super) robots: RobotsCopy,
    /// What the file says; `None` without a file.
    pub(super) says: Option<Says>,
    /// `None` where it was not asked for.
    pub(super) tdmrep: Option<TdmrepCopy>,
    pub(super) ai_txt: Option<AiTxtCopy>,
    pub(super) home: Option<Home>,
}

/// How robots.txt was answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RobotsCopy {
    /// The words of docs/robots.md, and `opted_out`, `captured_redirect` and `not_captured`.
    pub(super) class: String,
    pub(super) status: Option<u16>,
    /// Why it could not be had.
    pub(super) reason: Option<String>,
    /// Every URL asked, the first included.
    pub(super) chain: Vec<String>,
    pub(super) bytes: Option<u64>,
    /// `sha256:…` of the decoded bytes that are parsed.
    pub(super) digest: Option<String>,
    /// The file is longer than the 512,000 bytes that are parsed.
    pub(super) truncated: bool,
}

/// What a robots.txt says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Says {
    /// Every token that a group names, lower case, sorted, each once, at most [`MOST_TOKENS`].
    pub(super) tokens: Vec<String>,
    /// Those of them that may not fetch `/`.
    pub(super) denied_at_root: Vec<String>,
    /// Of the known agents named, how many by use, and how many of those may not fetch `/`.
    pub(super) uses: BTreeMap<String, Count>,
    /// Whether whoever is not named may fetch `/`.
    pub(super) root_allowed: bool,
    /// How far those who are not named are kept out: see [`super::restriction`].
    pub(super) restriction: String,
    /// The same of the known agents that train AI, the strictest of those named; `unnamed` when none is.
    pub(super) restriction_ai_train: String,
    /// Values as written, each once, in file order.
    pub(super) content_signal: Vec<String>,
    pub(super) content_usage: Vec<String>,
    pub(super) license: Vec<String>,
    pub(super) policy_tokens: Vec<String>,
    /// Verdict per purpose at `/` for whoever is not named; only what is not `unspecified`.
    pub(super) verdicts: BTreeMap<String, String>,
    /// Seconds, for whoever is not named.
    pub(super) crawl_delay: Option<f64>,
    pub(super) sitemaps: u64,
    /// Findings of the linter by code.
    pub(super) lint: BTreeMap<String, u64>,
}

/// The longest list of tokens that a row holds.
pub(super) const MOST_TOKENS: usize = 500;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) named: u64,
    pub(super) denied: u64,
}

/// How `/.well-known/tdmrep.json` was answered, and what it says of `/`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TdmrepCopy {
    pub(super) got: SiteFile,
    pub(super) rules: u64,
    /// `1` or `0`; `None` when nothing readable is said.
    pub(super) reservation: Option<String>,
    pub(super) policy: Option<String>,
}

/// How `/ai.txt` was answered, and what it says of training on `/`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AiTxtCopy {
    pub(super) got: SiteFile,
    pub(super) ai_train: Option<String>,
}

/// What the answer at `/` says beside its content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Home {
    pub(super) got: SiteFile,
    /// Verdict per purpose of header fields and head; only what is not `unspecified`.
    pub(super) verdicts: BTreeMap<String, String>,
    /// Links to terms and licences, as written.
    pub(super) terms: Vec<String>,
}

/// A helper file of a site: judged, paced, fetched like a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SiteFile {
    /// `file`, `absent` (any other 4xx or a redirect), `unreachable`, or `not_asked`.
    pub(super) state: String,
    pub(super) status: Option<u16>,
    /// Why it was not asked, or could not be had.
    pub(super) reason: Option<String>,
    pub(super) bytes: Option<u64>,
    pub(super) digest: Option<String>,
}

impl Row {
    /// A row about `origin` of which nothing is known yet.
    pub(super) fn new(origin: &str, rank: Option<u64>) -> Self {
        Self { schema: SCHEMA.to_owned(), origin: origin.to_owned(), rank, ..Self::default() }
    }

    /// Whether the site answered for robots.txt, with a file or without one: the denominator of what files say.
    pub(super) fn answered(&self) -> bool {
        self.says.is_some() || matches!(self.robots.class.as_str(), "absent" | "redirect_limit")
    }
}
