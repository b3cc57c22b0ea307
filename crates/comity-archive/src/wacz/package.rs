use std::io::Write;

use serde::Serialize;

use super::pages::Pages;
use super::{Wacz, WaczSettings};
use crate::ArchiveError;
use crate::warc::info::SOFTWARE;

/// `datapackage.json` of WACZ 1.1.1.
#[derive(Serialize)]
struct DataPackage<'a> {
    profile: &'static str,
    wacz_version: &'static str,
    software: &'static str,
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(rename = "mainPageUrl", skip_serializing_if = "Option::is_none")]
    main_page_url: Option<&'a str>,
    #[serde(rename = "mainPageDate", skip_serializing_if = "Option::is_none")]
    main_page_date: Option<&'a str>,
    resources: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: String,
    path: &'a str,
    hash: String,
    bytes: u64,
}

#[derive(Serialize)]
struct PackageDigest {
    path: &'static str,
    hash: String,
}

/// Adds the list of everything in the package, and its digest.
pub(super) fn write(wacz: &mut Wacz, settings: &WaczSettings, pages: &Pages) -> Result<(), ArchiveError> {
    let resources = wacz.resources.iter().map(|one| Entry {
        // Frictionless Data takes lower case only.
        name: one.path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase(),
        path: &one.path,
        hash: format!("sha256:{}", one.digest),
        bytes: one.bytes,
    });
    let package = DataPackage {
        profile: "data-package",
        wacz_version: "1.1.1",
        software: SOFTWARE,
        created: settings.created.to_string(),
        title: settings.title.as_deref().or(pages.crawl.as_deref()),
        main_page_url: pages.main.as_ref().map(|(url, _)| url.as_str()),
        main_page_date: pages.main.as_ref().map(|(_, date)| date.as_str()),
        resources: resources.collect(),
    };
    let text = json(wacz, &package)?;
    let digest = wacz.add("datapackage.json", |to| to.write_all(&text))?;
    let text = json(wacz, &PackageDigest { path: "datapackage.json", hash: format!("sha256:{digest}") })?;
    wacz.add("datapackage-digest.json", |to| to.write_all(&text)).map(drop)
}

fn json(wacz: &Wacz, value: &impl Serialize) -> Result<Vec<u8>, ArchiveError> {
    serde_json::to_vec_pretty(value).map_err(|e| ArchiveError::io(&wacz.path, e.into()))
}
