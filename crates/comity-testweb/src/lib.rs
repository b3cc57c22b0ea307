//! A synthetic web on loopback or in memory, and an auditor of politeness: for testing crawlers, comity's and others.
//!
//! A [`Web`] is a description: any number of origins ([`Site`]), each with its own robots.txt, pages, redirects,
//! latency and faults, all following from a seed. It is put up on loopback ([`Web::serve_loopback`]: an address of
//! 127.0.0.0/8 for each origin) or in memory ([`Web::in_memory`]: a [`MemoryNet`] for `comity-fetch`, which obeys
//! tokio's paused time). Everything that arrives is logged as the wire saw it ([`Sighting`]); an [`Auditor`] reads the
//! log against what the web had announced, and [`Expected`] says what a polite crawl must come upon.
//!
//! It is no proxy, speaks no TLS and no HTTP/2, and it is not hardened: put it up where only your own crawler comes.
//!
//! ```
//! use comity_testweb::{Answer, Breach, Site, Web};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let site = Site::new()
//!     .robots("User-agent: *\nCrawl-delay: 0.5\nDisallow: /private/\n")
//!     .page("/", Answer::page(["/private/diary", "/about"]));
//! let served = Web::builder(1).site(site).build()?.serve_loopback().await?;
//!
//! // What a polite crawl comes upon.
//! let origin = served.origins().remove(0);
//! let expected = served.expected(&["MyBot"], &served.seeds());
//! assert!(expected.refused.contains(&format!("{origin}/private/diary")));
//!
//! // A client without manners: it has not asked for robots.txt and says nothing about itself.
//! let authority = origin.trim_start_matches("http://");
//! let mut client = tokio::net::TcpStream::connect(authority).await?;
//! let request = format!("GET /private/diary HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
//! client.write_all(request.as_bytes()).await?;
//! client.read_to_end(&mut Vec::new()).await?;
//!
//! let audit = served.audit();
//! assert!(!audit.is_clean());
//! assert!(matches!(audit.violations[0].breach, Breach::NoContact { user_agent: None }));
//! assert!(matches!(audit.violations[1].breach, Breach::PageWithoutRobots { .. }));
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | have a whole web at once | [`Web::demo`], [`Web::plain`] |
//! | describe one | [`WebBuilder`], [`Site`], [`Answer`], [`Target`], [`Generated`], [`Coding`], [`ConnectFault`] |
//! | put it up | [`Web::serve_loopback`], [`Web::serve_names`] → [`Served`]; [`Web::in_memory`] → [`MemoryNet`], [`Observer`] |
//! | see what arrived | [`Observer::log`], [`Sighting`], [`Request`] |
//! | judge it | [`Observer::audit`], [`Auditor`], [`Audit`], [`Violation`], [`Breach`] |
//! | know what was to be found | [`Observer::expected`], [`Expected`] |
//! | put proxies between a client and the web | [`ExitNet`] |
//! | have its sites answer by https, too | `SecureNet`, of the feature `hostile` |
//! | have servers that misbehave | module `hostile`, of the feature of that name |

mod answer;
mod audit;
mod body;
mod coding;
mod demo;
mod dice;
mod exits;
mod expected;
mod generated;
#[cfg(feature = "hostile")]
pub mod hostile;
mod layout;
mod live;
mod log;
mod loopback;
mod memory;
mod observer;
mod render;
mod reply;
mod request;
mod robots_step;
mod scan;
#[cfg(feature = "hostile")]
mod secure;
mod site;
mod tap;
mod web;

pub use answer::{Answer, Target};
pub use audit::{Audit, Auditor, Breach, DelayClock, MAX_VIOLATIONS, NoRobots, Oddity, OriginAudit, Since, Violation};
pub use coding::Coding;
pub use exits::{Asked, ExitFault, ExitNet};
pub use expected::{Expected, MAX_EXPECTED_URLS};
pub use generated::Generated;
pub use layout::{MAX_SITES, WebError};
pub use log::Sighting;
pub use loopback::Served;
pub use memory::MemoryNet;
pub use observer::Observer;
pub use request::Request;
#[cfg(feature = "hostile")]
pub use secure::SecureNet;
pub use site::{ConnectFault, Site};
pub use web::{Web, WebBuilder};
