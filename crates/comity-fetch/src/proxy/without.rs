//! What stands where exits would, in a build without the feature `proxy`: types that have no value. Everything leaves directly.

use bytes::Bytes;
use comity_policy::{Form, Instant, Names, Reason, Vantage, Via};
use comity_url::{CrawlUrl, Origin};
use http::Response;
use hyper::body::Incoming;
use std::sync::Arc;

use crate::connect::{Connecting, Found};
use crate::fault::Fault;
use crate::link::Way;
use crate::net::Io;
use crate::outgoing::Outgoing;
use crate::{AddressGuard, FetchConfig};
use comity_policy::Exchange;

/// There are none.
#[derive(Debug)]
pub(crate) enum Exits {}

/// No exit has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitId {}

impl Exits {
    pub(crate) const fn of(_: &FetchConfig) -> Option<Self> {
        None
    }

    pub(crate) const fn vantage(&self, _: &Origin, _: Instant) -> Vantage {
        match *self {}
    }

    pub(crate) const fn way_out(&self, _: &Origin, _: Vantage, _: Instant) -> Result<(), Instant> {
        match *self {}
    }

    pub(crate) const fn names(&self, _: &Origin, _: Vantage, _: Instant) -> Names {
        match *self {}
    }

    pub(crate) const fn via(&self, _: ExitId, _: Names, _: Form) -> Option<Arc<Via>> {
        match *self {}
    }

    pub(crate) const fn out(&self) -> (usize, usize) {
        match *self {}
    }
}

impl Connecting<'_> {
    pub(crate) async fn find_through(&self, exits: &Exits, _: &mut Exchange) -> Result<Found, Fault> {
        match *exits {}
    }

    pub(crate) async fn stream_through(&self, exits: &Exits, _: &mut Exchange) -> Result<Box<dyn Io>, Fault> {
        match *exits {}
    }
}

pub(crate) fn absolute_form(
    (_, exit): (Option<&Exits>, ExitId),
    _: http::Request<Outgoing>,
    _: &CrawlUrl,
) -> Result<http::Request<Outgoing>, Fault> {
    match exit {}
}

pub(crate) fn without_credentials(head: &Bytes) -> Bytes {
    head.clone()
}

pub(crate) const fn answers_itself(
    _: Option<&Exits>,
    _: Way,
    _: &CrawlUrl,
    _: &Response<Incoming>,
    _: Instant,
) -> Option<Fault> {
    None
}

pub(crate) const fn broke_off(_: Option<&Exits>, _: Way, _: &CrawlUrl, _: Instant) {}

/// Nobody else looks names up: none passes.
pub(crate) const fn check_name(_: &str, _: &AddressGuard) -> Result<(), Reason> {
    Err(Reason::AddressPrivate)
}
