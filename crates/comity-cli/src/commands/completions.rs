use std::path::Path;

use clap_complete::Shell;

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::commands::print;
use crate::exit::{Exit, Failure};

/// `comity completions SHELL`.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    print(script(args.shell).trim_end())?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut command(), "comity", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `comity man`: the page of the command itself, or with `--out` a page for each command.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    match &args.out {
        Some(out) => pages(out)?,
        None => {
            let mut bytes = Vec::new();
            let rendered = clap_mangen::Man::new(command()).render(&mut bytes);
            rendered.map_err(|error| Failure::unavailable(error.to_string()))?;
            print(String::from_utf8_lossy(&bytes).trim_end())?;
        }
    }
    Ok(Exit::Done)
}

fn pages(out: &Path) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::storage(format!("{}: {error}", out.display()));
    std::fs::create_dir_all(out).map_err(wrong)?;
    clap_mangen::generate_to(command().disable_help_subcommand(true), out).map_err(wrong)?;
    print(&format!("wrote the pages into {}; man -l {}/comity.1 shows the first", out.display(), out.display()))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for word in ["crawl", "explain", "robots", "max-pages"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
