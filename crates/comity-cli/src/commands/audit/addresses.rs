//! Gaps between requests to one address, of whatever origins.

use std::collections::HashMap;
use std::net::IpAddr;

use super::examine::ROUNDED_MS;
use super::limits::Limits;
use super::report::{Audit, Kind, Violation};
use super::requests::{Request, Wire};

/// When a request was written, in milliseconds: exactly where its latency is known, else between begin and end.
fn written(request: &Request) -> (i64, i64) {
    let (begin, end) = (request.at.unix_millis(), request.at.unix_millis().saturating_add(request.head_ms));
    request.latency_ms.map_or((begin, end), |latency| (end - latency, end - latency))
}

/// The gap of an address runs from written request to written request. Where that is not known exactly, the longest that it can
/// have been counts. What left through a proxy has no address.
pub(super) fn examine(wire: &Wire, limits: &Limits, audit: &mut Audit) {
    let mut sent: HashMap<IpAddr, Vec<&Request>> = HashMap::new();
    for request in &wire.requests {
        if let Some(address) = request.address {
            sent.entry(address).or_default().push(request);
        }
    }
    let mut sent: Vec<_> = sent.into_iter().collect();
    sent.sort_by_key(|(address, _)| *address);
    for (address, mut requests) in sent {
        requests.sort_by_key(|request| written(request));
        for pair in requests.windows(2) {
            let [before, request] = pair else { continue };
            audit.address_gaps += 1;
            let gap = written(request).1 - written(before).0;
            let asked = i64::try_from(limits.gap(request, address).as_millis()).unwrap_or(i64::MAX);
            let excepted = [before, request].iter().any(|one| one.lifted.iter().any(|scope| scope == "rate"));
            // Begin, head and latency are each cut to milliseconds.
            if gap + ROUNDED_MS + 1 < asked && !excepted {
                let problem = format!("{gap} ms after {} at {address}, {asked} ms are asked", before.url);
                audit.add(Violation::at(Kind::AddressTooSoon, request, wire, problem));
            }
        }
    }
}
