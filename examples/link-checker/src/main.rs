//! How do I find broken links, with the pages that they stand on? Crawl the site, note who links where, then ask for each
//! foreign target once.
//!
//! ```text
//! cargo run -p link-checker -- https://my-site.example/
//! ```
//!
//! Foreign hosts are judged like any other: what their robots.txt refuses is not asked for, and listed as not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity::policy::Reason;
use comity::url::{CrawlUrl, Origin};
use comity::{BoxError, Crawler, CrawlerBuilder, UrlEnding, UrlOutcome};

/// What is known of links: targets with the pages that name them, and what became of targets.
#[derive(Clone, Debug, Default)]
struct Links(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    named_by: BTreeMap<CrawlUrl, BTreeSet<CrawlUrl>>,
    endings: BTreeMap<CrawlUrl, UrlEnding>,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a command line tool speaks on stdout")]
async fn main() -> Result<ExitCode, BoxError> {
    let site = std::env::args().nth(1).ok_or("usage: link-checker URL")?;
    let (report, broken) = check(&site, |builder| builder).await?;
    print!("{report}");
    Ok(ExitCode::from(u8::from(broken > 0)))
}

/// Checks a site; `with` is for a test, which has a web of its own. The report, and how many targets are broken.
async fn check(site: &str, with: impl Fn(CrawlerBuilder) -> CrawlerBuilder) -> Result<(String, usize), BoxError> {
    let links = Links::default();
    let origin = CrawlUrl::parse(site)?.origin().clone();
    with(noting(&links).seed(site)).build()?.run().await?;
    let foreign = links.foreign(&origin);
    if !foreign.is_empty() {
        // Only what was named: no links, no sitemaps. Redirects are followed, each judged anew.
        let once = noting(&links).seeds(&foreign).max_depth(0);
        let once = once.configure(|file| file.crawl.sitemaps = Some("off".to_owned()));
        with(once).build()?.run().await?;
    }
    Ok(links.report())
}

/// A crawler that notes links and endings.
fn noting(links: &Links) -> CrawlerBuilder {
    let (pages, endings) = (links.clone(), links.clone());
    Crawler::builder("LinkChecker/0.1 (+https://example.com/bot)")
        .each_page(move |page| {
            let mut known = pages.known();
            for link in page.links().iter().filter(|link| link.is_page() && !link.is_nofollow()) {
                known.named_by.entry(link.url.clone()).or_default().insert(page.url().clone());
            }
            // The target of a redirect is named by no page, but by what redirects.
            known.named_by.entry(page.url().clone()).or_default().extend(page.via().cloned());
        })
        .on_outcome(move |UrlOutcome { url, ending, .. }| {
            endings.known().endings.insert(url.clone(), ending);
        })
}

impl Links {
    /// Targets elsewhere that were not visited yet: a site whose seed redirects to another origin is that origin, too.
    fn foreign(&self, own: &Origin) -> Vec<String> {
        let known = self.known();
        let is_new = |url: &&CrawlUrl| url.origin() != own && !known.endings.contains_key(*url);
        known.named_by.keys().filter(is_new).map(|url| url.as_str().to_owned()).collect()
    }

    /// Broken targets and those that were not checked, each with the pages that name it; and how many are broken.
    fn report(&self) -> (String, usize) {
        let (known, mut report, mut broken) = (self.known(), String::new(), 0);
        for (url, ending) in &known.endings {
            let what = match ending {
                UrlEnding::Fetched(status) if *status >= 400 => format!("broken, {status}"),
                // A name that does not exist is never asked.
                UrlEnding::Failed(reason) | UrlEnding::Refused(reason @ Reason::FetchDns) => {
                    format!("broken, {}", reason.text())
                }
                UrlEnding::Refused(reason) => format!("not checked, {}", reason.text()),
                _ => continue,
            };
            broken += usize::from(what.starts_with("broken"));
            // Writing into a String cannot fail.
            let _ = writeln!(report, "{url}: {what}");
            for page in known.named_by.get(url).into_iter().flatten() {
                let _ = writeln!(report, "    named by {page}");
            }
        }
        (report, broken)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
