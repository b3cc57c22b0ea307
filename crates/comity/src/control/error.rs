use std::error::Error;
use std::fmt;

use comity_frontier::FrontierError;
use serde::{Deserialize, Serialize};

/// Why something could not be done with a crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlError {
    /// Whose fault it is.
    pub fault: ControlFault,
    /// What is wrong, where and why.
    pub what: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Whose fault it is that something could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ControlFault {
    /// What was asked makes no sense, or may not be.
    Usage,
    /// A file or the queue could not be read or written.
    Storage,
    /// The crawl cannot be reached, or is over.
    Engine,
}

impl ControlError {
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { fault: ControlFault::Usage, what: what.into(), hint: None }
    }

    pub(crate) fn storage(what: impl Into<String>) -> Self {
        Self { fault: ControlFault::Storage, what: what.into(), hint: None }
    }

    pub(crate) fn engine(what: impl Into<String>) -> Self {
        Self { fault: ControlFault::Engine, what: what.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<FrontierError> for ControlError {
    fn from(error: FrontierError) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::storage(format!("{error}{cause}"))
    }
}

impl From<crate::Error> for ControlError {
    fn from(error: crate::Error) -> Self {
        let fault = match (error.is_config(), error.is_storage()) {
            (true, _) => ControlFault::Usage,
            (_, true) => ControlFault::Storage,
            _ => ControlFault::Engine,
        };
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Self { fault, what: format!("{error}{cause}"), hint: error.advice().map(ToOwned::to_owned) }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for ControlError {}
