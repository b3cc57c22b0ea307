//! `[[override]]`, `[optout]`, `[signals]`, `[[grant]]`, `[[terms]]`.

use super::Form::{Many, Once};
use super::Kind::{Choice, Choices, Map, Moment, Number, Paths, Switch, Text, Texts};
use super::Unset::{From, None, Required, Value};
use super::{Key, Section};

pub(super) const OVERRIDE: Section = Section {
    name: "override",
    form: Many,
    about: "written exceptions for exact origins, with an end",
    keys: &[
        Key::new("origins", Texts, Required, "Exact origins, scheme included.").source("decision 16"),
        Key::new(
            "scope",
            Choices(&["robots", "rate", "signals"]),
            From("required without robots_5xx_as_404"),
            "What it lifts.",
        )
        .source("decision 16"),
        Key::new("robots_5xx_as_404", Switch, Value("false"), "A robots.txt that answers 500 to 599 counts as absent.")
            .source("decision 16"),
        Key::new("basis", Choice(&["own_site", "written_permission", "statutory"]), Required, "What it rests on.")
            .source("decision 16"),
        Key::new("justification", Text, Required, "Why, in 20 to 2,000 characters on one line.").source("decision 16"),
        Key::new("approved_by", Text, Required, "Who answers for it, up to 200 characters.").source("decision 16"),
        Key::new("created", Moment, Required, "From when it holds.").source("decision 16"),
        Key::new("expires", Moment, Required, "From when it holds no longer, at most 366 days after created.")
            .source("decision 16"),
        Key::new(
            "id",
            Text,
            From("host of the first origin and day of created"),
            "Its name in records, 1 to 300 letters, digits and `._:-`.",
        )
        .source("decision 16"),
    ],
};

pub(super) const OPTOUT: Section = Section {
    name: "optout",
    form: Once,
    about: "who is not to be visited at all",
    keys: &[Key::new(
        "files",
        Paths,
        From("optout.jsonl beside your own configuration"),
        "Opt-out files; those of all layers count.",
    )
    .source("decision 17")],
};

pub(super) const SIGNALS: Section = Section {
    name: "signals",
    form: Once,
    about: "what is made of what sites say about use",
    keys: &[
        Key::new(
            "unspecified",
            Choice(&["proceed", "refuse"]),
            Value("\"proceed\""),
            "What is done where nobody says anything about a declared purpose.",
        )
        .source("decision 45"),
        Key::new(
            "tdmrep",
            Choice(&["needed", "always"]),
            Value("\"needed\""),
            "Whether tdmrep.json of a site is asked for: where `tdm` or `ai_train` is declared, or always.",
        )
        .source("decision 52"),
        Key::new("ai_txt", Switch, Value("false"), "Whether /ai.txt of every site is asked for.").source("decision 60"),
        Key::new("trust_txt", Switch, Value("false"), "Whether /trust.txt of every site is asked for.")
            .source("decision 60"),
        Key::new(
            "licences",
            Switch,
            Value("false"),
            "Whether the RSL licences that sites and pages name are asked for.",
        )
        .source("decision 60"),
        Key::new(
            "terms",
            Choice(&["note", "copy"]),
            Value("\"note\""),
            "Whether links to terms and licences in prose are noted, or their text copied, too.",
        )
        .source("decision 60"),
        Key::new(
            "profile",
            Choice(&["cautious", "literal"]),
            Value("\"cautious\""),
            "Whether denials are derived from kindred ones: training from a TDM reservation, say; or only what is written counts.",
        )
        .source("decision 45"),
        Key::new(
            "aipref_legacy",
            Choice(&["ignore", "map"]),
            Value("\"ignore\""),
            "Whether labels that the vocabulary of `Content-Usage` has dropped deny what they once covered.",
        )
        .source("decision 75"),
        Key::new(
            "signal_lenient_values",
            Switch,
            Value("false"),
            "Whether `disallow`, `false` and `0` of `Content-Signal` are read as `no`.",
        )
        .source("decision 75"),
        Key::new(
            "infer_from_ai_tokens",
            Choice(&["record", "off", "deny"]),
            Value("\"record\""),
            "What groups of robots.txt for the AI agents of others are: evidence in records, nothing, or denials to you, too.",
        )
        .source("decision 46"),
        Key::new(
            "infer_min_tokens",
            Number,
            Value("1"),
            "Distinct agents of others that it takes for a denial, with `infer_from_ai_tokens = \"deny\"`.",
        )
        .of("agents")
        .within("1", "1000")
        .source("decision 46"),
        Key::new(
            "content_use_level",
            Choice(&["undeclared", "immediate", "reference", "full"]),
            Value("\"undeclared\""),
            "The most that you do with content: where `use=` of Content-Signal permits less, it is refused.",
        )
        .source("decision 80"),
        Key::new(
            "rsl_user",
            Choice(&["commercial", "non-commercial", "education", "government", "personal"]),
            None("not known: what is permitted to one class is not permitted to you"),
            "Your class, for RSL licences that name those whom they permit something.",
        )
        .source("decision 75"),
        Key::new(
            "rsl_geo",
            Text,
            None("not known: what is permitted in one region is not permitted to you"),
            "Your region, for RSL licences that ask: two capital letters of ISO 3166-1, or `EU`.",
        )
        .source("decision 75"),
        Key::new(
            "satisfies",
            Choices(&[
                "attribution",
                "purchase",
                "subscription",
                "training",
                "crawl",
                "use",
                "contribution",
                "server",
                "reporting",
                "custom",
            ]),
            Value("[]"),
            "Conditions of RSL licences that you meet wherever they are set.",
        )
        .source("decision 75"),
    ],
};

pub(super) const GRANT: Section = Section {
    name: "grant",
    form: Many,
    about: "uses of exact origins that a licence, a contract or a law permits",
    keys: &[
        Key::new("origins", Texts, Required, "Exact origins, scheme included.").source("decision 53"),
        Key::new(
            "purposes",
            Choices(&["search", "ai_input", "ai_train", "tdm"]),
            Required,
            "The uses that it permits.",
        )
        .source("decision 53"),
        Key::new(
            "basis",
            Choice(&["licence", "contract", "art3_research", "own_content"]),
            Required,
            "What it rests on; `art3_research` is Article 3 of Directive (EU) 2019/790.",
        )
        .source("decision 53"),
        Key::new("reference", Text, Required, "Where it is found, up to 500 characters on one line.")
            .source("decision 53"),
        Key::new("approved_by", Text, Required, "Who answers for it.").source("decision 53"),
        Key::new("expires", Moment, Required, "From when it holds no longer.").source("decision 53"),
    ],
};

pub(super) const TERMS: Section = Section {
    name: "terms",
    form: Many,
    about: "what was read in the terms of exact origins",
    keys: &[
        Key::new("origin", Text, Required, "The exact origin, scheme included.").source("decision 60"),
        Key::new("url", Text, Required, "Where the terms stand, also elsewhere.").source("decision 60"),
        Key::new("reviewed_by", Text, Required, "Who has read them and answers for it.").source("decision 60"),
        Key::new("reviewed_on", Moment, Required, "When they were read.").source("decision 60"),
        Key::new("digest", Text, None("unknown"), "SHA-256 of the text that was read, 64 hex digits.")
            .source("decision 60"),
        Key::new("verdicts", Map, Required, "What they say of judged purposes, each `denied` or `allowed`.")
            .source("decision 60"),
        Key::new("note", Text, None("none"), "What else is to be known, on one line.").source("decision 60"),
    ],
};
