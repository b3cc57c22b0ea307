use bytes::Bytes;
use comity_policy::{
    Capture, Exchange, Instant, Outcome, PaceFields, Protocol, Reason, Spool, StalePermit, Timings, Truncation, Vantage,
};
use comity_url::CrawlUrl;
use http_body_util::Empty;
use hyper::body::{Body as _, Incoming};

use crate::connect::Connecting;
use crate::deadline::Deadline;
use crate::fault::Fault;
use crate::fetcher::{Fetched, House, Request};
use crate::intake::Intake;
use crate::link::{Link, Next};
use crate::tap::Closed;
use crate::{ResponseHead, Sink, Want, head, request};

/// One exchange from the spent permit to its receipt; fills a [`Capture`] on the way.
pub(crate) struct Visit<'a> {
    house: &'a House,
    capture: Capture,
    start: Instant,
    /// When the head arrived.
    head: Option<Instant>,
}

/// An exchange that ended without an answer.
struct Unanswered {
    exchange: Option<Exchange>,
    fault: Fault,
}

impl<'a> Visit<'a> {
    pub(crate) fn begin(house: &'a House, url: CrawlUrl) -> Self {
        let capture = Capture {
            url,
            started: house.clock.wall(),
            peer: None,
            vantage: Vantage::Direct,
            protocol: Protocol::Http11,
            tls: None,
            request_head: Bytes::new(),
            response_head: Bytes::new(),
            status: None,
            fields: Vec::new(),
            body: Spool::default(),
            decoded_len: 0,
            truncated: None,
            fault: None,
            detail: None,
            timings: Timings::default(),
        };
        Self { house, capture, start: house.clock.now(), head: None }
    }

    /// The instant by which the permit is judged.
    pub(crate) const fn started(&self) -> Instant {
        self.start
    }

    /// The permit came too late: nothing was sent, its slot is given back.
    pub(crate) fn refuse(mut self, stale: &StalePermit) -> Fetched {
        self.fail(Fault::new(Reason::PermitStale, stale.to_string()));
        self.finish(None)
    }

    /// Sends the request and takes in the answer.
    pub(crate) async fn run(mut self, exchange: Exchange, extra: &Request, sink: &mut dyn Sink) -> Fetched {
        let request = match request::build(exchange.url(), extra, &self.house.config, self.capture.started) {
            Ok(request) => request,
            Err(fault) => return self.give_up(Unanswered { exchange: Some(exchange), fault }),
        };
        match self.ask(exchange, &request).await {
            Ok((link, answer)) => self.receive(link, answer, sink).await,
            Err(unanswered) => self.give_up(unanswered),
        }
    }

    /// Finds a connection, sends the request and waits for the head.
    ///
    /// A kept connection that turns out closed *before the first byte was written* is replaced; one that dies after
    /// that is a failure, since a second request would be one that nobody judged (invariant 6).
    async fn ask(
        &mut self,
        mut exchange: Exchange,
        request: &http::Request<Empty<Bytes>>,
    ) -> Result<(Link, http::Response<Incoming>), Unanswered> {
        let connecting = Connecting::new(self.house, self.start);
        loop {
            let found = connecting.find(&mut exchange).await;
            let (mut link, connect) = match found {
                Ok(found) => found,
                Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
            };
            self.capture.peer = Some(link.peer.ip());
            self.capture.tls.clone_from(&link.tls);
            self.capture.timings.connect = connect;
            if let Err(ready) = exchange.may_write(self.house.clock.now()) {
                self.keep(link).await;
                return Err(Unanswered {
                    exchange: Some(exchange),
                    fault: Fault::new(ready.clock, ready.clock.text()),
                });
            }
            link.books.open(exchange, self.house.config.limits.max_head_bytes);
            let fault = match self.await_head(&mut link, request.clone()).await {
                Ok(answer) => return Ok((link, answer)),
                Err(fault) => fault,
            };
            let Some(closed) = link.books.close() else { return Err(Unanswered { exchange: None, fault }) };
            if connect.is_some() || closed.written.is_some() || fault.reason != Reason::FetchReset {
                return Err(self.unanswered(closed, fault));
            }
            exchange = closed.exchange;
        }
    }

    async fn await_head(
        &self,
        link: &mut Link,
        request: http::Request<Empty<Bytes>>,
    ) -> Result<http::Response<Incoming>, Fault> {
        let limits = &self.house.config.limits;
        let now = self.house.clock.now();
        let deadline = Deadline::after(now, limits.head, Reason::FetchTimeoutHead).or(self.total());
        let answer = deadline.bound(&*self.house.clock, link.send(request)).await.map_err(Fault::timed_out)?;
        answer.map_err(|error| Fault::before_head(&error))
    }

    fn unanswered(&mut self, closed: Closed, fault: Fault) -> Unanswered {
        let fault = if closed.too_large {
            let most = self.house.config.limits.max_head_bytes;
            Fault::new(Reason::FetchHeaders, format!("the response head is larger than {most} bytes"))
        } else {
            fault
        };
        self.capture.request_head = closed.request_head;
        self.capture.response_head = closed.response_head;
        Unanswered { exchange: Some(closed.exchange), fault }
    }

    /// Takes in head and body, and keeps the connection when it can be used again.
    async fn receive(mut self, mut link: Link, answer: http::Response<Incoming>, sink: &mut dyn Sink) -> Fetched {
        link.books.head_seen();
        self.head = Some(self.house.clock.now());
        self.take_head(&link, &answer);
        let head = ResponseHead { status: answer.status().as_u16(), fields: &self.capture.fields };
        let want = sink.head(&head);
        let body = answer.into_body();
        let whole = match want {
            Want::HeadOnly => {
                let whole = body.is_end_stream();
                self.capture.truncated = (!whole).then_some(Truncation::Unspecified);
                whole
            }
            Want::Body => self.take_body(&mut link, body, sink).await,
        };
        let closed = link.books.close();
        if whole {
            self.keep(link).await;
        }
        let exchange = closed.map(|closed| {
            self.capture.timings.head = closed.head.zip(closed.written).map(|(head, sent)| head.since(sent));
            self.capture.request_head = closed.request_head;
            closed.exchange
        });
        self.finish(exchange)
    }

    fn take_head(&mut self, link: &Link, answer: &http::Response<Incoming>) {
        self.capture.status = Some(answer.status().as_u16());
        self.capture.response_head = link.books.response_head();
        self.capture.fields = head::fields(&self.capture.response_head);
        if answer.version() == http::Version::HTTP_10 {
            self.capture.protocol = Protocol::Http10;
        }
        if answer.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            self.fail(Fault::new(Reason::FetchProtocol, "the site switched protocols unasked"));
        }
    }

    /// Reads the body; true when it arrived to its end.
    async fn take_body(&mut self, link: &mut Link, body: Incoming, sink: &mut dyn Sink) -> bool {
        let house = self.house;
        let fields = std::mem::take(&mut self.capture.fields);
        let head = ResponseHead { status: self.capture.status.unwrap_or_default(), fields: &fields };
        let mut intake = Intake::new(&head, sink, &house.config.limits);
        let cut = self.read(link, body, &mut intake).await.err();
        let taken = intake.end(cut.is_none());
        self.capture.fields = fields;
        self.capture.body = taken.body;
        self.capture.decoded_len = taken.decoded;
        let whole = cut.is_none();
        if let Some(fault) = cut {
            self.capture.truncated = Some(fault.truncation());
            self.fail(fault);
        } else if let Some(fault) = taken.coding {
            self.fail(fault);
        }
        whole
    }

    async fn read(&self, link: &mut Link, mut body: Incoming, intake: &mut Intake<'_>) -> Result<(), Fault> {
        let (limits, clock) = (&self.house.config.limits, &*self.house.clock);
        loop {
            let received = intake.received();
            let next = link.next(&mut body, || self.is_slow(received));
            let idle = Deadline::after(clock.now(), limits.idle, Reason::FetchTimeoutIdle).or(self.total());
            match idle.bound(clock, next).await.map_err(Fault::timed_out)? {
                Next::Frame(frame) => {
                    if let Ok(piece) = frame.into_data() {
                        intake.take(&piece)?;
                    }
                }
                Next::End => return Ok(()),
                Next::Broken(error) => return Err(Fault::within_body(&error)),
                Next::Slow => return Err(self.slow(received)),
            }
            // A site that never lets us wait would otherwise never meet the deadline.
            if self.house.clock.now().since(self.start) >= limits.total {
                return Err(Fault::timed_out(Reason::FetchTimeoutTotal));
            }
        }
    }

    /// True when the body came slower than the least rate so far, its first seconds aside.
    fn is_slow(&self, received: u64) -> bool {
        let limits = &self.house.config.limits;
        let Some(head) = self.head else { return false };
        let took = self.house.clock.now().since(head);
        took >= limits.rate_grace && u128::from(received) * 1000 < u128::from(limits.least_rate) * took.as_millis()
    }

    fn slow(&self, received: u64) -> Fault {
        let took = self.head.map_or(0, |head| self.house.clock.now().since(head).as_millis());
        let least = self.house.config.limits.least_rate;
        Fault::new(Reason::FetchSlow, format!("{received} bytes in {took} ms, below {least} bytes a second"))
    }

    /// Puts the connection back when it can take another request; it is only looked at, never waited for.
    async fn keep(&self, mut link: Link) {
        if link.is_ready().await {
            let now = self.house.clock.now();
            let gone = self.house.with_pool(|pool| pool.put(self.capture.url.origin(), Vantage::Direct, link, now));
            drop(gone);
        }
    }

    fn give_up(mut self, unanswered: Unanswered) -> Fetched {
        self.fail(unanswered.fault);
        self.finish(unanswered.exchange)
    }

    /// The first fault counts.
    fn fail(&mut self, fault: Fault) {
        if self.capture.fault.is_none() {
            tracing::debug!(url = %self.capture.url, reason = %fault.reason, detail = %fault.detail, "fetch failed");
            self.capture.fault = Some(fault.reason);
            self.capture.detail = Some(fault.detail);
        }
    }

    fn finish(mut self, exchange: Option<Exchange>) -> Fetched {
        let now = self.house.clock.now();
        self.capture.timings.total = now.since(self.start);
        self.capture.timings.body = self.head.map(|head| now.since(head));
        let outcome = self.outcome();
        Fetched { capture: self.capture, receipt: exchange.map(Exchange::finish), outcome }
    }

    /// Answered whenever a head came, whatever became of its body.
    fn outcome(&self) -> Outcome {
        let capture = &self.capture;
        match capture.status {
            Some(status) => {
                let fields = capture.fields.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
                let PaceFields { retry_after, rate_limit, notes } = PaceFields::read(fields, self.house.clock.wall());
                for note in notes {
                    tracing::info!(url = %capture.url, note = note.as_str(), "pace field ignored");
                }
                Outcome::Answered { status, retry_after, rate_limit }
            }
            None => Outcome::Failed(capture.fault.unwrap_or(Reason::FetchReset)),
        }
    }

    fn total(&self) -> Deadline {
        Deadline::after(self.start, self.house.config.limits.total, Reason::FetchTimeoutTotal)
    }
}
