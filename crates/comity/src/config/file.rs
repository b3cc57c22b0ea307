use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    ByteSize, ConfigError, CustomerSection, GrantSection, OptoutSection, OverrideSection, ProxySection, Span,
    TermsSection,
};

/// A configuration as typed: every key optional, unknown keys refused. Later layers win over earlier ones with
/// [`ConfigFile::overlay`]: the user's file, the crawl's file, the flags.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// `[[override]]`: written exceptions. First, so that a resolved configuration begins with them.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Vec<OverrideSection>>,
    /// `[[grant]]`: uses that a licence, a contract or a law permits.
    #[serde(rename = "grant", skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<GrantSection>>,
    /// `[[terms]]`: what was read in the terms of sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<Vec<TermsSection>>,
    /// Who is not to be visited at all.
    #[serde(skip_serializing_if = "is_default")]
    pub optout: OptoutSection,
    /// Who we are.
    #[serde(skip_serializing_if = "is_default")]
    pub agent: AgentSection,
    /// What is crawled, and when it ends.
    #[serde(skip_serializing_if = "is_default")]
    pub crawl: CrawlSection,
    /// When a URL is visited anew.
    #[serde(skip_serializing_if = "is_default")]
    pub revisit: RevisitSection,
    /// What looks like a space without end.
    #[serde(skip_serializing_if = "is_default")]
    pub traps: TrapsSection,
    /// Which spellings of a URL are one page.
    #[serde(skip_serializing_if = "is_default")]
    pub keys: KeysSection,
    /// How fast.
    #[serde(skip_serializing_if = "is_default")]
    pub politeness: PolitenessSection,
    /// How robots.txt is read.
    #[serde(skip_serializing_if = "is_default")]
    pub robots: RobotsSection,
    /// What is made of what sites say about use.
    #[serde(skip_serializing_if = "is_default")]
    pub signals: SignalsSection,
    /// How pages are fetched.
    #[serde(skip_serializing_if = "is_default")]
    pub fetch: FetchSection,
    /// What successive crawls share.
    #[serde(skip_serializing_if = "is_default")]
    pub state: StateSection,
    /// Where the queue is kept.
    #[serde(skip_serializing_if = "is_default")]
    pub frontier: FrontierSection,
    /// What is written.
    #[serde(skip_serializing_if = "is_default")]
    pub archive: ArchiveSection,
    /// What a crawl tells while it runs.
    #[serde(skip_serializing_if = "is_default")]
    pub telemetry: TelemetrySection,
    /// The policy gateway; a crawl has no use for it.
    #[serde(skip_serializing_if = "is_default")]
    pub gateway: GatewaySection,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares a section of optional keys, and how a later layer lies over an earlier one.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$key_doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$type>,)+
        }

        impl $name {
            fn overlay(&mut self, later: Self) {
                $(if later.$key.is_some() { self.$key = later.$key; })+
            }
        }
    };
}

section! {
    /// `[agent]`
    AgentSection {
        /// User-Agent name and version, `"MyBot/1.0"`. Required.
        name: String,
        /// URL or e-mail address at which a site reaches the operator. Required.
        contact: String,
        /// Ordered fallback of product tokens; default: the word at the head of `name`.
        tokens: Vec<String>,
        /// What the content is wanted for; default `["search"]`.
        purposes: Vec<String>,
        /// E-mail address sent as From; default none.
        from: String,
        /// File with the Ed25519 key that signs requests, PKCS#8 PEM or JWK; default none: nothing is signed.
        signing_key: PathBuf,
        /// https origin that serves the key directory; with `signing_key`.
        signature_agent: String,
        /// Public address blocks that the crawler comes from, for `comity identity`; default none.
        ranges: Vec<String>,
    }
}

section! {
    /// `[crawl]`
    CrawlSection {
        /// Where the crawl begins: absolute http(s) URLs.
        seeds: Vec<String>,
        /// `origins` (default), `hosts`, `domains`, `prefix` or `any`.
        scope: String,
        /// Only URLs that match one of these patterns, if any are given.
        include: Vec<String>,
        /// No URL that matches one of these patterns.
        exclude: Vec<String>,
        /// Stop after so many pages; default none.
        max_pages: u64,
        /// Links away from a seed; default 20.
        max_depth: u32,
        /// Stop after so long; default none.
        max_duration: Span,
        /// Stop after so many body bytes; default none.
        max_bytes: ByteSize,
        /// End when nothing can become due within this; default 15 min.
        linger: Span,
        /// `never` (default): a URL is fetched once; an interval; `adaptive`; `sitemap`.
        revisit: String,
        /// `robots` (default): those that a robots.txt names; `robots+default`: else `/sitemap.xml`; `off`.
        sitemaps: String,
        /// Sitemaps per origin; default 1,000.
        max_sitemaps: u32,
        /// Whether forms that are sent with GET are links, without their fields; default false.
        forms: bool,
        /// Whether absolute URLs in running text are links; default false.
        text_urls: bool,
        /// Tries of a URL after the first, 0 to 10; default 2.
        retries: u8,
        /// Redirects followed in a row, 0 to 20; default 5.
        max_redirects: u8,
        /// URLs taken per origin, refused ones not counted; default 100,000.
        max_pages_per_origin: u64,
        /// Body bytes of one origin, over all runs; default none.
        max_bytes_per_origin: ByteSize,
        /// URLs taken per registrable domain, refused ones not counted; default none.
        max_pages_per_domain: u64,
        /// URLs queued per registrable domain; default 1,000,000.
        max_pending_per_domain: u64,
    }
}

section! {
    /// `[revisit]`: what is visited anew, and the bounds of an interval that adapts.
    RevisitSection {
        /// Never less; default 1 h.
        min: Span,
        /// Never more; default 30 d.
        max: Span,
        /// From the first visit to the second; default 24 h, within the two.
        start: Span,
        /// Whether all pages are visited anew, or only sitemaps, feeds and seeds; default true.
        pages: bool,
    }
}

section! {
    /// `[traps]`: 0 turns a guard off.
    TrapsSection {
        /// Path segments; default 20.
        path_segments: u32,
        /// Bytes of a URL; default 2,083.
        url_bytes: u32,
        /// How often a run of path segments may stand in a row; default 2.
        repeated_segments: u32,
        /// URLs per origin that differ in their numbers alone; default 20,000.
        numbers: u32,
        /// The same where the numbers are a date; default 2,000.
        calendar: u32,
        /// Hosts per registrable domain; default 1,000.
        hosts: u32,
        /// Near-duplicates of one page, per origin, whose links all count; default 1,000.
        duplicates: u32,
    }
}

section! {
    /// `[keys]`
    KeysSection {
        /// Whether tracking parameters (`utm_*`, `gclid`, …) make no other page; default false.
        tracking: bool,
        /// Whether session identifiers make no other page; default false.
        sessions: bool,
        /// Whether the parameters of Clean-param lines make no other page; default false.
        clean_param: bool,
    }
}

section! {
    /// `[politeness]`
    PolitenessSection {
        /// Own floor between two requests to an origin; default 1 s.
        delay: Span,
        /// Longest Crawl-delay honoured; above it the origin is parked; default 300 s.
        max_crawl_delay: Span,
        /// Requests open at once; default 32.
        total: u32,
        /// Requests open at once per origin; default 1.
        per_origin: u32,
        /// Requests open at once per address; default 2.
        per_address: u32,
        /// Gap between two requests to an address; default 500 ms.
        address_gap: Span,
        /// Whether slow origins are asked more slowly; default true.
        adaptive: bool,
        /// Networks whose addresses serve many sites (CDNs): a gap of 50 ms holds there.
        shared_addresses: Vec<String>,
        /// Rate of the whole crawl, `"10/s"`, or `"off"` (default).
        max_rate: String,
        /// Rate per registrable domain, `"1/s"`, or `"off"` (default).
        max_rate_domain: String,
    }
}

section! {
    /// `[robots]`
    RobotsSection {
        /// `standard` (default) or `google`.
        dialect: String,
        /// `rfc9309` (default) or `google`.
        on_unreachable: String,
        /// 4xx statuses of robots.txt that mean "disallow all"; default none.
        strict_4xx: Vec<u16>,
    }
}

section! {
    /// `[signals]`
    SignalsSection {
        /// `proceed` (default) or `refuse`: what is done where nobody says anything about a declared purpose.
        unspecified: String,
        /// `needed` (default): where a declared purpose is `tdm` or `ai_train`; `always`.
        tdmrep: String,
        /// Whether `/ai.txt` is asked for; default false.
        ai_txt: bool,
        /// Whether trust.txt of sites is asked for.
        trust_txt: bool,
        /// Whether the RSL licences that sites and pages name are asked for; default false.
        licences: bool,
        /// `note` (default): links to terms are recorded; `copy`: their text is copied, too.
        terms: String,
        /// `cautious` (default): denials are derived from kindred ones; `literal`: only what the defining document says.
        profile: String,
        /// `ignore` (default) or `map`: labels that the vocabulary of `Content-Usage` has dropped.
        aipref_legacy: String,
        /// Whether `disallow`, `false` and `0` of `Content-Signal` are read as `no`; default false.
        signal_lenient_values: bool,
        /// `off`, `record` (default) or `deny`: groups of robots.txt for the AI agents of others.
        infer_from_ai_tokens: String,
        /// Distinct agents that it takes for a denial, 1 to 1000; default 1.
        infer_min_tokens: u32,
        /// `undeclared`, `immediate`, `reference` or `full`: the most that is done with content.
        content_use_level: String,
        /// Our class, for RSL licences that ask: `commercial`, `non-commercial`, `education`, `government`, `personal`; by default
        /// not known.
        rsl_user: String,
        /// Our region, for RSL licences that ask: ISO 3166-1 alpha-2, or `EU`; by default not known.
        rsl_geo: String,
        /// Conditions of RSL licences that are met: payment types, `server`, `reporting`, `custom`; default none.
        satisfies: Vec<String>,
    }
}

section! {
    /// `[fetch]`
    FetchSection {
        /// Non-public networks that may be connected to, `["127.0.0.0/8"]`; default none.
        allow_addresses: Vec<String>,
        /// Addresses of names, instead of asking DNS: `{ "a.test" = "127.0.0.1" }`.
        resolve: BTreeMap<String, String>,
        /// Resolving a name, 10 ms to 10 min; default 10 s.
        dns_timeout: Span,
        /// Connecting, TLS included, 10 ms to 10 min; default 10 s.
        connect_timeout: Span,
        /// From the written request to the end of the head, 10 ms to 10 min; default 15 s.
        head_timeout: Span,
        /// The longest pause in a body, 10 ms to 10 min; default 15 s.
        idle_timeout: Span,
        /// The whole exchange, 10 ms to 1 h; default 60 s.
        total_timeout: Span,
        /// Bytes of a body per second, on average; `0B`: any; default 1 KiB.
        min_rate: ByteSize,
        /// How long after the head a body may be slower, up to 10 min; default 10 s.
        rate_grace: Span,
        /// Largest body, decoded and as received, at least 1 B; default 10 MiB.
        max_body: ByteSize,
        /// Largest body sent along with a request; default 10 MiB. A crawl sends none.
        max_request_body: ByteSize,
        /// Decoded bytes for each byte received, from 64 KiB on, 1 to 100,000; default 200.
        max_ratio: u32,
        /// Largest response head, 1 KiB to 1 MiB; default 64 KiB.
        max_head: ByteSize,
        /// Most fields of a response head, 1 to 1,000; default 100.
        max_fields: u16,
        /// PEM files with further root certificates.
        roots: Vec<PathBuf>,
        /// Media types whose bodies are read, `["text/html"]`; default all.
        accept_types: Vec<String>,
        /// Where large bodies go while they are needed; empty (default): the system's folder for temporary files.
        spool_dir: PathBuf,
        /// From which size on a body goes there, up to 64 MiB; default 1 MiB.
        spool_from: ByteSize,
        /// Bytes of all such bodies at once; default 2 GiB.
        spool_max: ByteSize,
        /// `auto` (default): HTTP/2 where a site speaks it over TLS; `1.1`: HTTP/1.1 alone.
        http: String,
        /// `off` (default), or `memory`: cookies are kept while the crawl runs, and never written.
        cookies: String,
        /// How long an idle connection is kept, up to 10 min; default 15 s.
        keep_alive: Span,
        /// Idle connections kept per origin, up to 100; default 2.
        keep_per_origin: u16,
        /// Idle connections kept in all, up to 50,000; default 256.
        keep_total: u16,
        /// Proxies that everything leaves through, as URLs: `[[fetch.proxy]]` in short; default none.
        proxies: Vec<String>,
        /// Proxies that everything leaves through, in full; default none.
        proxy: Vec<ProxySection>,
        /// Only the proxies of this country, two letters; default all.
        proxy_country: String,
        /// Only the proxies of this pool; default all.
        proxy_pool: String,
    }
}

section! {
    /// `[state]`
    StateSection {
        /// Directory of robots copies, back-offs and parks that successive crawls of one agent share; empty (default):
        /// inside the crawl directory.
        dir: PathBuf,
    }
}

section! {
    /// `[frontier]`
    FrontierSection {
        /// `disk` (default): the queue is kept in the crawl directory, and the crawl can be resumed. `memory`: it lives as
        /// long as the process.
        store: String,
        /// Origins, hosts or domains that get eight turns of fifteen when more is due than can be fetched.
        first_class: Vec<String>,
        /// Those that get two; who is not named gets four.
        third_class: Vec<String>,
        /// Those that get one.
        fourth_class: Vec<String>,
    }
}

section! {
    /// `[archive]`
    ArchiveSection {
        /// Whether WARC files are written; default true. Records are always written.
        warc: bool,
        /// `gzip` (default), or `zstd`, which few readers take.
        compression: String,
        /// Level of the compression, 1 to 9; default 3.
        level: u32,
        /// Whether a body that this run stored before becomes a `revisit` that points at it; default false.
        dedup: bool,
        /// Size at which a WARC file is closed and the next begun; default 1 GB.
        rollover: ByteSize,
        /// Free space below which the crawl stops; default 2 GB.
        min_free: ByteSize,
        /// What is written of the queries of URLs: `keep` (default), `hash` or `drop`.
        query: String,
        /// Bodies of visits that began longer ago are erased at each start, and by `comity prune`; default: none is.
        keep_payload: Span,
        /// Records of such visits, with all that is theirs in WARC files; default: none is.
        keep_records: Span,
        /// Key that signs the checkpoints of the chain: a file, PKCS#8 in PEM or JWK, Ed25519. Relative to the file that
        /// names it.
        signing_key: PathBuf,
    }
}

section! {
    /// `[telemetry]`
    TelemetrySection {
        /// Where Prometheus may ask for `/metrics`, `"127.0.0.1:9464"`; empty (default): nowhere.
        metrics: String,
        /// Where a live page may be looked at, `"127.0.0.1:8780"`; empty (default): nowhere.
        dashboard: String,
        /// Whether the two may listen beyond this machine; default false.
        expose: bool,
        /// `text` (default) or `json`: how the log on standard error is written.
        log_format: String,
    }
}

section! {
    /// `[gateway]`
    GatewaySection {
        /// Pseudonym in Via, Proxy-Status and decision records; default `comity`.
        name: String,
        /// Where the proxy listens; default `127.0.0.1:3128`.
        proxy: String,
        /// Where the decision API listens; empty (default): nowhere.
        api: String,
        /// SHA-256 of the bearer key of the API, 64 hex digits; required where it listens.
        api_key_sha256: String,
        /// `basic` (default) or, on loopback only, `none`.
        auth: String,
        /// `all` (default): the customer's tokens and those of `[agent]`. `customer`: the customer's alone.
        combine_tokens: String,
        /// Ports of targets; default `[80, 443]`.
        ports: Vec<u16>,
        /// The longest wait for a turn before 429; default 10 s.
        hold_max: Span,
        /// Requests held at once; default 1,000.
        max_held: u32,
        /// Connections open at once on each listener; default 1,024.
        max_connections: u32,
        /// Bytes of response bodies that wait to be read by customers; default 256 MiB.
        max_buffered: ByteSize,
        /// How long requests under way may take once the gateway is told to stop; default 30 s.
        drain: Span,
        /// Who may ask.
        customer: CustomerSection,
    }
}

impl ConfigFile {
    /// Reads a configuration file. The key file that it names is looked for in the file's own folder.
    ///
    /// # Errors
    /// As [`ConfigFile::parse`]; also when the file cannot be read.
    pub fn read(file: &PathBuf) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(file).map_err(|e| ConfigError::new(e).at(&file.display().to_string()))?;
        let mut read = Self::parse(&text, Some(file))?;
        read.anchor(file.parent().unwrap_or(file));
        Ok(read)
    }

    /// Brings the files that it names to `folder`.
    pub(super) fn anchor(&mut self, folder: &Path) {
        self.agent.anchor(folder);
        self.archive.anchor(folder);
        self.optout.anchor(folder);
        self.fetch.anchor(folder);
    }

    /// Lays `later` over this one: what it says wins, what it leaves out stays. Opt-out files add up.
    pub fn overlay(&mut self, later: Self) {
        self.grants = later.grants.or(self.grants.take());
        self.terms = later.terms.or(self.terms.take());
        self.overrides = later.overrides.or(self.overrides.take());
        self.optout.join(later.optout);
        self.agent.forget_tokens_of_another(&later.agent);
        self.agent.overlay(later.agent);
        self.crawl.overlay(later.crawl);
        self.revisit.overlay(later.revisit);
        self.traps.overlay(later.traps);
        self.keys.overlay(later.keys);
        self.politeness.overlay(later.politeness);
        self.robots.overlay(later.robots);
        self.signals.overlay(later.signals);
        self.fetch.overlay(later.fetch);
        self.state.overlay(later.state);
        self.frontier.overlay(later.frontier);
        self.archive.overlay(later.archive);
        self.telemetry.overlay(later.telemetry);
        self.gateway.overlay(later.gateway);
    }
}

#[cfg(test)]
mod tests;
