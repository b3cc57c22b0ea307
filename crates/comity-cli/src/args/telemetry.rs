use clap::{Args, ValueEnum};

/// What a crawl tells while it runs, as `[telemetry]`.
#[derive(Debug, Default, Args)]
pub(crate) struct TelemetryArgs {
    /// Show a live page at this address, as 127.0.0.1:8780 [default: none].
    #[arg(long, value_name = "ADDR")]
    pub(crate) dashboard: Option<String>,
    /// Answer Prometheus at this address, at /metrics, as 127.0.0.1:9464 [default: none].
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<String>,
    /// How the log on standard error is written [default: text].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines for people.
    Text,
    /// A JSON object a line; progress, too.
    Json,
}

impl LogForm {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}
