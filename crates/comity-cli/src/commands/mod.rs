//! One file per command.

mod asker;
mod audit;
mod completions;
pub(crate) mod config;
mod crawl;
mod demo;
mod dossier;
mod erase;
mod explain;
mod export;
mod export_parquet;
mod extract;
mod frontier;
mod gateway;
mod identity;
mod init;
mod input;
mod new;
mod optout;
mod page;
mod records;
mod reload;
mod report;
mod robots;
mod signals;
mod sitemap;
mod stops;
mod survey;
mod url;
mod verify;
mod visible;
mod wacz;

use crate::args::{Cli, Command, ExportCommand, UrlCommand};
use crate::exit::{Exit, Failure};

/// Runs the command that was asked for.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Crawl(args) => crawl::run(&args),
        Command::Config(command) => config::run(&command),
        Command::Gateway(args) => gateway::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Records(args) => records::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Wacz(args) => wacz::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Dossier(args) => dossier::run(&args),
        Command::Export(ExportCommand::Usable(args)) => export::run(&args),
        Command::Export(ExportCommand::Table { dir, table }) => export_parquet::run(&dir, &table),
        Command::Report(args) => report::run(&args),
        Command::Erase(args) => erase::run(&args),
        Command::Prune(args) => erase::prune(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Frontier(command) => frontier::run(&command),
        Command::Reload(args) => reload::run(&args),
        Command::Optout(command) => optout::run(&command),
        Command::Robots(command) => robots::run(&command),
        Command::Extract(args) => extract::run(&args),
        Command::Sitemap(args) => sitemap::run(&args),
        Command::Signals(args) => signals::run(&args),
        Command::Survey(args) => survey::run(&args),
        Command::Url(UrlCommand::Batch) => url::batch(),
        Command::Identity(command) => identity::run(&command),
        Command::New(args) => new::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => completions::man(&args),
    }
}

/// Prints data on stdout; a reader that went away is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::unavailable(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// `1 page`, `2 pages`, `2 tries`.
pub(crate) fn many(n: u64, what: &str) -> String {
    match (n, what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        (_, None) => format!("{n} {what}s"),
    }
}

/// A runtime for the commands that fetch.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::unavailable(format!("no runtime: {e}")))
}

#[cfg(test)]
mod tests {
    use super::many;

    #[test]
    fn words_are_counted() {
        let rows = [
            (1, "try", "1 try"),
            (2, "try", "2 tries"),
            (0, "copy", "0 copies"),
            (7, "key", "7 keys"),
            (2, "URL", "2 URLs"),
        ];
        for (n, word, wanted) in rows {
            assert_eq!(many(n, word), wanted);
        }
    }
}
