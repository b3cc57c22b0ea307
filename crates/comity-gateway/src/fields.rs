use bytes::Bytes;
use http::header::{CONNECTION, FORWARDED, HeaderName, HeaderValue, PROXY_AUTHENTICATE, VIA};
use http::{HeaderMap, Version};

/// Fields that belong to one connection (RFC 9110 §7.6.1), and those that are the proxy's own.
const OF_THE_CONNECTION: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy-authentication-info",
];
/// A Connection field that names one of these is an attack on policy: they stay (gateway reference §3.1).
const STAY: [&str; 6] = ["host", "content-length", "cache-control", "authorization", "content-encoding", "via"];
/// Prefix of the fields that speak between gateway and customer: consumed, never forwarded, never taken from a site.
const OWN: &str = "comity-";

/// The fields of a customer's request as the site gets them.
///
/// A customer's address is not the site's business and may pose as another party, so Forwarded and X-Forwarded-* go.
pub(crate) fn of_request(received: &HeaderMap, version: Version, name: &str) -> HeaderMap {
    let named = named_by_connection(received.get_all(CONNECTION).iter().map(HeaderValue::as_bytes));
    let mut fields = HeaderMap::with_capacity(received.len() + 1);
    for (field, value) in received {
        let text = field.as_str();
        let hides = field == FORWARDED || text.starts_with("x-forwarded-") || text == "host" || text == "expect";
        if !hides && passes(text, &named) {
            fields.append(field.clone(), value.clone());
        }
    }
    append_via(&mut fields, version, name);
    fields
}

/// The fields of a site's response as the customer gets them, without those that frame the message.
pub(crate) fn of_response(received: &[(String, Bytes)], version: Version, name: &str) -> HeaderMap {
    let connection = received.iter().filter(|(field, _)| field.eq_ignore_ascii_case("connection"));
    let named = named_by_connection(connection.map(|(_, value)| value.as_ref()));
    let mut fields = HeaderMap::with_capacity(received.len() + 1);
    for (field, value) in received {
        // Names and values that the library would not send are left out.
        let (Ok(field), Ok(value)) =
            (HeaderName::from_bytes(field.as_bytes()), HeaderValue::from_maybe_shared(value.clone()))
        else {
            continue;
        };
        if passes(field.as_str(), &named) && field != PROXY_AUTHENTICATE {
            fields.append(field, value);
        }
    }
    append_via(&mut fields, version, name);
    fields
}

/// True when the request has been through a gateway of this name.
pub(crate) fn is_loop(fields: &HeaderMap, name: &str) -> bool {
    let texts = fields.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
    // `1.1 name (comment)`: the second word is who received it (RFC 9110 §7.6.3).
    texts.flat_map(|text| text.split(',')).any(|hop| hop.split_whitespace().nth(1).is_some_and(|who| who == name))
}

fn passes(field: &str, named: &[String]) -> bool {
    !OF_THE_CONNECTION.contains(&field) && !field.starts_with(OWN) && !named.iter().any(|name| name == field)
}

fn named_by_connection<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let names = values.flat_map(|value| value.split(|byte| *byte == b','));
    let names = names.map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase());
    names.filter(|name| !STAY.contains(&name.as_str())).collect()
}

fn append_via(fields: &mut HeaderMap, version: Version, name: &str) {
    let version = if version == Version::HTTP_10 { "1.0" } else { "1.1" };
    if let Ok(value) = HeaderValue::from_str(&format!("{version} {name}")) {
        fields.append(VIA, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in rows {
            fields.append(*name, HeaderValue::from_static(value));
        }
        fields
    }

    #[test]
    fn a_site_gets_what_was_meant_for_it() {
        let received = map(&[
            ("connection", "close, X-Foo, Host, Authorization"),
            ("x-foo", "1"),
            ("keep-alive", "5"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("proxy-authorization", "Basic x"),
            ("comity-token", "custbot"),
            ("forwarded", "for=1.2.3.4"),
            ("x-forwarded-for", "1.2.3.4"),
            ("authorization", "Bearer y"),
            ("accept", "a"),
            ("accept", "b"),
            ("via", "1.0 other"),
        ]);
        let sent = of_request(&received, Version::HTTP_11, "gw-1");
        let expected = map(&[
            ("authorization", "Bearer y"),
            ("accept", "a"),
            ("accept", "b"),
            ("via", "1.0 other"),
            ("via", "1.1 gw-1"),
        ]);
        assert_eq!(sent, expected);
        assert!(is_loop(&sent, "gw-1") && is_loop(&map(&[("via", "1.0 a, 1.1 gw-1 (x)")]), "gw-1"));
        assert!(!is_loop(&received, "gw-1") && !is_loop(&map(&[("via", "1.1 gw-10, 1.1 a (gw-1)")]), "gw-1"));
    }

    #[test]
    fn a_customer_gets_nothing_in_our_name_from_a_site() {
        let received: Vec<(String, Bytes)> = [
            ("Comity-Reason", "ok"),
            ("Connection", "x-hop"),
            ("X-Hop", "1"),
            ("Proxy-Authenticate", "Basic"),
            ("Transfer-Encoding", "chunked"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
            ("Bad Name", "x"),
            ("X-Latin", "\u{e9}"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Bytes::from(value)))
        .collect();
        let given = of_response(&received, Version::HTTP_11, "gw-1");
        let names: Vec<_> = given.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["set-cookie", "x-latin", "via"]);
        assert_eq!(given.get_all("set-cookie").iter().count(), 2);
    }
}
