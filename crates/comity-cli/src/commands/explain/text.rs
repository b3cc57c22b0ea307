//! One record for people: the outcome first, then everything it rests on.

use comity_archive::{ConstraintsRecord, RawText, Record};
use comity_robots::MAX_BYTES;
use comity_url::CrawlUrl;

use super::copy::Mark;
use super::found::Found;
use crate::commands::many;
use crate::commands::visible::visible;

/// One record, its copy of robots.txt with the line marked, and where it all lies.
pub(super) fn text(found: &Found) -> String {
    let record = &found.record;
    let mut lines = vec![visible(&record.url)];
    lines.extend(facts(found).into_iter().map(|(label, value)| format!("  {label:9} {}", visible(&value))));
    lines.extend(excerpt(found));
    lines.join("\n")
}

/// Pairs of a word and a text; texts from outside are as they came.
pub(super) type Facts = Vec<(&'static str, String)>;

/// What is to be said of a record.
pub(super) fn facts(found: &Found) -> Facts {
    let mut facts = Facts::new();
    decision(found, &mut facts);
    exceptions(&found.record, &mut facts);
    use_of(&found.record, &mut facts);
    circumstances(&found.record, &mut facts);
    places(found, &mut facts);
    facts
}

/// The outcome, and the robots.txt behind it.
fn decision(found: &Found, facts: &mut Facts) {
    let record = &found.record;
    let mut say = |label: &'static str, value: String| facts.push((label, value));
    if let Some(word) = &record.query {
        say(
            "query",
            format!("{word}: it was asked for, and is not written; what stands here is of one query of {}", record.url),
        );
    }
    let answer = record.response.as_ref().map(|response| format!(", answered {}", response.status));
    say("outcome", format!("{}, {}{}", record.outcome, record.reason, answer.unwrap_or_default()));
    if let Some(rule) = &record.rule {
        let kind = if rule.kind == "allow" { "Allow" } else { "Disallow" };
        say("rule", format!("{kind}: {} (line {}, priority {})", rule.pattern, rule.line, rule.priority));
    } else {
        say("rule", "none matched".to_owned());
    }
    let Some(robots) = &record.robots else { return };
    let group = record.group.as_deref().filter(|group| !group.is_empty());
    say("group", group.map_or_else(|| "none applies".to_owned(), |group| group.join(", ")));
    let status = robots.status.map(|status| format!(", status {status}")).unwrap_or_default();
    let fetched = robots.fetched.as_deref().map(|at| format!(", fetched {at}")).unwrap_or_default();
    say("robots", format!("{}/robots.txt: {}{status}{fetched}", robots.for_origin, robots.state));
    if let Some(digest) = &robots.digest {
        // Records do not say whether a file went on behind that.
        let is_longest = robots.bytes >= MAX_BYTES as u64;
        let cut = if is_longest {
            format!("; {MAX_BYTES} bytes are read at most, what is behind them was not")
        } else {
            String::new()
        };
        say("copy", format!("sha256 {digest}{cut}"));
    }
    if let (Some(expires), Some(age)) = (&robots.expires, robots.age_ms) {
        say("life", format!("{} old when it was used, good until {expires}", seconds(age)));
    }
    if let Some(delay) = robots.crawl_delay_ms {
        say("delay", format!("Crawl-delay {} s", delay as f64 / 1000.0));
    }
    match &found.copy {
        Ok(copy) => say("read anew", copy.reread.clone()),
        Err(why) if robots.digest.is_some() => say("copy", why.clone()),
        Err(_) => {}
    }
}

/// Overrides and opt-outs.
fn exceptions(record: &Record, facts: &mut Facts) {
    let mut say = |label: &'static str, value: String| facts.push((label, value));
    if let Some(found) = record.decision.as_ref().and_then(|decision| decision.r#override.as_ref()) {
        let lifted: Vec<String> = found.lifted.iter().map(|one| format!("{} ({})", one.reason, one.scope)).collect();
        say("override", format!("{} lifted {}", found.id, lifted.join(", ")));
        say("", format!("{}, approved by {}, until {}", found.basis, found.approved_by, found.expires));
    }
    if let Some(found) = record.decision.as_ref().and_then(|decision| decision.optout.as_ref()) {
        let place = format!("{}:{}", found.file, found.line);
        say("optout", format!("{} asked for {} at {} ({place})", found.requested_by, found.target, found.at));
    }
}

/// Signals, and what came of them for each purpose.
fn use_of(record: &Record, facts: &mut Facts) {
    for signal in &record.signals {
        let said = format!("{} {}: {} ({})", signal.source, signal.purpose, signal.verdict, signal.raw);
        facts.push(("signal", said));
    }
    let seen = |state: &str, status: Option<u16>, asked: &str, digest: Option<&String>| {
        let status = status.map(|status| format!(", status {status}")).unwrap_or_default();
        let copy = digest.map(|digest| format!(", sha256 {digest}")).unwrap_or_default();
        format!("{state}{status}, asked {asked}{copy}")
    };
    for (label, file) in [("tdmrep", &record.tdmrep), ("ai.txt", &record.ai_txt), ("trust.txt", &record.trust_txt)] {
        if let Some(file) = file {
            facts.push((label, seen(&file.state, file.status, &file.asked, file.digest.as_ref())));
        }
    }
    for one in &record.licences {
        let known = seen(&one.state, one.status, &one.asked, one.digest.as_ref());
        facts.push(("licence", format!("{} ({}): {known}", one.url, one.carrier)));
    }
    for link in &record.terms {
        facts.push(("terms", format!("{} {}", link.rel, link.url)));
    }
    facts.extend(record.constraints.iter().flat_map(constraints).map(|wish| ("asks", wish)));
    for one in &record.diagnostics {
        let text = if one.text.is_empty() { String::new() } else { format!(" ({})", one.text) };
        facts.push(("odd", format!("{} {}: {}{text}", one.source, one.place, one.code)));
    }
    if let Some(level) = record.decision.as_ref().and_then(|decision| decision.content_use_level.as_ref()) {
        facts.push(("use level", format!("{level}, as declared")));
    }
    for (purpose, one) in record.decision.iter().flat_map(|decision| &decision.purposes) {
        let may = if one.decision == "refuse" { "not to be used for it" } else { "nothing said against it" };
        facts.push(("purpose", format!("{purpose}: {}, {may}", one.verdict)));
    }
    for one in record.decision.iter().flat_map(|decision| &decision.grants) {
        facts.push((
            "grant",
            format!(
                "{} by {} {}, approved by {}, until {}",
                one.purpose, one.basis, one.reference, one.approved_by, one.expires
            ),
        ));
    }
}

/// What binds whatever the purpose, a line each.
fn constraints(held: &ConstraintsRecord) -> Vec<String> {
    let no = |wish: Option<bool>, words: &str| (wish == Some(false)).then(|| words.to_owned());
    let price = held.price.as_ref();
    let wishes = [
        no(held.follow, "no link to be followed"),
        no(held.cache, "no cached copy"),
        held.snippet_max.map(|most| format!("excerpts of {most} characters at most")),
        no(held.image_index, "no index of its images"),
        held.image_ai_train.as_ref().map(|_| "no training on its images".to_owned()),
        no(held.translate, "no translation"),
        held.unavailable_after.as_ref().map(|date| format!("not in an index after {date}")),
        held.use_ceiling.as_ref().map(|ceiling| format!("use={ceiling} at most")),
        held.tdm_policy.as_ref().map(|url| format!("its policy for mining: {url}")),
        held.license_required.map(|_| "a licence whose condition is not met".to_owned()),
        price.map(|price| format!("{} {} for it", price.currency, price.amount)),
    ];
    let licences = held.license_urls.iter().map(|url| format!("its licence: {url}"));
    wishes.into_iter().flatten().chain(licences).collect()
}

/// How it was found, when it was decided and asked, and by whom.
fn circumstances(record: &Record, facts: &mut Facts) {
    let mut say = |label: &'static str, value: String| facts.push((label, value));
    if let Some(detail) = &record.detail {
        say("detail", detail.clone());
    }
    say("found", way(record));
    say("decided", record.decision.as_ref().map_or(&record.time.started, |decision| &decision.at).clone());
    for stage in record.decision.iter().flat_map(|decision| decision.stages.iter().skip(1)) {
        say("again", format!("{}, with the {} read: {}", stage.at, stage.after, stage.reason));
    }
    if record.request.is_some() {
        say("asked", format!("{} to {}{}", record.time.started, record.time.ended, spans(record)));
    }
    if let Some(target) = redirected(record) {
        say("leads to", format!("{target} (`comity explain` of that tells what became of it)"));
    }
    if let Some(until) = &record.until {
        say("waits", format!("until {until}"));
    }
    say("as", record.agent.user_agent.clone());
}

/// Where all of this lies, and what speaks for it.
fn places(found: &Found, facts: &mut Facts) {
    let mut say = |label: &'static str, value: String| facts.push((label, value));
    let sealed = match &found.sealed {
        Ok(None) => "no checkpoint covers it yet".to_owned(),
        Ok(Some(sealed)) => {
            let by = sealed.key.as_ref().map_or_else(String::new, |key| format!(", signed by {key}"));
            format!("under checkpoint {} of {}{by}", sealed.n, sealed.at)
        }
        Err(changed) => format!("NOT as it was written, no checkpoint speaks for it: {changed}"),
    };
    say("record", format!("line {}, {sealed}", found.seq));
    say("", format!("sha256 {}", found.commitment));
    if let Some(places) = &found.record.warc {
        let place = places.response.as_ref().or(places.request.as_ref()).map_or(places.metadata_offset, |p| p.offset);
        say("WARC", format!("{}, byte {place}", places.file));
    }
    if let Some(erased) = &found.body_erased {
        say("body", erased.clone());
    }
}

/// The lines of robots.txt that are pointed at, and two around each.
fn excerpt(found: &Found) -> Vec<String> {
    let Ok(copy) = &found.copy else { return Vec::new() };
    let shown = copy.around();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("  {}, {} lines:", copy.path, copy.lines.len())];
    let mut before = None;
    for number in shown {
        if before.is_some_and(|before| before + 1 < number) {
            lines.push("         ...".to_owned());
        }
        let mark = match copy.mark(number) {
            Some(Mark::Decided) => ">>",
            Some(Mark::Group) => "> ",
            Some(Mark::Signal) => "s ",
            None => "  ",
        };
        lines.push(format!("  {mark} {number:5}  {}", visible(copy.line(number))));
        before = Some(number);
    }
    lines
}

/// How long its parts took.
fn spans(record: &Record) -> String {
    let time = &record.time;
    let parts =
        [("name", time.dns_ms), ("connection", time.connect_ms), ("head", time.head_ms), ("body", time.body_ms)];
    let parts: Vec<String> = parts.into_iter().filter_map(|(part, ms)| Some(format!("{part} {} ms", ms?))).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// `1.5 s`, `3 h 12 min`.
fn seconds(millis: u64) -> String {
    match millis / 1000 {
        0..=119 => format!("{:.1} s", millis as f64 / 1000.0),
        s @ 120..=7199 => format!("{} min", s / 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// Where a redirect leads to, as a URL where it is one (RFC 9110 §10.2.2).
fn redirected(record: &Record) -> Option<String> {
    let response =
        record.response.as_ref().filter(|response| matches!(response.status, 301 | 302 | 303 | 307 | 308))?;
    let (_, location) = response.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    let RawText::Text(location) = location.clone() else { return None };
    let base = CrawlUrl::parse(&record.url).ok();
    let whole = base.and_then(|base| base.join(&location).ok());
    Some(whole.map_or(location, |url| url.to_string()))
}

/// How the URL was come upon.
fn way(record: &Record) -> String {
    let discovery = &record.discovery;
    match (&discovery.via, discovery.seed) {
        (None, true) => "a seed".to_owned(),
        (Some(via), _) => {
            format!("on {via}, {} from a seed, attempt {}", many(discovery.depth.into(), "link"), discovery.attempt)
        }
        (None, false) => format!("attempt {}", discovery.attempt),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_redirect_is_told_with_where_it_leads() {
        let crawl = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/crawls/v2");
        let about = "http://a.test:8099/about";
        let mut record = super::super::records_of(&crawl, |record| record.url == about).unwrap().remove(0);
        assert_eq!(redirected(&record), None, "answered 200");
        let rows = [
            ("/next?a=b", "http://a.test:8099/next?a=b"),
            ("https://b.test", "https://b.test/"),
            ("http://[", "http://["),
        ];
        for (location, leads) in rows {
            let response = record.response.as_mut().unwrap();
            response.status = 302;
            response.fields = vec![("Location".to_owned(), RawText::of(location.as_bytes()))];
            assert_eq!(redirected(&record).as_deref(), Some(leads), "{location}");
        }
        for (status, fields) in [(304, true), (302, false)] {
            let response = record.response.as_mut().unwrap();
            response.status = status;
            response.fields.truncate(usize::from(fields));
            assert_eq!(redirected(&record), None, "{status}");
        }
    }
}
