use std::path::{Path, PathBuf};
use std::time::Duration;

use comity::config::{ConfigFile, Span};
use comity::{Crawler, End};
use comity_testweb::{Audit, Auditor, Breach, NoRobots, Served, Web};
use comity_url::CrawlUrl;
use serde_json::json;

use super::crawl::{Shown, watched};
use super::explain::records_of;
use super::stops::Stops;
use super::{many, print, runtime};
use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};

/// The port of `demo --serve`: fixed, so that `configs/demo.toml` can name the seeds.
const PORT: u16 = 7878;
/// The crawler's name, before its version.
const NAME: &str = "ComityDemo/";

/// `comity demo`: a synthetic web on loopback, a polite crawl of it, and what the web's own auditor saw.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let web = Web::demo(args.seed);
        if args.serve {
            return serve(&web, args.port.unwrap_or(PORT)).await;
        }
        let dir = args.dir.clone().unwrap_or_else(new_dir);
        let before = port_of(&dir);
        let served = put_up(&web, args.port.or(before).unwrap_or(0)).await?;
        crawl(served, &dir, (args.json, before.is_some())).await
    })
}

/// The port of the demonstration that `dir` holds: its queue names the origins by it, so that it goes on there alone.
fn port_of(dir: &Path) -> Option<u16> {
    let file = ConfigFile::read(&dir.join("crawl.toml")).ok()?;
    let is_one = file.agent.name?.starts_with(NAME);
    let first = CrawlUrl::parse(file.crawl.seeds?.first()?).ok()?;
    is_one.then(|| first.origin().port())
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

async fn crawl(served: Served, dir: &Path, (json, goes_on): (bool, bool)) -> Result<Exit, Failure> {
    let floor = Duration::from_secs(1);
    let crawler = Crawler::from_config(settings(&served, floor)).dir(dir).build()?;
    eprintln!(
        "{} origins on loopback, a polite crawl into {} (about half a minute)",
        served.origins().len(),
        dir.display()
    );
    let summary = watched(crawler, Shown::default()).await?;
    super::report::at_end(dir, &summary, false).await;
    let mut audit = Auditor::new().floor(floor).examine(&served);
    served.shutdown().await;
    let unseen = if goes_on { excuse(&mut audit) } else { 0 };
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
    if unseen > 0 {
        let (pages, audit) = (many(unseen, "page"), format!("{} audit {}", called(), dir.display()));
        eprintln!(
            "note: {pages} by copies of robots.txt that the run before had asked for; `{audit}` judges both runs"
        );
    }
    let is_stopped = matches!(summary.end, End::Stopped);
    if is_stopped {
        eprintln!("next: {} demo --dir {} goes on", called(), dir.display());
    }
    Ok(match violations {
        0 if is_stopped => Exit::Waiting,
        0 => Exit::Done,
        _ => Exit::Findings,
    })
}

/// Takes out what this web cannot judge of a demonstration that goes on: it did not see robots.txt asked for in the run before. Gives how
/// many pages that are. Nothing is excused where there was no copy in force for any other reason.
fn excuse(audit: &mut Audit) -> u64 {
    let is_unseen =
        |breach: &Breach| matches!(breach, Breach::PageWithoutRobots { because: NoRobots::NotAnswered, .. });
    let is_other = |breach: &Breach| matches!(breach, Breach::PageWithoutRobots { .. }) && !is_unseen(breach);
    if audit.violations.iter().any(|one| is_other(&one.breach)) {
        return 0;
    }
    audit.violations.retain(|one| !is_unseen(&one.breach));
    audit.counts.remove("page_without_robots").unwrap_or(0)
}

/// How the command is called: the first one is mostly run by cargo, which says so to what it runs.
fn called() -> &'static str {
    if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "comity" }
}

fn settings(served: &Served, floor: Duration) -> ConfigFile {
    let mut file = ConfigFile::default();
    file.agent.name = Some(format!("{NAME}{}", env!("CARGO_PKG_VERSION")));
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
        "never asked for: {}\n  because line {} of its robots.txt says {}: {}\n  why, in full: {} explain {} --dir {}",
        record.url,
        rule.line,
        if rule.kind == "allow" { "Allow" } else { "Disallow" },
        rule.pattern,
        called(),
        record.url,
        dir.display()
    ))
}

/// A new folder in the system's temporary one.
fn new_dir() -> PathBuf {
    std::env::temp_dir().join(format!("comity-demo-{}", std::process::id()))
}
