use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use comity_policy::{Exchange, Instant, Reason, Truncation};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;

use crate::deadline::Deadline;
use crate::fault::Fault;
use crate::intake::{Bounds, Intake, Refused};
use crate::link::{Link, Next};
use crate::visit::Visit;
use crate::{Read, ResponseHead, Sink, Want};

/// How reading a body ended, if nothing broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// At its end.
    Read,
    /// The sink refused it: the rest was left, and the connection with it.
    Left,
}

/// The second half of an exchange: the body, and what becomes of the connection.
impl Visit {
    /// Takes in the body; true when the connection can be used again.
    pub(crate) async fn receive(&mut self, link: &mut Link, body: Incoming, sink: &mut dyn Sink) -> bool {
        let status = self.capture.status.unwrap_or_default();
        let want = sink.head(&ResponseHead { status, fields: &self.capture.fields });
        match want {
            Want::HeadOnly | Want::OtherType => {
                if want == Want::OtherType {
                    let said = self.capture.field("content-type").unwrap_or_default();
                    let detail = format!("a body of {} is not wanted", said.chars().take(100).collect::<String>());
                    self.fail(Fault::new(Reason::FetchType, detail));
                }
                let whole = body.is_end_stream();
                self.capture.truncated = (!whole).then_some(Truncation::Unspecified);
                whole
            }
            Want::Body => self.take_body(link, body, sink).await,
        }
    }

    /// Ends the exchange; a connection whose answer was read to its end is kept.
    pub(crate) async fn close(&mut self, link: Box<Link>, whole: bool) -> Option<Exchange> {
        let exchange = self.take_books(&link);
        if whole {
            self.keep(link).await;
        }
        exchange
    }

    pub(crate) fn take_books(&mut self, link: &Link) -> Option<Exchange> {
        link.books.close().map(|closed| {
            self.capture.timings.head = closed.head.zip(closed.written).map(|(head, sent)| head.since(sent));
            self.capture.request_head = self.without_credentials(closed.request_head);
            closed.exchange
        })
    }

    /// Reads the body; true when it arrived to its end.
    async fn take_body(&mut self, link: &mut Link, body: Incoming, sink: &mut dyn Sink) -> bool {
        let house = Arc::clone(&self.house);
        let fields = std::mem::take(&mut self.capture.fields);
        let head = ResponseHead { status: self.capture.status.unwrap_or_default(), fields: &fields };
        let bounds = Bounds { max_body: self.max_body, max_ratio: house.config.limits.max_ratio };
        let mut intake = Intake::new(&head, sink, bounds, &house.spooler);
        let read = self.read(link, body, &mut intake).await;
        let settled = intake.settle().await;
        let (left, received) = (matches!(read, Ok(Body::Left)), intake.received());
        let cut = read.and(settled).err();
        let taken = intake.end(cut.is_none() && !left);
        self.capture.fields = fields;
        self.capture.body = taken.body;
        self.capture.decoded_len = taken.decoded;
        let whole = cut.is_none() && !left;
        if taken.refused.is_some() {
            self.capture.truncated = (received > 0 || !whole).then_some(Truncation::Unspecified);
        }
        if taken.refused == Some(Refused::ByWord) {
            // What became of a body that is not kept is no fault; a broken coding or a cut says nothing any more.
        } else if let Some(fault) = cut {
            self.cut(fault);
        } else if let Some(fault) = taken.coding {
            self.fail(fault);
        }
        whole
    }

    async fn read(&mut self, link: &mut Link, mut body: Incoming, intake: &mut Intake<'_>) -> Result<Body, Fault> {
        while let Some(frame) = self.next(link, &mut body, intake.received()).await? {
            let arrived = self.now();
            if let Ok(piece) = frame.into_data() {
                intake.take(piece)?;
                let bound = if intake.is_full() { Read::Bound } else { Read::Piece };
                if intake.is_refused(bound) {
                    return Ok(Body::Left);
                }
                if intake.is_full() {
                    intake.flush().await?;
                }
            }
            // Decoding, a slow sink and a slow disk are ours.
            let taken = self.now();
            self.waited += taken.since(arrived);
            self.within_total_at(taken)?;
        }
        Ok(Body::Read)
    }

    /// The next piece of a body of which `received` bytes came so far; `None` at its end.
    pub(crate) async fn next(
        &mut self,
        link: &mut Link,
        body: &mut Incoming,
        received: u64,
    ) -> Result<Option<Frame<Bytes>>, Fault> {
        let mut waits = None;
        poll_fn(|cx| {
            match link.poll_next(body, cx) {
                Poll::Ready(Next::Frame(frame)) => return Poll::Ready(Ok(Some(frame))),
                Poll::Ready(Next::End) => return Poll::Ready(Ok(None)),
                Poll::Ready(Next::Broken(error)) => return Poll::Ready(Err(Fault::within_body(&error))),
                Poll::Pending => {}
            }
            let deadline = match waits {
                Some(deadline) => deadline,
                None => {
                    let now = self.now();
                    if self.is_slow(received, now) {
                        return Poll::Ready(Err(self.slow(received, now)));
                    }
                    let idle = Deadline::after(now, self.house.config.limits.idle, Reason::FetchTimeoutIdle);
                    *waits.insert(idle.or(self.total()))
                }
            };
            let rung = self.alarm.poll(cx, deadline, &*self.house.clock);
            rung.map(|reason| Err(Fault::timed_out(reason)))
        })
        .await
    }

    /// A site that never lets us wait would otherwise never meet the deadline.
    pub(crate) fn within_total(&self) -> Result<(), Fault> {
        self.within_total_at(self.now())
    }

    fn within_total_at(&self, now: Instant) -> Result<(), Fault> {
        let over = now.since(self.start) >= self.house.config.limits.total;
        if over { Err(Fault::timed_out(Reason::FetchTimeoutTotal)) } else { Ok(()) }
    }

    /// The body's taker kept the site waiting since `handed`: that is not the site's slowness.
    pub(crate) fn taker_waited(&mut self, handed: Instant) {
        self.waited += self.now().since(handed);
    }

    /// The body ends here, before its end.
    pub(crate) fn cut(&mut self, fault: Fault) {
        self.capture.truncated = Some(fault.truncation());
        self.fail(fault);
    }

    /// True when the body came slower than the least rate until `now`, its first seconds aside.
    fn is_slow(&self, received: u64, now: Instant) -> bool {
        let limits = &self.house.config.limits;
        let Some(head) = self.head else { return false };
        let took = now.since(head).saturating_sub(self.waited);
        took >= limits.rate_grace && u128::from(received) * 1000 < u128::from(limits.least_rate) * took.as_millis()
    }

    fn slow(&self, received: u64, now: Instant) -> Fault {
        let took = self.head.map_or(0, |head| now.since(head).as_millis());
        let least = self.house.config.limits.least_rate;
        Fault::new(Reason::FetchSlow, format!("{received} bytes in {took} ms, below {least} bytes a second"))
    }

    /// Puts the connection back when it can take another request; it is only looked at, never waited for.
    pub(crate) async fn keep(&self, mut link: Box<Link>) {
        if link.is_ready().await {
            let now = self.now();
            let gone = self.house.with_pool(|pool| pool.put(self.url().origin(), link, now));
            drop(gone);
        }
    }
}
