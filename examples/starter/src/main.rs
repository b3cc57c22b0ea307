use std::path::PathBuf;
use std::process::ExitCode;

use comity::config::ConfigFile;
use comity::{StopHandle, Summary};

#[tokio::main]
async fn main() -> ExitCode {
    let config = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("crawl.toml"), PathBuf::from);
    match crawl(&config).await {
        Ok(summary) => {
            eprint!("{summary}");
            ExitCode::from(summary.exit_code())
        }
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.advice() {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}

/// Goes on with what is in `crawl/`, if there is something.
async fn crawl(config: &PathBuf) -> Result<Summary, comity::Error> {
    let crawler = starter::crawler(ConfigFile::read(config)?).dir("crawl").build()?;
    tokio::spawn(obey_interrupts(crawler.stop_handle()));
    crawler.run().await
}

/// Ctrl-C once finishes what is in flight, twice stops now.
async fn obey_interrupts(stop: StopHandle) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.drain();
    }
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.now();
    }
}
