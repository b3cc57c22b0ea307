//! Whole crawls over the synthetic web in memory, on paused time: hours of politeness in milliseconds.
//!
//! One scenario a test; the auditor of the web, which knows what every origin had announced, is the judge.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod control;
mod ends;
mod exceptions;
mod guide;
mod handlers;
mod hooks;
mod hops;
mod hours;
mod keys;
mod knobs;
mod licences;
mod limits;
mod pacing;
mod pauses;
mod proxies;
mod readme;
mod reload;
mod reports;
mod revisits;
mod robots;
mod seeds;
mod settings;
mod signals;
mod signals_table;
mod sinks;
mod site_words;
mod sitemaps;
mod support;
mod traps;
mod utilisation;
mod whole_web;
