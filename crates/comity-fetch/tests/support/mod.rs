//! A scripted network in memory and a stand-in for the gate: what the tests of this crate share.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may end here")]

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::{
    BoxFuture, Collect, FetchConfig, Fetched, Fetcher, Io, Net, Request, ResolveError, Resolved, SystemClock,
};
use comity_policy::{
    Clock, Instant, Judgement, OptOuts, Outcome, Pacer, Permit, Politeness, Reason, RobotsChain, RobotsEvent,
    RobotsLife, SeededRandom, Terms, Vantage, WallTime, judge,
};
use comity_url::{CrawlUrl, Origin};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

pub const AGENT: &str = "MyBot/1.0 (+https://example.com/bot)";
/// 2026-11-30T00:00:00Z.
pub const WALL: WallTime = WallTime::from_unix_millis(1_795_996_800_000);

/// What a server does on one connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Waits for the end of the next request head.
    Request,
    Send(Vec<u8>),
    Wait(Duration),
    /// Sends one byte after each wait.
    Trickle(Vec<u8>, Duration),
    /// Keeps the connection open for ever.
    Hold,
}

/// What happens when an address is connected to. After its last step a server hangs up.
#[derive(Clone, Debug)]
pub enum Script {
    Refuse,
    Hang,
    /// Takes a connection after this long.
    Late(Duration, Vec<Step>),
    Serve(Vec<Step>),
    /// The same through a pipe that holds this many bytes.
    Narrow(usize, Vec<Step>),
}

pub fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// A server that answers every request with the same bytes on a connection that stays open.
pub fn answering(text: impl AsRef<[u8]>) -> Script {
    let mut steps: Vec<Step> = (0..8).flat_map(|_| [Step::Request, send(text.as_ref())]).collect();
    steps.push(Step::Hold);
    Script::Serve(steps)
}

/// A server that answers one request and hangs up.
pub fn once(text: impl AsRef<[u8]>) -> Script {
    Script::Serve(vec![Step::Request, send(text)])
}

pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

type Plan = dyn Fn(SocketAddr, usize) -> Script + Send + Sync;

/// The network: names, and a script for the n-th connection to an address.
pub struct ScriptNet {
    names: BTreeMap<String, Result<Vec<IpAddr>, ResolveError>>,
    plan: Box<Plan>,
    log: Arc<Log>,
}

/// Bytes that a server received.
type Received = Arc<Mutex<Vec<u8>>>;

#[derive(Default)]
pub struct Log {
    /// Names asked for.
    pub asked: Mutex<Vec<String>>,
    /// Connections in order, with the bytes received on each.
    pub connections: Mutex<Vec<(SocketAddr, Received)>>,
}

impl Log {
    pub fn peers(&self) -> Vec<SocketAddr> {
        self.connections.lock().unwrap().iter().map(|(addr, _)| *addr).collect()
    }

    /// Bytes received per connection.
    pub fn received(&self) -> Vec<String> {
        let connections = self.connections.lock().unwrap();
        connections.iter().map(|(_, bytes)| String::from_utf8_lossy(&bytes.lock().unwrap()).into_owned()).collect()
    }

    pub fn requests(&self) -> usize {
        self.received().iter().map(|text| text.matches("\r\n\r\n").count()).sum()
    }

    pub fn bytes(&self) -> usize {
        self.received().iter().map(String::len).sum()
    }
}

impl std::fmt::Debug for ScriptNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScriptNet")
    }
}

impl Net for ScriptNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        self.log.asked.lock().unwrap().push(host.to_owned());
        let answer = self.names.get(host).cloned().unwrap_or(Err(ResolveError::NoSuchName));
        Box::pin(async move {
            match answer {
                // Stands for a resolver that never answers.
                Err(ResolveError::Timeout) => std::future::pending().await,
                answer => answer.map(Into::into),
            }
        })
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let mut connections = self.log.connections.lock().unwrap();
        let nth = connections.iter().filter(|(peer, _)| *peer == addr).count();
        let received = Arc::new(Mutex::new(Vec::new()));
        connections.push((addr, Arc::clone(&received)));
        let script = (self.plan)(addr, nth);
        Box::pin(async move {
            match script {
                Script::Refuse => Err(io::ErrorKind::ConnectionRefused.into()),
                Script::Hang => std::future::pending().await,
                Script::Late(wait, steps) => {
                    tokio::time::sleep(wait).await;
                    Ok(pipe(64 << 10, steps, received))
                }
                Script::Serve(steps) => Ok(pipe(64 << 10, steps, received)),
                Script::Narrow(room, steps) => Ok(pipe(room, steps, received)),
            }
        })
    }
}

fn pipe(room: usize, steps: Vec<Step>, received: Received) -> Box<dyn Io> {
    let (client, server) = tokio::io::duplex(room);
    tokio::spawn(serve(server, steps, received));
    Box::new(client)
}

async fn serve(stream: DuplexStream, steps: Vec<Step>, received: Arc<Mutex<Vec<u8>>>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (heads, mut seen) = watch::channel(0_usize);
    let reading = tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = reader.read(&mut buffer).await {
            let mut received = received.lock().unwrap();
            received.extend_from_slice(&buffer[..n]);
            heads.send_replace(received.windows(4).filter(|w| w == b"\r\n\r\n").count());
        }
    });
    let mut requests = 0;
    for step in steps {
        let done = match step {
            Step::Request => {
                requests += 1;
                seen.wait_for(|count| *count >= requests).await.is_ok()
            }
            Step::Send(bytes) => writer.write_all(&bytes).await.is_ok(),
            Step::Wait(pause) => {
                tokio::time::sleep(pause).await;
                true
            }
            Step::Trickle(bytes, pause) => trickle(&mut writer, &bytes, pause).await,
            Step::Hold => std::future::pending().await,
        };
        if !done {
            break;
        }
    }
    reading.abort();
}

async fn trickle(writer: &mut (impl AsyncWriteExt + Unpin), bytes: &[u8], pause: Duration) -> bool {
    for byte in bytes {
        tokio::time::sleep(pause).await;
        if writer.write_all(&[*byte]).await.is_err() {
            return false;
        }
    }
    true
}

/// A fetcher on a scripted network, and what the gate would hold.
pub struct Rig {
    pub fetcher: Fetcher,
    pub clock: Arc<dyn Clock>,
    pub pacer: Pacer,
    pub log: Arc<Log>,
    net: Arc<dyn Net>,
    config: FetchConfig,
}

/// Settings under which 10.0.0.0/8 may be fetched, with the politeness of public addresses.
pub fn config() -> FetchConfig {
    FetchConfig { allow_addresses: vec!["10.0.0.0/8".parse().unwrap()], ..FetchConfig::new(AGENT) }
}

impl Rig {
    /// `a.test` is 10.0.0.1, `b.test` is 10.0.0.2, `two.test` is both.
    pub fn new(plan: impl Fn(SocketAddr, usize) -> Script + Send + Sync + 'static) -> Self {
        Self::with(config(), plan)
    }

    pub fn with(config: FetchConfig, plan: impl Fn(SocketAddr, usize) -> Script + Send + Sync + 'static) -> Self {
        let parse = |list: &[&str]| Ok(list.iter().map(|text| text.parse().unwrap()).collect());
        let names = BTreeMap::from([
            ("a.test".to_owned(), parse(&["10.0.0.1"])),
            ("b.test".to_owned(), parse(&["10.0.0.2"])),
            ("c.test".to_owned(), parse(&["10.0.0.3"])),
            ("two.test".to_owned(), parse(&["10.0.0.1", "10.0.0.2"])),
            ("mixed.test".to_owned(), parse(&["127.0.0.1", "10.0.0.1"])),
            ("inside.test".to_owned(), parse(&["127.0.0.1", "169.254.169.254"])),
            ("empty.test".to_owned(), Err(ResolveError::NoAddress)),
            ("again.test".to_owned(), Err(ResolveError::Temporary("try again".to_owned()))),
            ("silent.test".to_owned(), Err(ResolveError::Timeout)),
        ]);
        Self::over(config, names, plan)
    }

    pub fn over(
        config: FetchConfig,
        names: BTreeMap<String, Result<Vec<IpAddr>, ResolveError>>,
        plan: impl Fn(SocketAddr, usize) -> Script + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Log::default());
        let net = ScriptNet { names, plan: Box::new(plan), log: Arc::clone(&log) };
        Self { log, ..Self::on(Arc::new(net), config) }
    }

    /// The same rig on another clock.
    pub fn on_clock(self, clock: Arc<dyn Clock>) -> Self {
        let fetcher = Fetcher::new(Arc::clone(&self.net), Arc::clone(&clock), self.config.clone()).unwrap();
        Self { fetcher, clock, ..self }
    }

    pub fn on(net: Arc<dyn Net>, config: FetchConfig) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::paused_at(WALL));
        let fetcher = Fetcher::new(Arc::clone(&net), Arc::clone(&clock), config.clone()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
        let pacer = Pacer::new(Politeness::default(), Arc::new(SeededRandom::new(1)));
        Self { fetcher, clock, pacer, log: Arc::default(), net, config }
    }

    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// A permit for a page of a site without robots.txt, once its turn has come.
    pub async fn permit(&self, url: &str) -> Permit {
        let url = CrawlUrl::parse(url).unwrap();
        let candidates = self.fetcher.candidates(url.origin()).await.unwrap();
        self.permit_at(&url, candidates).await
    }

    pub async fn permit_at(&self, url: &CrawlUrl, candidates: Vec<SocketAddr>) -> Permit {
        self.permit_from(url, candidates, self.fetcher.vantage(url.origin())).await
    }

    /// The same by rules that were read from elsewhere.
    pub async fn permit_from(&self, url: &CrawlUrl, candidates: Vec<SocketAddr>, vantage: Vantage) -> Permit {
        let slot = loop {
            match self.pacer.try_slot(url.origin(), candidates.clone(), self.now()) {
                Ok(slot) => break slot,
                Err(ready) => tokio::time::sleep(ready.at.since(self.now())).await,
            }
        };
        let mut life = life(url.origin());
        life.apply(RobotsEvent::Absent { status: 404, max_age: None }, self.clock.wall(), &SeededRandom::new(1));
        match judge(url, &life, &Terms::default(), OptOuts::nobody(), self.clock.wall()) {
            Judgement::Allow(allowance) => Permit::new(allowance.seen_from(vantage), slot).unwrap(),
            other => panic!("{url}: {other:?}"),
        }
    }

    pub async fn robots_permit(&self, origin: &str) -> Permit {
        let origin = Origin::parse(origin).unwrap();
        let candidates = self.fetcher.candidates(&origin).await.unwrap();
        let slot = self.pacer.try_slot(&origin, candidates, self.now()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
        let chain = RobotsChain::new(&origin).seen_from(self.fetcher.vantage(&origin));
        Permit::for_robots(&chain, slot).unwrap()
    }

    /// Fetches a page in its turn; the receipt is settled.
    pub async fn fetch(&self, url: &str) -> Page {
        self.fetch_with(url, &Request::default()).await
    }

    pub async fn fetch_with(&self, url: &str, request: &Request) -> Page {
        let permit = self.permit(url).await;
        let before = self.now();
        let mut sink = Collect::default();
        let mut fetched = self.fetcher.fetch_with(permit, request, &mut sink).await;
        let took = self.now().since(before);
        let sent = fetched.receipt.as_ref().and_then(comity_policy::Receipt::sent);
        self.settle(&mut fetched);
        self.decodes_again(&fetched, &sink.body);
        Page { fetched, body: sink.body, took, sent }
    }

    /// Whatever a test fetches: the kept body decodes to what the sink was given.
    fn decodes_again(&self, fetched: &Fetched, given: &[u8]) {
        let capture = &fetched.capture;
        let mut again = Vec::new();
        let length = self.fetcher.decode(capture, &mut |piece| again.extend_from_slice(piece)).unwrap();
        assert_eq!(length, again.len() as u64);
        assert_eq!(self.fetcher.decoded(capture).unwrap(), again, "in one piece as in many");
        if matches!(capture.fault, Some(Reason::FetchCoding | Reason::FetchSpool)) {
            assert!(given.starts_with(&again), "{:?}: what was kept of it", capture.detail);
        } else {
            assert!(given == again, "{} bytes given, {} decoded again: {:?}", given.len(), again.len(), capture.detail);
        }
    }

    pub fn settle(&self, fetched: &mut Fetched) {
        if let Some(receipt) = fetched.receipt.take() {
            let _pace = self.pacer.settle(receipt, fetched.outcome, self.now());
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the test plays the gate")]
fn life(origin: &Origin) -> RobotsLife {
    RobotsLife::new(origin.clone(), Arc::default())
}

/// A fetched page with what its sink got.
pub struct Page {
    pub fetched: Fetched,
    pub body: Vec<u8>,
    pub took: Duration,
    /// When the request was written, if it was.
    pub sent: Option<Instant>,
}

impl Page {
    pub fn fault(&self) -> Option<Reason> {
        self.fetched.capture.fault
    }

    pub fn status(&self) -> Option<u16> {
        self.fetched.capture.status
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn failed(&self) -> Option<Reason> {
        match self.fetched.outcome {
            Outcome::Failed(reason) => Some(reason),
            Outcome::Answered { .. } => None,
        }
    }

    /// The body as received.
    pub fn raw(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut self.fetched.capture.body.reader().unwrap(), &mut bytes).unwrap();
        bytes
    }
}
