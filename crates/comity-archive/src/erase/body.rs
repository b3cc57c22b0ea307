use std::borrow::Cow;

use comity_url::CrawlUrl;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Named;
use crate::RawText;
use crate::query::names_a_url;
use crate::record::WarcPlaces;

/// What an erasure reads of a record, of whatever schema the rest is.
#[derive(Debug, Deserialize)]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    pub(super) url: Cow<'a, str>,
    /// Of the whole URL: the text may be cut.
    #[serde(default)]
    pub(super) url_length: Option<u64>,
    /// What was written of its query, where that is not the query.
    #[serde(borrow, default)]
    pub(super) query: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) errand: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) record_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) time: Time<'a>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(super) robots: Option<Copy<'a>>,
    #[serde(borrow, default)]
    pub(super) tdmrep: Option<Copy<'a>>,
    #[serde(borrow, default)]
    pub(super) ai_txt: Option<Copy<'a>>,
    #[serde(borrow, default)]
    pub(super) trust_txt: Option<Copy<'a>>,
    #[serde(borrow, default)]
    pub(super) licences: Vec<Copy<'a>>,
    pub(super) warc: Option<WarcPlaces>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Time<'a> {
    #[serde(borrow)]
    pub(super) started: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) body_digest: Cow<'a, str>,
    pub(super) body_length: u64,
    pub(super) status: u16,
    #[serde(borrow, default)]
    pub(super) fields: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) repeats: Option<Repeats<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repeats<'a> {
    #[serde(borrow)]
    pub(super) record: Option<Cow<'a, str>>,
}

/// A file that the decision rests on.
#[derive(Debug, Deserialize)]
pub(super) struct Copy<'a> {
    #[serde(borrow, default)]
    pub(super) digest: Option<Cow<'a, str>>,
}

impl Body<'_> {
    pub(super) fn is_page(&self) -> bool {
        self.errand == "page"
    }

    /// Whether the answer led to what is named, by a reference of whatever kind.
    pub(super) fn leads_to(&self, named: &Named) -> bool {
        let fields = self.response.as_ref().and_then(|response| response.fields).map(RawValue::get);
        let Some(fields) = fields.filter(|text| text.to_ascii_lowercase().contains("location")) else { return false };
        let (Ok(base), Ok(fields)) =
            (CrawlUrl::parse(&self.url), serde_json::from_str::<Vec<(String, RawText)>>(fields))
        else {
            return false;
        };
        let leads = |value: &RawText| match value {
            RawText::Text(text) => base.join(text.trim()).is_ok_and(|url| named.is(&url)),
            RawText::Bytes { .. } => false,
        };
        fields.iter().any(|(name, value)| names_a_url(name.as_bytes()) && leads(value))
    }

    /// Digests of copies that must be in the evidence (as `verify` wants them).
    pub(super) fn rests_on(&self) -> impl Iterator<Item = &str> {
        let files =
            [&self.robots, &self.tdmrep, &self.ai_txt, &self.trust_txt].into_iter().flatten().chain(&self.licences);
        files.filter_map(|copy| copy.digest.as_deref())
    }

    /// The digest of a body that its copies share: content, and long enough to be told apart.
    pub(super) fn copied(&self) -> Option<&str> {
        let response = self.response.as_ref().filter(|_| self.is_page())?;
        let is_content = matches!(response.status, 200..=299) && response.body_length >= super::named::LEAST_COPY;
        is_content.then_some(&*response.body_digest)
    }

    /// The id of the response whose content it repeats.
    pub(super) fn repeats(&self) -> Option<&str> {
        self.response.as_ref()?.repeats.as_ref()?.record.as_deref()
    }

    /// The id of its own response.
    pub(super) fn response_id(&self) -> Option<&str> {
        Some(&self.warc.as_ref()?.response.as_ref()?.id)
    }

    /// Its body lies in the WARC with it.
    pub(super) fn holds_payload(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.repeats.is_none())
            && self.warc.as_ref().is_some_and(|places| places.response.is_some())
    }
}
