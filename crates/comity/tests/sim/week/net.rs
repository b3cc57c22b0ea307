//! A network whose servers answer at once, within the write that completes a request.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use comity::policy::Clock;
use comity_fetch::{BoxFuture, Io, Net, ResolveError, Resolved, SystemClock};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Size;
use super::page::{Page, robots};
use super::watch::{Moment, Watch};

/// Origins that share an address.
const PER_ADDRESS: u32 = 4;
/// The name of an origin is `o17.test`: a registrable domain of its own.
const SUFFIX: &str = ".test";

#[derive(Clone, Debug)]
pub(crate) struct WeekNet {
    pub(crate) watch: Watch,
    pub(crate) clock: Arc<SystemClock>,
    /// Which process of the crawl it is, and when that began.
    pub(crate) process: (usize, u64),
    pub(crate) size: Size,
}

impl WeekNet {
    fn moment(&self) -> Moment {
        let (process, began_us) = self.process;
        let (ran_us, civil_ms) = (self.clock.now().as_micros(), self.clock.wall().unix_millis());
        Moment { process, now_us: began_us + ran_us, ran_ms: i64::try_from(ran_us / 1000).unwrap(), civil_ms }
    }
}

impl Net for WeekNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        let origin = number(host).filter(|origin| *origin < self.size.origins);
        let address = origin.map(|origin| IpAddr::V4(Ipv4Addr::from(0x2d00_0000 + origin / PER_ADDRESS)));
        let found = address.map(|address| Resolved::from(vec![address])).ok_or(ResolveError::NoSuchName);
        Box::pin(std::future::ready(found))
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let server = Server(self.clone());
        let stream = Stream { server, asked: Vec::new(), answer: Vec::new(), reader: None };
        Box::pin(std::future::ready(Ok(Box::new(stream) as Box<dyn Io>)))
    }
}

fn number(host: &str) -> Option<u32> {
    host.strip_prefix('o')?.strip_suffix(SUFFIX)?.parse().ok()
}

/// The URL of a page; number `pages` is the one that may not be fetched.
pub(crate) fn url(origin: u32, page: u32, pages: u32) -> String {
    format!("http://o{origin}{SUFFIX}{}", path(page, pages))
}

pub(crate) fn path(page: u32, pages: u32) -> String {
    let folder = if page < pages { "p" } else { "private" };
    format!("/{folder}/{page}")
}

struct Server(WeekNet);

impl Server {
    fn answer(&self, head: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(head).ok()?;
        let target = text.split(' ').nth(1)?;
        let field = |wanted: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(": "));
            fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
        };
        let origin = number(field("host")?)?;
        let Self(net) = self;
        let moment = net.moment();
        let now = moment.now_us;
        let asked = [field("if-none-match"), field("if-modified-since")];
        let page = if target == "/robots.txt" {
            net.watch.robots_asked(origin, now);
            robots(Watch::delay(origin))
        } else {
            let page = target.strip_prefix("/p/").and_then(|page| page.parse().ok());
            net.watch.page_asked(origin, page, asked, moment);
            Page::of(page?, net.size.pages, now)
        };
        let is_known = net.watch.answered(page.is_held_by(asked));
        Some(page.answer(is_known).into_bytes())
    }
}

/// The client's end of a connection; there is no other.
struct Stream {
    server: Server,
    asked: Vec<u8>,
    answer: Vec<u8>,
    reader: Option<Waker>,
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.asked.extend_from_slice(bytes);
        if self.asked.ends_with(b"\r\n\r\n") {
            let head = std::mem::take(&mut self.asked);
            self.answer = self.server.answer(&head).ok_or(io::ErrorKind::InvalidData)?;
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.answer.is_empty() {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let many = self.answer.len().min(into.remaining());
        into.put_slice(&self.answer[..many]);
        self.answer.drain(..many);
        Poll::Ready(Ok(()))
    }
}
