use comity_fetch::signature::{KeySet, ReceivedRequest, Verified, jwk_thumbprint, signature_base, verify};
use comity_policy::WallTime;
use comity_url::CrawlUrl;
use serde_json::Value;

use super::case::Case;

/// What a case says about who signed.
#[derive(Default)]
pub(super) struct Identity {
    pub(super) verified: Option<Verified>,
    /// The thumbprint of a key, or the text that a signature is over.
    pub(super) value: Option<String>,
}

pub(super) fn read(case: &Case, now: WallTime) -> Result<Identity, String> {
    let thumbprint = case.input.jwk.as_ref().and_then(|jwk| jwk_thumbprint(jwk.to_string().as_bytes()));
    let Some(signed) = &case.input.request else { return Ok(Identity { verified: None, value: thumbprint }) };
    let url = CrawlUrl::parse(&signed.url).map_err(|error| format!("request url {:?}: {error}", signed.url))?;
    let request = ReceivedRequest { method: &signed.method, url: &url, fields: &signed.headers };
    let keys = |agent: &str| match case.input.directory.get(agent)? {
        Value::Null => None,
        keys => KeySet::parse(keys.to_string().as_bytes()),
    };
    let verified = verify(&request, keys, case.config.legacy_agent(), now);
    Ok(Identity { verified: Some(verified), value: thumbprint.or_else(|| signature_base(&request)) })
}
