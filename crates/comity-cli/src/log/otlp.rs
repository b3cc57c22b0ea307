//! Traces over OTLP (feature `otlp`): visits, robots.txt flights, archive appends and exchanges as spans, to the collector that the
//! variables of the OpenTelemetry specification name. Without one of them nothing is sent.

use std::sync::OnceLock;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
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
pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> Option<impl Layer<S>> {
    ENDPOINTS.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))?;
    let exporter = match SpanExporter::builder().with_http().build() {
        Ok(exporter) => exporter,
        Err(error) => {
            eprintln!("note: no traces are sent: {error}");
            return None;
        }
    };
    let resource = Resource::builder().with_service_name("comity").build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let tracer = provider.tracer("comity");
    let _ = PROVIDER.set(provider);
    Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(EnvFilter::new(OURS)))
}

/// Sends what is left; bounded by the exporter's own time.
pub(super) fn end() {
    if let Some(provider) = PROVIDER.get() {
        drop(provider.shutdown());
    }
}
