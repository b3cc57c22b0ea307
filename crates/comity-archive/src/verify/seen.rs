use std::borrow::Cow;

use serde::Deserialize;

use crate::record::{ErasureRecord, RawText, RepeatsRecord, WarcPlaces};

/// What verification needs of a record's body. Members that are not known are passed over: later versions have more.
#[derive(Debug, Deserialize)]
pub(super) struct Seen<'a> {
    #[serde(borrow)]
    pub(super) agent: SeenAgent<'a>,
    #[serde(default)]
    pub(super) erasure: Option<ErasureRecord>,
    #[serde(borrow)]
    pub(super) record_id: Cow<'a, str>,
    pub(super) request: Option<SeenRequest>,
    #[serde(borrow)]
    pub(super) response: Option<SeenResponse<'a>>,
    #[serde(borrow)]
    pub(super) robots: Option<SeenRobots<'a>>,
    /// Left out where it was not asked for.
    #[serde(borrow, default)]
    pub(super) tdmrep: Option<SeenRobots<'a>>,
    #[serde(borrow, default)]
    pub(super) ai_txt: Option<SeenRobots<'a>>,
    #[serde(borrow, default)]
    pub(super) trust_txt: Option<SeenRobots<'a>>,
    #[serde(borrow, default)]
    pub(super) licences: Vec<SeenRobots<'a>>,
    #[serde(borrow)]
    pub(super) time: SeenTime<'a>,
    #[serde(borrow)]
    pub(super) url: Cow<'a, str>,
    pub(super) url_length: u64,
    #[serde(borrow)]
    pub(super) vantage: SeenVantage<'a>,
    pub(super) warc: Option<WarcPlaces>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SeenAgent<'a> {
    #[serde(borrow)]
    pub(super) config_digest: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SeenRequest {
    pub(super) head: RawText,
}

#[derive(Debug, Deserialize)]
pub(super) struct SeenResponse<'a> {
    #[serde(borrow)]
    pub(super) body_digest: Cow<'a, str>,
    pub(super) body_length: u64,
    pub(super) fields: Vec<(String, RawText)>,
    /// First written by the version that keeps checkpoints.
    pub(super) repeats: Option<RepeatsRecord>,
    pub(super) status: u16,
}

#[derive(Debug, Deserialize)]
pub(super) struct SeenVantage<'a> {
    #[serde(borrow)]
    pub(super) server_ip: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SeenRobots<'a> {
    #[serde(borrow)]
    pub(super) digest: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SeenTime<'a> {
    #[serde(borrow)]
    pub(super) started: Cow<'a, str>,
}
