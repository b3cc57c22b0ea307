use std::process::Command;

use crate::step;

/// Seeds of `cargo xtask test --all`.
pub(crate) const SEEDS_OF_ALL: u64 = 1000;

/// What `cargo xtask sim` plays.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    first: u64,
    count: u64,
}

impl Plan {
    /// `--seeds N [--seed S]`: N seeds from S (1) on; `--seed S` alone plays S, and prints its whole log if it fails.
    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let (mut first, mut count) = (None, None);
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            let place = match *flag {
                "--seed" => &mut first,
                "--seeds" => &mut count,
                _ => return Err(format!("unknown flag {flag:?}; known are --seeds N and --seed S")),
            };
            let number = flags.next().and_then(|number| number.parse::<u64>().ok());
            *place = Some(number.ok_or_else(|| format!("{flag}: a number is missing"))?);
        }
        match (first, count) {
            (_, Some(0)) => Err("--seeds: no seed would be played".into()),
            (Some(first), count) => Ok(Self { first, count: count.unwrap_or(1) }),
            (None, Some(count)) => Ok(Self::of(count)),
            (None, None) => Err("--seeds N or --seed S is missing".into()),
        }
    }

    /// So many seeds, from the first on.
    pub(crate) const fn of(count: u64) -> Self {
        Self { first: 1, count }
    }

    /// Whole crawls in memory, each by its seed, held to the laws of `crates/comity/tests/sim`; optimised, for speed.
    pub(crate) fn run(&self) -> Result<(), String> {
        let what = match self.count {
            1 => format!("simulation of seed {}", self.first),
            count => format!("simulation of {count} seeds from {} on", self.first),
        };
        step::run(&what, &mut self.command())
    }

    fn command(&self) -> Command {
        let mut command = step::cargo();
        command.args(["test", "--release", "--quiet", "--package", "comity", "--test", "sim", "--", "--nocapture"]);
        command.env("COMITY_SIM_SEED", self.first.to_string()).env("COMITY_SIM_SEEDS", self.count.to_string());
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
        let rows: [Row<'_>; 8] = [
            (&["--seeds", "7"], Some((1, 7))),
            (&["--seed", "5"], Some((5, 1))),
            (&["--seeds", "7", "--seed", "5"], Some((5, 7))),
            (&[], None),
            (&["--seeds"], None),
            (&["--seeds", "0"], None),
            (&["--seeds", "x"], None),
            (&["--all"], None),
        ];
        for (flags, plan) in rows {
            let plan = plan.map(|(first, count)| Plan { first, count });
            assert_eq!(Plan::parse(flags).ok(), plan, "{flags:?}");
        }
    }
}
