use comity::config::CrawlConfig;
use comity_fetch::signature::Signer;
use serde_json::{Value, json};

use super::super::print;
use crate::args::ShowArgs;
use crate::exit::{Exit, Failure};

/// `comity identity show`.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    let config = super::resolve(args.config.as_ref())?;
    print(&if args.json { object(&config).to_string() } else { text(&config) })?;
    Ok(Exit::Done)
}

fn object(config: &CrawlConfig) -> Value {
    let who = &config.identity;
    json!({
        "name": who.name(),
        "user_agent": who.user_agent(),
        "tokens": who.tokens().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "purposes": who.purposes().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "contact": who.contact(),
        "from": who.from(),
        "signing": config.fetch.signer.as_ref().map(signing),
        "ranges": config.ranges.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn signing(signer: &Signer) -> Value {
    json!({
        "signature_agent": signer.agent().url(),
        "directory": signer.agent().directory(),
        "keyid": signer.key().thumbprint(),
        "x": signer.key().public(),
    })
}

fn text(config: &CrawlConfig) -> String {
    let who = &config.identity;
    let joined = |list: Vec<String>| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    let mut lines = vec![who.name().to_owned()];
    let mut say = |label: &str, value: &str| lines.push(format!("  {label:10} {value}"));
    say("user-agent", &who.user_agent());
    say("tokens", &joined(who.tokens().iter().map(ToString::to_string).collect()));
    say("purposes", &joined(who.purposes().iter().map(ToString::to_string).collect()));
    say("contact", who.contact());
    say("from", who.from().unwrap_or("not sent"));
    match &config.fetch.signer {
        None => say("signed", "no"),
        Some(signer) => {
            say("signed", &format!("over https, by {}", signer.agent().url()));
            say("key", &format!("{} (Ed25519)", signer.key().thumbprint()));
            say("directory", &signer.agent().directory());
        }
    }
    say("ranges", &joined(config.ranges.iter().map(ToString::to_string).collect()));
    lines.join("\n")
}
