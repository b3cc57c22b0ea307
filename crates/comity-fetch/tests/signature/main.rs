//! Signed requests: what a verifier says of them, on paper and on the wire.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

#[path = "../support/mod.rs"]
mod support;
mod verifier;
mod wire;

use std::sync::Arc;

use comity_fetch::signature::{KeyDirectory, SignatureFields, Signer, SigningKey};
use comity_policy::{SeededRandom, WallTime};
use comity_url::CrawlUrl;
use proptest::prelude::*;
use verifier::{Message, Verdict, verify};

const AGENT: &str = "https://bot.example.com";

fn signer() -> Signer {
    let key = SigningKey::from_seed(&[42; 32]).unwrap();
    Signer::new(key, AGENT.parse().unwrap(), Arc::new(SeededRandom::new(1)))
}

fn directory(signer: &Signer) -> String {
    KeyDirectory::new(signer.agent(), [signer.key().clone()]).body()
}

fn message(method: &str, url: &CrawlUrl, signed: &SignatureFields) -> Message {
    let fields =
        [("signature-agent", &signed.agent), ("signature-input", &signed.input), ("signature", &signed.signature)];
    Message {
        method: method.to_owned(),
        authority: url.origin().authority().to_owned(),
        target: url.request_target().to_owned(),
        fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect(),
    }
}

fn urls() -> impl Strategy<Value = CrawlUrl> {
    let hosts = prop_oneof![
        Just("a.test".to_owned()),
        Just("A.Test:443".to_owned()),
        Just("b.test:8443".to_owned()),
        Just("[2001:db8::1]:444".to_owned()),
        Just("192.0.2.7".to_owned()),
        Just("bücher.test".to_owned()),
        "[a-z]{1,10}\\.test",
    ];
    (hosts, "(/[ -~éλ]{0,12}){0,4}", prop_oneof![Just(String::new()), "\\?[ -~é]{0,20}"])
        .prop_filter_map("no crawl URL", |(host, path, query)| {
            CrawlUrl::parse(&format!("https://{host}{path}{query}")).ok()
        })
}

proptest! {
    #[test]
    fn every_signature_is_accepted_and_none_for_anything_else(
        url in urls(),
        at in 0_i64..4_000_000_000_000,
        method in prop_oneof![Just("GET"), Just("HEAD"), Just("POST")],
    ) {
        let signer = signer();
        let signed = signer.sign(method, &url, WallTime::from_unix_millis(at)).unwrap();
        let (genuine, directory, now) = (message(method, &url, &signed), directory(&signer), at / 1000);
        prop_assert_eq!(verify(&genuine, &directory, now), Verdict::Verified);
        prop_assert_eq!(verify(&genuine, &directory, now + 300), Verdict::Verified);
        prop_assert_eq!(verify(&genuine, &directory, now + 301), Verdict::Invalid("expired"));
        prop_assert_eq!(verify(&genuine, &directory, now - 1), Verdict::Invalid("future"));

        let altered = |change: &dyn Fn(&mut Message)| {
            let mut message = genuine.clone();
            change(&mut message);
            verify(&message, &directory, now)
        };
        let forged = Verdict::Invalid("signature");
        prop_assert_eq!(altered(&|m| m.method = "DELETE".into()), Verdict::Invalid("signature"));
        prop_assert_eq!(altered(&|m| m.authority.insert(0, 'x')), Verdict::Invalid("signature"));
        prop_assert_eq!(altered(&|m| m.target.push('x')), Verdict::Invalid("signature"));
        prop_assert_eq!(altered(&|m| m.target.insert(1, 'x')), Verdict::Invalid("signature"));
        let earlier = signed.input.replace(&format!(";created={now}"), &format!(";created={}", now - 1));
        prop_assert_ne!(&earlier, &signed.input);
        prop_assert_eq!(altered(&|m| m.set("signature-input", &earlier)), Verdict::Invalid("signature"));
        let longer = signed.input.replace(&format!(";expires={}", now + 300), &format!(";expires={}", now + 3000));
        prop_assert_ne!(&longer, &signed.input);
        prop_assert_eq!(altered(&|m| m.set("signature-input", &longer)), Verdict::Invalid("signature"));
        prop_assert_eq!(altered(&|m| m.set("signature-agent", "sig1=\"https://other.example.com\"")), forged);
        prop_assert_eq!(altered(&|m| m.set("signature-agent", "sig2=\"https://bot.example.com\"")), Verdict::Invalid("agent_not_covered"));
        let fewer = signed.input.replace("\"@target-uri\" ", "");
        prop_assert_eq!(altered(&|m| m.set("signature-input", &fewer)), Verdict::Invalid("signature"));
        let stranger = SigningKey::from_seed(&[43; 32]).unwrap();
        let theirs = KeyDirectory::new(signer.agent(), [stranger]).body();
        prop_assert_eq!(verify(&genuine, &theirs, now), Verdict::Unverified("unknown_key"));
    }

    #[test]
    fn what_is_covered_is_what_is_asked(url in urls()) {
        let signed = signer().sign("GET", &url, WallTime::from_unix_millis(0)).unwrap();
        let whole = format!("https://{}{}", url.origin().authority(), url.request_target());
        prop_assert_eq!(url.as_str(), whole, "the target URI that is signed is the one that is sent");
        for text in [signed.agent, signed.input, signed.signature] {
            prop_assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{}", text);
        }
    }
}

#[test]
fn nonces_differ_and_without_tls_nothing_is_signed() {
    let (signer, now) = (signer(), WallTime::from_unix_millis(0));
    let url = CrawlUrl::parse("https://a.test/").unwrap();
    let (one, two) = (signer.sign("GET", &url, now).unwrap(), signer.sign("GET", &url, now).unwrap());
    assert_ne!(one, two);
    assert_eq!(signer.sign("GET", &CrawlUrl::parse("http://a.test/").unwrap(), now), None);
}

#[test]
fn signers_show_no_secret() {
    let signer = signer();
    let shown = format!("{signer:?}");
    assert!(shown.contains(signer.key().thumbprint()), "{shown}");
    assert!(!shown.contains("42"), "{shown}");
}
