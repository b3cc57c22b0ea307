//! Traces over OTLP (feature `otlp`): visits, robots.txt flights, archive appends and exchanges as spans, to the collector that the
//! variables of the OpenTelemetry specification name. Without one of them nothing is sent.

use std::sync::OnceLock;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer};

/// The spans that are sent: those of ours.
const OURS: &str = "off,comity=debug,comity_gate=debug,comity_fetch=debug";
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
    Ok(Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(EnvFilter::new(OURS))))
}

/// Sends what is left; bounded by the exporter's own time.
pub(super) fn end() {
    if let Some(provider) = PROVIDER.get() {
        drop(provider.shutdown());
    }
}
