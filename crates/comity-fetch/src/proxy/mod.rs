//! Requests that leave through proxies: whom they leave through, how those are asked, and whose fault a failure is.
//!
//! An exit changes from where a request leaves and nothing else: the same permits, paces and checks hold. It never gets
//! a request a second time, and no other exit does: what was lost goes back through the scheduler.

mod credentials;
mod exits;
mod forward;
mod health;
mod http;
mod names;
mod settings;
mod socks;
mod target;
mod through;
mod verdict;

pub use credentials::{Credentials, NoCredentials};
pub(crate) use exits::{ExitId, Exits, NoExit, identity};
pub(crate) use forward::{absolute_form, answers_itself, broke_off, without_credentials};
pub(crate) use names::check as check_name;
pub use settings::{NoProxy, PlainHttp, Proxy, ProxyKind, Shown};
