use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use comity_extract::PageOptions;
use comity_fetch::{AddressGuard, Cookies, FetchConfig, Http, MediaTypes};
use comity_frontier::Classes;
use comity_gate::{OptOutFiles, Rate};
use comity_policy::{
    Adaptive, AddressLimits, Grants, Identity, Network, OnUnreachable, Overrides, Politeness, Reviews, RobotsPolicy,
};
use comity_robots::Dialect;
use comity_url::{CrawlUrl, KeyRules, Scope, ScopeKind, UrlPattern};

#[cfg(feature = "warc")]
use super::archive::{self, ArchiveConfig};
use super::near::nearest;
use super::{
    ConfigError, ConfigFile, GateSettings, GatewaySection, OverrideSection, RevisitSettings, SignalSettings,
    SitemapSettings, Span, TrapSettings, agent, bounds, classes, discovery, exits, revisit, signals,
};
use crate::telemetry::{self, TelemetrySettings};

/// A configuration that was checked as a whole: what the engine runs on.
#[derive(Clone, Debug)]
pub struct CrawlConfig {
    /// Who we are.
    pub identity: Identity,
    /// Written exceptions. Whether one has run out is looked at when the crawl is built.
    pub overrides: Overrides,
    /// Who is not to be visited at all, as the files were read.
    pub optouts: OptOutFiles,
    /// The public address blocks that it comes from: published by `comity identity`, used by nothing else.
    pub ranges: Vec<Network>,
    /// Where the crawl begins.
    pub seeds: Vec<CrawlUrl>,
    /// Uses that a licence, a contract or a law permits.
    pub grants: Grants,
    /// What was read in the terms of sites.
    pub reviews: Reviews,
    /// What is made of what sites say about use.
    pub signals: SignalSettings,
    /// Which URLs belong to it; seeds are added when the crawl starts, and after their own redirects.
    pub scope: Scope,
    /// When it ends.
    pub limits: CrawlLimits,
    /// What is visited anew, and when.
    pub revisit: RevisitSettings,
    /// Which sitemaps are asked for.
    pub sitemaps: SitemapSettings,
    /// What pages are read for beside their links.
    pub page: PageOptions,
    /// The guards against spaces without end.
    pub traps: TrapSettings,
    /// Which spellings of a URL are one page.
    pub keys: KeyRules,
    /// How fast.
    pub politeness: Politeness,
    /// Rate of the whole crawl.
    pub max_rate: Option<Rate>,
    /// Rate per registrable domain.
    pub max_rate_domain: Option<Rate>,
    /// How robots.txt is read.
    pub robots: RobotsPolicy,
    /// How pages are fetched.
    pub fetch: FetchConfig,
    /// Media types whose bodies are read; all when empty.
    pub types: MediaTypes,
    /// What successive crawls share; `None` keeps it inside the crawl directory.
    pub state_dir: Option<PathBuf>,
    /// Where the queue is kept.
    pub store: QueueStore,
    /// Whose pages come first when more is due than can be fetched.
    pub classes: Classes,
    /// What is written.
    #[cfg(feature = "warc")]
    pub archive: ArchiveConfig,
    /// What it tells while it runs.
    pub telemetry: TelemetrySettings,
    /// Settings that were raised to what politeness demands, said in the summary.
    pub notes: Vec<String>,
    /// The configuration as typed, all layers: written to `crawl.toml`.
    pub file: ConfigFile,
}

/// When a crawl ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlLimits {
    /// Pages fetched; a page is an answer to a judged request that was no redirect.
    pub max_pages: Option<u64>,
    /// Links away from a seed.
    pub max_depth: u32,
    /// Time since the start.
    pub max_duration: Option<Duration>,
    /// Body bytes received.
    pub max_bytes: Option<u64>,
    /// The crawl ends when nothing can become due within this.
    pub linger: Duration,
    /// Tries of a URL after the first; never immediate, since each waits for the origin's back-off.
    pub retries: u32,
    /// Redirects followed in a row; those of a robots.txt have a bound of their own.
    pub max_redirects: u8,
    /// URLs taken per origin, refused ones not counted.
    pub max_pages_per_origin: u64,
    /// Body bytes received of one origin, over all runs.
    pub max_bytes_per_origin: Option<u64>,
    /// URLs taken per registrable domain, refused ones not counted.
    pub max_pages_per_domain: Option<u64>,
    /// URLs queued per registrable domain.
    pub max_pending_per_domain: u64,
}

/// Where the queue is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueStore {
    /// In the crawl directory; in memory for a crawl that has none.
    #[default]
    Disk,
    /// In memory: gone with the process.
    Memory,
}

impl QueueStore {
    /// As written in `[frontier] store`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
        }
    }
}

impl CrawlConfig {
    /// Resolves all layers into settings that fit together.
    ///
    /// # Errors
    /// The first key whose value cannot be used, with a hint.
    pub fn resolve(mut file: ConfigFile) -> Result<Self, ConfigError> {
        let GateSettings { gate, fetch, state_dir, mut notes } = GateSettings::of(&mut file)?;
        let limits = bounds::crawl(&file)?;
        let revisit = revisit::settings(&file, &mut notes)?;
        notes.extend(revisit::ends_early(revisit.policy, limits.linger));
        Ok(Self {
            grants: gate.grants,
            reviews: gate.reviews,
            signals: signals::signals(&file)?,
            overrides: gate.overrides,
            optouts: gate.optouts,
            ranges: agent::ranges(&file.agent)?,
            seeds: seeds(&file)?,
            scope: scope(&file)?,
            limits,
            revisit,
            sitemaps: discovery::sitemaps(&file)?,
            page: discovery::page(&file),
            traps: discovery::traps(&file),
            keys: discovery::keys(&file),
            max_rate: gate.max_rate,
            max_rate_domain: gate.max_rate_domain,
            robots: gate.robots,
            state_dir,
            store: one_of("[frontier] store", file.frontier.store.as_deref(), &STORES)?,
            classes: classes::classes(&file)?,
            #[cfg(feature = "warc")]
            archive: archive::settings(&file)?,
            telemetry: telemetry::settings(&file.telemetry)?,
            identity: gate.identity,
            fetch,
            types: media_types(file.fetch.accept_types.as_deref())?,
            politeness: gate.politeness,
            notes,
            file,
        })
    }
}

impl CrawlConfig {
    /// The configuration with every key and its value in force: what `crawl.toml` of a crawl directory holds.
    #[must_use]
    pub fn resolved(&self) -> ConfigFile {
        let mut file = self.file.clone();
        file.gateway = GatewaySection::default();
        let own = |text: &str| Some(text.to_owned());
        let span = |duration| Some(Span(duration));
        file.overrides =
            file.overrides.map(|_| self.overrides.all().iter().map(|one| OverrideSection::of(one)).collect());
        file.agent.tokens = Some(self.identity.tokens().iter().map(ToString::to_string).collect());
        file.agent.purposes = Some(self.identity.purposes().iter().map(ToString::to_string).collect());
        file.crawl.seeds = Some(self.seeds.iter().map(ToString::to_string).collect());
        file.crawl.scope = own(self.scope.kind().as_str());
        bounds::show_crawl(&self.limits, &mut file.crawl);
        revisit::resolved(self.revisit, &mut file);
        discovery::resolved(&mut file, self);
        let pace = &self.politeness;
        file.politeness.delay = span(pace.delay);
        file.politeness.max_crawl_delay = span(pace.max_crawl_delay);
        file.politeness.total = Some(pace.total);
        file.politeness.per_origin = Some(pace.per_origin);
        // Left out when not set: naming them would make them hold on own networks too.
        if pace.address_limits == AddressLimits::Everywhere {
            file.politeness.per_address = Some(pace.per_address);
            file.politeness.address_gap = span(pace.address_gap);
        }
        file.politeness.adaptive = Some(pace.adaptive == Adaptive::On);
        file.politeness.max_rate = Some(self.max_rate.map_or_else(|| "off".to_owned(), |rate| rate.to_string()));
        file.politeness.max_rate_domain =
            Some(self.max_rate_domain.map_or_else(|| "off".to_owned(), |rate| rate.to_string()));
        file.robots.dialect = own(match self.robots.dialect {
            Dialect::Standard => "standard",
            Dialect::Google => "google",
        });
        file.robots.on_unreachable = own(match self.robots.on_unreachable {
            OnUnreachable::Rfc9309 => "rfc9309",
            OnUnreachable::Google => "google",
        });
        file.robots.strict_4xx = Some(self.robots.strict_4xx.clone());
        signals::resolved(&self.signals, &mut file);
        bounds::show_fetch(&self.fetch, &mut file.fetch);
        file.fetch.spool_dir = self.fetch.spool_dir.clone();
        file.fetch.accept_types = Some(self.types.ranges().iter().map(ToString::to_string).collect());
        file.fetch.http = own(match self.fetch.http {
            Http::Auto => "auto",
            Http::Only11 => "1.1",
        });
        file.fetch.cookies = own(match self.fetch.cookies {
            Cookies::Off => "off",
            Cookies::Memory => "memory",
        });
        file.state.dir = Some(self.state_dir.clone().unwrap_or_default());
        file.frontier.store = own(self.store.as_str());
        #[cfg(feature = "warc")]
        archive::shown(&self.archive, &mut file.archive);
        file.telemetry = telemetry::resolved(&self.telemetry);
        file
    }
}

fn seeds(file: &ConfigFile) -> Result<Vec<CrawlUrl>, ConfigError> {
    let (mut seeds, mut known) = (Vec::new(), HashSet::new());
    for text in file.crawl.seeds.as_deref().unwrap_or_default() {
        let seed = CrawlUrl::parse(text).map_err(|error| {
            let hints =
                [("://", "seeds are http or https URLs"), (".toml", "a configuration file is given with --config")];
            let hint =
                hints.iter().find(|(part, _)| text.contains(part)).map_or("did you leave out https:// ?", |one| one.1);
            ConfigError::new(format!("{text:?}: {error}")).at("seed").hint(hint)
        })?;
        if known.insert(seed.clone()) {
            seeds.push(seed);
        }
    }
    let none = || ConfigError::new("no seed: nowhere to begin").at("[crawl] seeds").hint("give at least one URL");
    if seeds.is_empty() { Err(none()) } else { Ok(seeds) }
}

fn scope(file: &ConfigFile) -> Result<Scope, ConfigError> {
    let kinds = ScopeKind::ALL.map(|kind| (kind.as_str(), kind));
    let kind = one_of("[crawl] scope", file.crawl.scope.as_deref(), &kinds)?;
    let include = list::<UrlPattern>("[crawl] include", file.crawl.include.as_deref())?;
    let exclude = list::<UrlPattern>("[crawl] exclude", file.crawl.exclude.as_deref())?;
    Ok(Scope::new(kind, include, exclude))
}

pub(super) fn politeness(
    file: &ConfigFile,
    own: Vec<Network>,
    notes: &mut Vec<String>,
) -> Result<Politeness, ConfigError> {
    let typed = &file.politeness;
    let defaults = Politeness::default();
    let span = |typed: Option<Span>, default: Duration| typed.map_or(default, |span| span.0);
    let delay = span(typed.delay, defaults.delay);
    let address_gap = span(typed.address_gap, defaults.address_gap);
    let explicit = typed.address_gap.is_some() || typed.per_address.is_some();
    say_raised(notes, "delay", delay, Politeness::LEAST_DELAY);
    say_raised(notes, "address_gap", address_gap, Politeness::LEAST_GAP);
    Ok(Politeness {
        delay,
        max_crawl_delay: span(typed.max_crawl_delay, defaults.max_crawl_delay),
        total: at_least_one("[politeness] total", typed.total, defaults.total)?,
        per_origin: at_least_one("[politeness] per_origin", typed.per_origin, defaults.per_origin)?,
        per_address: at_least_one("[politeness] per_address", typed.per_address, defaults.per_address)?,
        address_gap,
        shared_addresses: networks("[politeness] shared_addresses", typed.shared_addresses.as_deref())?,
        own_networks: own,
        address_limits: if explicit { AddressLimits::Everywhere } else { AddressLimits::PublicOnly },
        adaptive: if typed.adaptive.unwrap_or(true) { Adaptive::On } else { Adaptive::Off },
        ..defaults
    })
}

fn say_raised(notes: &mut Vec<String>, key: &str, asked: Duration, least: Duration) {
    if asked < least {
        notes.push(format!(
            "{key} of {} holds only on the networks in allow_addresses and under a rate override; elsewhere {}",
            Span(asked),
            Span(least)
        ));
    }
}

pub(super) fn robots(file: &ConfigFile) -> Result<RobotsPolicy, ConfigError> {
    let typed = &file.robots;
    let strict_4xx = typed.strict_4xx.clone().unwrap_or_default();
    if let Some(status) = strict_4xx.iter().find(|status| !(400..500).contains(*status) || **status == 429) {
        return Err(ConfigError::new(format!("{status} is no 4xx status that could mean \"no rules\""))
            .at("[robots] strict_4xx")
            .hint("for instance [401, 403]; 429 and 5xx always close"));
    }
    let dialects = [("standard", Dialect::Standard), ("google", Dialect::Google)];
    let readings = [("rfc9309", OnUnreachable::Rfc9309), ("google", OnUnreachable::Google)];
    Ok(RobotsPolicy {
        dialect: one_of("[robots] dialect", typed.dialect.as_deref(), &dialects)?,
        on_unreachable: one_of("[robots] on_unreachable", typed.on_unreachable.as_deref(), &readings)?,
        strict_4xx,
    })
}

pub(super) fn fetch(file: &ConfigFile, identity: &Identity, own: Vec<Network>) -> Result<FetchConfig, ConfigError> {
    let mut config = FetchConfig::new(identity.user_agent());
    config.from = identity.from().map(ToOwned::to_owned);
    config.signer = agent::signer(&file.agent)?;
    config.allow_addresses = own;
    exits::put(&file.fetch, &mut config)?;
    config.resolve = resolve_map(file.fetch.resolve.as_ref())?;
    bounds::fetch(&file.fetch, &mut config)?;
    config.spool_dir = file.fetch.spool_dir.clone().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(folder) = config.spool_dir.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(ConfigError::new(format!("{} is no folder", folder.display()))
            .at("[fetch] spool_dir")
            .hint("make it first, or leave the key out for the system's folder for temporary files"));
    }
    config.http = one_of("[fetch] http", file.fetch.http.as_deref(), &[("auto", Http::Auto), ("1.1", Http::Only11)])?;
    let cookies = [("off", Cookies::Off), ("memory", Cookies::Memory)];
    config.cookies = one_of("[fetch] cookies", file.fetch.cookies.as_deref(), &cookies)?;
    for path in file.fetch.roots.as_deref().unwrap_or_default() {
        config.extra_roots_pem.push(read_roots(path)?);
    }
    Ok(config)
}

fn media_types(typed: Option<&[String]>) -> Result<MediaTypes, ConfigError> {
    let ranges = typed.unwrap_or_default().iter().map(|text| text.parse()).collect::<Result<_, _>>();
    let wrong = |error| {
        ConfigError::new(error).at("[fetch] accept_types").hint("for instance [\"text/html\", \"application/*\"]")
    };
    ranges.map(MediaTypes::new).map_err(wrong)
}

fn read_roots(path: &PathBuf) -> Result<Vec<u8>, ConfigError> {
    std::fs::read(path).map_err(|e| ConfigError::new(format!("{}: {e}", path.display())).at("[fetch] roots"))
}

fn resolve_map(typed: Option<&BTreeMap<String, String>>) -> Result<BTreeMap<String, Vec<IpAddr>>, ConfigError> {
    let mut map = BTreeMap::new();
    for (host, address) in typed.into_iter().flatten() {
        let wrong =
            |what: String| ConfigError::new(what).at("[fetch] resolve").hint("write \"a.test\" = \"127.0.0.1\"");
        let address: IpAddr = address.parse().map_err(|_| wrong(format!("{address:?} is no address")))?;
        let name = CrawlUrl::parse(&format!("http://{host}/")).map_err(|e| wrong(format!("{host:?}: {e}")))?;
        map.entry(name.origin().host().to_owned()).or_insert_with(Vec::new).push(address);
    }
    Ok(map)
}

pub(super) fn refuse_public(networks: &[Network]) -> Result<(), ConfigError> {
    match networks.iter().find(|network| AddressGuard::is_public_range(network)) {
        None => Ok(()),
        Some(public) => Err(ConfigError::new(format!("{public} holds public addresses"))
            .at("[fetch] allow_addresses")
            .hint("only loopback, private and other non-public ranges can be allowed; public ones need no permission")),
    }
}

const STORES: [(&str, QueueStore); 2] =
    [(QueueStore::Disk.as_str(), QueueStore::Disk), (QueueStore::Memory.as_str(), QueueStore::Memory)];

pub(super) fn rate(place: &str, typed: Option<&str>) -> Result<Option<Rate>, ConfigError> {
    match typed {
        None | Some("off") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|e| ConfigError::new(e).at(place)),
    }
}

fn at_least_one(place: &str, typed: Option<u32>, default: u32) -> Result<u32, ConfigError> {
    match typed.unwrap_or(default) {
        0 => Err(ConfigError::new("0 would never send anything").at(place).hint("1 or more")),
        some => Ok(some),
    }
}

pub(super) fn networks(place: &str, typed: Option<&[String]>) -> Result<Vec<Network>, ConfigError> {
    list(place, typed)
}

fn list<T: FromStr>(place: &str, typed: Option<&[String]>) -> Result<Vec<T>, ConfigError>
where
    T::Err: Display,
{
    typed.unwrap_or_default().iter().map(|text| text.parse().map_err(|e| ConfigError::new(e).at(place))).collect()
}

/// The value of a named choice; the first is the default. The nearest name is offered for an unknown one.
pub(super) fn one_of<T: Copy>(place: &str, typed: Option<&str>, choices: &[(&str, T)]) -> Result<T, ConfigError> {
    let wanted = typed.or_else(|| choices.first().map(|(name, _)| *name)).unwrap_or_default();
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == wanted) {
        return Ok(*value);
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let meant = nearest(wanted, names.iter().copied(), 0.75).map(|name| format!("did you mean {name:?}? "));
    let hint = format!("{}known: {}", meant.unwrap_or_default(), names.join(", "));
    Err(ConfigError::new(format!("unknown value {wanted:?}")).at(place).hint(hint))
}

#[cfg(test)]
#[cfg(all(feature = "disk", feature = "proxy"))]
mod tests {
    use comity_archive::WarcFormat;
    use comity_signals::{Declared, Purpose};

    use super::*;
    use crate::config::WarcSettings;

    const GOOD: &str = "[agent]\nname = \"MyBot/1.0\"\ncontact = \"https://example.com/bot\"\n[crawl]\nseeds = [\"https://a.test/\"]\n";

    fn resolve(more: &str) -> Result<CrawlConfig, ConfigError> {
        let mut file = ConfigFile::parse(GOOD, None).unwrap();
        file.overlay(ConfigFile::parse(more, None).unwrap());
        CrawlConfig::resolve(file)
    }

    #[test]
    fn defaults_are_those_of_the_design() {
        let config = resolve("").unwrap();
        assert_eq!(config.politeness, Politeness::default());
        assert_eq!(config.limits.linger, Duration::from_secs(900));
        assert_eq!(config.identity.purposes(), [Declared::Judged(Purpose::Search)]);
        assert_eq!(
            config.archive.warc,
            Some(WarcSettings { format: WarcFormat::Gzip, level: 3, dedup: false, rollover: 1_000_000_000 })
        );
        assert_eq!(config.notes, ["declared purposes: search"]);
        let again = CrawlConfig::resolve(config.resolved()).unwrap();
        assert_eq!(again.politeness, config.politeness);
        assert_eq!(again.resolved(), config.resolved(), "a crawl can be run again from its crawl.toml");
    }

    #[test]
    fn what_cannot_be_used_is_refused_at_its_key() {
        let rows = [
            ("[crawl]\nseeds = [\"ftp://a.test/\"]", "seed:"),
            ("[crawl]\nseeds = [\"a.test\"]", "seed:"),
            ("[crawl]\nseeds = []", "[crawl] seeds"),
            ("[crawl]\nscope = \"orgins\"", "[crawl] scope"),
            ("[crawl]\nrevisit = \"daily\"", "[crawl] revisit"),
            ("[crawl]\nsitemaps = \"all\"", "[crawl] sitemaps"),
            ("[agent]\ncontact = \"\"", "[agent]"),
            ("[agent]\nname = \"Googlebot/2.1\"", "[agent]"),
            ("[agent]\npurposes = [\"training\"]", "[agent] purposes"),
            ("[agent]\nfrom = \"me\"", "[agent] from"),
            ("[agent]\nsigning_key = \"/no/such/file.pem\"", "[agent] signing_key"),
            ("[agent]\nranges = [\"10.0.0.0/8\"]", "[agent] ranges"),
            ("[fetch]\nallow_addresses = [\"0.0.0.0/0\"]", "[fetch] allow_addresses"),
            ("[fetch]\nallow_addresses = [\"8.8.8.8\"]", "[fetch] allow_addresses"),
            ("[fetch]\nresolve = { \"a.test\" = \"x\" }", "[fetch] resolve"),
            ("[fetch]\nhttp = \"3\"", "[fetch] http"),
            ("[fetch]\naccept_types = [\"html\"]", "[fetch] accept_types"),
            ("[fetch]\nspool_dir = \"/no/such/folder\"", "[fetch] spool_dir"),
            ("[fetch]\nroots = [\"/no/such/file.pem\"]", "[fetch] roots"),
            ("[politeness]\ntotal = 0", "[politeness] total"),
            ("[politeness]\nmax_rate = \"fast\"", "[politeness] max_rate"),
            ("[robots]\nstrict_4xx = [429]", "[robots] strict_4xx"),
            ("[robots]\ndialect = \"bing\"", "[robots] dialect"),
            ("[archive]\nlevel = 0", "[archive] level"),
            ("[frontier]\nstore = \"disc\"", "[frontier] store"),
        ];
        for (text, place) in rows {
            let error = resolve(text).unwrap_err();
            assert!(error.to_string().starts_with(place), "{text}: {error}");
        }
        assert_eq!(
            resolve("[crawl]\nscope = \"orgins\"").unwrap_err().advice().map(|h| h.contains("\"origins\"")),
            Some(true)
        );
        let far = resolve("[crawl]\nscope = \"site\"").unwrap_err();
        assert_eq!(far.advice(), Some("known: origins, hosts, domains, prefix, any"), "nothing is near");
    }

    #[test]
    fn raised_floors_are_said() {
        let config = resolve("[politeness]\ndelay = \"0s\"\naddress_gap = \"1ms\"").unwrap();
        assert_eq!(config.notes.len(), 3);
        assert_eq!(config.politeness.address_limits, AddressLimits::Everywhere);
    }
}
