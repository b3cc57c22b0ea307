//! The log on standard error, and what a command says there beside it: for people, or a JSON object a line.

#[cfg(feature = "otlp")]
mod otlp;

use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::args::{Cli, Command, LogForm};
use crate::settings;

/// What a command says for itself is logged under this name.
const SAID: &str = "said";

static IS_JSON: OnceLock<bool> = OnceLock::new();

/// Logs to stderr, data to stdout (design §8). `COMITY_LOG` takes the usual filter directives; what a command says for itself in
/// JSON is said whatever it takes. In colours on a terminal, unless `NO_COLOR` says anything (no-color.org).
pub(crate) fn init(cli: &Cli) {
    let usual = usual(cli);
    let filter = EnvFilter::try_from_env("COMITY_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    let is_json = *IS_JSON.get_or_init(|| form(cli) == LogForm::Json);
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let has_colours = std::io::stderr().is_terminal() && !is_plain;
    // What cannot be written there is not complained of there either: that would panic.
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(has_colours);
    let lines = lines.log_internal_errors(false);
    let lines = if is_json {
        let filter = match "said=info".parse() {
            Ok(said) => filter.add_directive(said),
            Err(_) => filter,
        };
        lines.json().with_filter(filter).boxed()
    } else {
        lines.with_filter(filter).boxed()
    };
    let log = tracing_subscriber::registry().with(lines);
    #[cfg(feature = "otlp")]
    let (layer, note) = match otlp::layer() {
        Ok(layer) => (layer, None),
        Err(error) => (None, Some(error)),
    };
    #[cfg(feature = "otlp")]
    let log = log.with(layer);
    log.init();
    // Said by the log itself, so that it has its form.
    #[cfg(feature = "otlp")]
    if let Some(error) = note {
        say(&format!("note: no traces are sent: {error}"));
    }
}

/// Sends what is left of traces.
pub(crate) fn end() {
    #[cfg(feature = "otlp")]
    otlp::end();
}

/// Writes to standard error. That nobody reads it is no fault of what is told, and there is nowhere to say so.
pub(crate) fn tell(told: std::fmt::Arguments<'_>) {
    drop(std::io::stderr().lock().write_fmt(told));
}

/// Says a line on standard error.
pub(crate) fn say(text: &str) {
    if is_json() {
        tracing::info!(target: SAID, "{text}");
    } else {
        eprintln!("{text}");
    }
}

/// Whether the log is JSON.
pub(crate) fn is_json() -> bool {
    IS_JSON.get().copied().unwrap_or(false)
}

/// What is logged when `COMITY_LOG` does not say: a gateway tells each decision, everything else only errors.
const fn usual(cli: &Cli) -> &'static str {
    match cli.command {
        Command::Gateway(_) => "error,comity_gateway=info",
        _ => "error",
    }
}

/// Only crawls and gateways have a configuration that can say so. One that cannot be read is told of later, by whoever needs it.
fn form(cli: &Cli) -> LogForm {
    let (said, file) = match &cli.command {
        Command::Crawl(args) => (args.layers.telemetry.log_format, settings::file_of_crawl(&args.layers).ok()),
        Command::Gateway(args) => (None, settings::of_file_quietly(&args.config).ok()),
        _ => (None, None),
    };
    let typed = file.and_then(|file| file.telemetry.log_format);
    said.unwrap_or(if typed.as_deref() == Some("json") { LogForm::Json } else { LogForm::Text })
}
