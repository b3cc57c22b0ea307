use std::fmt::Write as _;

use comity_archive::AgentRecord;
use comity_signals::Purpose;
use serde_json::{Value as Json, json};

use super::configs::Config;
use super::counts::{Counts, Share};
use super::crawl::Crawl;
use super::facts::fact;
use super::markdown::plain;
use super::policy::{chain, chain_text};
use super::rules::{PACE, ROBOTS, Rule, SIGNALS};

const SOURCE: &str = "European Commission, template for the public summary of the training content of general-purpose AI models, July 2025";
const PART: &str = "This is the crawl part only: what one crawl collected. It says nothing of data from elsewhere, and nothing of what was trained on. It is no legal advice.";
const COUNTED: &str = "A domain is a registrable domain by the public suffix list, else the host. Bytes are those of page bodies as received.";

/// What is public about the rules: nothing that names files, addresses or exceptions.
const PUBLIC: [&[Rule]; 3] = [ROBOTS, PACE, SIGNALS];

/// A public summary of a crawl.
pub(super) struct Summary<'a> {
    pub(super) crawl: &'a Crawl,
    pub(super) configs: &'a [Config<'a>],
    pub(super) counts: &'a Counts,
    pub(super) purpose: Option<Purpose>,
    pub(super) sme: bool,
}

/// A sentence about behaviour, and the numbers of the configurations that it comes from.
struct Said {
    key: &'static str,
    says: String,
    of: Vec<usize>,
}

impl Summary<'_> {
    /// For programs.
    pub(super) fn object(&self) -> Json {
        let Self { crawl, counts, .. } = self;
        let crawlers = crawl.agents.iter().map(|(agent, requests)| crawler(agent, *requests));
        let behaviour = self.behaviour().into_iter();
        let behaviour =
            behaviour.map(|said| json!({"key": said.key, "says": said.says, "configurations": self.digests(&said.of)}));
        let rows = self.top().into_iter();
        let rows = rows.map(|(name, share)| json!({"domain": name, "bytes": share.bytes, "pages": share.pages}));
        json!({
            "report": "public_summary",
            "version": 1,
            "source": SOURCE,
            "part": PART,
            "legal_advice": false,
            "crawl": crawl.name,
            "chain": chain(crawl),
            "for": self.purpose.map(Purpose::as_str),
            "crawlers": crawlers.collect::<Vec<_>>(),
            "period": counts.period.as_ref().map(|(first, last)| json!({"first": first, "last": last})),
            "behaviour": behaviour.collect::<Vec<_>>(),
            "purposes": counts.purposes,
            "robots": counts.robots,
            "counts": {
                "requests": counts.requests(),
                "requests_by_errand": counts.requests,
                "origins": counts.origins(),
                "pages": counts.pages,
                "pages_kept": counts.kept,
                "bytes": counts.bytes,
                "pages_under_override": counts.overridden,
                "pages_under_grant": counts.granted,
                "domains": counts.domains.len(),
            },
            "left_out": counts.left,
            "top_domains": {
                "percent": self.share().0,
                "most": (self.sme).then_some(self.share().1),
                "of": counts.domains.len(),
                "by": "bytes",
                "rows": rows.collect::<Vec<_>>(),
            },
        })
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let name = plain(self.crawl.name.as_deref().unwrap_or("(not recorded)"));
        let mut text = format!("# Public summary, crawl part: {name}\n\n{PART}\n\nForm: {SOURCE}.\n\n");
        text += &chain_text(self.crawl);
        if let Some(purpose) = self.purpose {
            let _ = writeln!(
                text,
                "- Pages, bytes and domains are those whose records allow the use {purpose}.",
                purpose = plain(purpose.as_str())
            );
        }
        self.crawlers(&mut text);
        self.behaves(&mut text);
        self.collected(&mut text);
        self.left_out(&mut text);
        self.domains(&mut text);
        text
    }

    fn crawlers(&self, text: &mut String) {
        for (n, (agent, requests)) in self.crawl.agents.iter().enumerate() {
            let or = |value: &Option<String>| value.as_deref().map_or_else(|| "not recorded".to_owned(), plain);
            let _ = writeln!(text, "\n## Crawler {}: {}\n", n + 1, listed(&agent.product_tokens));
            let _ = writeln!(text, "- User-Agent: {}", plain(&agent.user_agent));
            let _ = writeln!(text, "- Contact: {}", plain(&agent.contact));
            let _ = writeln!(text, "- Operator: {}", or(&agent.operator));
            let _ = writeln!(text, "- Declared purposes: {}", listed(&agent.purposes));
            let _ = writeln!(text, "- Requests: {requests}");
        }
        let period = self.counts.period.as_ref();
        let period = period.map_or_else(
            || "no request was sent".to_owned(),
            |(first, last)| format!("{} to {}", plain(first), plain(last)),
        );
        let _ = writeln!(text, "\n## Period\n\n- First and last request, UTC: {period}");
    }

    fn behaves(&self, text: &mut String) {
        text.push_str("\n## Behaviour\n\n");
        for said in self.behaviour() {
            let _ = writeln!(text, "- {}{}", plain(&said.says), self.only(&said.of));
        }
        text.push_str("- An origin or domain on a list of opt-outs is not visited at all.\n");
        let optouts = self.counts.left.not_fetched.get("optout").copied().unwrap_or(0);
        let _ = writeln!(text, "- URLs that were not asked for because of an opt-out: {optouts}");
        if !self.counts.purposes.is_empty() {
            text.push_str("\n| purpose | proceed | refuse | where nobody had said anything |\n|---|---:|---:|---:|\n");
            for (purpose, one) in &self.counts.purposes {
                let _ =
                    writeln!(text, "| {} | {} | {} | {} |", plain(purpose), one.proceed, one.refuse, one.unspecified);
            }
        }
    }

    fn collected(&self, text: &mut String) {
        let counts = self.counts;
        text.push_str("\n## What was collected\n\n| what | number |\n|---|---:|\n");
        let mut row = |what: &str, number: u64| *text += &format!("| {what} | {number} |\n");
        row("requests", counts.requests());
        for (errand, number) in &counts.requests {
            row(&format!("of these, errand {}", plain(errand)), *number);
        }
        row("origins asked", counts.origins() as u64);
        row("pages collected", counts.pages);
        row("of these, kept in WARC files", counts.kept);
        row("bytes of their bodies, as received", counts.bytes);
        row("pages for which a written exception lifted what a site asks for", counts.overridden);
        row("pages for which a grant permits a use that their site denies", counts.granted);
        row("domains they are from", counts.domains.len() as u64);
    }

    fn left_out(&self, text: &mut String) {
        let left = &self.counts.left;
        text.push_str("\n## What is not counted as collected\n\n| what | number |\n|---|---:|\n");
        let mut row = |what: &str, number: u64| *text += &format!("| {what} | {number} |\n");
        for (reason, number) in &left.not_fetched {
            row(&format!("not asked for: {}", plain(reason)), *number);
        }
        row("withheld, by what the answer says", left.withheld);
        row("failed", left.failed);
        row("not modified since the last visit", left.not_modified);
        row("the same bytes as an earlier answer", left.repeated);
        row("answered with another status than 2xx", left.other_status);
        row("body erased", left.body_erased);
        row("record erased, of whatever errand", left.record_erased);
        if self.purpose.is_some() {
            row("not allowed or not judged for this use", left.not_for_purpose);
        }
    }

    fn domains(&self, text: &mut String) {
        let (top, (percent, most)) = (self.top(), self.share());
        let bound = if self.sme { format!(", at most {most}") } else { String::new() };
        let _ = writeln!(
            text,
            "\n## Top {percent} % of the domains{bound}: {} of {}\n\n{COUNTED}\n",
            top.len(),
            self.counts.domains.len()
        );
        text.push_str("| domain | bytes | pages |\n|---|---:|---:|\n");
        for (name, share) in top {
            let _ = writeln!(text, "| {} | {} | {} |", plain(name), share.bytes, share.pages);
        }
    }

    /// Of a hundred, and at most.
    const fn share(&self) -> (usize, usize) {
        if self.sme { (5, 1_000) } else { (10, usize::MAX) }
    }

    fn top(&self) -> Vec<(&str, Share)> {
        let (percent, most) = self.share();
        self.counts.top(percent, most)
    }

    /// Each sentence once, whichever configurations say it. Those that no record names were never in force.
    fn behaviour(&self) -> Vec<Said> {
        let mut all: Vec<Said> = Vec::new();
        for rule in PUBLIC.iter().copied().flatten() {
            for (n, config) in self.in_force() {
                let says = match &config.text {
                    Ok(text) => fact("", rule, text).says,
                    Err(_) => format!("{}: not recorded.", rule.key),
                };
                match all.iter_mut().find(|said| said.key == rule.key && said.says == says) {
                    Some(said) => said.of.push(n),
                    None => all.push(Said { key: rule.key, says, of: vec![n] }),
                }
            }
        }
        all
    }

    fn in_force(&self) -> impl Iterator<Item = (usize, &Config<'_>)> {
        self.configs.iter().enumerate().filter(|(_, config)| config.under.is_some())
    }

    fn digests(&self, of: &[usize]) -> Vec<&str> {
        of.iter().filter_map(|n| self.configs.get(*n)).map(|config| config.digest.as_str()).collect()
    }

    /// Under which configurations, where not under all.
    fn only(&self, of: &[usize]) -> String {
        if of.len() == self.in_force().count() {
            return String::new();
        }
        let spans = of.iter().filter_map(|n| self.configs.get(*n)?.under);
        let spans: Vec<String> =
            spans.map(|under| format!("{} to {}", plain(&under.first.1), plain(&under.last.1))).collect();
        format!(" ({})", spans.join("; "))
    }
}

fn crawler(agent: &AgentRecord, requests: u64) -> Json {
    json!({
        "user_agent": agent.user_agent,
        "product_tokens": agent.product_tokens,
        "contact": agent.contact,
        "from": agent.from,
        "operator": agent.operator,
        "purposes": agent.purposes,
        "requests": requests,
    })
}

fn listed(all: &[String]) -> String {
    all.iter().map(|one| plain(one)).collect::<Vec<_>>().join(", ")
}
