//! `[state]`, `[frontier]`, `[archive]`, `[telemetry]`.

use super::Form::Once;
use super::Kind::{Choice, Number, Path, Size, Span, Switch, Text, Texts};
use super::Unset::{None, Value};
use super::{Key, Section};

pub(super) const STATE: Section = Section {
    name: "state",
    form: Once,
    about: "what successive crawls share",
    keys: &[Key::new(
        "dir",
        Path,
        Value("\"\""),
        "Folder of robots copies, back-offs and parks of successive crawls; empty: inside the crawl directory.",
    )
    .source("decision 20")],
};

pub(super) const FRONTIER: Section = Section {
    name: "frontier",
    form: Once,
    about: "where the queue is kept, and who comes first",
    keys: &[
        Key::new("store", Choice(&["disk", "memory"]), Value("\"disk\""), "On disk a crawl goes on after a stop.")
            .flag("--store")
            .source("decision 32"),
        Key::new("first_class", Texts, None("none"), "Origins, hosts or domains that get eight turns of fifteen.")
            .source("decision 35"),
        Key::new("third_class", Texts, None("none"), "Those that get two; who is not named gets four.")
            .source("decision 35"),
        Key::new("fourth_class", Texts, None("none"), "Those that get one.").source("decision 35"),
    ],
};

pub(super) const ARCHIVE: Section = Section {
    name: "archive",
    form: Once,
    about: "what is written",
    keys: &[
        Key::new("warc", Switch, Value("true"), "Whether WARC files are written; records always are.")
            .flag("--no-warc"),
        Key::new(
            "compression",
            Choice(&["gzip", "zstd"]),
            Value("\"gzip\""),
            "How records are compressed; few readers take zstd.",
        )
        .source("decision 40"),
        Key::new("level", Number, Value("3"), "Level of the compression.")
            .of("level")
            .within("1", "9")
            .source("decision 7"),
        Key::new("dedup", Switch, Value("false"), "Whether a body stored before becomes a revisit record.")
            .source("decision 40"),
        Key::new("rollover", Size, Value("\"1GB\""), "Size at which a WARC file is closed and the next begun."),
        Key::new("min_free", Size, Value("\"2GB\""), "Free space below which the crawl stops."),
        Key::new(
            "query",
            Choice(&["keep", "hash", "drop"]),
            Value("\"keep\""),
            "What records and WARC files hold of the queries of URLs.",
        )
        .source("decision 83"),
        Key::new(
            "keep_payload",
            Span,
            None("without an end"),
            "How long bodies are kept, from the begin of their visit.",
        )
        .source("decision 43"),
        Key::new(
            "keep_records",
            Span,
            None("without an end"),
            "How long records are kept, with all that is theirs in WARC files.",
        )
        .source("decision 43"),
        Key::new("signing_key", Path, None("unsigned"), "File with the Ed25519 key that signs checkpoints.")
            .source("decision 41"),
    ],
};

pub(super) const TELEMETRY: Section = Section {
    name: "telemetry",
    form: Once,
    about: "what a crawl tells while it runs",
    keys: &[
        Key::new(
            "metrics",
            Text,
            Value("\"\""),
            "Address and port at which `/metrics` is answered in Prometheus' text format; empty: nowhere.",
        )
        .flag("--metrics")
        .source("decision 61"),
        Key::new("dashboard", Text, Value("\"\""), "Address and port of a live page; empty: nowhere.")
            .flag("--dashboard")
            .source("decision 61"),
        Key::new(
            "expose",
            Switch,
            Value("false"),
            "Whether the two may listen beyond this machine, where nobody is asked who they are.",
        )
        .source("decision 61"),
        Key::new(
            "log_format",
            Choice(&["text", "json"]),
            Value("\"text\""),
            "How the log on standard error is written; of crawls and gateways.",
        )
        .flag("--log-format")
        .source("decision 61"),
    ],
};
