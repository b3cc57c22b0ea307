//! The HTTP client of comity: every door takes a [`comity_policy::Permit`].
//!
//! It sends exactly the one request that was judged, to an address that passed the guard, within bounds that each
//! have a name, and hands back what was sent and received as a [`comity_policy::Capture`]. It gets names and bytes
//! through [`Net`] and time through [`comity_policy::Clock`], so that a whole crawl runs in memory on paused time.
//!
//! It is no general client: it follows no redirect (each hop is judged anew), repeats no request (a lost one goes back
//! through the scheduler), keeps no cookie unless told to, and decides neither what may be fetched nor when.
//!
//! ```
//! use std::sync::Arc;
//! use comity_fetch::{Collect, FetchConfig, Fetcher, SystemClock, SystemNet};
//! use comity_policy::{Clock, Pacer, Permit, Politeness, RobotsChain, SeededRandom};
//! use comity_url::Origin;
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[expect(clippy::disallowed_methods, reason = "the example shows what the gate does")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let address = listener.local_addr()?;
//! # tokio::spawn(async move {
//! #     let (mut stream, _) = listener.accept().await?;
//! #     stream.read(&mut [0; 1024]).await?;
//! #     stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nUser-agent: *").await
//! # });
//! let mut config = FetchConfig::new("MyBot/1.0 (+https://example.com/bot)");
//! config.allow_addresses.push("127.0.0.0/8".parse()?); // a site of our own on this machine
//! let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
//! let fetcher = Fetcher::new(Arc::new(SystemNet::new()), Arc::clone(&clock), config)?;
//!
//! // What the gate does: checked addresses, a turn, a permit.
//! let origin = Origin::parse(&format!("http://{address}"))?;
//! let pacer = Pacer::new(Politeness::default(), Arc::new(SeededRandom::new(1)));
//! let candidates = fetcher.candidates(&origin).await?;
//! let slot = pacer.try_slot(&origin, candidates, clock.now()).map_err(|ready| format!("{ready:?}"))?;
//! let permit = Permit::for_robots(&RobotsChain::new(&origin), slot)?;
//!
//! let mut sink = Collect::default();
//! let fetched = fetcher.fetch(permit, &mut sink).await;
//! assert_eq!(fetched.capture.status, Some(200));
//! assert!(fetched.capture.request_head.starts_with(b"GET /robots.txt HTTP/1.1\r\n"));
//! assert_eq!(sink.body, b"User-agent: *");
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `net`, `system`, `dns`, `clock` | [`Net`], [`SystemNet`], [`SystemClock`]: the world, passed in |
//! | `guard`, `names`, `dead` | [`AddressGuard`] and [`Fetcher::candidates`]: where a site may be asked |
//! | `fetcher`, `visit`, `body`, `report`, `request`, `deadline`, `fault` | [`Fetcher::fetch`]: one exchange from its permit to its receipt |
//! | `cookies` | [`Cookies::Memory`] |
//! | `send`, `outgoing`, `tunnel` | [`Fetcher::send`] and [`Fetcher::dial`]: the doors for others' requests and tunnels |
//! | `connect`, `race`, `pool`, `link`, `tls` | connections: found, kept, driven, secured |
//! | `proxy` | exits: chosen, asked, and told apart from the sites behind them (feature `proxy`) |
//! | `tap`, `head`, `frames` | heads as they were on the wire, and the books of the exchange |
//! | [`signature`] | Web Bot Auth: requests signed with our own key |
//! | `intake`, `coding`, `spool`, `sink`, `media` | the body: bounded, kept, decoded, handed on to a [`Sink`] |
//! | `decoded` | [`Fetcher::decode`]: a kept body read once more |

mod body;
mod clock;
mod coding;
mod config;
mod connect;
mod cookies;
mod dead;
mod deadline;
mod decoded;
mod dns;
mod fault;
mod fetcher;
mod frames;
mod guard;
mod head;
mod intake;
mod link;
mod media;
mod names;
mod net;
mod outgoing;
mod pool;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(not(feature = "proxy"))]
#[path = "proxy/without.rs"]
mod proxy;
mod race;
mod report;
mod request;
mod send;
pub mod signature;
mod sink;
mod spool;
mod system;
mod tap;
mod tls;
mod tunnel;
mod visit;

pub use clock::{SystemClock, SystemRandom};
pub use config::{ConfigError, Cookies, FetchConfig, Http, Limits};
pub use decoded::decode_stored;
pub use fetcher::{CookieUse, Fetched, Fetcher, Method, Request};
pub use guard::AddressGuard;
pub use media::{MediaRange, MediaTypes, NoMediaRange};
pub use names::Refused;
pub use net::{BoxFuture, Io, Net, ResolveError, Resolved};
pub use outgoing::RequestBody;
pub use send::{Answer, Forward, MethodRefused};
pub use sink::{Collect, HeadOnly, Keep, Read, ResponseHead, Sink, Want};
pub use system::SystemNet;
pub use tunnel::{Dialed, Tunnel};
