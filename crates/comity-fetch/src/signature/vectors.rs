//! The published vectors of draft-ietf-webbotauth-httpsig-protocol, byte for byte: Ed25519 is deterministic.

use comity_policy::WallTime;
use data_encoding::{BASE64, BASE64URL_NOPAD};

use super::base::{Draft, Parameter};
use super::*;

/// RFC 9421 appendix B.1.4: public test data, refused by `SigningKey::parse`.
const D: &str = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU";
const X: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const THUMBPRINT: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";
const NONCE: &str = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";
const CREATED: i64 = 1_735_689_600;
const EXPIRES: i64 = 4_889_289_600;

fn key() -> SigningKey {
    SigningKey::from_seed(&BASE64URL_NOPAD.decode(D.as_bytes()).unwrap().try_into().unwrap()).unwrap()
}

#[test]
fn the_test_key_has_its_published_halves_and_thumbprint() {
    assert_eq!(key().public(), X);
    assert_eq!(key().thumbprint(), THUMBPRINT);
}

/// Appendix E.2.1 of version 00 (member `agent2`) and of version 01 (member `sig2`), both labelled `sig2`.
#[test]
fn requests_are_signed_as_published() {
    let rows = [
        ("agent2", "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg=="),
        ("sig2", "CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ=="),
    ];
    for (member, signature) in rows {
        let member = format!("\"signature-agent\";key=\"{member}\"");
        let draft = Draft {
            components: &[("\"@authority\"", "example.com"), (&member, "\"https://signature-agent.test\"")],
            parameters: &[
                ("created", Parameter::Integer(CREATED)),
                ("keyid", Parameter::Text(THUMBPRINT)),
                ("alg", Parameter::Text("ed25519")),
                ("expires", Parameter::Integer(EXPIRES)),
                ("nonce", Parameter::Text(NONCE)),
                ("tag", Parameter::Text("web-bot-auth")),
            ],
        };
        let input = format!(
            "(\"@authority\" {member});created=1735689600;keyid=\"{THUMBPRINT}\";alg=\"ed25519\";expires=4889289600;\
             nonce=\"{NONCE}\";tag=\"web-bot-auth\""
        );
        assert_eq!(draft.input(), input);
        assert_eq!(
            draft.base(),
            format!(
                "\"@authority\": example.com\n{member}: \"https://signature-agent.test\"\n\"@signature-params\": {input}"
            )
        );
        assert_eq!(BASE64.encode(key().sign(draft.base().as_bytes()).as_ref()), signature, "{member}");
    }
}

#[test]
fn the_directory_and_its_response_are_signed_as_published() {
    let agent = "https://signature-agent.test".parse().unwrap();
    let directory = KeyDirectory::new(&agent, [key(), key()]);
    assert_eq!(
        directory.body(),
        format!(
            "{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{THUMBPRINT}\",\"x\":\"{X}\",\"use\":\"sig\"}}]}}"
        )
    );
    let created = WallTime::from_unix_millis(CREATED * 1000);
    let valid = WallTime::from_unix_millis(EXPIRES * 1000).since(created);
    let expected = [
        ("Content-Type", KeyDirectory::MEDIA_TYPE.to_owned()),
        ("Cache-Control", "max-age=86400".to_owned()),
        ("Content-Digest", "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:".to_owned()),
        (
            "Signature-Input",
            format!(
                "binding=(\"@authority\";req \"content-digest\");created=1735689600;expires=4889289600;\
                 keyid=\"{THUMBPRINT}\";tag=\"http-message-signatures-directory\""
            ),
        ),
        (
            "Signature",
            "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:"
                .to_owned(),
        ),
    ];
    assert_eq!(directory.fields(created, valid), expected);
}

#[test]
fn two_keys_stand_and_sign_side_by_side() {
    let agent = "https://bot.example.com".parse().unwrap();
    let next = SigningKey::from_seed(&[9; 32]).unwrap();
    let directory = KeyDirectory::new(&agent, [key(), next.clone()]);
    let keys: serde_json::Value = serde_json::from_str(&directory.body()).unwrap();
    assert_eq!(keys["keys"][0]["kid"], THUMBPRINT);
    assert_eq!(keys["keys"][1]["kid"], next.thumbprint());
    let fields = directory.fields(WallTime::from_unix_millis(0), std::time::Duration::from_secs(60));
    for (name, parts) in
        [("Signature-Input", ["binding=(", ", binding2=("]), ("Signature", ["binding=:", ", binding2=:"])]
    {
        let value = &fields.iter().find(|(field, _)| *field == name).unwrap().1;
        assert!(parts.iter().all(|part| value.contains(part)), "{value}");
    }
}
