use std::net::SocketAddr;

use crate::config::{ConfigError, TelemetrySection};

/// `[telemetry]`, checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Where `/metrics` is answered; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where the page is; `None`: nowhere.
    pub dashboard: Option<SocketAddr>,
    /// Whether the two may listen beyond this machine.
    pub expose: bool,
    /// How the log is written.
    pub log_format: LogFormat,
}

/// How the log on standard error is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

impl LogFormat {
    /// As written in `[telemetry] log_format`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// # Errors
/// What is no address, one that is not this machine's own where that was not said, or an unknown format.
pub(crate) fn settings(typed: &TelemetrySection) -> Result<TelemetrySettings, ConfigError> {
    let expose = typed.expose.unwrap_or(false);
    let address = |key: &str, text: Option<&String>| {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = |what: String| ConfigError::new(what).at(&format!("[telemetry] {key}"));
        let address: SocketAddr = text.parse().map_err(|_| {
            wrong(format!("{text:?} is no address and port")).hint("as \"127.0.0.1:9464\", or \"[::1]:9464\"")
        })?;
        if expose || address.ip().to_canonical().is_loopback() {
            return Ok(Some(address));
        }
        Err(wrong(format!("{address} can be reached from other machines, and who asks is not asked who they are"))
            .hint("listen on 127.0.0.1, or say expose = true where the network is yours"))
    };
    let log_format = match typed.log_format.as_deref() {
        None | Some("text") => LogFormat::Text,
        Some("json") => LogFormat::Json,
        Some(other) => {
            return Err(ConfigError::new(format!("unknown value {other:?}"))
                .at("[telemetry] log_format")
                .hint("known: \"text\", \"json\""));
        }
    };
    Ok(TelemetrySettings {
        metrics: address("metrics", typed.metrics.as_ref())?,
        dashboard: address("dashboard", typed.dashboard.as_ref())?,
        expose,
        log_format,
    })
}

/// Every key with its value in force.
pub(crate) fn resolved(settings: &TelemetrySettings) -> TelemetrySection {
    let shown = |address: Option<SocketAddr>| Some(address.map_or_else(String::new, |address| address.to_string()));
    TelemetrySection {
        metrics: shown(settings.metrics),
        dashboard: shown(settings.dashboard),
        expose: Some(settings.expose),
        log_format: Some(settings.log_format.as_str().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_on_unless_said_otherwise() {
        let section = |metrics: &str, expose| TelemetrySection {
            metrics: Some(metrics.to_owned()),
            expose: Some(expose),
            ..TelemetrySection::default()
        };
        let table = [
            ("127.0.0.1:9464", false, true),
            ("[::1]:9464", false, true),
            ("127.9.9.9:1", false, true),
            ("[::ffff:127.0.0.1]:1", false, true),
            ("0.0.0.0:9464", false, false),
            ("[::]:9464", false, false),
            ("192.0.2.1:9464", false, false),
            ("0.0.0.0:9464", true, true),
            ("localhost:9464", true, false),
            ("9464", true, false),
        ];
        for (address, expose, taken) in table {
            let found = settings(&section(address, expose));
            assert_eq!(found.is_ok(), taken, "{address} {expose}: {found:?}");
            if let Ok(found) = found {
                assert_eq!(settings(&resolved(&found)).unwrap(), found);
            }
        }
        assert_eq!(settings(&section("", false)).unwrap(), TelemetrySettings::default());
        let json = TelemetrySection { log_format: Some("yaml".to_owned()), ..TelemetrySection::default() };
        assert!(settings(&json).unwrap_err().advice().unwrap().contains("json"));
    }
}
