//! What each key of a configuration means, as a sentence of one fact. docs/configuration.md is the reference.

/// A key, and what is said of its value.
pub(super) struct Rule {
    pub(super) key: &'static str,
    pub(super) says: Says,
    /// What is said where the configuration does not hold the key.
    pub(super) absent: &'static str,
}

/// How a value is said.
pub(super) enum Says {
    /// `{}` stands for the value.
    Value(&'static str),
    /// A sentence for each value that is known. Another value is told as it stands.
    Words(&'static [(&'static str, &'static str)]),
}

use Says::{Value, Words};

const UNKNOWN: &str = "not recorded";

const fn rule(key: &'static str, says: Says, absent: &'static str) -> Rule {
    Rule { key, says, absent }
}

/// The sections of the policy, in order, each with its keys.
pub(super) const SECTIONS: &[(&str, &[Rule])] = &[
    ("Who crawls", WHO),
    ("What for", PURPOSES),
    ("What it goes to", SCOPE),
    ("How robots.txt is read", ROBOTS),
    ("How fast", PACE),
    ("What it stops at", LIMITS),
    ("Statements about use", SIGNALS),
    ("What is kept", ARCHIVE),
    ("What it tells while it runs", TELEMETRY),
];

const WHO: &[Rule] = &[
    rule("agent.name", Value("The crawler calls itself {}."), UNKNOWN),
    rule("agent.contact", Value("A site reaches the operator at {}."), UNKNOWN),
    rule(
        "agent.tokens",
        Value("In robots.txt it answers to these product tokens, the first that is named: {}."),
        UNKNOWN,
    ),
    rule("agent.from", Value("It sends the From address {}."), "No From address is sent."),
    rule(
        "agent.signature_agent",
        Value("Its requests over https are signed, and the key is published at {}."),
        "Requests are not signed.",
    ),
    rule("agent.ranges", Value("It says that it comes from the addresses {}."), "No address ranges are published."),
    rule(
        "fetch.proxy_country",
        Value("It leaves through proxies of the country {}."),
        "No country of proxies is chosen.",
    ),
];

const PURPOSES: &[Rule] = &[rule("agent.purposes", Value("It declares that the content is wanted for: {}."), UNKNOWN)];

const SCOPE: &[Rule] = &[
    rule(
        "crawl.scope",
        Words(&[
            ("origins", "It stays on the origins of its seeds."),
            ("hosts", "It stays on the hosts of its seeds."),
            ("domains", "It stays on the registrable domains of its seeds."),
            ("prefix", "It stays below the paths of its seeds."),
            ("any", "It follows links to any site."),
        ]),
        UNKNOWN,
    ),
    rule("crawl.include", Value("It takes only URLs that match {}."), "No pattern narrows what it takes."),
    rule("crawl.exclude", Value("It leaves out URLs that match {}."), "No pattern leaves URLs out."),
    rule(
        "crawl.revisit",
        Words(&[
            ("never", "It visits a URL once."),
            ("adaptive", "It visits a URL again, the sooner the more often it changes."),
            ("sitemap", "It visits a URL again when it changes or its sitemap says so."),
        ]),
        UNKNOWN,
    ),
    rule(
        "crawl.sitemaps",
        Words(&[
            ("robots", "It asks for the sitemaps that a robots.txt names."),
            (
                "robots+default",
                "It asks for the sitemaps that a robots.txt names, and for /sitemap.xml where none is named.",
            ),
            ("off", "It asks for no sitemaps."),
        ]),
        UNKNOWN,
    ),
];

/// What is public about robots.txt.
pub(super) const ROBOTS: &[Rule] = &[
    rule(
        "robots.dialect",
        Words(&[
            ("standard", "robots.txt is read by RFC 9309 with the leniencies of Google's parser."),
            ("google", "robots.txt is read byte for byte as Google's parser reads it."),
        ]),
        UNKNOWN,
    ),
    rule(
        "robots.on_unreachable",
        Words(&[
            ("rfc9309", "A site whose robots.txt cannot be had is not visited, for 30 days of failed tries."),
            ("google", "A site whose robots.txt cannot be had is not visited, for 12 hours of failed tries."),
        ]),
        UNKNOWN,
    ),
    rule(
        "robots.strict_4xx",
        Value(
            "A robots.txt that answers {} closes its site, as 429 does; other 4xx answers mean that there are no rules.",
        ),
        "A robots.txt that answers 4xx means that there are no rules; 429 closes its site.",
    ),
];

/// What is public about pace.
pub(super) const PACE: &[Rule] = &[
    rule(
        "politeness.delay",
        Value("Two requests to an origin are at least {} apart; a longer Crawl-delay counts instead."),
        UNKNOWN,
    ),
    rule(
        "politeness.max_crawl_delay",
        Value("A site that asks for a Crawl-delay above {} is left alone, not visited faster."),
        UNKNOWN,
    ),
    rule("politeness.per_origin", Value("Requests open at once to an origin: {}."), UNKNOWN),
    rule("politeness.address_gap", Value("Two requests to an address are at least {} apart."), UNKNOWN),
    rule("politeness.per_address", Value("Requests open at once to an address: {}."), UNKNOWN),
    rule(
        "politeness.adaptive",
        Words(&[
            ("true", "A slow origin is asked more slowly: at least twice the time of its answers apart, up to 30 s."),
            ("false", "The time of an origin's answers does not slow the crawl."),
        ]),
        UNKNOWN,
    ),
    rule("politeness.total", Value("Requests open at once in all: {}."), UNKNOWN),
    rule("politeness.max_rate", Value("The rate of the whole crawl is bounded by: {}."), UNKNOWN),
    rule("politeness.max_rate_domain", Value("The rate per registrable domain is bounded by: {}."), UNKNOWN),
    rule(
        "politeness.shared_addresses",
        Value("These networks serve many sites, and have a gap of their own: {}."),
        "No address counts as one that serves many sites.",
    ),
];

const LIMITS: &[Rule] = &[
    rule("crawl.max_pages", Value("It ends after {} pages."), "Pages are not limited in number."),
    rule("crawl.max_bytes", Value("It ends after {} of bodies."), "Bodies are not limited in sum."),
    rule("crawl.max_duration", Value("It ends after {}."), "Its time is not limited."),
    rule("crawl.max_depth", Value("It goes at most {} links away from a seed."), UNKNOWN),
    rule("crawl.max_pages_per_origin", Value("It takes at most {} URLs of an origin."), UNKNOWN),
    rule(
        "crawl.max_bytes_per_origin",
        Value("It takes at most {} of bodies of an origin."),
        "Bodies of an origin are not limited in sum.",
    ),
    rule(
        "crawl.max_pages_per_domain",
        Value("It takes at most {} URLs of a registrable domain."),
        "URLs of a registrable domain are not limited in number.",
    ),
    rule("crawl.retries", Value("It tries a URL again at most {} times, never at once."), UNKNOWN),
    rule("fetch.max_body", Value("It reads at most {} of a body."), UNKNOWN),
    rule(
        "fetch.accept_types",
        Value("It reads bodies of these media types only: {}."),
        "It reads bodies of every media type.",
    ),
];

/// What is public about statements of use.
pub(super) const SIGNALS: &[Rule] = &[
    rule(
        "signals.unspecified",
        Words(&[
            ("proceed", "Where nobody says anything about a declared purpose, it proceeds."),
            ("refuse", "Where nobody permits a declared purpose, nothing of the answer is kept."),
        ]),
        UNKNOWN,
    ),
    rule(
        "signals.profile",
        Words(&[
            ("cautious", "Signals that are close to a denial of use are read as one."),
            ("literal", "Signals are read by their own words alone."),
        ]),
        UNKNOWN,
    ),
    rule(
        "signals.infer_from_ai_tokens",
        Words(&[
            ("off", "What a robots.txt says to the AI agents of others is not looked at."),
            ("record", "What a robots.txt says to the AI agents of others is recorded, and decides nothing."),
            ("deny", "What a robots.txt denies to the AI agents of others is denied."),
        ]),
        UNKNOWN,
    ),
    rule(
        "signals.content_use_level",
        Words(&[
            ("undeclared", "It declares no level of use; `use=` of Content-Signal is recorded, and refuses nothing."),
            ("immediate", "It keeps nothing of the content: no `use=` of Content-Signal refuses it."),
            (
                "reference",
                "It indexes, excerpts and links at most; what `use=` of Content-Signal permits less of is left.",
            ),
            ("full", "It keeps content in full; what `use=` of Content-Signal permits less of is left."),
        ]),
        UNKNOWN,
    ),
    rule(
        "signals.tdmrep",
        Words(&[
            ("needed", "A site's tdmrep.json is asked for where tdm or ai_train is declared."),
            ("always", "Every site's tdmrep.json is asked for."),
        ]),
        UNKNOWN,
    ),
    rule(
        "signals.licences",
        Words(&[
            ("true", "The RSL licences that a robots.txt or a page names are asked for and read."),
            ("false", "RSL licences are not read."),
        ]),
        "RSL licences are not read.",
    ),
    rule(
        "signals.ai_txt",
        Words(&[("true", "Every site's ai.txt is asked for."), ("false", "ai.txt is not read.")]),
        "ai.txt is not read.",
    ),
    rule(
        "signals.trust_txt",
        Words(&[("true", "Every site's trust.txt is asked for."), ("false", "trust.txt is not read.")]),
        "trust.txt is not read.",
    ),
    rule(
        "signals.terms",
        Words(&[
            ("note", "Links to terms are noted, their text is neither asked for nor interpreted."),
            ("copy", "Terms that pages link to or that were reviewed are copied, and not interpreted."),
        ]),
        UNKNOWN,
    ),
];

const ARCHIVE: &[Rule] = &[
    rule(
        "archive.warc",
        Words(&[
            ("true", "Requests and answers are kept in WARC files."),
            ("false", "No WARC files are written: records are kept, bodies are not."),
        ]),
        UNKNOWN,
    ),
    rule(
        "archive.keep_payload",
        Value("Bodies are erased {} after their visit, when the crawl starts or is pruned."),
        "Bodies are kept without an end.",
    ),
    rule(
        "archive.keep_records",
        Value("Records are erased {} after their visit, when the crawl starts or is pruned."),
        "Records are kept without an end.",
    ),
    rule(
        "archive.signing_key",
        Value("The checkpoints of the chain are signed with the key in {}."),
        "No key signs the checkpoints of the chain.",
    ),
];

const TELEMETRY: &[Rule] = &[
    rule("telemetry.metrics", Value("Its numbers can be asked for at {}."), "Its numbers can be asked for nowhere."),
    rule("telemetry.dashboard", Value("A live page is at {}."), "There is no live page."),
    rule(
        "telemetry.expose",
        Words(&[
            ("true", "Numbers and live page may be reached from other machines."),
            ("false", "Numbers and live page are for its own machine alone."),
        ]),
        UNKNOWN,
    ),
    rule("telemetry.log_format", Value("Its log is written as {}."), UNKNOWN),
];

/// The keys of `[[override]]`.
pub(super) const OVERRIDE: &[Rule] = &[
    rule("id", Value("Override {n} is named {}."), UNKNOWN),
    rule("origins", Value("Override {n} holds for {}."), UNKNOWN),
    rule("scope", Value("Override {n} lifts: {}."), "Override {n} lifts nothing else."),
    rule(
        "robots_5xx_as_404",
        Words(&[
            ("true", "Under override {n} a robots.txt that answers 5xx counts as absent."),
            ("false", "Under override {n} a robots.txt that answers 5xx still closes its site."),
        ]),
        "Under override {n} a robots.txt that answers 5xx still closes its site.",
    ),
    rule("basis", Value("The basis of override {n} is {}."), UNKNOWN),
    rule("justification", Value("Override {n} is justified by: {}."), UNKNOWN),
    rule("approved_by", Value("Override {n} was approved by {}."), UNKNOWN),
    rule("created", Value("Override {n} holds from {} on."), UNKNOWN),
    rule("expires", Value("Override {n} ends at {}."), UNKNOWN),
];

/// The keys of `[[grant]]`.
pub(super) const GRANT: &[Rule] = &[
    rule("origins", Value("Grant {n} holds for {}."), UNKNOWN),
    rule("purposes", Value("Grant {n} permits: {}."), UNKNOWN),
    rule("basis", Value("The basis of grant {n} is {}."), UNKNOWN),
    rule("reference", Value("Grant {n} is found under the reference {}."), UNKNOWN),
    rule("approved_by", Value("Grant {n} was approved by {}."), UNKNOWN),
    rule("expires", Value("Grant {n} ends at {}."), UNKNOWN),
];

/// The keys of `[[terms]]`.
pub(super) const TERMS: &[Rule] = &[
    rule("origin", Value("Review {n} is of the terms of {}."), UNKNOWN),
    rule("url", Value("The terms of review {n} stand at {}."), UNKNOWN),
    rule("reviewed_by", Value("Review {n} was made by {}."), UNKNOWN),
    rule("reviewed_on", Value("Review {n} was made on {}."), UNKNOWN),
    rule(
        "digest",
        Value("The text of review {n} has the digest {}."),
        "The text of review {n} has no digest recorded.",
    ),
    rule("verdicts", Value("Review {n} found: {}."), UNKNOWN),
    rule("note", Value("Review {n} notes: {}."), "Review {n} has no note."),
];
