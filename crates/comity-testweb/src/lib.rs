//! A synthetic web on loopback or in memory, and an auditor of politeness.

mod answer;
mod body;
mod coding;
mod demo;
mod dice;
mod generated;
mod layout;
mod live;
mod log;
mod loopback;
mod memory;
mod observer;
mod render;
mod reply;
mod request;
mod scan;
mod site;
mod tap;
mod web;

pub use answer::{Answer, Target};
pub use coding::Coding;
pub use generated::Generated;
pub use layout::{MAX_SITES, WebError};
pub use log::Sighting;
pub use loopback::Served;
pub use memory::MemoryNet;
pub use observer::Observer;
pub use request::Request;
pub use site::{ConnectFault, Site};
pub use web::{Web, WebBuilder};
