//! Faults of values, line by line: rules, user-agent values, sitemaps, delays.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::sink::{Place, Sink, shown};
use super::{LintCode, Severity};
use crate::bytes::{is_blank, starts_with_ignore_case};
use crate::normal::rule_form;
use crate::pacing::Pace;
use crate::{AgentLine, Dialect, Extension, ExtensionKind, KnownAgent, Oddity, Robots, RuleKind, RuleLine};

/// The longest Crawl-delay that comity waits for (design §6); above it an origin is left alone.
const LONG_DELAY: Duration = Duration::from_secs(300);

pub(super) fn check(robots: &Robots, sink: &mut Sink) {
    for group in robots.groups() {
        group.agents().for_each(|agent| agent_value(&agent, sink));
        group.rules().for_each(|rule| rule_value(&rule, sink));
    }
    robots.extensions().for_each(|extension| extension_value(&extension, sink));
}

fn agent_value(agent: &AgentLine<'_>, sink: &mut Sink) {
    let place = (agent.line(), agent.value_column());
    let value = agent.value();
    let Some(token) = agent.token() else {
        let message = format!("User-agent: {} names nobody: a token is letters, - and _", shown(value));
        return sink.add(LintCode::TokenCut, place, message, None);
    };
    if let Some(known) = KnownAgent::find(token).filter(|known| known.is(Oddity::ControlOnly)) {
        let effect =
            known.effect().map_or_else(|| "it steers the use of pages".to_string(), |claim| claim.value.into());
        let message = format!("{} sends no requests: {effect}", known.token());
        sink.add(LintCode::ControlToken, place, message, None);
    }
    let rest = value.get(token.len()..).unwrap_or_default();
    if token == "*" || rest.is_empty() {
        return;
    }
    let (what, fix) = match rest {
        [b'/', ..] => ("a version is not part of a token, and stricter readers miss the line", true),
        [digit, ..] if digit.is_ascii_digit() => ("a token has no digits, so nobody of the full name is meant", false),
        _ => ("a token ends at the first other character", true),
    };
    let message = format!("User-agent: {} names {token}: {what}", shown(value));
    sink.add(LintCode::TokenCut, place, message, fix.then(|| format!("User-agent: {token}")));
}

fn rule_value(rule: &RuleLine<'_>, sink: &mut Sink) {
    let place = (rule.line(), rule.value_column());
    let value = rule.value();
    let label = label(rule.kind());
    if value.is_empty() {
        return;
    }
    if let Some(path) = after_authority(value) {
        let message = format!("{label}: {} is an absolute URL, so it never matches: rules hold paths", shown(value));
        return sink.add(LintCode::AbsoluteUrl, place, message, Some(format!("{label}: {}", shown(path))));
    }
    if !matches!(value.first(), Some(b'/' | b'*')) {
        let message = format!("{label}: {} never matches: a path starts with /", shown(value));
        let start = if value.first() == Some(&b'.') { "/*" } else { "/" };
        sink.add(LintCode::NeverMatches, place, message, Some(format!("{label}: {start}{}", shown(value))));
    }
    if value.iter().copied().any(is_blank) {
        let message = format!("{label}: {} never matches: a URL holds no raw space", shown(value));
        let escaped = shown(value).replace([' ', '\t'], "%20");
        sink.add(LintCode::RawSpace, place, message, Some(format!("{label}: {escaped}")));
    }
    if !value.is_ascii() {
        let form = shown(&rule_form(value, Dialect::Google));
        let (severity, text) = match core::str::from_utf8(value) {
            Ok(_) => (Severity::Info, "is compared in its escaped form"),
            Err(_) => (Severity::Warning, "is not UTF-8: URLs that browsers send do not match it"),
        };
        let message = format!("{label}: {} {text}, {form}", shown(value));
        sink.add_as(LintCode::NonAscii, severity, place, message, Some(format!("{label}: {form}")));
    }
}

fn extension_value(extension: &Extension<'_>, sink: &mut Sink) {
    let place = (extension.line(), extension.key_column());
    let fix = |text: &str| Some(text.to_string());
    match extension.kind() {
        ExtensionKind::Noindex => {
            let message = "Noindex has no effect: Google dropped it in 2019, others never had it".to_string();
            sink.add(LintCode::Noindex, place, message, fix("send X-Robots-Tag: noindex, and leave the page open"));
        }
        ExtensionKind::Host => {
            let message = "Host has no effect: Yandex withdrew it in 2018".to_string();
            sink.add(LintCode::Host, place, message, fix("redirect the other hosts, or name a canonical URL"));
        }
        ExtensionKind::CleanParam => {
            let message = "Clean-param is read by Yandex only, and forbids nothing".to_string();
            sink.add(LintCode::CleanParam, place, message, fix("name a canonical URL on the pages"));
        }
        ExtensionKind::CrawlDelay => crawl_delay(extension, sink),
        _ => {}
    }
}

fn crawl_delay(extension: &Extension<'_>, sink: &mut Sink) {
    let place = (extension.line(), extension.value_column());
    let mut pace = Pace::default();
    if pace.add_crawl_delay(extension.value()).is_none() {
        let message = format!("Crawl-delay: {} is no number of seconds: the line is ignored", shown(extension.value()));
        return sink.add(LintCode::CrawlDelayUnreadable, place, message, Some("Crawl-delay: 10".to_string()));
    }
    if pace.crawl_delay.is_some_and(|delay| delay > LONG_DELAY) {
        let message = format!(
            "Crawl-delay: {} is more than {} seconds: crawlers that heed it leave the site, others cap it",
            shown(extension.value()),
            LONG_DELAY.as_secs()
        );
        sink.add(LintCode::CrawlDelayLarge, place, message, Some("Crawl-delay: 30".to_string()));
    }
    let googles = |agent: AgentLine<'_>| {
        agent.token().is_some_and(|token| {
            token == "*" || KnownAgent::find(token).is_some_and(|known| known.operator() == "Google")
        })
    };
    if extension.access_agents().any(googles) {
        let message = "Google's crawlers ignore Crawl-delay".to_string();
        sink.add(LintCode::CrawlDelayGoogle, place, message, None);
    }
}

/// `own` is the host of the file when it is known, else that of the first sitemap.
pub(super) fn sitemap(value: &[u8], place: Place, own: &mut Option<String>, sink: &mut Sink) {
    let Some(path) = after_authority(value) else {
        let message = format!("Sitemap: {} is no absolute URL: most readers ignore it", shown(value));
        let path = shown(value);
        let host = own.as_deref().unwrap_or("example.com");
        let fix = format!("Sitemap: https://{host}/{}", path.trim_start_matches('/'));
        // Something before the scheme cannot be guessed away.
        return sink.add(LintCode::SitemapRelative, place, message, Some(fix).filter(|_| !path.contains("://")));
    };
    let found = host_of(value, path);
    let own = own.get_or_insert_with(|| found.clone());
    if *own != found {
        let message =
            format!("the sitemap is on {}, another host than {}", shown(found.as_bytes()), shown(own.as_bytes()));
        sink.add(LintCode::SitemapHost, place, message, None);
    }
}

/// Path and query of an absolute http(s) URL, `/` when it has none; `None` for anything else.
fn after_authority(value: &[u8]) -> Option<&[u8]> {
    let rest = [&b"https://"[..], b"http://"]
        .iter()
        .find_map(|scheme| starts_with_ignore_case(value, scheme).then(|| value.get(scheme.len()..))?)?;
    let at = memchr::memchr2(b'/', b'?', rest);
    Some(at.and_then(|at| rest.get(at..)).unwrap_or(b"/"))
}

/// The host of an absolute URL, in lower case, without user and port.
fn host_of(url: &[u8], path: &[u8]) -> String {
    let authority: Vec<u8> = url.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default().to_ascii_lowercase();
    let authority = authority.strip_prefix(b"//").unwrap_or(&authority);
    let authority = authority.strip_suffix(path.to_ascii_lowercase().as_slice()).unwrap_or(authority);
    let host = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let host = match host {
        [b'[', ..] => host.split_inclusive(|byte| *byte == b']').next(),
        _ => host.split(|byte| *byte == b':').next(),
    };
    String::from_utf8_lossy(host.unwrap_or_default()).into_owned()
}

/// The key of a rule as it is best written.
pub(super) const fn label(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Allow => "Allow",
        RuleKind::Disallow => "Disallow",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let rows = [
            ("https://u:p@Example.COM:8080/x", "example.com", "/x"),
            ("http://[::1]:80/x", "[::1]", "/x"),
            ("HTTP://a", "a", "/"),
            ("https://a?x", "a", "?x"),
        ];
        for (url, host, path) in rows {
            let found = after_authority(url.as_bytes()).unwrap();
            assert_eq!(found, path.as_bytes(), "{url}");
            assert_eq!(host_of(url.as_bytes(), found), host, "{url}");
        }
        assert_eq!(after_authority(b"/x"), None);
    }
}
