use comity::config::CrawlConfig;
use comity::policy::{Digest, Network, WallTime};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::print;
use super::{now, to_the_second};
use crate::args::RangesArgs;
use crate::exit::{Exit, Failure};

/// `comity identity ranges`.
pub(crate) fn run(args: &RangesArgs) -> Result<Exit, Failure> {
    let config = super::resolve(args.config.as_ref())?;
    if config.ranges.is_empty() {
        // An empty list would say that no address is ours.
        return Err(Failure::usage("no address range is configured").hint("set [agent] ranges = [\"5.9.0.0/24\"]"));
    }
    print(text(&config, now()).trim_end())?;
    Ok(Exit::Done)
}

/// The JSON of draft-illyes-aipref-jafar, the form in which the large search engines publish theirs.
pub(super) fn text(config: &CrawlConfig, at: WallTime) -> String {
    let token = config.identity.tokens().first().map(ToString::to_string).unwrap_or_default();
    let prefixes: Vec<Value> = config.ranges.iter().map(|range| prefix(range, &token)).collect();
    let object = json!({
        "creationTime": to_the_second(at),
        "synctoken": sync_token(&prefixes),
        "prefixes": prefixes,
    });
    format!("{object:#}\n")
}

fn prefix(range: &Network, token: &str) -> Value {
    let key = if range.base().is_ipv4() { "ipv4Prefix" } else { "ipv6Prefix" };
    json!({ key: range.to_string(), "service": token })
}

/// Changes with the prefixes, and with nothing else (draft: "an opaque synchronization token").
fn sync_token(prefixes: &[Value]) -> String {
    let text: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
    let digest: [u8; 32] = Sha256::digest(text.join("\n").as_bytes()).into();
    Digest::from_bytes(digest).to_string().chars().take(16).collect()
}
