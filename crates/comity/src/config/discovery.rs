//! `[crawl] sitemaps`, `forms`, `text_urls`, `[traps]`, `[keys]`: what is found, what is left, what counts as one.

use comity_extract::{DuplicateBudget, PageOptions};
use comity_url::{GrowthLimits, HostGrowth, KeyRules, TrapLimits};

use super::resolve::one_of;
use super::{ConfigError, ConfigFile, CrawlConfig};

/// Which sitemaps are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sitemaps {
    /// Those that a robots.txt names.
    Robots,
    /// Those, and `/sitemap.xml` of an origin that names none.
    RobotsAndDefault,
    /// None.
    Off,
}

/// Sitemaps, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapSettings {
    /// Which are asked for.
    pub mode: Sitemaps,
    /// Files per origin, those of indexes with them.
    pub most: u32,
}

/// The guards against spaces without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapSettings {
    /// Of a URL alone.
    pub shape: TrapLimits,
    /// Of one pattern on one origin.
    pub growth: GrowthLimits,
    /// Hosts of one registrable domain.
    pub hosts: u32,
    /// Near-duplicates of one page whose links all count.
    pub duplicates: u32,
}

const MODES: [(&str, Sitemaps); 3] =
    [("robots", Sitemaps::Robots), ("robots+default", Sitemaps::RobotsAndDefault), ("off", Sitemaps::Off)];

pub(super) fn sitemaps(file: &ConfigFile) -> Result<SitemapSettings, ConfigError> {
    let mode = one_of("[crawl] sitemaps", file.crawl.sitemaps.as_deref(), &MODES)?;
    Ok(SitemapSettings { mode, most: file.crawl.max_sitemaps.unwrap_or(1_000) })
}

pub(super) fn page(file: &ConfigFile) -> PageOptions {
    let typed = &file.crawl;
    PageOptions::default().with_forms(typed.forms.unwrap_or(false)).with_text_urls(typed.text_urls.unwrap_or(false))
}

/// 0 turns a guard off.
pub(super) fn traps(file: &ConfigFile) -> TrapSettings {
    let typed = &file.traps;
    let usual = TrapLimits::default();
    let bound = |typed: Option<u32>, usual: usize| match typed.map(|n| usize::try_from(n).unwrap_or(usize::MAX)) {
        None => usual,
        Some(0) => usize::MAX,
        Some(bound) => bound,
    };
    TrapSettings {
        shape: TrapLimits {
            max_path_segments: bound(typed.path_segments, usual.max_path_segments),
            max_url_bytes: bound(typed.url_bytes, usual.max_url_bytes),
            max_repeated_segments: typed.repeated_segments.map_or(usual.max_repeated_segments, |n| n as usize),
        },
        growth: GrowthLimits {
            numbers: typed.numbers.unwrap_or(GrowthLimits::default().numbers),
            calendar: typed.calendar.unwrap_or(GrowthLimits::default().calendar),
        },
        hosts: typed.hosts.unwrap_or(HostGrowth::USUAL),
        duplicates: typed.duplicates.unwrap_or(DuplicateBudget::USUAL),
    }
}

pub(super) fn keys(file: &ConfigFile) -> KeyRules {
    let typed = &file.keys;
    KeyRules {
        tracking: typed.tracking.unwrap_or(false),
        sessions: typed.sessions.unwrap_or(false),
        clean_param: typed.clean_param.unwrap_or(false),
    }
}

/// Every key with its value in force.
pub(super) fn resolved(file: &mut ConfigFile, config: &CrawlConfig) {
    let CrawlConfig { sitemaps, page, traps, keys, .. } = config;
    let name = MODES.iter().find(|(_, mode)| *mode == sitemaps.mode).map(|(name, _)| (*name).to_owned());
    file.crawl.sitemaps = name;
    file.crawl.max_sitemaps = Some(sitemaps.most);
    file.crawl.forms = Some(page.forms());
    file.crawl.text_urls = Some(page.text_urls());
    let number = |bound: usize| Some(if bound == usize::MAX { 0 } else { u32::try_from(bound).unwrap_or(u32::MAX) });
    file.traps.path_segments = number(traps.shape.max_path_segments);
    file.traps.url_bytes = number(traps.shape.max_url_bytes);
    file.traps.repeated_segments = number(traps.shape.max_repeated_segments);
    file.traps.numbers = Some(traps.growth.numbers);
    file.traps.calendar = Some(traps.growth.calendar);
    file.traps.hosts = Some(traps.hosts);
    file.traps.duplicates = Some(traps.duplicates);
    file.keys.tracking = Some(keys.tracking);
    file.keys.sessions = Some(keys.sessions);
    file.keys.clean_param = Some(keys.clean_param);
}
