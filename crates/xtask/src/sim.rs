use std::process::Command;

use crate::step;

/// Seeds of `cargo xtask test --all`.
pub(crate) const SEEDS_OF_ALL: u64 = 1000;

/// What `cargo xtask sim` plays.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Crawls by seed.
    Seeds {
        /// The first of them.
        first: u64,
        /// How many.
        count: u64,
    },
    /// A week of ten thousand origins.
    Week,
}

impl Plan {
    /// `--seeds N [--seed S]`: N seeds from S (1) on; `--seed S` alone plays S, and prints its whole log if it fails.
    /// `--week`: the week.
    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        if flags == ["--week"] {
            return Ok(Self::Week);
        }
        let (mut first, mut count) = (None, None);
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            let place = match *flag {
                "--seed" => &mut first,
                "--seeds" => &mut count,
                _ => return Err(format!("unknown flag {flag:?}; known are --seeds N, --seed S, and --week alone")),
            };
            let number = flags.next().and_then(|number| number.parse::<u64>().ok());
            *place = Some(number.ok_or_else(|| format!("{flag}: a number is missing"))?);
        }
        match (first, count) {
            (_, Some(0)) => Err("--seeds: no seed would be played".into()),
            (Some(first), count) => Ok(Self::Seeds { first, count: count.unwrap_or(1) }),
            (None, Some(count)) => Ok(Self::of(count)),
            (None, None) => Err("--seeds N, --seed S or --week is missing".into()),
        }
    }

    /// So many seeds, from the first on.
    pub(crate) const fn of(count: u64) -> Self {
        Self::Seeds { first: 1, count }
    }

    /// Whole crawls in memory, each by its seed, held to the laws of `crates/comity/tests/sim`; optimised, for speed.
    pub(crate) fn run(&self) -> Result<(), String> {
        let what = match self {
            Self::Week => "simulation of a week of 10,000 origins".to_owned(),
            Self::Seeds { first, count: 1 } => format!("simulation of seed {first}"),
            Self::Seeds { first, count } => format!("simulation of {count} seeds from {first} on"),
        };
        step::run(&what, &mut self.command())
    }

    fn command(&self) -> Command {
        let mut command = step::cargo();
        command.args(["test", "--release", "--quiet", "--package", "comity", "--test", "sim", "--"]);
        match self {
            Self::Week => command.args(["--exact", "--ignored", "--nocapture", "week::a_week_of_ten_thousand_origins"]),
            Self::Seeds { first, count } => {
                command.env("COMITY_SIM_SEED", first.to_string()).env("COMITY_SIM_SEEDS", count.to_string());
                command.arg("--nocapture")
            }
        };
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags, and the first seed and the number of them.
    type Row<'a> = (&'a [&'a str], Option<(u64, u64)>);

    #[test]
    fn flags() {
        let rows: [Row<'_>; 10] = [
            (&["--seeds", "7"], Some((1, 7))),
            (&["--seed", "5"], Some((5, 1))),
            (&["--seeds", "7", "--seed", "5"], Some((5, 7))),
            (&[], None),
            (&["--seeds"], None),
            (&["--seeds", "0"], None),
            (&["--seeds", "x"], None),
            (&["--all"], None),
            (&["--week", "--seed", "5"], None),
            (&["--seeds", "7", "--week"], None),
        ];
        for (flags, plan) in rows {
            let plan = plan.map(|(first, count)| Plan::Seeds { first, count });
            assert_eq!(Plan::parse(flags).ok(), plan, "{flags:?}");
        }
        assert_eq!(Plan::parse(&["--week"]), Ok(Plan::Week));
    }
}
