//! The policy gateway: a forward proxy and a decision API on the crawler's own gate.
//!
//! What a crawler does for itself it does here for the customers of a proxy network: every request is judged by the
//! site's robots.txt and signals, waits for its origin's turn beside everybody else's, and leaves with a permit through
//! `comity-fetch`. A refusal names rule and line, and cannot be mistaken for an answer of the site.
//!
//! It holds no policy of its own: [`comity_policy::judge`] decides, the gate's pacer paces. It is no cache (but of
//! robots.txt), opens no tunnels and no TLS yet, and knows one customer; `docs/gateway.md` says what is built.
//!
//! ```
//! use std::sync::Arc;
//! use comity_fetch::{FetchConfig, Fetcher, SystemClock, SystemNet, SystemRandom};
//! use comity_gate::GateConfig;
//! use comity_gateway::{Auth, Customer, Gateway, GatewayConfig, Phase, UserAgentRule};
//! use comity_policy::Identity;
//! use comity_robots::ProductToken;
//! use tokio::sync::watch;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::new("ExampleNet/1.0", "https://example.com/net", &[], Vec::new())?;
//! let clock = Arc::new(SystemClock::new());
//! let fetcher = Fetcher::new(Arc::new(SystemNet::new()), clock.clone(), FetchConfig::new(identity.user_agent()))?;
//! let customer = Customer {
//!     id: "c1".to_owned(),
//!     tokens: vec![ProductToken::new("custbot")?],
//!     purposes: vec!["search".parse()?],
//!     user_agent: UserAgentRule::Any,
//! };
//! let config = GatewayConfig::new("127.0.0.1:0".parse()?, Auth::None, customer);
//! let random = Arc::new(SystemRandom::new());
//! let gateway = Gateway::new(fetcher, clock, random, GateConfig::new(identity), config)?;
//!
//! let listeners = gateway.bind().await?;
//! println!("http_proxy=http://{}", listeners.proxy().local_addr()?);
//! let (stop, phase) = watch::channel(Phase::Serving);
//! # stop.send(Phase::Draining)?;
//! gateway.serve(listeners, phase).await;
//! # drop(stop);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `config`, `secret` | [`GatewayConfig`], [`Customer`], [`Secret`]: the settings, and what must not start |
//! | `gateway`, `server` | [`Gateway`], [`Listeners`], [`Phase`]: what connections share, and their life |
//! | `proxy`, `target`, `auth`, `fields`, `forward`, `robots_file` | the forward proxy, in the order of its checks |
//! | `api`, `question` | `/v1/decide`, `/livez`, `/readyz` |
//! | `wishes`, `ruling`, `record`, `answer`, `face`, `id` | a decision: as whom it is asked, what it says, how it looks |
//! | `copies`, `room` | what is held: robots.txt files to be served, bodies that wait to be read |

mod answer;
mod api;
mod auth;
mod config;
mod copies;
mod face;
mod fields;
mod forward;
mod gateway;
mod id;
mod proxy;
mod question;
mod record;
mod robots_file;
mod room;
mod ruling;
mod secret;
mod server;
mod target;
mod wishes;

pub use config::{ApiConfig, Auth, CombineTokens, Customer, GatewayConfig, GatewayError, UserAgentRule};
pub use gateway::Gateway;
pub use secret::Secret;
pub use server::{Listeners, Phase, Surface};
