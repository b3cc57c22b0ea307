use std::io;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::WallTime;
use hyper::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::sleep;

use crate::answer::Target;
use crate::answer::Wire;
use crate::body::{EndMark, PageBody};
use crate::layout::Layout;
use crate::log::{Ends, Log};
use crate::render::Renderer;
use crate::reply::{Reply, SILENCE};
use crate::scan::MAX_HEAD_BYTES;
use crate::tap::{Carrier, Tap, Wiretap};
use crate::web::{MISDIRECTED, Spec, Visits};

/// How long the server waits for a request head on an open connection (our choice: as nginx keeps connections).
const IDLE: Duration = Duration::from_secs(75);
const MAX_FIELDS: usize = 200;

/// A web that is up: its description, where it stands, and what it has seen.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) spec: Arc<Spec>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) log: Arc<Log>,
    visits: Visits,
    epoch: WallTime,
}

impl Live {
    pub(crate) fn new(spec: Arc<Spec>, layout: Arc<Layout>, epoch: WallTime) -> Arc<Self> {
        let log = Arc::new(Log::new(spec.limits.log));
        Arc::new(Self { spec, layout, log, visits: Visits::default(), epoch })
    }

    /// What an answer points to: the links of a whole page, or where a redirect leads.
    pub(crate) fn targets(&self, reply: &Reply) -> Vec<Target> {
        match reply {
            Reply::Generated { site, page } => self.spec.generated_links(*site, *page),
            Reply::Scripted(answer) => match answer.redirect_target() {
                Some(target) => vec![target],
                None if answer.is_broken() || !matches!(answer.seen_status(), Some(200..=299)) => Vec::new(),
                None => answer.links.clone(),
            },
        }
    }

    /// Civil time so many microseconds after the web was put up.
    pub(crate) fn wall(&self, micros: u64) -> WallTime {
        self.epoch.after(Duration::from_micros(micros))
    }

    /// Serves one connection to its end.
    pub(crate) async fn serve<S: Carrier>(self: Arc<Self>, stream: S, ends: Ends, reset_after: Option<u64>) {
        let wiretap = Arc::new(Wiretap::new(self, ends, reset_after));
        let io = TokioIo::new(Tap::new(stream, wiretap.clone()));
        let service = service_fn(move |_| respond(wiretap.clone()));
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(IDLE).auto_date_header(false);
        server.max_buf_size(2 * MAX_HEAD_BYTES).max_headers(MAX_FIELDS);
        // How a connection ends is the client's business, or a fault ordered here.
        let _ = server.serve_connection(io, service).await;
    }
}

/// Answers the request that the tap saw: its target is the wire's, not what a URL parser made of it.
async fn respond(wiretap: Arc<Wiretap>) -> io::Result<Response<PageBody>> {
    let live = wiretap.live();
    let arrival = wiretap.take().ok_or_else(|| io::Error::other("request without a head"))?;
    let reply = match arrival.site {
        Some(site) => live.spec.reply(site, &arrival.request, Some(&live.visits)),
        None => Reply::Scripted(MISDIRECTED.clone()),
    };
    live.log.replied(arrival.number, reply.clone());
    let (delay, wire, pace) =
        reply.answer().map_or((Duration::ZERO, &Wire::Sound, None), |a| (a.delay, &a.wire, a.pace));
    let latency = arrival.site.and_then(|site| live.spec.site(site)).map_or(Duration::ZERO, |site| site.latency);
    if !(latency + delay).is_zero() {
        sleep(latency + delay).await;
    }
    match wire {
        Wire::Silence => sleep(SILENCE).await,
        Wire::Reset => {}
        Wire::Sound | Wire::Cut(_) | Wire::Raw(_) => {
            wiretap.answer(arrival.number, wire, pace);
            let now = live.epoch.after(live.log.elapsed());
            let renderer = Renderer { spec: &live.spec, layout: &live.layout, now };
            return Ok(renderer.response(&reply, EndMark(live.log.clone(), arrival.number)));
        }
    }
    wiretap.abort();
    Err(io::ErrorKind::ConnectionReset.into())
}
