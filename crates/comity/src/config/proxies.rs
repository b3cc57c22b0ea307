//! `[[fetch.proxy]]` as it is typed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::FetchSection;

/// One entry of `[[fetch.proxy]]`. A later layer replaces the whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProxySection {
    /// `http://`, `https://`, `socks5://` or `socks5h://`, host and port. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Country of the exit, two letters; default unnamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Name of its pool; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Its autonomous system, for records; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asn: Option<u32>,
    /// Its share of the origins, 1 to 1000; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Whether it is an exit at people's homes: records name its country, ASN and pool only. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residential: Option<bool>,
    /// Whether `CONNECT` is used for plain http too; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<bool>,
    /// File that holds `user:password`, readable by its owner alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// Environment variable that holds `user:password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_env: Option<String>,
}

impl FetchSection {
    /// Brings relative files of credentials to `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        for file in self.proxy.iter_mut().flatten().filter_map(|proxy| proxy.credentials_file.as_mut()) {
            let joined = folder.join(&*file);
            *file = std::path::absolute(&joined).unwrap_or(joined);
        }
    }
}
