use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_policy::{
    Capture, Exchange, Form, Instant, Names, Outcome, PaceFields, Protocol, Reason, Spool, StalePermit, Timings,
    Truncation, Vantage,
};
use comity_url::CrawlUrl;
use http_body::Body as _;
use http_body::Frame;
use hyper::body::Incoming;

use crate::connect::Connecting;
use crate::deadline::Deadline;
use crate::fault::Fault;
use crate::fetcher::{Fetched, House, Request};
use crate::intake::Intake;
use crate::link::{Link, Next, Spoken, Way};
use crate::outgoing::Outgoing;
use crate::proxy::{self, ExitId};
use crate::tap::Closed;
use crate::{ResponseHead, Sink, Want, head, request};

/// One exchange from the spent permit to its receipt; fills a [`Capture`] on the way.
pub(crate) struct Visit {
    pub(crate) house: Arc<House>,
    pub(crate) capture: Capture,
    start: Instant,
    /// When the head arrived.
    head: Option<Instant>,
    /// How long the body's taker kept the site waiting since then.
    waited: Duration,
}

/// An exchange that ended without an answer.
pub(crate) struct Unanswered {
    pub(crate) exchange: Option<Exchange>,
    pub(crate) fault: Fault,
}

impl Visit {
    pub(crate) fn begin(house: Arc<House>, url: CrawlUrl) -> Self {
        let capture = Capture {
            url,
            started: house.clock.wall(),
            peer: None,
            vantage: Vantage::Direct,
            via: None,
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
        let start = house.clock.now();
        Self { house, capture, start, head: None, waited: Duration::ZERO }
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
        let request = request::build(exchange.url(), extra, &self.house.config, self.capture.started);
        match self.head(exchange, request).await {
            Ok((link, body)) => self.receive(link, body, sink).await,
            Err(unanswered) => self.give_up(unanswered),
        }
    }

    /// Sends the request, waits for the head and takes it in.
    pub(crate) async fn head(
        &mut self,
        exchange: Exchange,
        request: Result<http::Request<Outgoing>, Fault>,
    ) -> Result<(Link, Incoming), Unanswered> {
        let request = match request {
            Ok(request) => request,
            Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
        };
        let (link, answer) = self.ask(exchange, &request).await?;
        link.books.head_seen();
        self.head = Some(self.house.clock.now());
        let (exits, now) = (self.house.exits.as_ref(), self.house.clock.now());
        if let Some(fault) = proxy::answers_itself(exits, link.way, &self.capture.url, &answer, now) {
            return Err(Unanswered { exchange: self.take_books(&link), fault });
        }
        match self.take_head(&link, &answer) {
            Ok(()) => Ok((link, answer.into_body())),
            Err(fault) => Err(Unanswered { exchange: self.take_books(&link), fault }),
        }
    }

    /// Finds a connection, sends the request and waits for the head.
    ///
    /// A kept connection that turns out closed *before the first byte was written* is replaced; one that dies after
    /// that is a failure, since a second request would be one that nobody judged (invariant 6).
    async fn ask(
        &mut self,
        mut exchange: Exchange,
        request: &http::Request<Outgoing>,
    ) -> Result<(Link, http::Response<Incoming>), Unanswered> {
        let house = Arc::clone(&self.house);
        let connecting = Connecting::new(&house, self.start);
        loop {
            self.capture.vantage = exchange.vantage();
            let found = connecting.find(&mut exchange).await;
            let (mut link, connect) = match found {
                Ok(found) => found,
                Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
            };
            self.took(link.way);
            self.capture.tls.clone_from(&link.tls);
            self.capture.timings.connect = connect;
            if let Err(ready) = exchange.may_write(self.house.clock.now()) {
                self.keep(link).await;
                return Err(Unanswered {
                    exchange: Some(exchange),
                    fault: Fault::new(ready.clock, ready.clock.text()),
                });
            }
            let most = self.house.config.limits.max_head_bytes;
            let body = request.body().clone();
            let (request, head) = match self.shape(&link, request.clone()) {
                Ok(shaped) => shaped,
                Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
            };
            link.books.open(exchange, head, most);
            let fault = match self.await_head(&mut link, request).await {
                Ok(answer) => return Ok((link, answer)),
                Err(fault) => fault,
            };
            let Some(closed) = link.books.close() else { return Err(Unanswered { exchange: None, fault }) };
            let begun = closed.written.is_some() || body.moved().is_some();
            if connect.is_some() || begun || fault.reason != Reason::FetchReset {
                if !fault.reason.is_ours() {
                    proxy::broke_off(house.exits.as_ref(), link.way, &self.capture.url, house.clock.now());
                }
                return Err(self.unanswered(closed, fault));
            }
            exchange = closed.exchange;
        }
    }

    /// The request as the connection wants it, and its head where the wire does not show it.
    fn shape(
        &mut self,
        link: &Link,
        request: http::Request<Outgoing>,
    ) -> Result<(http::Request<Outgoing>, Option<Vec<u8>>), Fault> {
        match link.spoken() {
            Spoken::Http1 => {
                self.capture.protocol = Protocol::Http11;
                match link.way.forwarded_by() {
                    None => Ok((request, None)),
                    Some(exit) => self.for_exit(exit, request).map(|request| (request, None)),
                }
            }
            Spoken::Http2 => {
                self.capture.protocol = Protocol::H2;
                let request = request::for_http2(request, &self.capture.url)?;
                let head = head::of_request(&request);
                Ok((request, Some(head)))
            }
        }
    }

    /// Notes which way the exchange goes.
    fn took(&mut self, way: Way) {
        self.capture.peer = way.seen().map(|peer| peer.ip());
        let names = if way.told().is_some() { Names::Here } else { Names::Exit };
        let via = |(exit, form)| self.house.exits.as_ref()?.via(exit, names, form);
        self.capture.via = way.exit().and_then(via);
    }

    /// The request in absolute-form, with the exit's credentials.
    fn for_exit(&self, exit: ExitId, request: http::Request<Outgoing>) -> Result<http::Request<Outgoing>, Fault> {
        let proxy = self.house.exits.as_ref().and_then(|exits| exits.proxy(exit));
        let credentials = proxy.and_then(|proxy| proxy.credentials.as_ref());
        proxy::absolute_form(request, &self.capture.url, credentials)
    }

    /// Credentials are the exit's, and stand in no capture.
    fn without_credentials(&self, head: Bytes) -> Bytes {
        let read_by_exit = self.capture.via.as_ref().is_some_and(|via| via.form == Form::Forward);
        if read_by_exit { proxy::without_credentials(&head) } else { head }
    }

    async fn await_head(
        &self,
        link: &mut Link,
        request: http::Request<Outgoing>,
    ) -> Result<http::Response<Incoming>, Fault> {
        let (clock, wait) = (&*self.house.clock, self.house.config.limits.head);
        let body = request.body().clone();
        let mut from = clock.now();
        let mut sending = std::pin::pin!(link.send(request));
        loop {
            let deadline = Deadline::after(from, wait, Reason::FetchTimeoutHead).or(self.total());
            match deadline.bound(clock, sending.as_mut()).await {
                Ok(answer) => {
                    return answer.map_err(|error| body.fault().unwrap_or_else(|| Fault::before_head(&error)));
                }
                // While a body goes out, the site cannot be expected to answer.
                Err(Reason::FetchTimeoutHead) if body.moved().is_some_and(|moved| moved > from) => {
                    from = body.moved().unwrap_or(from);
                }
                Err(reason) => return Err(Fault::timed_out(reason)),
            }
        }
    }

    fn unanswered(&mut self, closed: Closed, fault: Fault) -> Unanswered {
        let fault = if closed.too_large {
            let most = self.house.config.limits.max_head_bytes;
            Fault::new(Reason::FetchHeaders, format!("the response head is larger than {most} bytes"))
        } else {
            fault
        };
        self.capture.request_head = self.without_credentials(closed.request_head);
        self.capture.response_head = closed.response_head;
        Unanswered { exchange: Some(closed.exchange), fault }
    }

    /// Takes in the body, and keeps the connection when it can be used again.
    async fn receive(mut self, mut link: Link, body: Incoming, sink: &mut dyn Sink) -> Fetched {
        let status = self.capture.status.unwrap_or_default();
        let want = sink.head(&ResponseHead { status, fields: &self.capture.fields });
        let whole = match want {
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
            Want::Body => self.take_body(&mut link, body, sink).await,
        };
        self.close(link, whole).await
    }

    /// Ends the exchange; a connection whose answer was read to its end is kept.
    pub(crate) async fn close(mut self, link: Link, whole: bool) -> Fetched {
        let exchange = self.take_books(&link);
        if whole {
            self.keep(link).await;
        }
        self.finish(exchange)
    }

    fn take_books(&mut self, link: &Link) -> Option<Exchange> {
        link.books.close().map(|closed| {
            self.capture.timings.head = closed.head.zip(closed.written).map(|(head, sent)| head.since(sent));
            self.capture.request_head = self.without_credentials(closed.request_head);
            closed.exchange
        })
    }

    fn take_head(&mut self, link: &Link, answer: &http::Response<Incoming>) -> Result<(), Fault> {
        self.capture.response_head = match link.spoken() {
            Spoken::Http1 => link.books.response_head(),
            Spoken::Http2 => self.serialised(answer)?,
        };
        self.capture.status = Some(answer.status().as_u16());
        self.capture.fields = head::fields(&self.capture.response_head);
        if answer.version() == http::Version::HTTP_10 {
            self.capture.protocol = Protocol::Http10;
        }
        if answer.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            self.fail(Fault::new(Reason::FetchProtocol, "the site switched protocols unasked"));
        }
        Ok(())
    }

    /// An HTTP/2 head, held to the bounds of any head.
    fn serialised(&self, answer: &http::Response<Incoming>) -> Result<Bytes, Fault> {
        let limits = &self.house.config.limits;
        let too_large = |what: String| Err(Fault::new(Reason::FetchHeaders, what));
        if answer.headers().len() > limits.max_fields {
            return too_large(format!("the response head has more than {} fields", limits.max_fields));
        }
        let head = head::of_response(answer);
        if head.len() > limits.max_head_bytes {
            return too_large(format!("the response head is larger than {} bytes", limits.max_head_bytes));
        }
        Ok(head)
    }

    /// Reads the body; true when it arrived to its end.
    async fn take_body(&mut self, link: &mut Link, body: Incoming, sink: &mut dyn Sink) -> bool {
        let house = Arc::clone(&self.house);
        let fields = std::mem::take(&mut self.capture.fields);
        let head = ResponseHead { status: self.capture.status.unwrap_or_default(), fields: &fields };
        let mut intake = Intake::new(&head, sink, &house.config.limits, &house.spooler);
        let read = self.read(link, body, &mut intake).await;
        let settled = intake.settle().await;
        let cut = read.and(settled).err();
        let taken = intake.end(cut.is_none());
        self.capture.fields = fields;
        self.capture.body = taken.body;
        self.capture.decoded_len = taken.decoded;
        let whole = cut.is_none();
        if let Some(fault) = cut {
            self.cut(fault);
        } else if let Some(fault) = taken.coding {
            self.fail(fault);
        }
        whole
    }

    async fn read(&self, link: &mut Link, mut body: Incoming, intake: &mut Intake<'_>) -> Result<(), Fault> {
        while let Some(frame) = self.next(link, &mut body, intake.received()).await? {
            if let Ok(piece) = frame.into_data() {
                intake.take(&piece)?;
                if intake.is_full() {
                    intake.flush().await?;
                }
            }
            self.within_total()?;
        }
        Ok(())
    }

    /// A site that never lets us wait would otherwise never meet the deadline.
    pub(crate) fn within_total(&self) -> Result<(), Fault> {
        let over = self.now().since(self.start) >= self.house.config.limits.total;
        if over { Err(Fault::timed_out(Reason::FetchTimeoutTotal)) } else { Ok(()) }
    }

    pub(crate) fn now(&self) -> Instant {
        self.house.clock.now()
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

    /// The next piece of a body of which `received` bytes came so far; `None` at its end.
    pub(crate) async fn next(
        &self,
        link: &mut Link,
        body: &mut Incoming,
        received: u64,
    ) -> Result<Option<Frame<Bytes>>, Fault> {
        let (limits, clock) = (&self.house.config.limits, &*self.house.clock);
        let next = link.next(body, || self.is_slow(received));
        let idle = Deadline::after(clock.now(), limits.idle, Reason::FetchTimeoutIdle).or(self.total());
        match idle.bound(clock, next).await.map_err(Fault::timed_out)? {
            Next::Frame(frame) => Ok(Some(frame)),
            Next::End => Ok(None),
            Next::Broken(error) => Err(Fault::within_body(&error)),
            Next::Slow => Err(self.slow(received)),
        }
    }

    /// True when the body came slower than the least rate so far, its first seconds aside.
    fn is_slow(&self, received: u64) -> bool {
        let limits = &self.house.config.limits;
        let Some(head) = self.head else { return false };
        let took = self.house.clock.now().since(head).saturating_sub(self.waited);
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
            let gone = self.house.with_pool(|pool| pool.put(self.capture.url.origin(), link, now));
            drop(gone);
        }
    }

    pub(crate) fn give_up(mut self, unanswered: Unanswered) -> Fetched {
        self.fail(unanswered.fault);
        self.finish(unanswered.exchange)
    }

    /// The first fault counts.
    pub(crate) fn fail(&mut self, fault: Fault) {
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
        self.report();
        let outcome = self.outcome();
        Fetched { capture: self.capture, receipt: exchange.map(Exchange::finish), outcome }
    }

    /// One event for each exchange, whatever became of it; fields that did not happen are left out.
    fn report(&self) {
        let (capture, millis) = (&self.capture, |part: Option<Duration>| part.map(|part| part.as_secs_f64() * 1000.0));
        tracing::debug!(
            origin = %capture.url.origin(),
            target = capture.url.request_target(),
            peer = capture.peer.map(tracing::field::display),
            protocol = capture.protocol.as_str(),
            status = capture.status,
            reason = capture.fault.map(Reason::code),
            bytes = capture.body.len(),
            connect_ms = millis(capture.timings.connect),
            head_ms = millis(capture.timings.head),
            body_ms = millis(capture.timings.body),
            total_ms = millis(Some(capture.timings.total)),
            "exchange"
        );
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
