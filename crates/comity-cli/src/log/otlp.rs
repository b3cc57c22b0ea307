//! Traces over OTLP (feature `otlp`): visits, robots.txt flights, archive appends and exchanges as spans, to the collector that the
//! variables of the OpenTelemetry specification name. Without one of them nothing is sent.

use std::sync::OnceLock;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

/// Whose spans are sent: ours.
const OURS: [&str; 3] = ["comity", "comity_gate", "comity_fetch"];
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// The layer that sends spans, where an endpoint is named.
///
/// # Errors
/// When the endpoint cannot be used.
pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> Result<Option<impl Layer<S>>, ExporterBuildError> {
    if !ENDPOINTS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Ok(None);
    }
    let exporter = SpanExporter::builder().with_http().build()?;
    let resource = Resource::builder().with_service_name("comity").build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let tracer = provider.tracer("comity");
    let _ = PROVIDER.set(provider);
    // Where in our source a span was made, on which thread, and each time it was polled, cost more than all that it says of the page.
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false);
    Ok(Some(layer.with_filter(filter_fn(is_sent).with_max_level_hint(LevelFilter::DEBUG))))
}

/// Our spans, and of what happens within them what is more than debugging: that an exchange ended, its span says.
fn is_sent(what: &Metadata<'_>) -> bool {
    let of = what.target().split("::").next().unwrap_or_default();
    OURS.contains(&of) && (what.is_span() || *what.level() <= Level::INFO)
}

/// Sends what is left; bounded by the exporter's own time.
pub(super) fn end() {
    if let Some(provider) = PROVIDER.get() {
        drop(provider.shutdown());
    }
}
