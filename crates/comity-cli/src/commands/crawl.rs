use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use comity::{Crawler, Progress, StopHandle, Summary};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::stops::Stops;
use super::{print, runtime};
use crate::args::CrawlArgs;
use crate::exit::{Exit, Failure};
use crate::log::{is_json, say};
use crate::settings;

/// `comity crawl`.
pub(crate) fn run(args: &CrawlArgs) -> Result<Exit, Failure> {
    let file = settings::of_crawl(args)?;
    runtime()?.block_on(async {
        let dir = args.dir.clone().unwrap_or_else(new_dir);
        let builder = Crawler::from_config(file).dir(&dir).accept_config(args.accept_config);
        let crawler = builder.accept_loss(args.accept_loss).build()?;
        if let Some(note) = settings::source::remember(&dir, args)? {
            say(&format!("note: {note}"));
        }
        say(&format!("crawling into {}", dir.display()));
        for address in crawler.listens() {
            say(&format!("listening on http://{address}/"));
        }
        let summary = watched(crawler).await?;
        super::report::at_end(&dir, &summary).await;
        if args.json {
            print(&summary_json(&summary, &dir).to_string())?;
        } else {
            print(summary.to_string().trim_end())?;
        }
        Ok(Exit::of_crawl(summary.exit_code()))
    })
}

/// Runs a crawl with its progress shown on stderr, and Ctrl-C and SIGTERM obeyed: once to finish what is in flight, twice to stop.
pub(crate) async fn watched(crawler: Crawler) -> Result<Summary, Failure> {
    let obeying = tokio::spawn(obey(Stops::listen()?, crawler.stop_handle()));
    let shown = tokio::spawn(show(crawler.progress(), crawler.clock()));
    let outcome = crawler.run().await;
    obeying.abort();
    // The progress channel closes with the crawl, so that the bar is cleared before anything else is printed.
    drop(shown.await);
    Ok(outcome?)
}

async fn obey(mut stops: Stops, stop: StopHandle) {
    stops.next().await;
    say("\nfinishing what is in flight; Ctrl-C again stops now");
    stop.drain();
    stops.next().await;
    stop.now();
}

/// A new folder named after the time.
fn new_dir() -> PathBuf {
    use comity::policy::Clock as _;
    let name = format!("crawl-{}", comity_fetch::SystemClock::new().wall().digits14());
    PathBuf::from(name)
}

/// Progress: a line that rewrites itself on a terminal, a plain line every ten seconds elsewhere.
async fn show(progress: watch::Receiver<Progress>, clock: std::sync::Arc<dyn comity::policy::Clock>) {
    let terminal = std::io::stderr().is_terminal() && !is_json();
    let bar = if terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    let every = if terminal { Duration::from_millis(200) } else { Duration::from_secs(10) };
    loop {
        tokio::select! {
            biased;
            () = closed(progress.clone()) => break,
            () = tokio::time::sleep(every) => {}
        }
        let line = line(&progress.borrow(), clock.now());
        if terminal {
            bar.set_message(line);
            bar.tick();
        } else {
            say(&line);
        }
    }
    bar.finish_and_clear();
}

/// Returns when the crawl is over.
async fn closed(mut progress: watch::Receiver<Progress>) {
    while progress.changed().await.is_ok() {}
}

fn line(progress: &Progress, now: comity::policy::Instant) -> String {
    let mut parts = vec![
        format!("{} pages", progress.pages),
        format!("{} queued", progress.queued),
        format!("{} open", progress.in_flight),
        format!("{} refused", progress.refused),
        format!("{} kB", progress.bytes / 1000),
    ];
    if progress.failed > 0 {
        parts.push(format!("{} failed", progress.failed));
    }
    parts.extend(progress.waiting_for(now));
    parts.join(" · ")
}

/// The summary as one object.
fn summary_json(summary: &Summary, dir: &std::path::Path) -> Value {
    let reasons = |counts: &std::collections::BTreeMap<comity::policy::Reason, u64>| -> Value {
        counts.iter().map(|(reason, n)| (reason.code().to_owned(), json!(n))).collect::<serde_json::Map<_, _>>().into()
    };
    let overrides: Vec<Value> = summary
        .overrides
        .iter()
        .map(|one| {
            let (id, expires) = (one.by.id(), one.by.expires().to_string());
            json!({"id": id, "expires": expires, "urls": one.urls, "lifted": reasons(&one.lifted), "ran_out": one.ran_out})
        })
        .collect();
    json!({
        "overrides": overrides,
        "dir": dir,
        "pages": summary.pages(),
        "statuses": summary.fetched.iter().map(|(s, n)| (s.to_string(), json!(n))).collect::<serde_json::Map<_, _>>(),
        "redirects": summary.redirects,
        "refused": reasons(&summary.refused),
        "withheld": reasons(&summary.withheld),
        "denied": summary.denied.iter().map(|(p, n)| (p.to_string(), json!(n))).collect::<serde_json::Map<_, _>>(),
        "failed": reasons(&summary.failed),
        "links_left": reasons(&summary.links_left),
        "robots_requests": summary.robots,
        "sitemaps": summary.sitemaps,
        "listed": summary.listed,
        "merged": summary.merged,
        "retries": summary.retries,
        "bytes": summary.bytes,
        "origins": summary.origins,
        "left": summary.left,
        "revisits": summary.revisits,
        "unchanged": summary.unchanged,
        "scheduled": summary.scheduled,
        "next_visit_s": summary.next_visit.map(|next| next.as_secs_f64()),
        "elapsed_s": summary.elapsed.as_secs_f64(),
        "why_nothing": summary.why_nothing(),
    })
}
