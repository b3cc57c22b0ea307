//! `[gateway]`, `[gateway.customer]`.

use super::Form::Once;
use super::Kind::{Choice, Choices, Number, Numbers, Size, Span, Text, Texts};
use super::Unset::{None, Required, Value};
use super::{Key, PURPOSES, Section};

pub(super) const GATEWAY: Section = Section {
    name: "gateway",
    form: Once,
    about: "the policy gateway; a crawl has no use for it",
    keys: &[
        Key::new("name", Text, Value("\"comity\""), "Pseudonym in Via, Proxy-Status and decision records.")
            .source("RFC 9110 §7.6.3"),
        Key::new("proxy", Text, Value("\"127.0.0.1:3128\""), "Address and port of the forward proxy."),
        Key::new("api", Text, Value("\"\""), "Address and port of the decision API; empty: off."),
        Key::new(
            "api_key_sha256",
            Text,
            None("required with api"),
            "SHA-256 of the bearer key of the API, 64 hex digits.",
        )
        .secret(),
        Key::new(
            "auth",
            Choice(&["basic", "none"]),
            Value("\"basic\""),
            "Whether customers show id and password; `none` on loopback only.",
        )
        .source("RFC 7617"),
        Key::new(
            "combine_tokens",
            Choice(&["all", "customer"]),
            Value("\"all\""),
            "Judged by the customer's tokens and those of [agent], or by the customer's alone.",
        ),
        Key::new("ports", Numbers, Value("[80, 443]"), "Ports of targets."),
        Key::new("hold_max", Span, Value("\"10s\""), "The longest wait for a turn before 429."),
        Key::new("max_held", Number, Value("1000"), "Requests held at once.").of("requests").within("1", "4294967295"),
        Key::new("max_connections", Number, Value("1024"), "Connections open at once on each listener.")
            .of("connections")
            .within("1", "4294967295"),
        Key::new("max_buffered", Size, Value("\"256MiB\""), "Response bodies that wait to be read by customers."),
        Key::new("drain", Span, Value("\"30s\""), "For what is under way once the gateway is told to stop."),
    ],
};

pub(super) const CUSTOMER: Section = Section {
    name: "gateway.customer",
    form: Once,
    about: "who may ask the gateway",
    keys: &[
        Key::new("id", Text, Required, "Name in credentials and records, printable ASCII without colon."),
        Key::new(
            "password_sha256",
            Text,
            None("required with auth = basic"),
            "SHA-256 of the password, 64 hex digits.",
        )
        .secret(),
        Key::new(
            "tokens",
            Texts,
            Required,
            "Product tokens that its requests are judged by; the strictest answer wins.",
        )
        .source("RFC 9309 §2.2.1"),
        Key::new(
            "purposes",
            Choices(PURPOSES),
            Value("[\"search\"]"),
            "What it may declare; empty: every denial of any purpose denies.",
        ),
        Key::new(
            "user_agent",
            Choice(&["any", "contains_token"]),
            Value("\"any\""),
            "Whether its User-Agent has to carry one of its tokens.",
        ),
    ],
};
