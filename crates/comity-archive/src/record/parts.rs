use std::sync::Arc;

use comity_policy::{Capture, Vantage, WallTime};

use super::absent::{Absent, Why};
use super::build::Http;
use super::{
    AgentRecord, Discovery, RawText, RepeatsRecord, RequestRecord, ResponseRecord, TimeRecord, TlsRecord,
    VantageRecord, ViaRecord,
};
use crate::warc::http_head::{self, StoredHead, WITHHELD};
use crate::{Context, CrawlFacts};

/// Texts from outside that stand in a record are cut to this many bytes.
const MAX_TEXT: usize = 4096;

pub(super) fn agent(crawl: &CrawlFacts, absent: &mut Absent) -> AgentRecord {
    let identity = &crawl.identity;
    let digest = crawl.config_digest.map(|d| d.to_string());
    AgentRecord {
        config_digest: absent.note("agent.config_digest", digest, Why::NotConfigured),
        contact: identity.contact().to_owned(),
        from: absent.note("agent.from", crawl.from.clone(), Why::NotConfigured),
        operator: absent.note("agent.operator", crawl.operator.clone(), Why::NotConfigured),
        product_tokens: identity.tokens().iter().map(|token| token.as_str().to_owned()).collect(),
        purposes: identity.purposes().iter().map(|p| p.as_str().to_owned()).collect(),
        user_agent: identity.user_agent(),
    }
}

pub(super) fn discovery(context: &Context, absent: &mut Absent) -> Discovery {
    Discovery {
        attempt: context.attempt,
        depth: context.depth,
        hops: u32::from(context.hops),
        seed: context.seed,
        via: absent.note("discovery.via", context.via.as_ref().map(|url| url.as_str().to_owned()), Why::NoVia),
    }
}

pub(super) fn request(head: &StoredHead, capture: &Capture) -> RequestRecord {
    RequestRecord { head: RawText::of(&head.bytes), method: http_head::method(capture) }
}

pub(super) fn response(capture: &Capture, http: &Http<'_>, absent: &mut Absent) -> Option<ResponseRecord> {
    let Some((status, digest)) = capture.status.zip(http.payload_sha256) else {
        return absent.note("response", None, Why::NoResponse);
    };
    let media_type = capture.field("content-type").map(cut);
    let truncated = capture.truncated.map(|kind| kind.as_str().to_owned());
    let repeats = http.repeat.map(|repeat| RepeatsRecord {
        date: repeat.earlier.date.to_string(),
        profile: repeat.profile.as_str().to_owned(),
        record: absent.note(
            "response.repeats.record",
            repeat.earlier.record_id.as_ref().map(|id| id.to_string()),
            Why::NoWarc,
        ),
        url: cut(repeat.earlier.url.as_str()),
    });
    Some(ResponseRecord {
        body_digest: digest.to_string(),
        body_length: capture.body.len(),
        decoded_length: capture.decoded_len,
        fields: capture.fields.iter().map(|(name, value)| field(name, value)).collect(),
        media_type: absent.note("response.media_type", media_type, Why::NotStated),
        repeats: absent.note("response.repeats", repeats, Why::NoRepeat),
        status,
        truncated: absent.note("response.truncated", truncated, Why::Whole),
    })
}

/// Records travel further than WARC files, so they do not repeat the secrets that a site hands out.
pub(super) fn field(name: &str, value: &[u8]) -> (String, RawText) {
    let withheld = name.eq_ignore_ascii_case("set-cookie") || name.eq_ignore_ascii_case("set-cookie2");
    (name.to_owned(), if withheld { RawText::Text(WITHHELD.to_owned()) } else { RawText::of(value) })
}

pub(super) fn time(capture: &Capture, ended: WallTime, absent: &mut Absent) -> TimeRecord {
    let millis = |span: std::time::Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let timings = &capture.timings;
    TimeRecord {
        body_ms: absent.note("time.body_ms", timings.body.map(millis), Why::NotMeasured),
        connect_ms: absent.note("time.connect_ms", timings.connect.map(millis), Why::NotMeasured),
        dns_ms: absent.note("time.dns_ms", timings.dns.map(millis), Why::NotMeasured),
        ended: ended.to_string(),
        head_ms: absent.note("time.head_ms", timings.head.map(millis), Why::NotMeasured),
        started: capture.started.to_string(),
        tls_ms: absent.note("time.tls_ms", timings.tls.map(millis), Why::NotMeasured),
        total_ms: Some(millis(timings.total)),
    }
}

pub(super) fn no_time(at: WallTime, absent: &mut Absent) -> TimeRecord {
    let mut none = |path: &str| absent.note(path, None, Why::NotSent);
    TimeRecord {
        body_ms: none("time.body_ms"),
        connect_ms: none("time.connect_ms"),
        dns_ms: none("time.dns_ms"),
        ended: at.to_string(),
        head_ms: none("time.head_ms"),
        started: at.to_string(),
        tls_ms: none("time.tls_ms"),
        total_ms: none("time.total_ms"),
    }
}

pub(super) fn vantage(capture: &Capture, absent: &mut Absent) -> VantageRecord {
    let tls = capture.tls.as_ref().map(|tls| TlsRecord {
        alpn: absent.note("vantage.tls.alpn", tls.alpn.clone(), Why::NotStated),
        certificate_sha256: tls.certificate_sha256.clone(),
        cipher: tls.cipher.clone(),
        version: tls.version.to_owned(),
    });
    VantageRecord {
        exit: Some(capture.vantage.to_string()),
        protocol: Some(capture.protocol.as_str().to_owned()),
        server_ip: absent.note("vantage.server_ip", capture.peer.map(|ip| ip.to_canonical().to_string()), Why::NotSeen),
        tls: absent.note("vantage.tls", tls, Why::NoTls),
        via: via(capture, absent),
    }
}

pub(super) fn no_vantage(absent: &mut Absent) -> VantageRecord {
    VantageRecord {
        exit: absent.note("vantage.exit", None, Why::NotSent),
        protocol: absent.note("vantage.protocol", None, Why::NotSent),
        server_ip: absent.note("vantage.server_ip", None, Why::NotSent),
        tls: absent.note("vantage.tls", None, Why::NotSent),
        via: absent.note("vantage.via", None, Why::NotSent),
    }
}

/// Exits of residential pools come without their address: it is not noted as a null that could be filled.
fn via(capture: &Capture, absent: &mut Absent) -> Option<ViaRecord> {
    let Some(via) = capture.via.as_deref() else {
        let why = if capture.vantage == Vantage::Direct { Why::Direct } else { Why::NotSent };
        return absent.note("vantage.via", None, why);
    };
    let own = |text: &Arc<str>| text.to_string();
    Some(ViaRecord {
        asn: absent.note("vantage.via.asn", via.asn, Why::NotConfigured),
        form: via.form.as_str().to_owned(),
        names: via.names.as_str().to_owned(),
        pool: absent.note("vantage.via.pool", via.pool.as_ref().map(own), Why::NotConfigured),
        proxy: absent.note("vantage.via.proxy", via.exit.as_ref().map(own), Why::Residential),
    })
}

/// At most [`MAX_TEXT`] bytes, cut between characters.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, MAX_TEXT)
}

/// At most `max` bytes, cut between characters.
pub(super) fn cut_to(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
