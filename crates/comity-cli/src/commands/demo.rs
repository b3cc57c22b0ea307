use std::path::{Path, PathBuf};
use std::time::Duration;

use comity::Crawler;
use comity::config::{ConfigFile, Span};
use comity_testweb::{Auditor, Served, Web};
use serde_json::json;

use super::crawl::{Shown, watched};
use super::explain::records_of;
use super::stops::Stops;
use super::{print, runtime};
use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};

/// The port of `demo --serve`: fixed, so that `configs/demo.toml` can name the seeds.
const PORT: u16 = 7878;

/// `comity demo`: a synthetic web on loopback, a polite crawl of it, and what the web's own auditor saw.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let web = Web::demo(args.seed);
        if args.serve {
            return serve(&web, args.port.unwrap_or(PORT)).await;
        }
        let served = put_up(&web, args.port.unwrap_or(0)).await?;
        let dir = args.dir.clone().unwrap_or_else(new_dir);
        crawl(served, &dir, args.json).await
    })
}

async fn serve(web: &Web, port: u16) -> Result<Exit, Failure> {
    let served = put_up(web, port).await?;
    let seeds = served.seeds();
    eprintln!("{} origins are up, Ctrl-C ends them; the first ones:", seeds.len());
    for seed in seeds.iter().take(5) {
        print(seed)?;
    }
    eprintln!("crawl them: cargo run --release -p crawler -- configs/demo.toml");
    Stops::listen()?.next().await;
    let audit = Auditor::new().examine(&served);
    print(audit.to_string().trim_end())?;
    Ok(if audit.is_clean() { Exit::Done } else { Exit::Findings })
}

async fn crawl(served: Served, dir: &Path, json: bool) -> Result<Exit, Failure> {
    let floor = Duration::from_secs(1);
    let crawler = Crawler::from_config(settings(&served, floor)).dir(dir).build()?;
    eprintln!(
        "{} origins on loopback, a polite crawl into {} (about half a minute)",
        served.origins().len(),
        dir.display()
    );
    let summary = watched(crawler, Shown::default()).await?;
    super::report::at_end(dir, &summary, false).await;
    let audit = Auditor::new().floor(floor).examine(&served);
    served.shutdown().await;
    let violations = audit.violation_count() + audit.lost;
    if json {
        print(
            &json!({
                "pages": summary.pages(),
                "refused": summary.refusals(),
                "origins": summary.origins,
                "violations": violations,
                "elapsed_s": summary.elapsed.as_secs_f64(),
            })
            .to_string(),
        )?;
    } else {
        print(summary.to_string().trim_end())?;
        print("")?;
        print(audit.to_string().trim_end())?;
        print("")?;
        print(&one_refusal(dir)?)?;
    }
    Ok(if violations == 0 { Exit::Done } else { Exit::Findings })
}

fn settings(served: &Served, floor: Duration) -> ConfigFile {
    let mut file = ConfigFile::default();
    file.agent.name = Some(concat!("ComityDemo/", env!("CARGO_PKG_VERSION")).to_owned());
    file.agent.contact = Some("demo@example.com".to_owned());
    file.crawl.seeds = Some(served.seeds());
    file.politeness.delay = Some(Span(floor));
    file.politeness.total = Some(64);
    file.fetch.allow_addresses = Some(vec!["127.0.0.0/8".to_owned(), "::1".to_owned()]);
    let names = served.names().iter().filter_map(|(name, all)| Some((name.clone(), all.first()?.to_string())));
    file.fetch.resolve = Some(names.collect());
    // A demonstration on a nearly full disk is still one.
    file.archive.min_free = Some(comity::config::ByteSize(50_000_000));
    file
}

async fn put_up(web: &Web, port: u16) -> Result<Served, Failure> {
    web.serve_loopback_on(port).await.map_err(|e| {
        Failure::unavailable(format!("the synthetic web cannot be put up on port {port}: {e}"))
            .hint("is another `comity demo --serve` running? give another --port")
    })
}

/// One refused URL with its line, and the command that explains it.
fn one_refusal(dir: &Path) -> Result<String, Failure> {
    let refused = records_of(dir, |record| record.reason == "robots.disallow" && record.rule.is_some())?;
    let Some((record, rule)) = refused.iter().find_map(|record| Some((record, record.rule.as_ref()?))) else {
        return Ok("no URL was refused".to_owned());
    };
    Ok(format!(
        "never asked for: {}\n  because line {} of its robots.txt says {}: {}\n  why, in full: cargo run --release -- explain {} --dir {}",
        record.url,
        rule.line,
        if rule.kind == "allow" { "Allow" } else { "Disallow" },
        rule.pattern,
        record.url,
        dir.display()
    ))
}

/// A new folder in the system's temporary one.
fn new_dir() -> PathBuf {
    std::env::temp_dir().join(format!("comity-demo-{}", std::process::id()))
}
