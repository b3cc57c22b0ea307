use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use comity::config::{ConfigFile, CrawlConfig};

use super::print;
use crate::args::InitArgs;
use crate::exit::{Exit, Failure};
use crate::settings::user_file;

/// `comity init`: agent, contact and purposes once, into the user's own configuration.
pub(crate) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    let path = user_file().ok_or_else(|| {
        Failure::usage("neither XDG_CONFIG_HOME nor HOME is set").hint("give --config FILE to `comity crawl` instead")
    })?;
    if path.exists() && !args.force {
        return Err(Failure::usage(format!("{} exists already", path.display()))
            .hint("edit it, or give --force to write over it"));
    }
    let mut file = ConfigFile::default();
    file.agent.name = Some(ask(args.agent.as_deref(), "Name and version of your crawler (MyBot/1.0)", "--agent")?);
    file.agent.contact =
        Some(ask(args.contact.as_deref(), "URL or e-mail address at which a site reaches you", "--contact")?);
    file.agent.purposes = Some(if args.purpose.is_empty() { vec!["search".to_owned()] } else { args.purpose.clone() });
    check(&file)?;
    let text = file.to_toml().map_err(|e| Failure::unavailable(e.to_string()))?;
    let folder = path.parent().unwrap_or(&path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|e| Failure::storage(format!("{} cannot be written: {e}", path.display())))?;
    print(&format!("wrote {}\nnext: comity crawl https://example.com/", path.display()))?;
    Ok(Exit::Done)
}

/// The identity is checked before it is written, with the words of the crawl itself.
fn check(file: &ConfigFile) -> Result<(), Failure> {
    let mut whole = file.clone();
    whole.crawl.seeds = Some(vec!["https://example.com/".to_owned()]);
    CrawlConfig::resolve(whole).map(drop).map_err(Failure::from)
}

fn ask(given: Option<&str>, question: &str, flag: &str) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!("{flag} is missing")).hint(format!("give {flag}, or run it on a terminal")));
    }
    eprint!("{question}: ");
    let mut line = String::new();
    io::stderr()
        .flush()
        .and_then(|()| io::stdin().lock().read_line(&mut line))
        .map_err(|e| Failure::unavailable(format!("standard input: {e}")))?;
    Ok(line.trim().to_owned())
}
