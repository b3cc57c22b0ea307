use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use comity_fetch::FetchConfig;

use super::{ByteSize, ConfigError, ConfigFile, CrawlLimits, CrawlSection, FetchSection, Span};

const MILLIS: Duration = Duration::from_millis(1);
const TEN_MINUTES: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3600);
const TIB: u64 = 1 << 40;

/// Lays the typed bounds of an exchange over their defaults.
pub(super) fn fetch(typed: &FetchSection, config: &mut FetchConfig) -> Result<(), ConfigError> {
    let wait = || Span(10 * MILLIS)..=Span(TEN_MINUTES);
    let size = |least: u64, most: u64| ByteSize(least)..=ByteSize(most);
    let limits = &mut config.limits;
    set(&mut limits.dns, "fetch", "dns_timeout", typed.dns_timeout, wait(), |span| span.0)?;
    set(&mut limits.connect, "fetch", "connect_timeout", typed.connect_timeout, wait(), |span| span.0)?;
    set(&mut limits.head, "fetch", "head_timeout", typed.head_timeout, wait(), |span| span.0)?;
    set(&mut limits.idle, "fetch", "idle_timeout", typed.idle_timeout, wait(), |span| span.0)?;
    let whole = Span(10 * MILLIS)..=Span(HOUR);
    set(&mut limits.total, "fetch", "total_timeout", typed.total_timeout, whole, |span| span.0)?;
    set(&mut limits.least_rate, "fetch", "min_rate", typed.min_rate, size(0, 1 << 30), |size| size.0)?;
    let grace = Span(Duration::ZERO)..=Span(TEN_MINUTES);
    set(&mut limits.rate_grace, "fetch", "rate_grace", typed.rate_grace, grace, |span| span.0)?;
    set(&mut limits.max_body, "fetch", "max_body", typed.max_body, size(1, TIB), |size| size.0)?;
    set(&mut limits.max_request_body, "fetch", "max_request_body", typed.max_request_body, size(0, TIB), |s| s.0)?;
    set(&mut limits.max_ratio, "fetch", "max_ratio", typed.max_ratio, 1..=100_000, u64::from)?;
    set(&mut limits.max_head_bytes, "fetch", "max_head", typed.max_head, size(1 << 10, 1 << 20), bytes)?;
    set(&mut limits.max_fields, "fetch", "max_fields", typed.max_fields, 1..=1000, usize::from)?;
    set(&mut config.spool_in_memory, "fetch", "spool_from", typed.spool_from, size(0, 64 << 20), bytes)?;
    set(&mut config.spool_max, "fetch", "spool_max", typed.spool_max, size(0, TIB), |size| size.0)?;
    let keep = Span(Duration::ZERO)..=Span(TEN_MINUTES);
    set(&mut config.idle_timeout, "fetch", "keep_alive", typed.keep_alive, keep, |span| span.0)?;
    set(&mut config.max_idle_per_origin, "fetch", "keep_per_origin", typed.keep_per_origin, 0..=100, usize::from)?;
    set(&mut config.max_idle_total, "fetch", "keep_total", typed.keep_total, 0..=50_000, usize::from)
}

/// The bounds of an exchange as they are in force.
pub(super) fn show_fetch(config: &FetchConfig, file: &mut FetchSection) {
    let limits = &config.limits;
    file.dns_timeout = Some(Span(limits.dns));
    file.connect_timeout = Some(Span(limits.connect));
    file.head_timeout = Some(Span(limits.head));
    file.idle_timeout = Some(Span(limits.idle));
    file.total_timeout = Some(Span(limits.total));
    file.min_rate = Some(ByteSize(limits.least_rate));
    file.rate_grace = Some(Span(limits.rate_grace));
    file.max_body = Some(ByteSize(limits.max_body));
    file.max_request_body = Some(ByteSize(limits.max_request_body));
    file.max_ratio = u32::try_from(limits.max_ratio).ok();
    file.max_head = Some(ByteSize(limits.max_head_bytes as u64));
    file.max_fields = u16::try_from(limits.max_fields).ok();
    file.spool_from = Some(ByteSize(config.spool_in_memory as u64));
    file.spool_max = Some(ByteSize(config.spool_max));
    file.keep_alive = Some(Span(config.idle_timeout));
    file.keep_per_origin = u16::try_from(config.max_idle_per_origin).ok();
    file.keep_total = u16::try_from(config.max_idle_total).ok();
}

/// When a crawl ends, and which URLs are too much for it.
pub(super) fn crawl(file: &ConfigFile) -> Result<CrawlLimits, ConfigError> {
    let typed = &file.crawl;
    let mut limits = CrawlLimits {
        max_pages: typed.max_pages,
        max_depth: typed.max_depth.unwrap_or(20),
        max_duration: typed.max_duration.map(|span| span.0),
        max_bytes: typed.max_bytes.map(|size| size.0),
        linger: typed.linger.map_or(Duration::from_secs(15 * 60), |span| span.0),
        retries: 2,
        max_redirects: 5,
        max_pages_per_origin: 100_000,
        max_bytes_per_origin: None,
        max_pages_per_domain: None,
        max_pending_per_domain: 1_000_000,
    };
    set(&mut limits.retries, "crawl", "retries", typed.retries, 0..=10, u32::from)?;
    set(&mut limits.max_redirects, "crawl", "max_redirects", typed.max_redirects, 0..=20, |count| count)?;
    let pages = &mut limits.max_pages_per_origin;
    let counts = || 1..=u64::from(u32::MAX);
    set(pages, "crawl", "max_pages_per_origin", typed.max_pages_per_origin, counts(), |count| count)?;
    let bytes = &mut limits.max_bytes_per_origin;
    let sizes = ByteSize(1)..=ByteSize(1024 * TIB);
    set(bytes, "crawl", "max_bytes_per_origin", typed.max_bytes_per_origin, sizes, |size| Some(size.0))?;
    let pages = &mut limits.max_pages_per_domain;
    set(pages, "crawl", "max_pages_per_domain", typed.max_pages_per_domain, counts(), Some)?;
    let pending = &mut limits.max_pending_per_domain;
    set(pending, "crawl", "max_pending_per_domain", typed.max_pending_per_domain, counts(), |count| count)?;
    Ok(limits)
}

/// The bounds of a crawl as they are in force; those that are off stay as typed.
pub(super) fn show_crawl(limits: &CrawlLimits, file: &mut CrawlSection) {
    file.max_depth = Some(limits.max_depth);
    file.linger = Some(Span(limits.linger));
    file.retries = u8::try_from(limits.retries).ok();
    file.max_redirects = Some(limits.max_redirects);
    file.max_pages_per_origin = Some(limits.max_pages_per_origin);
    file.max_pending_per_domain = Some(limits.max_pending_per_domain);
}

/// Sizes that have to fit into memory; their ranges see to it that they do.
fn bytes(size: ByteSize) -> usize {
    usize::try_from(size.0).unwrap_or(usize::MAX)
}

/// Takes a typed value over its default, if it is typed and within its range.
pub(super) fn set<T: Copy + PartialOrd + Display, U>(
    field: &mut U,
    section: &str,
    key: &str,
    typed: Option<T>,
    range: RangeInclusive<T>,
    read: impl Fn(T) -> U,
) -> Result<(), ConfigError> {
    match typed {
        Some(value) if !range.contains(&value) => Err(ConfigError::new(format!("{value} is out of range"))
            .at(&format!("[{section}] {key}"))
            .hint(format!("{} to {}", range.start(), range.end()))),
        Some(value) => {
            *field = read(value);
            Ok(())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use comity_fetch::Cookies;

    use super::*;
    use crate::config::CrawlConfig;

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        let base = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@b.c\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";
        let mut file = ConfigFile::parse(base, None).unwrap();
        file.overlay(ConfigFile::parse(more, None).unwrap());
        CrawlConfig::resolve(file)
    }

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A key, a value that is not its default, and where that value has arrived then. What each does there is shown by the
    /// tests of its owner.
    type Row = (&'static str, &'static str, &'static str, fn(&CrawlConfig) -> bool);

    const ROWS: &[Row] = &[
        ("fetch", "dns_timeout", "\"3s\"", |c| c.fetch.limits.dns == secs(3)),
        ("fetch", "connect_timeout", "\"3s\"", |c| c.fetch.limits.connect == secs(3)),
        ("fetch", "head_timeout", "\"3s\"", |c| c.fetch.limits.head == secs(3)),
        ("fetch", "idle_timeout", "\"3s\"", |c| c.fetch.limits.idle == secs(3)),
        ("fetch", "total_timeout", "\"1h\"", |c| c.fetch.limits.total == secs(3600)),
        ("fetch", "min_rate", "\"0B\"", |c| c.fetch.limits.least_rate == 0),
        ("fetch", "rate_grace", "\"0s\"", |c| c.fetch.limits.rate_grace.is_zero()),
        ("fetch", "max_body", "\"1KiB\"", |c| c.fetch.limits.max_body == 1024),
        ("fetch", "max_request_body", "\"1KiB\"", |c| c.fetch.limits.max_request_body == 1024),
        ("fetch", "max_ratio", "10", |c| c.fetch.limits.max_ratio == 10),
        ("fetch", "max_head", "\"8KiB\"", |c| c.fetch.limits.max_head_bytes == 8192),
        ("fetch", "max_fields", "50", |c| c.fetch.limits.max_fields == 50),
        ("fetch", "spool_from", "\"64KiB\"", |c| c.fetch.spool_in_memory == 65_536),
        ("fetch", "spool_max", "\"1GiB\"", |c| c.fetch.spool_max == 1 << 30),
        ("fetch", "keep_alive", "\"3s\"", |c| c.fetch.idle_timeout == secs(3)),
        ("fetch", "keep_per_origin", "5", |c| c.fetch.max_idle_per_origin == 5),
        ("fetch", "keep_total", "5", |c| c.fetch.max_idle_total == 5),
        ("fetch", "cookies", "\"memory\"", |c| c.fetch.cookies == Cookies::Memory),
        ("crawl", "max_depth", "3", |c| c.limits.max_depth == 3),
        ("crawl", "retries", "0", |c| c.limits.retries == 0),
        ("crawl", "max_redirects", "1", |c| c.limits.max_redirects == 1),
        ("crawl", "max_pages_per_origin", "7", |c| c.limits.max_pages_per_origin == 7),
        ("crawl", "max_pending_per_domain", "7", |c| c.limits.max_pending_per_domain == 7),
    ];

    /// As [`ROWS`], for keys that are off unless they are typed: there is no value to show.
    const OFF: &[Row] = &[
        ("crawl", "max_pages", "7", |c| c.limits.max_pages == Some(7)),
        ("crawl", "max_bytes", "\"7KiB\"", |c| c.limits.max_bytes == Some(7168)),
        ("crawl", "max_bytes_per_origin", "\"7KiB\"", |c| c.limits.max_bytes_per_origin == Some(7168)),
        ("crawl", "max_pages_per_domain", "7", |c| c.limits.max_pages_per_domain == Some(7)),
    ];

    #[test]
    fn every_key_arrives_where_it_acts_and_stands_in_the_resolved_configuration() {
        for (section, key, value, arrived) in ROWS.iter().chain(OFF) {
            assert!(!arrived(&resolve("").unwrap()), "{key}: {value} is the default");
            let config = resolve(&format!("[{section}]\n{key} = {value}")).unwrap();
            assert!(arrived(&config), "{key}");
            assert!(arrived(&CrawlConfig::resolve(config.resolved()).unwrap()), "{key} is lost in crawl.toml");
        }
        let typed = include_str!("../../../../configs/crawl.toml");
        let reference = include_str!("../../../../docs/configuration.md");
        let shown = toml::to_string(&resolve("").unwrap().resolved()).unwrap();
        for (_, key, ..) in ROWS {
            let has = |text: &str| text.lines().any(|line| line.starts_with(&format!("{key} = ")));
            assert!(has(&shown) && has(typed), "{key} is not shown");
            assert!(reference.contains(&format!("| `{key}` |")), "{key} is not documented");
        }
        for (_, key, ..) in OFF {
            let is_shown = typed.lines().any(|line| line.starts_with(&format!("# {key} = ")));
            assert!(is_shown && reference.contains(&format!("| `{key}` |")), "{key} is not documented");
        }
        let (typed, defaults) =
            (CrawlConfig::resolve(ConfigFile::parse(typed, None).unwrap()).unwrap(), resolve("").unwrap());
        assert_eq!(
            (typed.limits, &typed.fetch.limits),
            (defaults.limits, &defaults.fetch.limits),
            "configs/crawl.toml"
        );
        let kept = |c: &FetchConfig| (c.idle_timeout, c.max_idle_per_origin, c.max_idle_total, c.cookies, c.http);
        assert_eq!(kept(&typed.fetch), kept(&defaults.fetch), "configs/crawl.toml");
        let spool = |c: &FetchConfig| (c.spool_dir.clone(), c.spool_in_memory, c.spool_max);
        assert_eq!(spool(&typed.fetch), spool(&defaults.fetch), "configs/crawl.toml");
    }

    #[test]
    fn what_is_out_of_range_is_refused_at_its_key_with_the_range() {
        let rows = [
            ("fetch", "dns_timeout", "\"0s\""),
            ("fetch", "connect_timeout", "\"11m\""),
            ("fetch", "head_timeout", "\"9ms\""),
            ("fetch", "idle_timeout", "\"1h\""),
            ("fetch", "total_timeout", "\"61m\""),
            ("fetch", "min_rate", "\"2GiB\""),
            ("fetch", "rate_grace", "\"11m\""),
            ("fetch", "max_body", "\"0B\""),
            ("fetch", "max_request_body", "\"2048GiB\""),
            ("fetch", "max_ratio", "0"),
            ("fetch", "max_head", "\"1023B\""),
            ("fetch", "max_head", "\"2MiB\""),
            ("fetch", "max_fields", "0"),
            ("fetch", "max_fields", "1001"),
            ("fetch", "spool_from", "\"65MiB\""),
            ("fetch", "keep_alive", "\"11m\""),
            ("fetch", "keep_per_origin", "101"),
            ("fetch", "keep_total", "50001"),
            ("fetch", "cookies", "\"disk\""),
            ("crawl", "retries", "11"),
            ("crawl", "max_redirects", "21"),
            ("crawl", "max_pages_per_origin", "0"),
            ("crawl", "max_bytes_per_origin", "\"0B\""),
            ("crawl", "max_pages_per_domain", "0"),
            ("crawl", "max_pending_per_domain", "0"),
        ];
        for (section, key, value) in rows {
            let error = resolve(&format!("[{section}]\n{key} = {value}")).unwrap_err();
            assert!(error.to_string().starts_with(&format!("[{section}] {key}")), "{key} = {value}: {error}");
            assert!(error.advice().is_some(), "{key} = {value}: what to do next");
        }
    }
}
