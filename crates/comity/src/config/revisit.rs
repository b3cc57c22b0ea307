//! `[crawl] revisit` and `[revisit]`: whether, and when, a URL is visited anew.

use std::time::Duration;

use comity_frontier::{Intervals, RevisitPolicy};
use comity_policy::Politeness;

use super::bounds::set;
use super::{ConfigError, ConfigFile, Span};

/// What is visited anew, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisitSettings {
    /// When.
    pub policy: RevisitPolicy,
    /// Whether all pages; else only what tells of new ones: sitemaps, feeds and seeds.
    pub pages: bool,
}

const HOUR: Duration = Duration::from_secs(3600);
/// Our choice: what is shorter than a second nobody means, and beyond ten years nothing runs.
const RANGE: (Span, Span) = (Span(Duration::from_secs(1)), Span(Duration::from_secs(3650 * 24 * 3600)));

/// What is visited anew. Notes what is shorter than the floor that holds on public addresses.
pub(super) fn settings(file: &ConfigFile, notes: &mut Vec<String>) -> Result<RevisitSettings, ConfigError> {
    let intervals = intervals(file)?;
    let policy = match file.crawl.revisit.as_deref() {
        None | Some("never") => RevisitPolicy::Never,
        Some("adaptive") => RevisitPolicy::Adaptive(intervals),
        Some("sitemap") => RevisitPolicy::Sitemap(intervals),
        Some(text) => RevisitPolicy::Fixed(fixed(text)?),
    };
    let settings = RevisitSettings { policy, pages: file.revisit.pages.unwrap_or(true) };
    let least = match policy {
        RevisitPolicy::Never => return Ok(settings),
        RevisitPolicy::Fixed(interval) => ("[crawl] revisit", interval),
        RevisitPolicy::Adaptive(intervals) | RevisitPolicy::Sitemap(intervals) => ("[revisit] min", intervals.min),
    };
    if least.1 < Politeness::LEAST_REVISIT {
        notes.push(format!(
            "{} of {} holds only on the networks in allow_addresses and under a rate override; elsewhere {}",
            least.0,
            Span(least.1),
            Span(Politeness::LEAST_REVISIT)
        ));
    }
    Ok(settings)
}

fn fixed(text: &str) -> Result<Duration, ConfigError> {
    let place = "[crawl] revisit";
    let span: Span = text.parse().map_err(|_| {
        ConfigError::new(format!("{text:?} is no policy and no span of time"))
            .at(place)
            .hint("never, adaptive, sitemap, or an interval as 24h")
    })?;
    let mut fixed = span.0;
    set(&mut fixed, "crawl", "revisit", Some(span), RANGE.0..=RANGE.1, |span| span.0)?;
    Ok(fixed)
}

fn intervals(file: &ConfigFile) -> Result<Intervals, ConfigError> {
    let typed = &file.revisit;
    let mut intervals = Intervals::default();
    let range = || RANGE.0..=RANGE.1;
    set(&mut intervals.min, "revisit", "min", typed.min, range(), |span| span.0)?;
    set(&mut intervals.max, "revisit", "max", typed.max, range(), |span| span.0)?;
    if intervals.max < intervals.min {
        let text = format!("{} is less than min, {}", Span(intervals.max), Span(intervals.min));
        return Err(ConfigError::new(text).at("[revisit] max").hint("max is the longest interval, min the shortest"));
    }
    intervals.start = intervals.clamp(intervals.start);
    let between = Span(intervals.min)..=Span(intervals.max);
    set(&mut intervals.start, "revisit", "start", typed.start, between, |span| span.0)?;
    Ok(intervals)
}

/// The policy and its bounds as they are in force.
pub(super) fn resolved(RevisitSettings { policy, pages }: RevisitSettings, file: &mut ConfigFile) {
    file.crawl.revisit = Some(match policy {
        RevisitPolicy::Never => "never".to_owned(),
        RevisitPolicy::Fixed(interval) => Span(interval).to_string(),
        RevisitPolicy::Adaptive(_) => "adaptive".to_owned(),
        RevisitPolicy::Sitemap(_) => "sitemap".to_owned(),
    });
    let shown = match policy {
        RevisitPolicy::Adaptive(intervals) | RevisitPolicy::Sitemap(intervals) => intervals,
        RevisitPolicy::Never | RevisitPolicy::Fixed(_) => intervals(file).unwrap_or_default(),
    };
    file.revisit.min = Some(Span(shown.min));
    file.revisit.max = Some(Span(shown.max));
    file.revisit.start = Some(Span(shown.start));
    file.revisit.pages = Some(pages);
}

/// How often a crawl looks whether it lingers on when nothing is due; said where it would surprise.
pub(super) fn ends_early(policy: RevisitPolicy, linger: Duration) -> Option<String> {
    let first = match policy {
        RevisitPolicy::Never => return None,
        RevisitPolicy::Fixed(interval) => interval,
        RevisitPolicy::Adaptive(intervals) | RevisitPolicy::Sitemap(intervals) => intervals.min,
    };
    (first > linger).then(|| {
        format!(
            "revisit: the crawl ends when nothing is due within linger, {}; run it again, or set linger above {}",
            Span(linger),
            Span(first.max(HOUR))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CrawlConfig;

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        let base = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@b.c\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";
        let mut file = ConfigFile::parse(base, None)?;
        file.overlay(ConfigFile::parse(more, None)?);
        CrawlConfig::resolve(file)
    }

    const fn hours(hours: u64) -> Duration {
        Duration::from_secs(hours * 3600)
    }

    #[test]
    fn every_value_is_a_policy_or_is_refused_at_its_key() {
        let usual = Intervals::default();
        let own = Intervals { min: hours(2), max: hours(48), start: hours(3) };
        let keys = "\n[revisit]\nmin = \"2h\"\nmax = \"2d\"\nstart = \"3h\"";
        let short = Intervals { min: hours(1), max: hours(5), start: hours(5) };
        let rows = [
            ("", RevisitPolicy::Never),
            ("[crawl]\nrevisit = \"never\"", RevisitPolicy::Never),
            ("[crawl]\nrevisit = \"24h\"", RevisitPolicy::Fixed(hours(24))),
            ("[crawl]\nrevisit = \"adaptive\"", RevisitPolicy::Adaptive(usual)),
            ("[crawl]\nrevisit = \"sitemap\"", RevisitPolicy::Sitemap(usual)),
            (&format!("[crawl]\nrevisit = \"adaptive\"{keys}"), RevisitPolicy::Adaptive(own)),
            ("[crawl]\nrevisit = \"adaptive\"\n[revisit]\nmax = \"5h\"", RevisitPolicy::Adaptive(short)),
        ];
        for (text, policy) in rows {
            let config = resolve(text).unwrap();
            assert_eq!(config.revisit, RevisitSettings { policy, pages: true }, "{text}");
            let again = CrawlConfig::resolve(config.resolved()).unwrap();
            assert_eq!((again.revisit, again.resolved()), (config.revisit, config.resolved()), "{text}");
        }
        let lists = resolve("[revisit]\npages = false").unwrap();
        assert!(!lists.revisit.pages && !CrawlConfig::resolve(lists.resolved()).unwrap().revisit.pages);
        let wrong = [
            ("[crawl]\nrevisit = \"daily\"", "[crawl] revisit"),
            ("[crawl]\nrevisit = \"0s\"", "[crawl] revisit"),
            ("[crawl]\nrevisit = \"4000d\"", "[crawl] revisit"),
            ("[revisit]\nmin = \"1ms\"", "[revisit] min"),
            ("[revisit]\nmax = \"4000d\"", "[revisit] max"),
            ("[revisit]\nmin = \"40d\"", "[revisit] max"),
            ("[revisit]\nstart = \"31d\"", "[revisit] start"),
            ("[revisit]\nstart = \"1m\"", "[revisit] start"),
        ];
        for (text, place) in wrong {
            let error = resolve(text).unwrap_err();
            assert!(error.to_string().starts_with(place) && error.advice().is_some(), "{text}: {error}");
        }
    }

    #[test]
    fn what_a_floor_raises_and_how_such_a_crawl_ends_is_said() {
        let said = |text: &str| resolve(text).unwrap().notes.iter().filter(|note| note.contains("revisit")).count();
        assert_eq!(said("[crawl]\nrevisit = \"5m\""), 1, "the floor");
        assert_eq!(said("[crawl]\nrevisit = \"adaptive\""), 1, "the end");
        assert_eq!(said("[crawl]\nrevisit = \"adaptive\"\n[revisit]\nmin = \"20m\""), 2, "both");
        assert_eq!(said("[crawl]\nrevisit = \"adaptive\"\nlinger = \"60d\""), 0);
        assert_eq!(said(""), 0);
    }

    #[test]
    fn the_keys_are_shown_where_people_look() {
        let typed = include_str!("../../../../configs/crawl.toml");
        let reference = include_str!("../../../../docs/configuration.md");
        for key in ["min", "max", "start", "pages"] {
            assert!(reference.contains(&format!("| `{key}` |")), "{key} is not documented");
        }
        let config = CrawlConfig::resolve(ConfigFile::parse(typed, None).unwrap()).unwrap();
        let defaults = resolve("").unwrap().resolved();
        assert_eq!((config.revisit.policy, config.resolved().revisit), (RevisitPolicy::Never, defaults.revisit));
        assert!(ConfigFile::parse(typed, None).unwrap().revisit.start.is_some(), "configs/crawl.toml");
    }
}
