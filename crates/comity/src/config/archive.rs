//! `[archive]`: what is written.

use std::time::Duration;

use comity_archive::{QueryForm, WarcFormat};
use comity_fetch::signature::SigningKey;

use super::resolve::one_of;
use super::{ArchiveSection, ByteSize, ConfigError, ConfigFile, Span, agent};

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveConfig {
    /// WARC files beside the records; `None` writes records only.
    pub warc: Option<WarcSettings>,
    /// Free space below which the crawl stops.
    pub min_free: u64,
    /// What is written of the queries of URLs.
    pub query: QueryForm,
    /// How long bodies are kept; `None`: without an end.
    pub keep_payload: Option<Duration>,
    /// How long records are.
    pub keep_records: Option<Duration>,
    /// What signs the checkpoints; `None` leaves them unsigned.
    pub signing_key: Option<SigningKey>,
}

/// The `[archive]` keys about WARC files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarcSettings {
    /// How records are compressed.
    pub format: WarcFormat,
    /// Level of the compression, 1 to 9.
    pub level: u32,
    /// Bodies that were stored before are pointed at.
    pub dedup: bool,
    /// Size at which a file is closed.
    pub rollover: u64,
}

/// # Errors
/// The first key whose value cannot be used.
pub(super) fn settings(file: &ConfigFile) -> Result<ArchiveConfig, ConfigError> {
    let typed = &file.archive;
    let level = typed.level.unwrap_or(3);
    if !(1..=9).contains(&level) {
        return Err(ConfigError::new(format!("{level} is no level")).at("[archive] level").hint("1 to 9"));
    }
    let format = one_of("[archive] compression", typed.compression.as_deref(), &FORMATS)?;
    let rollover = typed.rollover.map_or(1_000_000_000, |size| size.0);
    let warc = typed.warc.unwrap_or(true).then_some(WarcSettings {
        format,
        level,
        dedup: typed.dedup.unwrap_or(false),
        rollover,
    });
    let signing_key = typed.signing_key.as_deref().map(|path| agent::read_key("[archive] signing_key", path));
    let min_free = typed.min_free.map_or(2_000_000_000, |size| size.0);
    let kept = |span: Option<Span>| span.map(|span| span.0);
    let (keep_payload, keep_records) = (kept(typed.keep_payload), kept(typed.keep_records));
    let query = one_of("[archive] query", typed.query.as_deref(), &QUERIES)?;
    Ok(ArchiveConfig { warc, min_free, query, keep_payload, keep_records, signing_key: signing_key.transpose()? })
}

const FORMATS: [(&str, WarcFormat); 2] = [("gzip", WarcFormat::Gzip), ("zstd", WarcFormat::Zstd)];

const QUERIES: [(&str, QueryForm); 3] =
    [("keep", QueryForm::Keep), ("hash", QueryForm::Hash), ("drop", QueryForm::Drop)];

fn format_name(format: WarcFormat) -> &'static str {
    FORMATS.iter().find(|(_, known)| *known == format).map_or("gzip", |(name, _)| name)
}

/// Shows what holds.
pub(super) fn shown(archive: &ArchiveConfig, file: &mut ArchiveSection) {
    file.warc = Some(archive.warc.is_some());
    file.compression = archive.warc.map(|warc| format_name(warc.format).to_owned());
    file.dedup = archive.warc.map(|warc| warc.dedup);
    file.level = archive.warc.map(|warc| warc.level);
    file.rollover = archive.warc.map(|warc| ByteSize(warc.rollover));
    file.query = QUERIES.iter().find(|(_, form)| *form == archive.query).map(|(name, _)| (*name).to_owned());
    file.min_free = Some(ByteSize(archive.min_free));
}
