use comity_signals::RslPointers;
use comity_url::CrawlUrl;

use super::case::Case;
use super::read;
use crate::args::SignalsArgs;
use crate::commands::asker::get::Got;
use crate::commands::asker::{self, Asker};
use crate::exit::{Exit, Failure};

/// The case of a URL: its robots.txt, its tdmrep.json, the answer itself, and by option its licences; each asked once, in
/// its turn, and no redirect followed. With it what it is told: a page that may not be asked for leaves the files of its site.
pub(super) fn case(args: &SignalsArgs, target: &str) -> Result<(Case, Exit), Failure> {
    let url = CrawlUrl::parse(target).map_err(|error| Failure::usage(format!("{target:?}: {error}")))?;
    let asker = Asker::open(&args.asker, url.origin())?;
    let found = asker.ask(url.origin());
    let Some(robots) = found.robots() else { return Err(asker::failure(&found)) };
    let mut case = Case::of_url(url.as_str());
    case.agent = asker.user_agent().split(['/', ' ']).next().map(str::to_owned);
    case.input.robots_txt = Some(String::from_utf8_lossy(robots.text()).into_owned());
    let tdmrep = CrawlUrl::parse(&format!("{}/.well-known/tdmrep.json", url.origin()));
    case.input.tdmrep = tdmrep.ok().and_then(|tdmrep| text(&asker, &tdmrep));
    let exit = match asker.must_get(&url)? {
        Ok(got) => {
            take(&mut case, &url, &got);
            Exit::Done
        }
        Err(why) => {
            eprintln!("note: {url} was not asked: {why}; what follows is said by the files of its site alone");
            Exit::Findings
        }
    };
    if args.licences {
        let found = read::read(&case).map_err(Failure::usage)?;
        case.input.rsl = Some(licences(&asker, &found.signals.licences));
    }
    Ok((case, exit))
}

/// What the answer itself says.
fn take(case: &mut Case, url: &CrawlUrl, got: &Got) {
    case.input.status = got.capture.status;
    case.input.content_type = got.capture.field("content-type").map(str::to_owned);
    let fields = got.capture.fields.iter();
    case.input.headers =
        fields.map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned())).collect();
    // Packets of metadata stand in PDF and images as text; what is packed does not survive being one.
    let speaks = |kind: &str| kind.contains("html") || kind.contains("pdf") || kind.starts_with("image/");
    let speaks = case.input.content_type.as_deref().is_none_or(speaks);
    case.input.html = speaks.then(|| String::from_utf8_lossy(&got.body).into_owned());
    if let (Some(status @ 300..=399), Some(to)) = (case.input.status, got.capture.field("location")) {
        eprintln!("note: {url} answers {status} and leads to {to}; ask for that one");
    }
}

fn licences(asker: &Asker, named: &RslPointers) -> std::collections::BTreeMap<String, Option<String>> {
    let documents = named.documents.iter();
    documents
        .map(|pointer| (pointer.url.clone(), CrawlUrl::parse(&pointer.url).ok().and_then(|url| text(asker, &url))))
        .collect()
}

/// A file that was answered with 200; anything else is said, and says nothing.
fn text(asker: &Asker, url: &CrawlUrl) -> Option<String> {
    match asker.get(url) {
        Err(why) => eprintln!("note: {url} was not asked: {why}"),
        Ok(got) => match (got.capture.status, got.capture.fault) {
            (Some(200), None) => return Some(String::from_utf8_lossy(&got.body).into_owned()),
            (Some(404 | 410), _) => {}
            (Some(status), _) => eprintln!("note: {url} answers {status}"),
            (None, fault) => {
                eprintln!("note: {url} could not be had: {}", fault.map_or("no answer", |fault| fault.code()))
            }
        },
    }
    None
}
