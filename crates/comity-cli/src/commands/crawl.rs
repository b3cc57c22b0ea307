mod plan;
mod shown;

use std::path::{Path, PathBuf};

use comity::{Crawler, StopHandle, Summary};
use serde_json::{Value, json};

pub(crate) use shown::Shown;

use super::stops::Stops;
use super::{print, runtime};
use crate::args::CrawlArgs;
use crate::exit::{Exit, Failure};
use crate::log::say;
use crate::settings;

/// `comity crawl`.
pub(crate) fn run(args: &CrawlArgs) -> Result<Exit, Failure> {
    if args.plan {
        return plan::run(args);
    }
    let file = settings::of_crawl(&args.layers)?;
    if let Some(dir) = args.layers.dir.as_deref().filter(|dir| !dir.join("crawl.toml").is_file())
        && file.crawl.seeds.as_deref().unwrap_or_default().is_empty()
    {
        return Err(Failure::usage(format!("{} holds no crawl that could go on, and no seed is given", dir.display()))
            .hint("give the folder of a crawl, or at least one URL"));
    }
    runtime()?.block_on(async {
        let dir = args.layers.dir.clone().unwrap_or_else(new_dir);
        let shown = Shown::new(args.quiet, &dir, &file);
        let builder = Crawler::from_config(file).dir(&dir).accept_config(args.accept_config);
        let crawler = builder.accept_loss(args.accept_loss).build()?;
        if let Some(note) = settings::source::remember(&dir, &args.layers)? {
            say(&format!("note: {note}"));
        }
        if !args.quiet {
            say(&format!("crawling into {}", dir.display()));
        }
        for address in crawler.listens() {
            say(&format!("listening on http://{address}/"));
        }
        let mut summary = watched(crawler, shown).await?;
        settings::without_usual(&mut summary.notes);
        if args.json {
            print(&summary_json(&summary, &dir).to_string())?;
        } else {
            print(summary.to_string().trim_end())?;
            if !args.quiet {
                say(&next(&summary, &dir));
            }
        }
        // The summary is told by now, whatever becomes of the page.
        super::report::at_end(&dir, &summary, args.quiet).await;
        Ok(Exit::of_crawl(summary.exit_code()))
    })
}

/// Runs a crawl with its progress shown on stderr, and Ctrl-C and SIGTERM obeyed: once to finish what is in flight, twice to stop.
pub(crate) async fn watched(crawler: Crawler, shown: Shown) -> Result<Summary, Failure> {
    let obeying = tokio::spawn(obey(Stops::listen()?, crawler.stop_handle()));
    let shown = tokio::spawn(shown::show(crawler.progress(), crawler.clock(), shown));
    // In a task of its own: awaited here it would wake this thread, which does nothing else, for each page.
    let outcome = tokio::spawn(crawler.run()).await;
    obeying.abort();
    // The progress channel closes with the crawl, so that the bar is cleared before anything else is printed.
    drop(shown.await);
    // Nobody cancels the task.
    Ok(outcome.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))?)
}

async fn obey(mut stops: Stops, stop: StopHandle) {
    stops.next().await;
    say("\nfinishing what is in flight; Ctrl-C again stops now");
    stop.drain();
    stops.next().await;
    stop.now();
}

/// What most people want next, by how it ended.
fn next(summary: &Summary, dir: &Path) -> String {
    let dir = dir.display();
    let why = summary.refusals() + summary.failed.values().sum::<u64>() > 0;
    match (summary.exit_code(), summary.pages()) {
        (_, 0) if summary.left == 0 => {
            let remedy = match remedy(summary) {
                remedy if remedy.is_empty() => remedy,
                remedy => format!(
                    "{remedy}hint: then into another --dir: what a crawl has decided on it does not take up again\n"
                ),
            };
            format!(
                "{remedy}next: comity records {dir} shows each decision; comity explain URL --dir {dir} tells one in words"
            )
        }
        (3, _) => format!("next: comity crawl --dir {dir} goes on, with a higher limit"),
        (4, _) => {
            let remedy = remedy(summary);
            format!(
                "{remedy}next: comity crawl --dir {dir} goes on; comity frontier list {dir} says who waits for what"
            )
        }
        (_, _) if why => format!(
            "next: comity explain URL --dir {dir} tells why a URL was refused; comity audit {dir} proves the rest"
        ),
        (_, _) => {
            format!("next: comity audit {dir} proves that it was polite; comity export {dir} --for PURPOSE --out DIR")
        }
    }
}

/// What to do where no page came, if that is known: a line of its own.
fn remedy(summary: &Summary) -> String {
    let remedy = summary.nothing_for().and_then(super::asker::words::remedy);
    remedy.map_or_else(String::new, |remedy| format!("hint: {remedy}\n"))
}

/// A new folder named after the time.
fn new_dir() -> PathBuf {
    use comity::policy::Clock as _;
    let name = format!("crawl-{}", comity_fetch::SystemClock::new().wall().digits14());
    PathBuf::from(name)
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
        "waited": summary.waited.iter().map(|(clock, (turns, held))| {
            (clock.code().to_owned(), json!({"turns": turns, "s": held.as_secs_f64()}))
        }).collect::<serde_json::Map<_, _>>(),
        "waited_at": summary.waited_most(10).iter().map(|(address, turns, held)| {
            json!({"address": address.to_string(), "turns": turns, "s": held.as_secs_f64()})
        }).collect::<Vec<_>>(),
        "elapsed_s": summary.elapsed.as_secs_f64(),
        "why_nothing": summary.why_nothing(),
    })
}
