use std::time::Duration;

use comity::extract::{Page, PageLimits, PageReader};
use comity_fetch::SystemClock;
use comity_policy::{Clock as _, PaceFields, WallTime};
use comity_robots::{Dialect, Robots, request_target};
use comity_signals::{
    AiTxt, Carriers, DiagnosticCode, HeadFacts, PaymentDemand, ResourceReader, ResourceSignals, RobotsSignals,
    RslCarrier, RslDocument, RslPointers, Tdmrep, TrustTxt, UnixSeconds,
};
use comity_url::CrawlUrl;

use super::case::{Case, Input};
use super::signature::{self, Identity};

/// Everything that the libraries say of a case.
pub(super) struct Found {
    pub(super) signals: ResourceSignals,
    /// Codes that are of no single reading.
    pub(super) more: Vec<DiagnosticCode>,
    pub(super) pacing: Option<Pacing>,
    pub(super) demand: Option<PaymentDemand>,
    pub(super) identity: Identity,
    pub(super) page: Option<Page>,
    /// Links to terms in prose, and what says so, each once.
    pub(super) terms: Vec<(&'static str, String)>,
}

/// When the next request may go, by the answer itself.
pub(super) struct Pacing {
    /// `None`: an own back-off, because nobody says for how long.
    pub(super) wait: Option<Duration>,
    /// What was asked for, where it is longer than what is kept to.
    pub(super) asked: Option<Duration>,
    pub(super) source: &'static str,
}

pub(super) fn read(case: &Case) -> Result<Found, String> {
    let url = CrawlUrl::parse(&case.url).map_err(|error| format!("url {:?}: {error}", case.url))?;
    let now = match &case.now {
        None => SystemClock::new().wall(),
        Some(text) => UnixSeconds::parse(text)
            .and_then(|at| at.0.checked_mul(1000))
            .map(WallTime::from_unix_millis)
            .ok_or_else(|| format!("now {text:?} is no date of RFC 3339"))?,
    };
    let (input, agent) = (&case.input, case.agent());
    let (origin, target) = (url.origin().as_str(), request_target(&case.url));
    let compile = |text: &String| RobotsSignals::compile(&Robots::parse(text.as_bytes()), &[agent], Dialect::Standard);
    let robots = input.robots_txt.as_ref().map(compile);
    let tdmrep = input.tdmrep.as_ref().map(|text| Tdmrep::parse(text.as_bytes(), origin));
    let ai_txt = input.ai_txt.as_ref().map(|text| AiTxt::parse(text.as_bytes(), &[agent]));
    let trust_txt = input.trust_txt.as_ref().map(|text| TrustTxt::parse(text.as_bytes()));
    let page = page(&url, input);
    let none = HeadFacts::default();
    let head = page.as_ref().map_or(&none, |page| &page.head);
    let (documents, more) = documents(case, robots.as_ref(), head);
    let licences: Vec<(RslCarrier, &RslDocument)> = documents.iter().map(|(carrier, d)| (*carrier, d)).collect();
    let conditions = case.config.conditions();
    let reader = ResourceReader {
        token: agent,
        image: is_image(case),
        options: case.config.options(case.profile),
        conditions: &conditions,
    };
    let carriers = Carriers {
        origin,
        target: &target,
        robots: robots.as_ref(),
        tdmrep: tdmrep.as_ref(),
        ai_txt: ai_txt.as_ref(),
        trust_txt: trust_txt.as_ref(),
        fields: &input.headers,
        head,
        licences: &licences,
    };
    let signals = reader.read(&carriers, UnixSeconds(now.unix_millis().div_euclid(1000)));
    let (pacing, pace_codes) = pacing(case, now);
    let demand = PaymentDemand::read(input.status.unwrap_or(200), &input.headers, case.config.budget()?.as_ref());
    let unparsable = demand.as_ref().filter(|demand| demand.unparsable).map(|_| DiagnosticCode::PriceUnparsable);
    let more = more.into_iter().chain(pace_codes).chain(unparsable).collect();
    let pages = [Some(link_fields(&url, input)), page];
    let terms = terms(&url, pages.iter().flatten(), &signals, &documents);
    let [_, page] = pages;
    Ok(Found { signals, more, pacing, demand, identity: signature::read(case, now)?, page, terms })
}

fn page(url: &CrawlUrl, input: &Input) -> Option<Page> {
    let html = input.html.as_ref()?;
    let content_type = input.content_type.as_deref().unwrap_or("text/html; charset=utf-8");
    let mut reader = PageReader::new(url, Some(content_type), PageLimits::default());
    reader.push(html.as_bytes());
    Some(reader.finish())
}

/// The links of the fields alone, as a page has them.
fn link_fields(url: &CrawlUrl, input: &Input) -> Page {
    let mut reader = PageReader::new(url, None, PageLimits::default());
    let fields = input.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("link"));
    fields.for_each(|(_, value)| reader.link_field(value));
    reader.finish()
}

/// What leads to terms in prose: links of the answer and its page, the policy of TDMRep, `terms` of licences at hand.
fn terms<'a>(
    url: &CrawlUrl,
    pages: impl Iterator<Item = &'a Page>,
    signals: &ResourceSignals,
    documents: &[(RslCarrier, RslDocument)],
) -> Vec<(&'static str, String)> {
    let links = pages.flat_map(|page| &page.links);
    let links = links.filter_map(|link| Some((link.terms()?, link.url.to_string())));
    let policy = signals.tdm.policy.iter().filter_map(|policy| url.join(policy).ok());
    let policy = policy.map(|url| ("tdm-policy", url.to_string()));
    let licensed = documents.iter().flat_map(|(_, document)| document.terms());
    let licensed = licensed.filter_map(|url| Some(("rsl", CrawlUrl::parse(url).ok()?.to_string())));
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for one in links.chain(policy).chain(licensed) {
        if !found.iter().any(|(_, known)| *known == one.1) {
            found.push(one);
        }
    }
    found
}

fn is_image(case: &Case) -> bool {
    let field = case.input.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = case.input.content_type.as_deref().or(field.map(|(_, value)| value.as_str()));
    kind.and_then(|kind| kind.trim_start().get(..6)).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"))
}

/// The licences that are named and at hand. Where the case gives documents at all, one that it does not give could not be
/// fetched.
fn documents(
    case: &Case,
    robots: Option<&RobotsSignals>,
    head: &HeadFacts,
) -> (Vec<(RslCarrier, RslDocument)>, Vec<DiagnosticCode>) {
    let Some(given) = &case.input.rsl else { return (Vec::new(), Vec::new()) };
    let pointers = RslPointers::read(robots.map(RobotsSignals::rules), &case.input.headers, head).documents;
    let (mut documents, mut codes) = (Vec::new(), Vec::new());
    for pointer in pointers {
        match given.get(&pointer.url).and_then(Option::as_ref) {
            Some(text) => documents.push((pointer.carrier, RslDocument::parse(text.as_bytes()))),
            None => codes.push(DiagnosticCode::RslUnfetchable),
        }
    }
    (documents, codes)
}

/// `Retry-After` speaks on 429, 503 and redirects (signals reference §11), and before any rate-limit field.
fn pacing(case: &Case, now: WallTime) -> (Option<Pacing>, Vec<DiagnosticCode>) {
    let fields = case.input.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let status = case.input.status.unwrap_or(200);
    let speaks = matches!(status, 429 | 503 | 300..=399);
    let read = PaceFields::read(fields, now);
    let codes = read.notes.iter().map(|note| match note {
        comity_policy::PaceNote::RetryAfterInvalid => DiagnosticCode::RetryAfterInvalid,
        comity_policy::PaceNote::RateLimitUnparsable => DiagnosticCode::RatelimitUnparsable,
    });
    let codes: Vec<_> = codes.collect();
    let kept = |told: Duration, source| {
        let wait = told.min(case.config.cap());
        Pacing { wait: Some(wait), asked: (told > wait).then_some(told), source }
    };
    let pacing = match (read.retry_after.filter(|_| speaks), read.rate_limit) {
        (Some(told), _) => Some(kept(told, "retry-after")),
        (None, Some(limit)) if limit.unknown_reset && limit.told().is_zero() => {
            Some(Pacing { wait: None, asked: None, source: "ratelimit" })
        }
        (None, Some(limit)) => Some(kept(limit.told(), "ratelimit")),
        (None, None) if speaks && codes.contains(&DiagnosticCode::RetryAfterInvalid) => {
            Some(Pacing { wait: None, asked: None, source: "retry-after" })
        }
        (None, None) => None,
    };
    (pacing, codes)
}
