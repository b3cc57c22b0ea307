use std::path::Path;

use serde::Deserialize;

use super::Named;
use crate::records::reader::{Frame, Frames, record_files};
use crate::{Line, QueryForm};

/// What a name stands for in the crawl of `dir`, which writes queries in this form: a URL without a query stands for every query of it where
/// that crawl writes none, or wrote none for a visit of it. Costs a pass over the records where that is not known without; what cannot
/// be read there is passed over: whoever erases tells.
#[must_use]
pub fn meant(dir: &Path, named: &Named, form: QueryForm) -> Named {
    match named {
        Named::Url(url) if url.query().is_none() && (form == QueryForm::Drop || was_dropped(dir, url.as_str())) => {
            Named::Path(url.clone())
        }
        named => named.clone(),
    }
}

/// What of a record is looked at.
#[derive(Deserialize)]
struct Written {
    url: String,
    query: Option<String>,
}

fn was_dropped(dir: &Path, path: &str) -> bool {
    let is = |line: &Line| {
        let written = line.standing().filter(|text| text.contains("\"query\""));
        let written = written.and_then(|text| serde_json::from_str::<Written>(text).ok());
        written.is_some_and(|one| one.url == path && one.query.as_deref() == QueryForm::Drop.word())
    };
    let files = record_files(&dir.join("records")).unwrap_or_default();
    files.into_iter().filter_map(|file| Frames::open(file).ok()).any(|mut frames| {
        loop {
            match frames.frame() {
                Ok(Frame::Lines(lines)) if lines.iter().any(is) => return true,
                Ok(Frame::Lines(_)) => {}
                Ok(Frame::End | Frame::Torn(_)) | Err(_) => return false,
            }
        }
    })
}
