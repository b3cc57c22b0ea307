use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use comity_policy::{
    Capture, Errand, Exchange, Form, Instant, Names, Permit, Protocol, Reason, Spool, Timings, Vantage,
};
use comity_url::CrawlUrl;
use hyper::body::Incoming;

use crate::connect::Connecting;
use crate::deadline::{Alarm, Deadline};
use crate::fault::Fault;
use crate::fetcher::{Fetched, House, Request};
use crate::link::{Link, Spoken, Way};
use crate::outgoing::Outgoing;
use crate::proxy::{self, ExitId};
use crate::report;
use crate::tap::Closed;
use crate::{CookieUse, Sink, head, request};

/// One exchange from the spent permit to its receipt; fills a [`Capture`] on the way.
pub(crate) struct Visit {
    pub(crate) house: Arc<House>,
    pub(crate) capture: Capture,
    /// Where it is told of; nothing when nobody listens.
    pub(crate) span: tracing::Span,
    pub(crate) start: Instant,
    /// When the head arrived.
    pub(crate) head: Option<Instant>,
    /// How long the body's taker kept the site waiting since then.
    pub(crate) waited: Duration,
    /// The largest body that is taken.
    pub(crate) max_body: u64,
    pub(crate) alarm: Alarm,
    cookies: CookieUse,
}

/// An exchange that ended without an answer.
pub(crate) struct Unanswered {
    pub(crate) exchange: Option<Exchange>,
    pub(crate) fault: Fault,
}

/// What makes the request: once for each connection that it is tried on.
pub(crate) type Build<'a> = &'a (dyn Fn() -> Result<http::Request<Outgoing>, Fault> + Sync);

impl Visit {
    pub(crate) fn begin(house: Arc<House>, permit: &Permit) -> Self {
        let capture = Capture {
            url: permit.url().clone(),
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
        Self {
            start: house.clock.now(),
            max_body: house.config.limits.max_body,
            span: report::span(permit),
            house,
            capture,
            head: None,
            waited: Duration::ZERO,
            alarm: Alarm::default(),
            cookies: CookieUse::None,
        }
    }

    /// The instant by which the permit is judged.
    pub(crate) const fn started(&self) -> Instant {
        self.start
    }

    /// Sends the request and takes in the answer.
    pub(crate) async fn fetch(mut self, permit: Permit, extra: &Request, sink: &mut dyn Sink) -> Fetched {
        let exchange = match permit.redeem(self.start) {
            Ok(exchange) => exchange,
            Err(stale) => return self.refuse(&stale),
        };
        self.max_body = extra.max_body.unwrap_or(self.max_body);
        // What is forwarded has its own cookies; robots.txt is asked for and read without any (docs/decisions/0027).
        if extra.fields.is_none() && matches!(exchange.errand(), Errand::Judged(_)) {
            self.cookies = extra.cookies;
        }
        let (house, url) = (Arc::clone(&self.house), self.capture.url.clone());
        let started = self.capture.started;
        let jar = house.jar.as_ref().filter(|_| self.cookies == CookieUse::Jar);
        let cookie = jar.and_then(|jar| jar.field(&url, started));
        let build = || request::build(&url, extra, &house.own, (started, cookie.as_deref()));
        let exchange = match self.head(exchange, &build).await {
            Ok((mut link, body)) => {
                let whole = self.receive(&mut link, body, sink).await;
                self.close(link, whole).await
            }
            Err(unanswered) => {
                self.fail(unanswered.fault);
                unanswered.exchange
            }
        };
        self.finish(exchange)
    }

    /// Sends the request, waits for the head and takes it in.
    pub(crate) async fn head(
        &mut self,
        exchange: Exchange,
        build: Build<'_>,
    ) -> Result<(Box<Link>, Incoming), Unanswered> {
        let (link, answer) = self.ask(exchange, build).await?;
        self.head = link.books.head_seen();
        if link.way.exit().is_some() {
            let (exits, now) = (self.house.exits.as_ref(), self.now());
            if let Some(fault) = proxy::answers_itself(exits, link.way, &self.capture.url, &answer, now) {
                return Err(Unanswered { exchange: self.take_books(&link), fault });
            }
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
        build: Build<'_>,
    ) -> Result<(Box<Link>, http::Response<Incoming>), Unanswered> {
        let house = Arc::clone(&self.house);
        let connecting = Connecting::new(&house, self.start);
        let mut now = self.start;
        loop {
            // Before anybody is connected to: what cannot be sent is not worth a connection.
            let request = match build() {
                Ok(request) => request,
                Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
            };
            self.capture.vantage = exchange.vantage();
            let (mut link, steps) = match connecting.find(&mut exchange, now).await {
                Ok(found) => found,
                Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
            };
            self.took(link.way);
            self.capture.tls.clone_from(&link.tls);
            if let Some(steps) = steps {
                now = steps.ended;
                let timings = &mut self.capture.timings;
                (timings.dns, timings.connect, timings.tls) = (steps.dns, Some(steps.connect), steps.tls);
            }
            if let Err(ready) = exchange.may_write(now) {
                self.keep(link).await;
                return Err(Unanswered {
                    exchange: Some(exchange),
                    fault: Fault::new(ready.clock, ready.clock.text()),
                });
            }
            let body = request.body().clone();
            let (request, head) = match self.shape(&link, request) {
                Ok(shaped) => shaped,
                Err(fault) => return Err(Unanswered { exchange: Some(exchange), fault }),
            };
            link.books.open(exchange, head, house.config.limits.max_head_bytes);
            let fault = match self.await_head(&mut link, request, now).await {
                Ok(answer) => return Ok((link, answer)),
                Err(fault) => fault,
            };
            let Some(closed) = link.books.close() else { return Err(Unanswered { exchange: None, fault }) };
            let begun = closed.written.is_some() || body.moved().is_some();
            if steps.is_some() || begun || fault.reason != Reason::FetchReset {
                if !fault.reason.is_ours() {
                    proxy::broke_off(house.exits.as_ref(), link.way, &self.capture.url, house.clock.now());
                }
                return Err(self.unanswered(closed, fault));
            }
            exchange = closed.exchange;
            now = house.clock.now();
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
        proxy::absolute_form((self.house.exits.as_ref(), exit), request, &self.capture.url)
    }

    /// Credentials are the exit's, and stand in no capture.
    pub(crate) fn without_credentials(&self, head: Bytes) -> Bytes {
        let read_by_exit = self.capture.via.as_ref().is_some_and(|via| via.form == Form::Forward);
        if read_by_exit { proxy::without_credentials(&head) } else { head }
    }

    /// Sends the request; `now` is when.
    async fn await_head(
        &mut self,
        link: &mut Link,
        request: http::Request<Outgoing>,
        now: Instant,
    ) -> Result<http::Response<Incoming>, Fault> {
        let total = self.total();
        let Self { house, alarm, .. } = self;
        let (clock, wait) = (&*house.clock, house.config.limits.head);
        let body = request.body().clone();
        let mut from = now;
        let mut sending = pin!(link.send(request));
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(answer) = sending.as_mut().poll(cx) {
                    let failed = |error| body.fault().unwrap_or_else(|| Fault::before_head(&error));
                    return Poll::Ready(answer.map_err(failed));
                }
                let deadline = Deadline::after(from, wait, Reason::FetchTimeoutHead).or(total);
                match (ready!(alarm.poll(cx, deadline, clock)), body.moved()) {
                    // While a body goes out, the site cannot be expected to answer.
                    (Reason::FetchTimeoutHead, Some(moved)) if moved > from => from = moved,
                    (reason, _) => return Poll::Ready(Err(Fault::timed_out(reason))),
                }
            }
        })
        .await
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

    fn take_head(&mut self, link: &Link, answer: &http::Response<Incoming>) -> Result<(), Fault> {
        self.capture.response_head = match link.spoken() {
            Spoken::Http1 => link.books.take_response_head(),
            Spoken::Http2 => self.serialised(answer)?,
        };
        self.capture.status = Some(answer.status().as_u16());
        self.capture.fields = head::fields(&self.capture.response_head);
        if answer.version() == http::Version::HTTP_10 {
            self.capture.protocol = Protocol::Http10;
        }
        if let (Some(jar), CookieUse::Jar) = (&self.house.jar, self.cookies) {
            jar.take(&self.capture.url, self.capture.fields_named("set-cookie"), self.house.clock.wall());
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

    pub(crate) fn url(&self) -> &CrawlUrl {
        &self.capture.url
    }

    pub(crate) fn now(&self) -> Instant {
        self.house.clock.now()
    }

    pub(crate) fn total(&self) -> Deadline {
        Deadline::after(self.start, self.house.config.limits.total, Reason::FetchTimeoutTotal)
    }
}
