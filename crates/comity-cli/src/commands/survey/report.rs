use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::flags::{Base, FLAGS};
use super::row::Row;

/// The bands of ranks that lists of sites are cut into, by their last rank.
const BANDS: [(u64, &str); 5] = [
    (1_000, "1-1,000"),
    (10_000, "1,001-10,000"),
    (100_000, "10,001-100,000"),
    (1_000_000, "100,001-1,000,000"),
    (u64::MAX, "beyond 1,000,000"),
];
const UNRANKED: &str = "unranked";

/// Counts of rows: memory is the same however many there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    all: Tally,
    bands: BTreeMap<usize, Tally>,
    /// Lines of the list that were no origins.
    pub(super) unreadable: u64,
}

#[derive(Clone, Debug)]
struct Tally {
    /// By [`Base::ALL`].
    of: [u64; Base::ALL.len()],
    /// By [`FLAGS`].
    yes: Vec<u64>,
    classes: BTreeMap<String, u64>,
    /// Reasons of what could not be had.
    failures: BTreeMap<String, u64>,
    lint: BTreeMap<String, u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            of: [0; Base::ALL.len()],
            yes: vec![0; FLAGS.len()],
            classes: BTreeMap::new(),
            failures: BTreeMap::new(),
            lint: BTreeMap::new(),
        }
    }
}

/// Different reasons that are counted by name; those beyond are counted together. Ours are a closed list, those of a row read
/// back may be anything.
const MOST_NAMES: usize = 200;

impl Report {
    pub(super) fn add(&mut self, row: &Row) {
        self.all.add(row);
        let band = |rank| BANDS.iter().position(|(last, _)| rank <= *last).unwrap_or(BANDS.len());
        self.bands.entry(row.rank.map_or(BANDS.len(), band)).or_default().add(row);
    }

    /// `{"listed", "unreadable", "bands": {…: {"of", "shares", "classes", "failures", "lint"}}}`; `all` is a band.
    pub(super) fn json(&self) -> Value {
        let bands: serde_json::Map<String, Value> =
            self.named().map(|(name, tally)| (name.to_owned(), tally.json())).collect();
        json!({"listed": self.all.of[0], "unreadable": self.unreadable, "bands": bands})
    }

    /// The same for people: a column per band.
    pub(super) fn text(&self) -> String {
        let columns: Vec<(&str, &Tally)> = self.named().collect();
        let columns = if columns.len() == 2 { columns.get(..1).unwrap_or_default() } else { &columns };
        let mut lines = Vec::new();
        let line = |name: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!("  {cell:>26}")).collect();
            format!("{name:34}{cells}").trim_end().to_owned()
        };
        lines.push(line("", columns.iter().map(|(name, _)| (*name).to_owned()).collect()));
        for (index, base) in Base::ALL.iter().enumerate() {
            let counts = columns.iter().map(|(_, tally)| tally.of.get(index).copied().unwrap_or_default().to_string());
            lines.push(line(&format!("origins {}", base.as_str()), counts.collect()));
        }
        lines.push(String::new());
        for (index, flag) in FLAGS.iter().enumerate() {
            lines.push(line(flag.name, columns.iter().map(|(_, tally)| tally.share(index)).collect()));
        }
        lines.push(String::new());
        for (name, count) in &self.all.classes {
            lines.push(line(&format!("robots.txt {name}"), vec![count.to_string()]));
        }
        for (name, count) in &self.all.failures {
            lines.push(line(&format!("not had: {name}"), vec![count.to_string()]));
        }
        if self.unreadable > 0 {
            lines.push(line("lines that are no origin", vec![self.unreadable.to_string()]));
        }
        lines.join("\n")
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &Tally)> {
        let name = |band: usize| BANDS.get(band).map_or(UNRANKED, |(_, name)| name);
        std::iter::once(("all", &self.all)).chain(self.bands.iter().map(move |(band, tally)| (name(*band), tally)))
    }
}

impl Tally {
    fn add(&mut self, row: &Row) {
        for (count, base) in self.of.iter_mut().zip(Base::ALL) {
            *count += u64::from(base.holds(row));
        }
        for (count, flag) in self.yes.iter_mut().zip(FLAGS) {
            *count += u64::from(flag.of.holds(row) && (flag.holds)(row));
        }
        tick(&mut self.classes, &row.robots.class, 1);
        if let Some(reason) = &row.robots.reason {
            tick(&mut self.failures, reason, 1);
        }
        for (code, count) in row.says.iter().flat_map(|says| &says.lint) {
            tick(&mut self.lint, code, *count);
        }
    }

    fn base(&self, of: Base) -> u64 {
        self.of.iter().zip(Base::ALL).find(|(_, base)| *base == of).map_or(0, |(count, _)| *count)
    }

    /// `3 of 40 = 7.5 %`; a dash where nobody was asked.
    fn share(&self, index: usize) -> String {
        let (Some(yes), Some(flag)) = (self.yes.get(index), FLAGS.get(index)) else { return String::new() };
        match self.base(flag.of) {
            0 => "-".to_owned(),
            of => format!("{yes} of {of} = {:.1} %", percent(*yes, of)),
        }
    }

    fn json(&self) -> Value {
        let shares: serde_json::Map<String, Value> = FLAGS
            .iter()
            .zip(&self.yes)
            .map(|(flag, yes)| {
                let of = self.base(flag.of);
                let share = (of > 0).then(|| percent(*yes, of) / 100.0);
                (flag.name.to_owned(), json!({"count": yes, "of": of, "base": flag.of.as_str(), "share": share}))
            })
            .collect();
        let of: serde_json::Map<String, Value> =
            self.of.iter().zip(Base::ALL).map(|(count, base)| (base.as_str().to_owned(), json!(count))).collect();
        json!({"of": of, "shares": shares, "classes": self.classes, "failures": self.failures, "lint": self.lint})
    }
}

fn tick(counts: &mut BTreeMap<String, u64>, name: &str, by: u64) {
    let name = if counts.len() < MOST_NAMES || counts.contains_key(name) { name } else { "other" };
    *counts.entry(name.to_owned()).or_default() += by;
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown to three digits")]
fn percent(count: u64, of: u64) -> f64 {
    count as f64 * 100.0 / of as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::survey::row::Says;

    fn row(rank: Option<u64>, class: &str, has_file: bool) -> Row {
        let mut row = Row::new("https://a.test", rank);
        class.clone_into(&mut row.robots.class);
        row.says = has_file.then(|| Says { restriction: "full".to_owned(), ..Says::default() });
        row
    }

    #[test]
    fn shares_stand_beside_what_they_are_shares_of() {
        let mut report = Report::default();
        report.add(&row(Some(1), "parsed", true));
        report.add(&row(Some(1_000), "absent", false));
        report.add(&row(Some(1_001), "parsed", true));
        let mut failed = row(None, "unreachable", false);
        failed.robots.reason = Some("fetch.dns".to_owned());
        report.add(&failed);
        let json = report.json();
        assert_eq!(json["bands"]["all"]["shares"]["robots_file"]["of"], 3);
        assert_eq!(json["bands"]["all"]["shares"]["restriction_full"]["count"], 2);
        assert_eq!(json["bands"]["all"]["shares"]["robots_answered"]["share"], 0.75);
        assert_eq!(json["bands"]["1-1,000"]["shares"]["robots_file"]["share"], 0.5);
        assert_eq!(json["bands"]["unranked"]["failures"]["fetch.dns"], 1);
        assert_eq!(json["bands"]["all"]["shares"]["tdmrep_file"]["share"], Value::Null);
        assert!(report.text().contains("2 of 3 = 66.7 %"), "{}", report.text());
    }
}
