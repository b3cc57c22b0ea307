//! Names are a promise: `docs/reference/metrics.md` explains each, and a test fails when one is missing there. Labels are words of
//! fixed vocabularies, never an origin or a URL.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::meters::Meters;
use super::snapshot::Snapshot;

/// The metrics of a crawl, as Prometheus reads them (text format 0.0.4).
///
/// # Errors
/// When a name or label cannot be written.
pub(super) fn encode(snapshot: &Snapshot, meters: &Meters) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("comity");
    registry.register("build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
    registry.register(
        "request_latency_seconds",
        "Seconds from the written request for a page to the head of its answer",
        meters.latency.clone(),
    );
    registry.register("body_size_bytes", "Bytes of the bodies of pages, as received", meters.bodies.clone());
    registry.register_collector(Box::new(Counts(snapshot.clone())));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Counts(Snapshot);

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (snapshot, to) = (&self.0, &mut encoder);
        let Snapshot { summary, stats, .. } = snapshot;
        let classes = snapshot.by_class();
        let classes = classes.iter().map(|(class, n)| (CLASSES[usize::from(*class).min(5)], *n));
        family(to, "pages", "Answers that were no redirect, by the class of their status", "status", classes)?;
        counter(to, "redirects", "Answers that were a redirect", summary.redirects)?;
        let reasons = [
            ("refused", "URLs that were not asked for, by reason", &summary.refused),
            ("withheld", "Answers of whose bodies nothing is kept, by reason", &summary.withheld),
            ("failed", "URLs that failed for good, by reason", &summary.failed),
            ("links_skipped", "Links that were found and not queued, by reason", &summary.links_left),
        ];
        for (name, help, counts) in reasons {
            family(to, name, help, "reason", Snapshot::reasons(counts))?;
        }
        counter(to, "retries", "Requests that are tried again later", summary.retries)?;
        counter(to, "revisits", "Visits of pages that were visited before", summary.revisits)?;
        counter(to, "sitemaps", "Sitemaps and feeds that were answered", summary.sitemaps)?;
        counter(to, "received_bytes", "Bytes of bodies received", summary.bytes)?;
        gauge(to, "in_flight", "Requests that are open", snapshot.in_flight)?;
        let queue = [("queued", stats.queued), ("leased", stats.leased), ("scheduled", stats.scheduled)];
        gauges(to, "queue_urls", "URLs of the queue, by state", "state", queue.into_iter())?;
        let origins = [("known", stats.origins), ("stuck", stats.stuck), ("parked", snapshot.parked)];
        gauges(
            to,
            "origins",
            "Origins: known, waiting until told, parked or outside their hours",
            "state",
            origins.into_iter(),
        )?;
        family(
            to,
            "robots_fetches",
            "Questions for a robots.txt, by its standing after them",
            "state",
            snapshot.robots.iter().copied(),
        )?;
        counter(to, "robots_requests", "Requests for robots.txt, redirects among them", snapshot.robots_requests)?;
        let waits = summary.waited.iter().map(|(clock, (turns, _))| (clock.code(), *turns));
        family(to, "waits", "Turns that a clock held back, by clock", "clock", waits)?;
        let held = summary.waited.iter().map(|(clock, (_, held))| (clock.code(), held.as_secs_f64()));
        family(to, "wait_seconds", "For how long, by clock", "clock", held)?;
        gauge(to, "archive_bytes", "Bytes of WARC files and records in the crawl's directory", snapshot.archive_bytes)?;
        counter(to, "errors", "Visits that failed inside and were given back", snapshot.internal)?;
        gauge(to, "uptime_seconds", "Seconds since the crawl began", snapshot.uptime.as_secs())
    }
}

const CLASSES: [&str; 6] = ["", "1xx", "2xx", "3xx", "4xx", "5xx"];

fn counter(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let metric = ConstCounter::new(value);
    metric.encode(to.encode_descriptor(name, help, None, MetricType::Counter)?)
}

fn gauge(to: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let metric = ConstGauge::new(shown(value));
    metric.encode(to.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn family<N: prometheus_client::encoding::EncodeCounterValue>(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    counts: impl Iterator<Item = (&'static str, N)>,
) -> fmt::Result {
    let mut metric = to.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (value, n) in counts {
        ConstCounter::new(n).encode(metric.encode_family(&[(label, value)])?)?;
    }
    Ok(())
}

fn gauges(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    counts: impl Iterator<Item = (&'static str, u64)>,
) -> fmt::Result {
    let mut metric = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (value, n) in counts {
        ConstGauge::new(shown(n)).encode(metric.encode_family(&[(label, value)])?)?;
    }
    Ok(())
}

fn shown(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
