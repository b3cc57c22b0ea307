use std::time::Duration;

use comity_policy::WallTime;
use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

use super::base::{Draft, Parameter, quoted};
use super::signer::seconds;
use super::{SignatureAgent, SigningKey};

/// The key directory that a [`SignatureAgent`] serves: a JWK set of public keys, and the fields of its response.
///
/// A static file and static fields: nothing of it depends on the request but the host that is asked.
#[derive(Clone, Debug)]
pub struct KeyDirectory {
    authority: String,
    keys: Vec<SigningKey>,
}

impl KeyDirectory {
    /// The media type under which it has to be served.
    pub const MEDIA_TYPE: &'static str = "application/http-message-signatures-directory+json";

    /// The directory of `agent` with these keys, the first being the one that signs now. To rotate, the next or the last
    /// key stands beside it for a while; repeats are left out.
    #[must_use]
    pub fn new(agent: &SignatureAgent, keys: impl IntoIterator<Item = SigningKey>) -> Self {
        let mut distinct: Vec<SigningKey> = Vec::new();
        for key in keys {
            if !distinct.contains(&key) {
                distinct.push(key);
            }
        }
        Self { authority: agent.origin().authority().to_owned(), keys: distinct }
    }

    /// The body, to be served byte for byte: the signatures cover its digest.
    #[must_use]
    pub fn body(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(jwk).collect();
        format!("{{\"keys\":[{}]}}", keys.join(","))
    }

    /// The fields of the response: type, caching, digest, and one signature per key, which shows that whoever serves the
    /// key also holds it. They hold from `now` for `valid`; after that the directory still serves who fetches it himself.
    #[must_use]
    pub fn fields(&self, now: WallTime, valid: Duration) -> Vec<(&'static str, String)> {
        let digest = format!("sha-256=:{}:", BASE64.encode(&Sha256::digest(self.body().as_bytes())));
        let (mut inputs, mut signatures) = (Vec::new(), Vec::new());
        for (index, key) in self.keys.iter().enumerate() {
            let label = if index == 0 { "binding".to_owned() } else { format!("binding{}", index + 1) };
            let (input, signature) = self.proof(key, &digest, (now, now.after(valid)));
            inputs.push(format!("{label}={input}"));
            signatures.push(format!("{label}=:{signature}:"));
        }
        vec![
            ("Content-Type", Self::MEDIA_TYPE.to_owned()),
            ("Cache-Control", "max-age=86400".to_owned()),
            ("Content-Digest", digest),
            ("Signature-Input", inputs.join(", ")),
            ("Signature", signatures.join(", ")),
        ]
    }

    fn proof(&self, key: &SigningKey, digest: &str, (from, to): (WallTime, WallTime)) -> (String, String) {
        let draft = Draft {
            components: &[("\"@authority\";req", &self.authority), ("\"content-digest\"", digest)],
            parameters: &[
                ("created", Parameter::Integer(seconds(from))),
                ("expires", Parameter::Integer(seconds(to))),
                ("keyid", Parameter::Text(key.thumbprint())),
                ("tag", Parameter::Text("http-message-signatures-directory")),
            ],
        };
        (draft.input(), BASE64.encode(key.sign(draft.base().as_bytes()).as_ref()))
    }
}

/// The public half, members in the order of the published vector.
fn jwk(key: &SigningKey) -> String {
    let (kid, x) = (quoted(key.thumbprint()), quoted(key.public()));
    format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":{kid},\"x\":{x},\"use\":\"sig\"}}")
}
