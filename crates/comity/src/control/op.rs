use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Prints;

/// The version of requests and answers.
pub const VERSION: u8 = 1;

/// One request, as it travels: `{"v":1,"op":"stats"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// [`VERSION`].
    pub v: u8,
    /// What is asked.
    #[serde(flatten)]
    pub op: Op,
}

/// What can be asked of a crawl.
///
/// Lists come in pages of up to `n` rows (1 to 1000, 100 when it is left out). An answer whose `next` is not null is no end:
/// ask again with that as `after`. A page may be short, even empty, and not be the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Op {
    /// Counts of the queue, who waits longest, what is parked.
    Stats,
    /// Origins: a row each.
    List {
        /// `queued` (default), `stuck` or `all`.
        #[serde(default)]
        filter: Filter,
        /// The last origin of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        /// Rows at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n: Option<usize>,
    },
    /// URLs of the queue in their order: a row each.
    Urls {
        /// Of this origin alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
        /// The place of the last one of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<PlaceText>,
        /// Rows at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n: Option<usize>,
    },
    /// What the operator parked: a row each.
    Parks,
    /// Nothing is sent to an origin any more, robots.txt included. Answered when nothing is open to it, or says what is.
    Park {
        /// The origin.
        origin: String,
        /// Until when, RFC 3339; until it is released when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// Why, 1 to 500 characters.
        why: String,
    },
    /// Ends a park.
    Release {
        /// The origin.
        origin: String,
    },
    /// Adds seeds: their origins belong to the crawl from now on.
    Seed {
        /// Absolute http and https URLs, 1000 at most.
        urls: Vec<String>,
    },
    /// The opt-out files are read now. Answered when nothing is open to those who are opted out, or says what is.
    Optouts,
    /// How an export begins: a row for each URL that widened the scope; by what fingerprints are made, and the last commit.
    Head,
    /// The URLs that wait for their next visit, in the order of its time: a row each, as it is imported.
    Visits {
        /// `next` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        /// Rows at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n: Option<usize>,
    },
    /// Fingerprints of the URLs ever taken, up to that commit: rows of up to a thousand.
    Seen {
        /// The commit of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
        /// `last` of the head.
        last: u64,
    },
    /// Takes in lines of an export, 1000 at most. A row for each bad one.
    Import {
        /// The lines.
        lines: Vec<String>,
        /// The number of the first in its file.
        first: u64,
        /// By what its fingerprints were made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prints: Option<Prints>,
    },
    /// Puts a configuration in force: a row for each change.
    Reload {
        /// The whole configuration, as TOML.
        config: String,
        /// Only say what would change.
        #[serde(default)]
        show: bool,
    },
}

/// Which origins are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// Those with URLs in the queue.
    #[default]
    Queued,
    /// Those of them that time alone does not make due.
    Stuck,
    /// Every origin that ever had a URL.
    All,
}

/// Where a URL stands in the queue, as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceText {
    /// Its origin.
    pub origin: String,
    /// Its priority: 0 first.
    pub priority: u8,
    /// Its number among the URLs of the origin.
    pub sequence: u64,
}

/// What is answered: rows, and one object about the whole.
///
/// It travels as a line `{"row":…}` for each row and a last line: `{"v":1,"ok":…}`, or `{"v":1,"error":…}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The rows of a list.
    pub rows: Vec<Value>,
    /// About the whole.
    pub about: Value,
}

impl Answer {
    pub(crate) const fn of(about: Value) -> Self {
        Self { rows: Vec::new(), about }
    }
}
