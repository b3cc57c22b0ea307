//! `[agent]`, `[crawl]`, `[revisit]`, `[traps]`, `[keys]`, `[politeness]`, `[robots]`.

use super::Form::Once;
use super::Kind::{Choice, Choices, Number, Numbers, Path, Size, Span, Switch, Text, Texts};
use super::Unset::{From, None, Required, Value};
use super::{Key, PURPOSES, Section};

const NO_LIMIT: super::Unset = None("no limit");

pub(super) const AGENT: Section = Section {
    name: "agent",
    form: Once,
    about: "who we are",
    keys: &[
        Key::new("name", Text, Required, "User-Agent name and version, printable ASCII of at most 200 bytes.")
            .flag("--agent")
            .source("RFC 9110 §10.1.5"),
        Key::new("contact", Text, Required, "The http(s) URL or e-mail address at which a site reaches the operator.")
            .flag("--contact"),
        Key::new(
            "tokens",
            Texts,
            From("the word at the head of name"),
            "Product tokens, an ordered fallback: the first that a robots.txt names is used, then `*`.",
        )
        .source("RFC 9309 §2.2.1"),
        Key::new(
            "purposes",
            Choices(PURPOSES),
            Value("[\"search\"]"),
            "What the content is wanted for; a URL is refused when all declared purposes are judged and denied.",
        )
        .flag("--purpose"),
        Key::new("from", Text, None("not sent"), "E-mail address sent as From on every request.")
            .source("RFC 9110 §10.1.2"),
        Key::new(
            "signing_key",
            Path,
            None("nothing is signed"),
            "File with the Ed25519 key that signs requests over https.",
        )
        .source("decision 25"),
        Key::new("signature_agent", Text, None("nothing is signed"), "The https origin that serves the key directory.")
            .source("decision 25"),
        Key::new("ranges", Texts, None("none"), "Public address blocks of the crawler, for `comity identity` alone."),
    ],
};

pub(super) const CRAWL: Section = Section {
    name: "crawl",
    form: Once,
    about: "what is crawled, and when it ends",
    keys: &[
        Key::new("seeds", Texts, Required, "Where the crawl begins: absolute http(s) URLs.").flag("--seeds"),
        Key::new(
            "scope",
            Choice(&["origins", "hosts", "domains", "prefix", "any"]),
            Value("\"origins\""),
            "Which URLs belong to the crawl, by its seeds, after their own redirects too.",
        )
        .flag("--scope"),
        Key::new("include", Texts, None("all"), "Only URLs that match one of these patterns, with `*` and `$`."),
        Key::new("exclude", Texts, None("none"), "No URL that matches one of these patterns."),
        Key::new("max_pages", Number, NO_LIMIT, "Stops after so many pages of all runs together.")
            .of("pages")
            .flag("--max-pages")
            .source("decision 47"),
        Key::new("max_depth", Number, Value("20"), "Links away from a seed.").of("links").flag("--max-depth"),
        Key::new("max_duration", Span, NO_LIMIT, "Stops so long after the start of the run."),
        Key::new("max_bytes", Size, NO_LIMIT, "Stops after so many body bytes as received, of all runs together.")
            .source("decision 47"),
        Key::new(
            "linger",
            Span,
            Value("\"15m\""),
            "Ends when nothing is in flight and nothing can become due within this.",
        ),
        Key::new(
            "revisit",
            Text,
            Value("\"never\""),
            "`never`, an interval from 1 s to 3,650 d, `adaptive` or `sitemap`.",
        )
        .source("decision 38"),
        Key::new(
            "sitemaps",
            Choice(&["robots", "robots+default", "off"]),
            Value("\"robots\""),
            "Which sitemaps are asked for.",
        )
        .source("decision 30"),
        Key::new("max_sitemaps", Number, Value("1000"), "Sitemaps per origin, those of its indexes with them.")
            .of("sitemaps"),
        Key::new("forms", Switch, Value("false"), "Whether forms sent with GET are links, without their fields."),
        Key::new("text_urls", Switch, Value("false"), "Whether absolute URLs in running text are links."),
        Key::new("retries", Number, Value("2"), "Tries of a URL after the first; never immediate.")
            .of("tries")
            .within("0", "10"),
        Key::new("max_redirects", Number, Value("5"), "Redirects followed in a row.").of("redirects").within("0", "20"),
        Key::new("max_pages_per_origin", Number, Value("100000"), "URLs taken per origin, refused ones not counted.")
            .of("URLs")
            .within("1", "4294967295")
            .source("decision 47"),
        Key::new("max_bytes_per_origin", Size, NO_LIMIT, "Body bytes of one origin, of all runs together.")
            .within("1B", "1048576GiB")
            .source("decision 47"),
        Key::new(
            "max_pages_per_domain",
            Number,
            NO_LIMIT,
            "URLs taken per registrable domain, refused ones not counted.",
        )
        .of("URLs")
        .within("1", "4294967295")
        .source("decision 47"),
        Key::new(
            "max_pending_per_domain",
            Number,
            Value("1000000"),
            "URLs of one registrable domain that wait in the queue.",
        )
        .of("URLs")
        .within("1", "4294967295")
        .source("decision 47"),
    ],
};

pub(super) const REVISIT: Section = Section {
    name: "revisit",
    form: Once,
    about: "what is visited anew, and the bounds of an interval that adapts",
    keys: &[
        Key::new("min", Span, Value("\"1h\""), "Never less; on public addresses never less than an hour in any case.")
            .within("1s", "3650d")
            .source("decision 38"),
        Key::new("max", Span, Value("\"30d\""), "Never more.").within("1s", "3650d").source("decision 38"),
        Key::new("start", Span, Value("\"24h\""), "From the first visit to the second; within the two.")
            .within("1s", "3650d")
            .source("decision 38"),
        Key::new(
            "pages",
            Switch,
            Value("true"),
            "Whether all pages are visited anew, or only sitemaps, feeds and seeds.",
        ),
    ],
};

pub(super) const TRAPS: Section = Section {
    name: "traps",
    form: Once,
    about: "guards against spaces without end; 0 turns one off",
    keys: &[
        Key::new("path_segments", Number, Value("20"), "Path segments of a URL.").of("segments").source("decision 31"),
        Key::new("url_bytes", Number, Value("2083"), "Length of a URL.").of("bytes").source("decision 31"),
        Key::new("repeated_segments", Number, Value("2"), "How often a run of path segments may stand in a row.")
            .of("times")
            .source("decision 31"),
        Key::new("numbers", Number, Value("20000"), "URLs per origin that differ in their numbers alone.")
            .of("URLs")
            .source("decision 31"),
        Key::new("calendar", Number, Value("2000"), "The same where the numbers are a date.")
            .of("URLs")
            .source("decision 31"),
        Key::new("hosts", Number, Value("1000"), "Hosts per registrable domain, those of seeds not counted.")
            .of("hosts")
            .source("decision 31"),
        Key::new(
            "duplicates",
            Number,
            Value("1000"),
            "Near-duplicates of one page, per origin, whose links all count.",
        )
        .of("pages")
        .source("decision 31"),
    ],
};

pub(super) const KEYS: Section = Section {
    name: "keys",
    form: Once,
    about: "which spellings of a URL are one page",
    keys: &[
        Key::new(
            "tracking",
            Switch,
            Value("false"),
            "Whether tracking parameters (`utm_*`, `gclid`) make no other page.",
        )
        .source("decision 31"),
        Key::new("sessions", Switch, Value("false"), "Whether session identifiers make no other page.")
            .source("decision 31"),
        Key::new("clean_param", Switch, Value("false"), "Whether parameters of Clean-param lines make no other page.")
            .source("decision 31"),
    ],
};

pub(super) const POLITENESS: Section = Section {
    name: "politeness",
    form: Once,
    about: "how fast",
    keys: &[
        Key::new(
            "delay",
            Span,
            Value("\"1s\""),
            "Own floor between two requests to an origin; below 200 ms it holds on allow_addresses and under a rate override only.",
        )
        .flag("--delay")
        .source("decision 3"),
        Key::new("max_crawl_delay", Span, Value("\"300s\""), "Longest Crawl-delay honoured; above it the origin is parked."),
        Key::new("total", Number, Value("32"), "Requests open at once.").of("requests").within("1", "4294967295").flag("--total"),
        Key::new("per_origin", Number, Value("1"), "Requests open at once per origin.")
            .of("requests")
            .within("1", "4294967295")
            .flag("--per-origin"),
        Key::new(
            "per_address",
            Number,
            Value("2"),
            "Requests open at once per address; not on allow_addresses unless this or address_gap is set.",
        )
        .of("requests")
        .within("1", "4294967295"),
        Key::new(
            "address_gap",
            Span,
            Value("\"500ms\""),
            "Gap between two requests to an address; not on allow_addresses unless this or per_address is set.",
        )
        .flag("--address-gap")
        .source("decision 3"),
        Key::new("adaptive", Switch, Value("true"), "Whether twice the smoothed latency of an origin is a delay too, up to 30 s."),
        Key::new("shared_addresses", Texts, None("none"), "Networks whose addresses serve many sites: a gap of 50 ms holds there."),
        Key::new("max_rate", Text, Value("\"off\""), "Rate of the whole crawl: `10/s`, `600/m`, `5000/h` or `off`.").of("requests"),
        Key::new("max_rate_domain", Text, Value("\"off\""), "The same per registrable domain.").of("requests"),
    ],
};

pub(super) const ROBOTS: Section = Section {
    name: "robots",
    form: Once,
    about: "how robots.txt is read; nothing turns it off",
    keys: &[
        Key::new(
            "dialect",
            Choice(&["standard", "google"]),
            Value("\"standard\""),
            "RFC 9309 with Google's leniencies, or byte for byte as Google's parser.",
        )
        .source("decision 1"),
        Key::new(
            "on_unreachable",
            Choice(&["rfc9309", "google"]),
            Value("\"rfc9309\""),
            "How long a site stays closed whose robots.txt cannot be fetched: 30 days, or 12 hours.",
        )
        .source("decision 2"),
        Key::new(
            "strict_4xx",
            Numbers,
            Value("[]"),
            "4xx statuses of robots.txt that mean `disallow all`; never 429, which always closes.",
        )
        .source("RFC 9309 §2.3.1.3"),
    ],
};
