use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::{Random, WallTime};
use comity_url::{CrawlUrl, Scheme};
use data_encoding::BASE64;

use super::base::{Draft, Parameter, quoted};
use super::{SignatureAgent, SigningKey};

/// The name of the signature, and of the member of `Signature-Agent` that it covers: the draft wants them equal.
const LABEL: &str = "sig1";

/// Our choice: the longest exchange lasts a minute, clocks differ by a few; the draft recommends 24 h at most.
const LIFE: Duration = Duration::from_secs(5 * 60);

/// Signs requests. Clones share the key and the source of nonces; two signers are equal when key and agent are.
#[derive(Clone)]
pub struct Signer {
    key: SigningKey,
    agent: SignatureAgent,
    nonces: Arc<dyn Random>,
}

/// The three fields of a signed request. No secrets: they are recorded as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureFields {
    /// Value of `Signature-Agent`.
    pub agent: String,
    /// Value of `Signature-Input`.
    pub input: String,
    /// Value of `Signature`.
    pub signature: String,
}

impl Signer {
    /// A signer whose nonces come from `nonces`. A nonce has to be new, not secret: Ed25519 needs no randomness.
    #[must_use]
    pub const fn new(key: SigningKey, agent: SignatureAgent, nonces: Arc<dyn Random>) -> Self {
        Self { key, agent, nonces }
    }

    /// The same with other nonces.
    #[must_use]
    pub fn with_nonces(self, nonces: Arc<dyn Random>) -> Self {
        Self { nonces, ..self }
    }

    /// The key.
    #[must_use]
    pub const fn key(&self) -> &SigningKey {
        &self.key
    }

    /// The URL that vouches for the key.
    #[must_use]
    pub const fn agent(&self) -> &SignatureAgent {
        &self.agent
    }

    /// Signs the request `method url` as of `now`, for five minutes; `None` for a URL that is not https, since the draft
    /// wants signatures over TLS only.
    ///
    /// Covered: `@method`, `@authority`, `@target-uri`, and the member of `Signature-Agent`. Costs one Ed25519 signature,
    /// some 30 µs of CPU.
    #[must_use]
    pub fn sign(&self, method: &str, url: &CrawlUrl, now: WallTime) -> Option<SignatureFields> {
        if url.origin().scheme() != Scheme::Https {
            return None;
        }
        let agent = quoted(&self.agent.url());
        let member = format!("\"signature-agent\";key={}", quoted(LABEL));
        let components = [
            ("\"@method\"", method),
            ("\"@authority\"", url.origin().authority()),
            ("\"@target-uri\"", url.as_str()),
            (member.as_str(), agent.as_str()),
        ];
        let nonce = BASE64.encode(&self.nonce());
        let created = seconds(now);
        let parameters = [
            ("created", Parameter::Integer(created)),
            ("keyid", Parameter::Text(self.key.thumbprint())),
            ("alg", Parameter::Text("ed25519")),
            ("expires", Parameter::Integer(seconds(now.after(LIFE)))),
            ("nonce", Parameter::Text(&nonce)),
            ("tag", Parameter::Text("web-bot-auth")),
        ];
        let draft = Draft { components: &components, parameters: &parameters };
        Some(SignatureFields {
            agent: format!("{LABEL}={agent}"),
            input: format!("{LABEL}={}", draft.input()),
            signature: format!("{LABEL}=:{}:", BASE64.encode(self.key.sign(draft.base().as_bytes()).as_ref())),
        })
    }

    /// 64 bytes, as the draft's examples have it.
    fn nonce(&self) -> Vec<u8> {
        (0..8).flat_map(|_| self.nonces.next_u64().to_be_bytes()).collect()
    }
}

/// Whole seconds since the Unix epoch, never later than `at`.
pub(super) const fn seconds(at: WallTime) -> i64 {
    at.unix_millis().div_euclid(1000)
}

impl PartialEq for Signer {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.agent == other.agent
    }
}

impl Eq for Signer {}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("key", &self.key).field("agent", &self.agent).finish_non_exhaustive()
    }
}
