//! `[fetch]`, `[[fetch.proxy]]`.

use super::Form::{Many, Once};
use super::Kind::{Choice, Map, Number, Path, Paths, Size, Span, Switch, Text, Texts};
use super::Unset::{None, Required, Value};
use super::{Key, Section};

pub(super) const FETCH: Section = Section {
    name: "fetch",
    form: Once,
    about: "how pages are fetched",
    keys: &[
        Key::new("allow_addresses", Texts, None("none"), "Non-public networks that may be connected to.")
            .flag("--allow-address"),
        Key::new("resolve", Map, None("none"), "Addresses of names, instead of asking DNS.").flag("--resolve"),
        Key::new("dns_timeout", Span, Value("\"10s\""), "Resolving a name.").within("10ms", "10m"),
        Key::new("connect_timeout", Span, Value("\"10s\""), "Connecting to all addresses together, TLS included.")
            .within("10ms", "10m"),
        Key::new("head_timeout", Span, Value("\"15s\""), "From the written request to the end of the head.")
            .within("10ms", "10m"),
        Key::new("idle_timeout", Span, Value("\"15s\""), "The longest pause in a body.").within("10ms", "10m"),
        Key::new("total_timeout", Span, Value("\"60s\""), "The whole exchange, connecting included.")
            .within("10ms", "1h"),
        Key::new("min_rate", Size, Value("\"1KiB\""), "Bytes of a body per second, on average; `0B`: any.")
            .of("bytes per second")
            .within("0B", "1GiB"),
        Key::new("rate_grace", Span, Value("\"10s\""), "How long after the head a body may be slower.")
            .within("0s", "10m"),
        Key::new("max_body", Size, Value("\"10MiB\""), "Largest body, decoded and as received.")
            .within("1B", "1024GiB"),
        Key::new(
            "max_request_body",
            Size,
            Value("\"10MiB\""),
            "Largest body sent along; for programs that send requests, a crawl sends none.",
        )
        .within("0B", "1024GiB"),
        Key::new("max_ratio", Number, Value("200"), "Decoded bytes for each byte received, once 64 KiB are decoded.")
            .of("bytes per byte")
            .within("1", "100000"),
        Key::new("max_head", Size, Value("\"64KiB\""), "Largest response head.").within("1KiB", "1MiB"),
        Key::new("max_fields", Number, Value("100"), "Most fields of a response head.")
            .of("fields")
            .within("1", "1000"),
        Key::new("roots", Paths, None("webpki roots alone"), "PEM files with further root certificates."),
        Key::new("accept_types", Texts, Value("[]"), "Media types whose bodies are read; empty: all."),
        Key::new(
            "spool_dir",
            Path,
            Value("\"\""),
            "Where large bodies go while they are needed; empty: the system's temporary files.",
        ),
        Key::new("spool_from", Size, Value("\"1MiB\""), "From which size on a body goes there.").within("0B", "64MiB"),
        Key::new("spool_max", Size, Value("\"2GiB\""), "Bytes of all such bodies at once.").within("0B", "1024GiB"),
        Key::new(
            "http",
            Choice(&["auto", "1.1"]),
            Value("\"auto\""),
            "HTTP/2 where a site speaks it over TLS, or HTTP/1.1 alone.",
        )
        .source("decision 23"),
        Key::new(
            "cookies",
            Choice(&["off", "memory"]),
            Value("\"off\""),
            "Whether cookies are kept while the crawl runs; never written.",
        )
        .source("decision 27"),
        Key::new("keep_alive", Span, Value("\"15s\""), "How long an idle connection is kept.").within("0s", "10m"),
        Key::new("keep_per_origin", Number, Value("2"), "Idle connections kept per origin.")
            .of("connections")
            .within("0", "100"),
        Key::new("keep_total", Number, Value("256"), "Idle connections kept in all.")
            .of("connections")
            .within("0", "50000"),
        Key::new(
            "proxies",
            Texts,
            None("everything leaves directly"),
            "Proxies that everything leaves through, as URLs without a login.",
        )
        .flag("--proxy")
        .source("decision 26"),
        Key::new("proxy_country", Text, None("all"), "Only the proxies of this country, two letters.")
            .flag("--proxy-country")
            .source("ISO 3166-1"),
        Key::new("proxy_pool", Text, None("all"), "Only the proxies of this pool.").source("decision 26"),
    ],
};

pub(super) const PROXY: Section = Section {
    name: "fetch.proxy",
    form: Many,
    about: "proxies that everything leaves through, in full",
    keys: &[
        Key::new(
            "url",
            Text,
            Required,
            "`http://`, `https://`, `socks5://` or `socks5h://`, host and port, without a login.",
        )
        .source("decision 26"),
        Key::new("country", Text, None("unnamed"), "Country of the exit, two letters.").source("ISO 3166-1"),
        Key::new("pool", Text, None("none"), "Name of its pool.").source("decision 26"),
        Key::new("asn", Number, None("none"), "Its autonomous system, for records.").source("decision 26"),
        Key::new("weight", Number, Value("1"), "Its share of the origins.")
            .of("shares")
            .within("1", "1000")
            .source("decision 26"),
        Key::new("residential", Switch, Value("false"), "Whether records name its country, ASN and pool only.")
            .source("decision 26"),
        Key::new("tunnel", Switch, Value("false"), "Whether CONNECT is used for plain http too.").source("decision 26"),
        Key::new(
            "credentials_file",
            Path,
            None("none"),
            "File with one line `user:password`, readable by its owner alone.",
        )
        .source("decision 26"),
        Key::new("credentials_env", Text, None("none"), "Name of the environment variable that holds `user:password`.")
            .source("decision 26"),
    ],
};
