//! Web Bot Auth: requests signed with the crawler's own key, so that a site can tell it from whoever borrows its name.
//!
//! The profile of RFC 9421 that draft-ietf-webbotauth-httpsig-protocol describes: Ed25519, and one URL that vouches for
//! the key. A signature is identity and nothing else: it asks for no permission and gives none. Off by default.
//!
//! Pure but for [`SigningKey::read`] and [`SigningKey::create`], which touch the key's file: time and randomness are
//! passed in, nothing is sent. [`verify()`] tells who vouches for the request of somebody else; the directory is fetched by
//! the caller.
//!
//! ```
//! use std::sync::Arc;
//! use comity_fetch::signature::{SignatureAgent, Signer, SigningKey};
//! use comity_policy::{SeededRandom, WallTime};
//! use comity_url::CrawlUrl;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::from_seed(&[7; 32])?; // SigningKey::read(file) in earnest
//! let agent: SignatureAgent = "https://bot.example.com".parse()?;
//! let signer = Signer::new(key, agent, Arc::new(SeededRandom::new(1)));
//!
//! let url = CrawlUrl::parse("https://a.test/x?y")?;
//! let now = WallTime::from_unix_millis(1_795_996_800_000);
//! let fields = signer.sign("GET", &url, now).ok_or("not over TLS")?;
//! assert_eq!(fields.agent, r#"sig1="https://bot.example.com""#);
//! assert!(fields.input.starts_with(r#"sig1=("@method" "@authority" "@target-uri" "signature-agent";key="sig1")"#));
//!
//! // Without TLS nothing is signed.
//! assert_eq!(signer.sign("GET", &CrawlUrl::parse("http://a.test/")?, now), None);
//! # Ok(())
//! # }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `signer` | [`Signer`], [`SignatureFields`]: the three fields of a signed request |
//! | `agent` | [`SignatureAgent`]: the URL that vouches for the key |
//! | `key`, `key_file`, `key_error` | [`SigningKey`] from PKCS#8 or JWK, its file, [`KeyError`] |
//! | `directory` | [`KeyDirectory`]: what that URL serves |
//! | `base` | the signature base of RFC 9421 §2.5 |
//! | `verify`, `received` | [`verify()`], [`Verified`]: signatures of others |
//! | `jwks` | [`KeySet`]: the keys of a directory |

mod agent;
mod base;
mod directory;
mod jwks;
mod key;
mod key_error;
mod key_file;
mod received;
mod signer;
#[cfg(test)]
mod vectors;
mod verify;
#[cfg(test)]
mod verify_rows;

pub use agent::{AgentError, SignatureAgent};
pub use directory::KeyDirectory;
pub use jwks::{KeySet, jwk_thumbprint};
pub use key::SigningKey;
pub use key_error::KeyError;
pub use signer::{SignatureFields, Signer};
pub use verify::{Doubt, Fault, LegacyAgent, ReceivedRequest, Verified, signature_base, verify, verify_directory};
