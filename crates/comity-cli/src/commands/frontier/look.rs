use comity::control::{Answer, Filter, Op, PlaceText};
use serde_json::Value;

use super::Crawl;
use crate::args::{FrontierList, FrontierStats};
use crate::commands::explain::robots_faults;
use crate::commands::{many, print};
use crate::exit::{Exit, Failure};

/// Rows asked for at once.
const PAGE: usize = 1000;

/// `comity frontier stats`.
pub(super) fn stats(args: &FrontierStats) -> Result<Exit, Failure> {
    let Answer { about, .. } = Crawl::reach(&args.dir)?.ask(Op::Stats)?;
    if args.json {
        print(&about.to_string())?;
        return Ok(Exit::Done);
    }
    let n = |key: &str| about[key].as_u64().unwrap_or_default();
    let is_running = about["running"] == true;
    let stopped = || format!("stopped (`comity crawl --dir {}` goes on)", args.dir.display());
    let state = if is_running { "running".to_owned() } else { stopped() };
    let mut lines = vec![
        format!("crawl      {state}, {}, {} open", many(n("origins"), "origin"), many(n("in_flight"), "request")),
        format!("queued     {}, {} more under way", many(n("queued"), "URL"), n("leased")),
        format!("settled    {} done, {} refused, {} failed", n("done"), n("refused"), n("failed")),
        format!("parked     {} by the operator; {} until told", many(n("parked"), "origin"), held(n("stuck"))),
    ];
    if n("damaged") > 0 {
        lines.push(format!("damaged    {} records of the queue cannot be read", n("damaged")));
    }
    let waiting: Vec<&Value> = about["waiting"].as_array().into_iter().flatten().collect();
    let names: Vec<String> = waiting.iter().map(|one| one["origin"].as_str().unwrap_or_default().to_owned()).collect();
    // Who runs the crawl holds what it remembers of sites, and has told it.
    let faults = if is_running { Vec::new() } else { robots_faults(&args.dir, &names) };
    for (n, waiting) in waiting.into_iter().enumerate() {
        let text = |key: &str| waiting[key].as_str().unwrap_or_default();
        let queued = many(waiting["queued"].as_u64().unwrap_or_default(), "URL");
        // What a stopped crawl waits for is counted from now each time that it is asked.
        let says = match faults.get(n).and_then(Option::as_deref) {
            Some(fault) => format!("the crawl is stopped; {fault}"),
            None if is_running => text("says").to_owned(),
            None => "the crawl is stopped".to_owned(),
        };
        lines.push(format!("waits      {} ({queued}): {says}", text("origin")));
    }
    print(&lines.join("\n"))?;
    Ok(Exit::Done)
}

/// `comity frontier list`.
pub(super) fn list(args: &FrontierList) -> Result<Exit, Failure> {
    let mut crawl = Crawl::reach(&args.dir)?;
    if !crawl.is_running() && !args.json {
        let dir = args.dir.display();
        eprintln!("note: the crawl is stopped: nothing is asked until `comity crawl --dir {dir}` goes on");
    }
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let (mut shown, mut next) = (0, Value::Null);
    loop {
        let n = Some(PAGE.min(limit - shown));
        let answer = crawl.ask(request(args, next, n)?)?;
        for row in answer.rows {
            print(&if args.json { row.to_string() } else { line(args, &row, crawl.is_running()) })?;
            shown += 1;
        }
        next = answer.about["next"].clone();
        if next.is_null() {
            return Ok(Exit::Done);
        }
        if shown >= limit {
            eprintln!("note: there is more; --limit 0 shows everything");
            return Ok(Exit::Done);
        }
    }
}

/// The request for the page behind `after`.
fn request(args: &FrontierList, after: Value, n: Option<usize>) -> Result<Op, Failure> {
    let wrong = |e: serde_json::Error| Failure::unavailable(format!("the cursor of a list cannot be read: {e}"));
    if args.which.parked {
        return Ok(Op::Parks);
    }
    if args.origin.is_some() {
        let after: Option<PlaceText> = serde_json::from_value(after).map_err(wrong)?;
        return Ok(Op::Urls { origin: args.origin.clone(), after, n });
    }
    let filter = match (args.which.stuck, args.which.all) {
        (true, _) => Filter::Stuck,
        (_, true) => Filter::All,
        _ => Filter::Queued,
    };
    Ok(Op::List { filter, after: serde_json::from_value(after).map_err(wrong)?, n })
}

/// `1 origin waits`, `2 origins wait`.
fn held(n: u64) -> String {
    format!("{} {}", many(n, "origin"), if n == 1 { "waits" } else { "wait" })
}

fn line(args: &FrontierList, row: &Value, is_running: bool) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    if args.which.parked {
        let until = row["until"].as_str().map_or_else(|| "until released".to_owned(), |until| format!("until {until}"));
        return format!("{}  {until}, since {}: {}", text("origin"), text("at"), text("why"));
    }
    if args.origin.is_some() {
        let via = row["via"].as_str().map(|via| format!(", on {via}")).unwrap_or_default();
        let kind = if row["seed"] == true { ", seed" } else { "" };
        return match row["url"].as_str() {
            Some(url) => {
                let (depth, attempts) = (&row["depth"], many(row["attempts"].as_u64().unwrap_or_default(), "attempt"));
                format!("{url}  priority {}, depth {depth}, {attempts}{kind}{via}", row["priority"])
            }
            None => format!("(a record that cannot be read, number {})", row["sequence"]),
        };
    }
    let why = text("reason");
    // What a stopped crawl waits for by its own clocks is counted from now each time that it is asked.
    if !is_running && matches!(text("state"), "waits" | "due") && (why == "ok" || why.starts_with("rate.")) {
        return format!("{}  {} queued, for when the crawl goes on", text("origin"), row["queued"]);
    }
    let wait = row["wait_ms"].as_u64().filter(|_| text("state") == "waits");
    let wait = wait.map(|wait| format!(" {:.1} s", wait as f64 / 1000.0)).unwrap_or_default();
    let why = if matches!(why, "ok" | "robots") { String::new() } else { format!(" ({why})") };
    format!("{}  {} queued, {}{wait}{why}", text("origin"), row["queued"], text("state"))
}
