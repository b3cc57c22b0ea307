//! What the pages have in common: one style, no script, nothing loaded from elsewhere, every text from outside escaped.

mod robots;

use htmlize::escape_text;

pub(crate) use self::robots::robots;
use super::visible::visible;

/// Type, colours in light and dark, widths.
pub(crate) const BASE: &str = comity::telemetry::PAGE_STYLE;
/// Outcomes, marked lines of a robots.txt, tables.
const RECORD: &str = include_str!("record.css");

/// A page about records. `title` is a text from outside, `body` and `foot` are HTML.
pub(crate) fn document(title: &str, body: &str, foot: &str) -> String {
    document_with(title, "", body, foot)
}

/// The same with a style of its own behind that of all pages.
pub(crate) fn document_with(title: &str, style: &str, body: &str, foot: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{BASE}{RECORD}{style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <footer>{foot}</footer>\n</body>\n</html>\n",
        title = safe(title),
    )
}

/// A text from outside, as it may stand in a page.
pub(crate) fn safe(text: &str) -> String {
    escape_text(visible(text)).into_owned()
}

/// The colour of an outcome.
pub(crate) fn class(outcome: &str) -> &'static str {
    match outcome {
        "fetched" | "not_modified" => "fetched",
        "not_fetched" | "withheld" => "refused",
        _ => "failed",
    }
}
