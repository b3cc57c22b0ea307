use comity_policy::Reason;
use data_encoding::BASE64;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName, PROXY_AUTHORIZATION};

use crate::Secret;
use crate::config::{Auth, GatewayConfig};
use crate::ruling::Objection;

/// Whether a request carries the customer's credentials. Says not which part of them is wrong.
pub(crate) fn identify(fields: &HeaderMap, config: &GatewayConfig) -> Result<(), Objection> {
    let Auth::Basic(password) = &config.auth else { return Ok(()) };
    let Some(given) = credentials(fields, &PROXY_AUTHORIZATION, "basic") else {
        return Err(Objection::new(Reason::AuthMissing, "Proxy-Authorization: Basic is needed"));
    };
    let pair = BASE64.decode(given.as_bytes()).unwrap_or_default();
    // A user name cannot hold a colon, a password can (RFC 7617 §2).
    let colon = pair.iter().position(|byte| *byte == b':');
    let (id, rest) = pair.split_at(colon.unwrap_or(pair.len()));
    // Both are looked at in any case: which one is wrong must not show in the time.
    let known = id == config.customer.id.as_bytes();
    let right = password.is(rest.strip_prefix(b":").unwrap_or_default());
    if known & right & colon.is_some() {
        Ok(())
    } else {
        Err(Objection::new(Reason::AuthInvalid, "these credentials are not a customer's"))
    }
}

/// Whether a request to the API carries its key.
pub(crate) fn has_key(fields: &HeaderMap, key: &Secret) -> bool {
    credentials(fields, &AUTHORIZATION, "bearer").is_some_and(|given| key.is(given.as_bytes()))
}

/// What follows the scheme in the one field of this name.
fn credentials<'a>(fields: &'a HeaderMap, name: &HeaderName, scheme: &str) -> Option<&'a str> {
    let mut values = fields.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (given, rest) = value.to_str().ok()?.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Customer, UserAgentRule};
    use comity_policy::Digest;
    use http::HeaderValue;
    use sha2::{Digest as _, Sha256};

    fn secret(text: &str) -> Secret {
        Secret::from_digest(Digest::from_bytes(Sha256::digest(text.as_bytes()).into()))
    }

    #[test]
    fn credentials_are_the_customers_or_refused() {
        let customer =
            Customer { id: "c1".into(), tokens: Vec::new(), purposes: Vec::new(), user_agent: UserAgentRule::Any };
        let config = GatewayConfig::new("127.0.0.1:1".parse().unwrap(), Auth::Basic(secret("p:w:x")), customer);
        let basic = |pair: &str| format!("Basic {}", BASE64.encode(pair.as_bytes()));
        let rows = [
            (Some(basic("c1:p:w:x")), Ok(())),
            (Some(basic("c1:p:w:x").replace("Basic", "basic")), Ok(())),
            (None, Err(Reason::AuthMissing)),
            (Some("Bearer x".to_owned()), Err(Reason::AuthMissing)),
            (Some("Basic".to_owned()), Err(Reason::AuthMissing)),
            (Some("Basic !".to_owned()), Err(Reason::AuthInvalid)),
            (Some(basic("c1")), Err(Reason::AuthInvalid)),
            (Some(basic("c1:p")), Err(Reason::AuthInvalid)),
            (Some(basic("c2:p:w:x")), Err(Reason::AuthInvalid)),
            (Some(basic("c1:p:w:x ")), Err(Reason::AuthInvalid)),
        ];
        for (given, expected) in rows {
            let mut fields = HeaderMap::new();
            if let Some(given) = &given {
                fields.insert(PROXY_AUTHORIZATION, HeaderValue::from_str(given).unwrap());
            }
            assert_eq!(identify(&fields, &config).map_err(|objection| objection.reason), expected, "{given:?}");
        }
        let mut twice = HeaderMap::new();
        twice.append(PROXY_AUTHORIZATION, HeaderValue::from_str(&basic("c1:p:w:x")).unwrap());
        twice.append(PROXY_AUTHORIZATION, HeaderValue::from_str(&basic("c1:p:w:x")).unwrap());
        assert!(identify(&twice, &config).is_err(), "two of them are none");
    }
}
