//! What changed since an earlier survey.

use std::collections::HashMap;
use std::io::BufRead;

use serde_json::{Value, json};

use super::flags::FLAGS;
use super::row::{Row, SCHEMA};

/// The longest line of an earlier survey that is read.
const LONGEST: usize = 4 << 20;

/// Answers of an earlier survey: about 100 bytes an origin.
#[derive(Debug, Default)]
pub(super) struct Drift {
    old: HashMap<Box<str>, Old>,
    both: u64,
    new: u64,
    changed_files: u64,
    /// By [`FLAGS`]: those that now hold and did not, and the other way.
    gained: Vec<u64>,
    lost: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Old {
    asked: u64,
    holds: u64,
    /// The first 8 bytes of the digest of robots.txt.
    digest: Option<u64>,
}

const _: () = assert!(FLAGS.len() <= 64, "a flag is a bit");

impl Old {
    fn of(row: &Row) -> Self {
        let bits = |ask: &dyn Fn(&super::flags::Flag) -> bool| {
            FLAGS.iter().enumerate().fold(0, |bits, (at, flag)| bits | (u64::from(ask(flag)) << at))
        };
        let digest = row.robots.digest.as_deref().and_then(|text| text.strip_prefix("sha256:")?.get(..16));
        Self {
            asked: bits(&|flag| flag.of.holds(row)),
            holds: bits(&|flag| flag.of.holds(row) && (flag.holds)(row)),
            digest: digest.and_then(|hex| u64::from_str_radix(hex, 16).ok()),
        }
    }
}

impl Drift {
    /// Reads the rows of an earlier survey; lines that are none are passed over, and counted. Where an origin stands twice,
    /// the later line counts.
    pub(super) fn read(input: &mut impl BufRead) -> std::io::Result<(Self, u64)> {
        let mut drift = Self { gained: vec![0; FLAGS.len()], lost: vec![0; FLAGS.len()], ..Self::default() };
        let (mut line, mut passed) = (Vec::new(), 0);
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok((drift, passed));
            }
            let row = (line.len() <= LONGEST).then(|| serde_json::from_slice::<Row>(&line).ok()).flatten();
            match row.filter(|row| row.schema == SCHEMA) {
                Some(row) => drop(drift.old.insert(row.origin.as_str().into(), Old::of(&row))),
                None => passed += 1,
            }
        }
    }

    /// Holds a row of now against the earlier one.
    pub(super) fn add(&mut self, row: &Row) {
        let Some(old) = self.old.remove(row.origin.as_str()) else {
            self.new += 1;
            return;
        };
        let now = Old::of(row);
        self.both += 1;
        self.changed_files += u64::from(old.digest.is_some() && now.digest.is_some() && old.digest != now.digest);
        // Only what was answered both times: a failure is no change of mind.
        let comparable = old.asked & now.asked;
        let (gained, lost) = (now.holds & !old.holds & comparable, old.holds & !now.holds & comparable);
        for (at, (gains, losses)) in self.gained.iter_mut().zip(&mut self.lost).enumerate() {
            *gains += (gained >> at) & 1;
            *losses += (lost >> at) & 1;
        }
    }

    /// `{"both", "new", "gone", "files_changed", "flags": {…: {"gained", "lost"}}}`, flags that moved only.
    pub(super) fn json(&self) -> Value {
        let moved =
            FLAGS.iter().zip(self.gained.iter().zip(&self.lost)).filter(|(_, (gained, lost))| **gained + **lost > 0);
        let flags: serde_json::Map<String, Value> = moved
            .map(|(flag, (gained, lost))| (flag.name.to_owned(), json!({"gained": gained, "lost": lost})))
            .collect();
        json!({"both": self.both, "new": self.new, "gone": self.old.len(), "files_changed": self.changed_files, "flags": flags})
    }

    /// The same for people.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![format!(
            "against the earlier survey: {} origins in both, {} new, {} gone; {} robots.txt changed",
            self.both,
            self.new,
            self.old.len(),
            self.changed_files
        )];
        for (flag, (gained, lost)) in FLAGS.iter().zip(self.gained.iter().zip(&self.lost)) {
            if gained + lost > 0 {
                lines.push(format!("{:34}  +{gained} -{lost}", flag.name));
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::survey::row::Says;

    fn row(origin: &str, full: bool, digest: &str) -> Row {
        let mut row = Row::new(origin, None);
        "parsed".clone_into(&mut row.robots.class);
        row.robots.digest = Some(format!("sha256:{digest}"));
        row.says = Some(Says { restriction: if full { "full" } else { "none" }.to_owned(), ..Says::default() });
        row
    }

    #[test]
    fn only_what_was_answered_both_times_counts_as_drift() {
        let mut failed = Row::new("https://c.test", None);
        "unreachable".clone_into(&mut failed.robots.class);
        let old = [
            row("https://a.test", false, &"a".repeat(64)),
            row("https://b.test", true, &"b".repeat(64)),
            row("https://c.test", true, &"c".repeat(64)),
            row("https://gone.test", true, ""),
        ];
        let mut text: String = old.iter().map(|row| serde_json::to_string(row).unwrap() + "\n").collect();
        text.push_str("{\"report\": {}}\n");
        let (mut drift, passed) = Drift::read(&mut text.as_bytes()).unwrap();
        assert_eq!(passed, 1);
        drift.add(&row("https://a.test", true, &"d".repeat(64)));
        drift.add(&row("https://b.test", true, &"b".repeat(64)));
        drift.add(&failed);
        drift.add(&row("https://new.test", true, ""));
        let json = drift.json();
        assert_eq!(
            (&json["both"], &json["new"], &json["gone"], &json["files_changed"]),
            (&3.into(), &1.into(), &1.into(), &1.into())
        );
        assert_eq!(json["flags"]["restriction_full"], json!({"gained": 1, "lost": 0}));
        assert_eq!(json["flags"]["restriction_none"], json!({"gained": 0, "lost": 1}));
        assert_eq!(json["flags"]["robots_answered"], json!({"gained": 0, "lost": 1}));
    }
}
