//! The columns: those of Common Crawl's index table (its flat schema, with `warc_record_id` since CC-MAIN-2026-30), in its
//! order, then ours.

use super::rows::Row;
use super::{TableRows, suffix};

/// What stands in a cell.
pub(super) enum Cell {
    Text(String),
    Bytes(Vec<u8>),
    Int(i64),
    Null,
}

/// A column: its name, type, and what it says of a row.
pub(super) struct Column {
    pub(super) name: &'static str,
    kind: Kind,
    presence: Presence,
    pub(super) of: fn(&Row) -> Cell,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Binary,
    Int16,
    Int32,
    Int64,
    Time,
}

/// Where a column is never null.
#[derive(Clone, Copy)]
enum Presence {
    Always,
    /// Of captures; not in a table of all records.
    OfCaptures,
    Sometimes,
}

impl Column {
    pub(super) const fn is_required(&self, which: TableRows) -> bool {
        match self.presence {
            Presence::Always => true,
            Presence::OfCaptures => matches!(which, TableRows::Captures),
            Presence::Sometimes => false,
        }
    }

    pub(super) const fn is_narrow(&self) -> bool {
        matches!(self.kind, Kind::Int16 | Kind::Int32)
    }

    const fn always(name: &'static str, kind: Kind, of: fn(&Row) -> Cell) -> Self {
        Self { name, kind, presence: Presence::Always, of }
    }

    const fn captured(name: &'static str, kind: Kind, of: fn(&Row) -> Cell) -> Self {
        Self { name, kind, presence: Presence::OfCaptures, of }
    }

    const fn maybe(name: &'static str, kind: Kind, of: fn(&Row) -> Cell) -> Self {
        Self { name, kind, presence: Presence::Sometimes, of }
    }
}

/// The schema as Parquet writes it.
pub(super) fn schema(which: TableRows) -> String {
    let column = |one: &Column| {
        let (kind, note) = match one.kind {
            Kind::Text => ("BYTE_ARRAY", " (STRING)"),
            Kind::Binary => ("BYTE_ARRAY", ""),
            Kind::Int16 => ("INT32", " (INTEGER(16,true))"),
            Kind::Int32 => ("INT32", ""),
            Kind::Int64 => ("INT64", ""),
            Kind::Time => ("INT64", " (TIMESTAMP(MILLIS,true))"),
        };
        let presence = if one.is_required(which) { "REQUIRED" } else { "OPTIONAL" };
        format!("  {presence} {kind} {}{note};\n", one.name)
    };
    format!("message comity {{\n{}}}", columns().map(column).collect::<String>())
}

fn text<T: Into<String>>(value: Option<T>) -> Cell {
    value.map_or(Cell::Null, |value| Cell::Text(value.into()))
}

/// What does not fit into 64 bits becomes more than any column holds.
fn number<T: TryInto<i64>>(value: Option<T>) -> Cell {
    value.map_or(Cell::Null, |value| Cell::Int(value.try_into().unwrap_or(i64::MAX)))
}

fn json(value: Option<&impl serde::Serialize>) -> Cell {
    text(value.and_then(|value| serde_json::to_string(value).ok()))
}

fn decision(row: &Row, purpose: &str) -> Cell {
    let decision = row.record.decision.as_ref().and_then(|found| found.purposes.get(purpose));
    text(decision.map(|found| found.decision.as_str()))
}

/// The 16 bytes of `urn:uuid:…`.
fn uuid(id: &str) -> Option<Vec<u8>> {
    let hex: String = id.strip_prefix("urn:uuid:")?.chars().filter(|c| *c != '-').collect();
    data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok().filter(|bytes| bytes.len() == 16)
}

/// Common Crawl's.
static THEIRS: [Column; 33] = [
    Column::always("url_surtkey", Kind::Text, |row| text(Some(&row.surt))),
    Column::always("url", Kind::Text, |row| text(Some(&row.record.url))),
    Column::captured("url_host_name", Kind::Text, |row| text(row.url.as_ref().map(|url| url.origin().host()))),
    Column::maybe("url_host_tld", Kind::Text, |row| text(row.label(0))),
    Column::maybe("url_host_2nd_last_part", Kind::Text, |row| text(row.label(1))),
    Column::maybe("url_host_3rd_last_part", Kind::Text, |row| text(row.label(2))),
    Column::maybe("url_host_4th_last_part", Kind::Text, |row| text(row.label(3))),
    Column::maybe("url_host_5th_last_part", Kind::Text, |row| text(row.label(4))),
    Column::maybe("url_host_registry_suffix", Kind::Text, |row| {
        text(row.url.as_ref().and_then(|url| suffix::registry(url.origin())))
    }),
    Column::maybe("url_host_registered_domain", Kind::Text, |row| {
        text(row.url.as_ref().and_then(|url| suffix::below(url.origin(), suffix::registry(url.origin()))))
    }),
    Column::maybe("url_host_private_suffix", Kind::Text, |row| {
        text(row.url.as_ref().and_then(|url| suffix::private(url.origin())))
    }),
    Column::maybe("url_host_private_domain", Kind::Text, |row| {
        text(row.url.as_ref().and_then(|url| suffix::below(url.origin(), suffix::private(url.origin()))))
    }),
    Column::maybe("url_host_name_reversed", Kind::Text, |row| text(row.reversed())),
    Column::captured("url_protocol", Kind::Text, |row| {
        text(row.url.as_ref().map(|url| url.origin().scheme().as_str()))
    }),
    Column::maybe("url_port", Kind::Int32, |row| {
        let port = row.url.as_ref().map(|url| (url.origin().port(), url.origin().scheme().default_port()));
        number(port.filter(|(port, default)| port != default).map(|(port, _)| port))
    }),
    Column::captured("url_path", Kind::Text, |row| text(row.url.as_ref().map(|url| url.path()))),
    Column::maybe("url_query", Kind::Text, |row| text(row.url.as_ref().and_then(|url| url.query()))),
    Column::always("fetch_time", Kind::Time, |row| Cell::Int(row.at.unix_millis())),
    Column::captured("fetch_status", Kind::Int16, |row| number(row.record.response.as_ref().map(|found| found.status))),
    Column::maybe("fetch_redirect", Kind::Text, |row| text(row.redirect())),
    Column::maybe("content_digest", Kind::Text, |row| text(row.sha1.as_deref())),
    Column::maybe("content_mime_type", Kind::Text, |row| {
        let stated = row.record.response.as_ref().and_then(|response| response.media_type.as_deref());
        text(stated.map(|stated| stated.split(';').next().unwrap_or_default().trim()))
    }),
    // What the content is by its bytes is not looked at, nor its language.
    Column::maybe("content_mime_detected", Kind::Text, |_| Cell::Null),
    Column::maybe("content_charset", Kind::Text, |_| Cell::Null),
    Column::maybe("content_languages", Kind::Text, |_| Cell::Null),
    Column::maybe("content_truncated", Kind::Text, |row| {
        text(row.record.response.as_ref().and_then(|response| response.truncated.as_deref()))
    }),
    Column::captured("warc_record_id", Kind::Binary, |row| {
        row.place().and_then(|(_, place)| uuid(&place.id)).map_or(Cell::Null, Cell::Bytes)
    }),
    Column::captured("warc_filename", Kind::Text, |row| text(row.place().map(|(file, _)| file))),
    Column::captured("warc_record_offset", Kind::Int32, |row| number(row.place().map(|(_, place)| place.offset))),
    Column::captured("warc_record_length", Kind::Int32, |row| number(row.place().map(|(_, place)| place.length))),
    Column::always("warc_segment", Kind::Text, |row| text(Some(&row.record.crawl))),
    Column::always("crawl", Kind::Text, |row| text(Some(&row.record.crawl))),
    Column::captured("subset", Kind::Text, |row| text(row.subset())),
];

/// Ours; the names of `comity records` stand in docs/reference/records.md.
static OURS: [Column; 33] = [
    Column::always("comity_seq", Kind::Int64, |row| number(Some(row.seq))),
    Column::always("comity_record_id", Kind::Text, |row| text(Some(&row.record.record_id))),
    Column::always("comity_errand", Kind::Text, |row| text(Some(&row.record.errand))),
    Column::always("comity_outcome", Kind::Text, |row| text(Some(&row.record.outcome))),
    Column::always("comity_reason", Kind::Text, |row| text(Some(&row.record.reason))),
    Column::maybe("comity_decision", Kind::Text, |row| {
        text(row.record.decision.as_ref().map(|found| found.reason.as_str()))
    }),
    Column::maybe("comity_decision_search", Kind::Text, |row| decision(row, "search")),
    Column::maybe("comity_decision_ai_input", Kind::Text, |row| decision(row, "ai_input")),
    Column::maybe("comity_decision_ai_train", Kind::Text, |row| decision(row, "ai_train")),
    Column::maybe("comity_decision_tdm", Kind::Text, |row| decision(row, "tdm")),
    Column::maybe("comity_purposes", Kind::Text, |row| json(row.record.decision.as_ref().map(|found| &found.purposes))),
    Column::maybe("comity_grants", Kind::Text, |row| {
        json(row.record.decision.as_ref().map(|found| &found.grants).filter(|grants| !grants.is_empty()))
    }),
    Column::maybe("comity_override", Kind::Text, |row| {
        text(row.record.decision.as_ref().and_then(|found| found.r#override.as_ref()).map(|found| found.id.as_str()))
    }),
    Column::always("comity_signals", Kind::Text, |row| json(Some(&row.record.signals))),
    Column::maybe("comity_robots_state", Kind::Text, |row| {
        text(row.record.robots.as_ref().map(|found| found.state.as_str()))
    }),
    Column::maybe("comity_robots_digest", Kind::Text, |row| {
        text(row.record.robots.as_ref().and_then(|found| found.digest.as_deref()))
    }),
    Column::maybe("comity_robots_fetched", Kind::Text, |row| {
        text(row.record.robots.as_ref().and_then(|found| found.fetched.as_deref()))
    }),
    Column::maybe("comity_crawl_delay_ms", Kind::Int64, |row| {
        number(row.record.robots.as_ref().and_then(|found| found.crawl_delay_ms))
    }),
    Column::maybe("comity_rule", Kind::Text, |row| {
        text(row.record.rule.as_ref().map(|rule| format!("{}: {}", rule.kind, rule.pattern)))
    }),
    Column::maybe("comity_rule_line", Kind::Int64, |row| number(row.record.rule.as_ref().map(|rule| rule.line))),
    Column::maybe("comity_tdmrep_digest", Kind::Text, |row| {
        text(row.record.tdmrep.as_ref().and_then(|found| found.digest.as_deref()))
    }),
    Column::maybe("comity_payload_sha256", Kind::Text, |row| {
        text(row.record.response.as_ref().map(|found| found.body_digest.as_str()))
    }),
    Column::maybe("comity_payload_length", Kind::Int64, |row| {
        number(row.record.response.as_ref().map(|found| found.body_length))
    }),
    Column::maybe("comity_repeats", Kind::Text, |row| {
        let repeats = row.record.response.as_ref().and_then(|found| found.repeats.as_ref());
        text(repeats.and_then(|found| found.record.as_deref()))
    }),
    Column::always("comity_url_length", Kind::Int64, |row| number(Some(row.record.url_length))),
    Column::maybe("comity_via", Kind::Text, |row| text(row.record.discovery.via.as_deref())),
    Column::always("comity_depth", Kind::Int64, |row| number(Some(row.record.discovery.depth))),
    Column::maybe("comity_server_ip", Kind::Text, |row| text(row.record.vantage.server_ip.as_deref())),
    Column::maybe("comity_protocol", Kind::Text, |row| text(row.record.vantage.protocol.as_deref())),
    Column::maybe("comity_total_ms", Kind::Int64, |row| number(row.record.time.total_ms)),
    Column::always("comity_user_agent", Kind::Text, |row| text(Some(&row.record.agent.user_agent))),
    Column::maybe("comity_config_digest", Kind::Text, |row| text(row.record.agent.config_digest.as_deref())),
    Column::always("comity_software", Kind::Text, |row| text(Some(&row.record.software))),
];

/// All of them, in their order.
pub(super) fn columns() -> impl Iterator<Item = &'static Column> {
    THEIRS.iter().chain(&OURS)
}
