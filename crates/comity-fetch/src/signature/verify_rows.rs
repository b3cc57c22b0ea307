//! Signatures of others: the published vectors read back, and everything that is wrong with a signature.

use comity_policy::WallTime;
use comity_url::{CrawlUrl, Origin};
use data_encoding::{BASE64, BASE64URL_NOPAD};

use super::base::{Draft, Parameter};
use super::*;
use LegacyAgent::{Accept, Refuse};

const X: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const KEY: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";
const DIRECTORY: &str = "https://signature-agent.test/.well-known/http-message-signatures-directory";

type Fields = Vec<(&'static str, String)>;

fn now() -> WallTime {
    WallTime::from_unix_millis(1_795_996_800_000)
}

/// Appendix E.2.1 of draft-ietf-webbotauth-httpsig-protocol-00.
fn vector() -> Fields {
    let nonce = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";
    let signature = "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==";
    vec![
        ("Signature-Agent", "agent2=\"https://signature-agent.test\"".to_owned()),
        (
            "Signature-Input",
            format!(
                "sig2=(\"@authority\" \"signature-agent\";key=\"agent2\");created=1735689600;keyid=\"{KEY}\";\
                 alg=\"ed25519\";expires=4889289600;nonce=\"{nonce}\";tag=\"web-bot-auth\""
            ),
        ),
        ("Signature", format!("sig2=:{signature}:")),
    ]
}

fn keys() -> KeySet {
    KeySet::parse(format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{X}","kid":"other"}}]}}"#).as_bytes())
        .unwrap()
}

fn ask(fields: &Fields, url: &str, at: WallTime, legacy: LegacyAgent) -> Verified {
    let url = CrawlUrl::parse(url).unwrap();
    let request = ReceivedRequest { method: "GET", url: &url, fields };
    verify(&request, |agent| (agent == DIRECTORY).then(keys), legacy, at)
}

fn shown(found: &Verified) -> String {
    format!("{} {}", found.outcome(), found.reason().unwrap_or_default())
}

#[test]
fn the_published_request_verifies_and_its_base_is_the_published_one() {
    let fields = vector();
    let found = ask(&fields, "https://example.com/path", now(), Refuse);
    assert_eq!(found, Verified::Verified { agent: DIRECTORY.to_owned() });
    let url = CrawlUrl::parse("https://example.com/path").unwrap();
    let base = signature_base(&ReceivedRequest { method: "GET", url: &url, fields: &fields }).unwrap();
    let input = fields[1].1.strip_prefix("sig2=").unwrap();
    let member = "\"signature-agent\";key=\"agent2\": \"https://signature-agent.test\"";
    assert_eq!(base, format!("\"@authority\": example.com\n{member}\n\"@signature-params\": {input}"));
}

#[test]
fn the_published_directory_verifies_and_another_body_does_not() {
    let body = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"{KEY}","x":"{X}","use":"sig"}}]}}"#);
    let fields: Fields = vec![
        ("Content-Digest", "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:".to_owned()),
        (
            "Signature-Input",
            format!(
                "binding=(\"@authority\";req \"content-digest\");created=1735689600;expires=4889289600;keyid=\"{KEY}\";\
                 tag=\"http-message-signatures-directory\""
            ),
        ),
        (
            "Signature",
            "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:"
                .to_owned(),
        ),
    ];
    let origin = |text: &str| Origin::parse(text).unwrap();
    let ours = origin("https://signature-agent.test");
    assert_eq!(verify_directory(&ours, body.as_bytes(), &fields, KEY, now()), Some(true));
    assert_eq!(verify_directory(&ours, format!("{body} ").as_bytes(), &fields, KEY, now()), Some(false));
    assert_eq!(verify_directory(&origin("https://other.test"), body.as_bytes(), &fields, KEY, now()), Some(false));
    assert_eq!(verify_directory(&ours, body.as_bytes(), &fields, "another", now()), None);
    assert_eq!(verify_directory(&ours, body.as_bytes(), &[] as &[(&str, &str)], KEY, now()), None);
    assert_eq!(
        jwk_thumbprint(format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{X}"}}"#).as_bytes()).as_deref(),
        Some(KEY)
    );
}

#[test]
fn what_we_sign_others_can_verify() {
    let key = SigningKey::from_seed(&[7; 32]).unwrap();
    let agent: SignatureAgent = "https://bot.example.com".parse().unwrap();
    let directory = KeyDirectory::new(&agent, [key.clone()]);
    let signer = Signer::new(key, agent.clone(), std::sync::Arc::new(comity_policy::SeededRandom::new(1)));
    let url = CrawlUrl::parse("https://a.test:8443/x?y=1").unwrap();
    let sent = signer.sign("GET", &url, now()).unwrap();
    let fields: Fields =
        vec![("signature-agent", sent.agent), ("signature-input", sent.input), ("signature", sent.signature)];
    let ask = |url: &CrawlUrl, method: &str| {
        let request = ReceivedRequest { method, url, fields: &fields };
        verify(&request, |_| KeySet::parse(directory.body().as_bytes()), Refuse, now())
    };
    assert_eq!(shown(&ask(&url, "GET")), "verified ");
    assert_eq!(shown(&ask(&url, "POST")), "invalid signature");
    assert_eq!(shown(&ask(&CrawlUrl::parse("https://a.test:8443/x?y=2").unwrap(), "GET")), "invalid signature");
    let proofs = directory.fields(now(), std::time::Duration::from_secs(60));
    let body = directory.body();
    assert_eq!(
        verify_directory(agent.origin(), body.as_bytes(), &proofs, signer.key().thumbprint(), now()),
        Some(true)
    );
}

/// One part of the published request replaced, with what is then said of it.
#[test]
fn everything_that_can_be_wrong() {
    let member = "\"signature-agent\";key=\"agent2\"";
    let rows: [(&str, &str, &str); 27] = [
        ("sig2=:R", "sig2=:S", "invalid signature"),
        (";tag=\"web-bot-auth\"", "", "unsigned no_tag"),
        (";tag=\"web-bot-auth\"", ";tag=\"other\"", "unsigned no_tag"),
        ("\"@authority\" ", "\"@method\" ", "invalid coverage"),
        ("\"@authority\" ", "\"@authority\";req ", "invalid coverage"),
        ("\"@authority\" ", "\"@authority\" \"@authority\" ", "invalid coverage"),
        ("\"@authority\" ", "\"@authority\" \"absent\" ", "invalid coverage"),
        ("\"@authority\" ", "\"@authority\" \"Signature-Agent\" ", "invalid coverage"),
        (
            "\"@authority\" ",
            "\"@authority\" \"@path\" \"@query\" \"@scheme\" \"@request-target\" ",
            "invalid signature",
        ),
        (member, "\"signature-agent\"", "invalid agent_not_covered"),
        (member, "\"signature-agent\";key=\"agent3\"", "invalid agent_not_covered"),
        (member, "", "invalid agent_not_covered"),
        (";created=1735689600", "", "invalid params"),
        (";expires=4889289600", "", "invalid params"),
        (";expires=4889289600", ";expires=\"4889289600\"", "invalid params"),
        (";created=1735689600", ";created=1895996800", "invalid future"),
        (";expires=4889289600", ";expires=1795996800", "invalid expired"),
        ("alg=\"ed25519\"", "alg=\"hmac-sha256\"", "invalid alg"),
        ("alg=\"ed25519\"", "alg=7", "invalid alg"),
        ("alg=\"ed25519\"", "alg=\"ecdsa-p256-sha256\"", "unverified alg"),
        ("keyid=\"poqk", "keyid=\"xxxx", "unverified unknown_key"),
        ("https://signature", "http://signature", "unverified no_agent"),
        ("agent.test\"", "agent.test/a\"", "unverified no_agent"),
        ("agent.test\"", "agent.test\";type=cimd", "unverified no_agent"),
        ("agent.test\"", "other.test\"", "unverified discovery"),
        ("agent2=\"https", "agent2=https", "invalid parse"),
        ("sig2=(", "Sig2=(", "invalid parse"),
    ];
    for (part, other, wanted) in rows {
        let fields: Fields = vector().into_iter().map(|(name, value)| (name, value.replace(part, other))).collect();
        assert_ne!(fields, vector(), "{part}");
        assert_eq!(shown(&ask(&fields, "https://example.com/", now(), Refuse)), wanted, "{part} -> {other}");
    }
    for (left_out, wanted) in [(0, "invalid agent_not_covered"), (1, "invalid parse"), (2, "invalid parse")] {
        let mut fields = vector();
        fields.remove(left_out);
        assert_eq!(shown(&ask(&fields, "https://example.com/", now(), Refuse)), wanted, "without field {left_out}");
    }
    assert_eq!(shown(&ask(&Vec::new(), "https://example.com/", now(), Refuse)), "unsigned no_signature");
    assert_eq!(shown(&ask(&vector(), "https://example.org/", now(), Refuse)), "invalid signature");
    let huge = vec![("Signature-Input", "a=1, ".repeat(10_000) + "b"), ("Signature", "a=:YQ==:".to_owned())];
    assert_eq!(shown(&ask(&huge, "https://example.com/", now(), Refuse)), "invalid parse");
}

#[test]
fn the_older_form_of_the_agent_is_taken_only_where_the_operator_says_so() {
    let key = SigningKey::from_seed(
        &BASE64URL_NOPAD.decode(b"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU").unwrap().try_into().unwrap(),
    )
    .unwrap();
    let agent = "\"https://signature-agent.test/\"";
    let draft = Draft {
        components: &[("\"@authority\"", "example.com"), ("\"signature-agent\"", agent)],
        parameters: &[
            ("created", Parameter::Integer(1_735_689_600)),
            ("keyid", Parameter::Text(KEY)),
            ("expires", Parameter::Integer(4_889_289_600)),
            ("tag", Parameter::Text("web-bot-auth")),
        ],
    };
    let signature = BASE64.encode(key.sign(draft.base().as_bytes()).as_ref());
    let fields: Fields = vec![
        ("Signature-Agent", agent.to_owned()),
        ("Signature-Input", format!("a={}", draft.input())),
        ("Signature", format!("a=:{signature}:")),
    ];
    assert_eq!(shown(&ask(&fields, "https://example.com/", now(), Accept)), "verified ");
    assert_eq!(shown(&ask(&fields, "https://example.com/", now(), Refuse)), "invalid parse");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    /// Whatever is changed in the published request, it is never verified but as it was, and nothing panics.
    #[test]
    fn no_altered_request_verifies(field in 0_usize..3, at in 0_usize..400, piece in "[ -~]{0,3}", cut in 0_usize..4) {
        let mut fields = vector();
        let value = &mut fields[field].1;
        let at = at % (value.len() + 1);
        let end = (at + cut).min(value.len());
        value.replace_range(at..end, &piece);
        let same = fields == vector();
        let found = ask(&fields, "https://example.com/", now(), Accept);
        // White space that the grammar drops, and members beside the signed ones, alter nothing that is signed.
        let spared = signed_parts(&fields) == signed_parts(&vector());
        proptest::prop_assert!(same || spared || !matches!(found, Verified::Verified { .. }), "{fields:?}");
    }
}

/// What the signature is over, and itself.
fn signed_parts(fields: &Fields) -> Option<(String, Vec<u8>)> {
    let url = CrawlUrl::parse("https://example.com/").unwrap();
    let base = signature_base(&ReceivedRequest { method: "GET", url: &url, fields })?;
    // Padding may be left out.
    let members = super::received::dictionary(fields, "signature").ok()??;
    match members.into_iter().next()?.1 {
        sfv::ListEntry::Item(item) => Some((base, item.bare_item.as_byte_sequence()?.to_vec())),
        sfv::ListEntry::InnerList(_) => None,
    }
}
