use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::configs::Config;
use super::crawl::{Crawl, Under};
use super::facts::{Fact, facts};
use super::markdown::plain;

/// What is read by itself, whatever the configuration says: docs/signals.md.
const READ: &str = "Statements about use are read in robots.txt (Content-Signal, Content-Usage, DisallowAITraining, policy tokens), \
    in tdmrep.json, in fields of answers (Content-Usage, Content-Signal, X-Robots-Tag, tdm-reservation) and in the metas of pages.";
const NOT_READ: &str = "Not read in a crawl: trust.txt, metadata inside of images and documents, RSL in feeds; terms in prose are not interpreted.";

/// For programs.
pub(super) fn object(crawl: &Crawl, configs: &[Config<'_>]) -> Json {
    let each = |config: &Config<'_>| {
        let place = |(seq, at): &(u64, String)| json!({"seq": seq, "at": at});
        json!({
            "digest": config.digest,
            "crawl_toml": config.stands,
            "records": config.under.map_or(0, |under| under.records),
            "first": config.under.map(|under| place(&under.first)),
            "last": config.under.map(|under| place(&under.last)),
            "unknown": config.text.as_ref().err(),
            "facts": config.text.as_ref().ok().map(|text| all_facts(config, text)),
        })
    };
    json!({
        "report": "policy",
        "version": 1,
        "legal_advice": false,
        "crawl": crawl.name,
        "chain": chain(crawl),
        "records_without_config": crawl.unnamed,
        "signing_keys": keys(crawl),
        "built_in": [READ, NOT_READ],
        "configurations": configs.iter().map(each).collect::<Vec<_>>(),
    })
}

/// What the chain was when it was read.
pub(super) fn chain(crawl: &Crawl) -> Json {
    json!({
        "lines": crawl.chain.lines,
        "tombstones": crawl.chain.tombstones,
        "link": crawl.chain.head.map(|head| head.link.to_string()),
        "sealed": crawl.places.sealed,
        "torn": crawl.chain.torn,
    })
}

fn keys(crawl: &Crawl) -> Vec<Json> {
    crawl.places.keys.iter().map(|(key, times)| json!({"key": key, "checkpoints": times})).collect()
}

/// For people.
pub(super) fn text(crawl: &Crawl, configs: &[Config<'_>]) -> String {
    let mut text = format!("# The rules of the crawl {}\n\n", plain(crawl.name.as_deref().unwrap_or("(not recorded)")));
    text += "What the configuration said, sentence by sentence; what was done by it, the records tell. No legal advice.\n\n";
    text += &chain_text(crawl);
    if crawl.unnamed > 0 {
        let _ = writeln!(text, "- {} records name no configuration: what was in force is not recorded.", crawl.unnamed);
    }
    for (key, times) in &crawl.places.keys {
        let _ = writeln!(
            text,
            "- {times} of {} checkpoints are signed with the key {}.",
            crawl.places.checkpoints,
            plain(key)
        );
    }
    if crawl.places.keys.is_empty() {
        text += "- Signing key: not recorded, no checkpoint is signed.\n";
    }
    let _ = writeln!(text, "- {READ}\n- {NOT_READ}");
    for (n, config) in configs.iter().enumerate() {
        let _ = writeln!(text, "\n## Configuration {}: {}\n", n + 1, plain(&config.digest));
        let _ = writeln!(text, "- {}", span(config.under));
        if config.stands {
            text += "- It is what `crawl.toml` holds.\n";
        }
        match &config.text {
            Err(why) => text += &format!("- {}\n", plain(why)),
            Ok(table) => sentences(all_facts(config, table), &mut text),
        }
    }
    text
}

/// How much was read, and that it holds.
pub(super) fn chain_text(crawl: &Crawl) -> String {
    let mut text = format!("- The chain of {} records was read, and holds.\n", crawl.chain.lines);
    if crawl.chain.tombstones > 0 {
        let _ = writeln!(text, "- {} of them were erased, or keep a part only.", crawl.chain.tombstones);
    }
    if let Some(head) = crawl.chain.head {
        let _ = writeln!(text, "- Its last link is {}.", head.link);
    }
    if crawl.chain.lines > crawl.places.sealed {
        let _ =
            writeln!(text, "- No checkpoint covers its last {} records yet.", crawl.chain.lines - crawl.places.sealed);
    }
    text
}

fn span(under: Option<&Under>) -> String {
    under.map_or_else(
        || "No record was written under it.".to_owned(),
        |Under { records, first, last, .. }| {
            let (first, last) = ((first.0, plain(&first.1)), (last.0, plain(&last.1)));
            format!(
                "{records} records name it: from number {} ({}) to number {} ({}).",
                first.0, first.1, last.0, last.1
            )
        },
    )
}

fn all_facts(config: &Config<'_>, text: &toml::Table) -> Vec<Fact> {
    facts(text).into_iter().chain(config.outdated.iter().cloned()).collect()
}

fn sentences(mut facts: Vec<Fact>, text: &mut String) {
    // In order of their first appearance; the sort keeps what is of one section together.
    let order: Vec<&str> = facts.iter().map(|fact| fact.section).collect();
    let place = |section: &str| order.iter().position(|one| *one == section);
    facts.sort_by_key(|fact| place(fact.section));
    let mut section = "";
    for fact in facts {
        if fact.section != section {
            section = fact.section;
            let _ = writeln!(text, "\n### {section}\n");
        }
        let _ = writeln!(text, "- {} ({})", plain(&fact.says), plain(&fact.key));
    }
}
