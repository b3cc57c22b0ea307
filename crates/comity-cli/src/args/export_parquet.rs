use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::ExportArgs;

/// What is exported: one command, two forms.
#[derive(Debug)]
pub(crate) enum ExportCommand {
    /// `--for PURPOSE --out DIR`.
    Usable(Box<ExportArgs>),
    /// `--parquet FILE`.
    Table { dir: PathBuf, table: TableArgs },
}

/// `comity export D --parquet FILE`.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// The Parquet file to write: a row per capture, Common Crawl's columns first. It must not exist. Instead of --for and --out.
    #[arg(long, value_name = "FILE", required = false)]
    pub(crate) parquet: PathBuf,
    /// With --parquet: a row for every record, what was refused, failed or withheld too.
    #[arg(long, requires = "parquet", conflicts_with = "purpose")]
    pub(crate) all: bool,
}

impl Args for ExportCommand {
    fn augment_args(command: Command) -> Command {
        let command = ExportArgs::augment_args(command);
        let own = command.get_arguments().map(|arg| arg.get_id().clone()).filter(|id| id.as_str() != "dir");
        let own: Vec<_> = own.collect();
        // Each form asks for its own arguments, and takes none of the other's.
        own.into_iter().fold(TableArgs::augment_args(command), |command, id| {
            command.mut_arg(id, |arg| {
                let arg = arg.conflicts_with("parquet");
                if arg.is_required_set() { arg.required(false).required_unless_present("parquet") } else { arg }
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ExportCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        if !matches.contains_id("parquet") {
            return ExportArgs::from_arg_matches(matches).map(|args| Self::Usable(Box::new(args)));
        }
        let dir = matches.get_one::<PathBuf>("dir").cloned().unwrap_or_default();
        TableArgs::from_arg_matches(matches).map(|table| Self::Table { dir, table })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::Cli;

    #[test]
    fn each_form_asks_for_its_own_arguments_and_takes_none_of_the_others() {
        let rows = [
            ("D --parquet F", true),
            ("D --parquet F --all", true),
            ("D --for search --out O", true),
            ("D", false),
            ("--parquet F", false),
            ("D --for search", false),
            ("D --out O", false),
            ("D --parquet F --for search", false),
            ("D --parquet F --out O", false),
            ("D --parquet F --recheck", false),
            ("D --parquet F --json", false),
            ("D --for search --out O --all", false),
        ];
        for (line, is_taken) in rows {
            let words = ["comity", "export"].into_iter().chain(line.split(' '));
            assert_eq!(Cli::try_parse_from(words).is_ok(), is_taken, "{line}");
        }
    }
}
