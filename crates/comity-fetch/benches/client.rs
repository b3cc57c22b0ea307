//! What a page costs beside a bare client, and what an idle connection holds: `cargo bench -p comity-fetch`.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on says where")]
#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![expect(clippy::disallowed_methods, reason = "the bench plays the gate")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{FetchConfig, Fetcher, ResponseHead, Sink, SystemClock, SystemNet, Want};
use comity_policy::{
    Adaptive, Clock, Judgement, OptOuts, Pacer, Permit, Politeness, RobotsEvent, RobotsLife, SeededRandom, Terms, judge,
};
use comity_url::CrawlUrl;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

const AGENT: &str = "BenchBot/1.0 (+https://example.com/bot)";
const PAGE: usize = 20 << 10;
const PAGES: u32 = 2000;
const IDLE: usize = 8000;
/// Set in the process that serves.
const SERVE: &str = "COMITY_BENCH_SERVE";
/// For a profiler: `bare` or `ours` alone, for a hundred thousand pages.
const ONLY: &str = "COMITY_BENCH_ONLY";

/// Without `--bench` this is `cargo test --all-targets`: a little of everything shows that it runs.
fn full() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

/// The server, in a process of its own: neither its time nor its memory counts.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.env(SERVE, "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its stdin closes with this process as well.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Answers every request on every loopback address with the same page.
fn serve() {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    std::thread::spawn(|| {
        // The bench is over, however it ended.
        let _end = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((stream, peer)) = listener.accept().await {
            if peer.ip().is_loopback() {
                tokio::spawn(answer(stream));
            }
        }
    });
}

async fn answer(mut stream: tokio::net::TcpStream) -> std::io::Result<()> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    stream.set_nodelay(true)?;
    let page = page();
    let mut head = [0; 2048];
    let mut have = 0;
    loop {
        let read = stream.read(head.get_mut(have..).unwrap_or_default()).await?;
        have += read;
        if read == 0 {
            return Ok(());
        }
        if head.get(..have).is_some_and(|bytes| bytes.ends_with(b"\r\n\r\n")) {
            have = 0;
            stream.write_all(&page).await?;
        }
    }
}

fn page() -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: bench\r\nContent-Length: {PAGE}\r\n\r\n");
    [head.as_bytes(), &[b'x'; PAGE]].concat()
}

#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }
    fn chunk(&mut self, decoded: &[u8]) {
        self.0 += decoded.len();
    }

    fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
        comity_fetch::Keep::unjudged()
    }
}

/// The fetcher, and what the gate would hold.
struct Ours {
    fetcher: Fetcher,
    clock: Arc<dyn Clock>,
    pacer: Pacer,
}

impl Ours {
    fn new() -> Self {
        let mut config = FetchConfig::new(AGENT);
        config.allow_addresses = vec!["127.0.0.0/8".parse().unwrap()];
        config.max_idle_total = IDLE + 1;
        config.idle_timeout = Duration::from_secs(600);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let fetcher = Fetcher::new(Arc::new(SystemNet::new()), Arc::clone(&clock), config).unwrap();
        let own_networks = vec!["127.0.0.0/8".parse().unwrap()];
        let rules =
            Politeness { delay: Duration::ZERO, adaptive: Adaptive::Off, own_networks, ..Politeness::default() };
        Self { fetcher, clock, pacer: Pacer::new(rules, Arc::new(SeededRandom::new(1))) }
    }

    fn permit(&self, url: &CrawlUrl, life: &RobotsLife, at: SocketAddr) -> Permit {
        let slot = self.pacer.try_slot(url.origin(), vec![at], self.clock.now()).unwrap();
        match judge(url, life, &Terms::default(), &OptOuts::default(), self.clock.wall()) {
            Judgement::Allow(allowance) => Permit::new(allowance, slot).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn life(&self, url: &CrawlUrl) -> RobotsLife {
        let mut life = RobotsLife::new(url.origin().clone(), Arc::default());
        life.apply(RobotsEvent::Absent { status: 404, max_age: None }, self.clock.wall(), &SeededRandom::new(1));
        life
    }

    async fn fetch(&self, permit: Permit) {
        let mut sink = Count::default();
        let fetched = self.fetcher.fetch(permit, &mut sink).await;
        assert_eq!((fetched.capture.fault, sink.0), (None, PAGE), "{:?}", fetched.capture.detail);
        let _pace = self.pacer.settle(fetched.receipt.unwrap(), fetched.outcome, self.clock.now());
    }
}

/// hyper-util's pooled client, that reads the body and drops it.
struct Bare(Client<HttpConnector, Empty<Bytes>>);

impl Bare {
    fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    async fn fetch(&self, url: &CrawlUrl) {
        let request = http::Request::get(url.as_str()).header("user-agent", AGENT).header("accept", "*/*");
        let request = request.header("accept-encoding", "gzip, deflate, br, zstd").body(Empty::new()).unwrap();
        let mut body = self.0.request(request).await.unwrap().into_body();
        let mut received = 0;
        while let Some(frame) = body.frame().await {
            received += frame.unwrap().data_ref().map_or(0, Bytes::len);
        }
        assert_eq!(received, PAGE);
    }
}

/// Microseconds of CPU a page: bare client, ours, and ours without what makes the permit.
async fn per_page(server: &Server) {
    let at = SocketAddr::from(([127, 0, 0, 1], server.port));
    let url = CrawlUrl::parse(&format!("http://{at}/page")).unwrap();
    let (bare, ours) = (Bare::new(), Ours::new());
    let life = ours.life(&url);
    let (rounds, pages) = if full() { (15, PAGES) } else { (1, 10) };
    let (mut theirs, mut whole, mut fetching) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = cpu();
        for _ in 0..pages {
            bare.fetch(&url).await;
        }
        theirs.push(cpu() - begun);
        let begun = cpu();
        for _ in 0..pages {
            ours.fetch(ours.permit(&url, &life, at)).await;
        }
        whole.push(cpu() - begun);
        let begun = cpu();
        for _ in 0..pages {
            drop(ours.permit(&url, &life, at));
        }
        fetching.push(whole.last().unwrap().saturating_sub(cpu() - begun));
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(pages);
    let told = |times: &mut Vec<Duration>| {
        times.sort();
        (each(times[times.len() / 2]), each(times[0]))
    };
    let (theirs, whole, fetching) = (told(&mut theirs), told(&mut whole), told(&mut fetching));
    println!("20 KiB page over keep-alive, µs of CPU, median and best of {rounds} rounds; ratio to bare:");
    for (name, (median, best)) in [("bare", theirs), ("ours", fetching), ("ours with its permit", whole)] {
        let (of_median, of_best) = (median / theirs.0, best / theirs.1);
        println!("{name:<22} {median:6.1} {best:6.1}   {of_median:.2} {of_best:.2}");
    }
}

/// One contestant alone.
async fn only(who: &str, server: &Server) {
    let at = SocketAddr::from(([127, 0, 0, 1], server.port));
    let url = CrawlUrl::parse(&format!("http://{at}/page")).unwrap();
    let (bare, ours) = (Bare::new(), Ours::new());
    let life = ours.life(&url);
    for _ in 0..100_000 {
        match who {
            "bare" => bare.fetch(&url).await,
            _ => ours.fetch(ours.permit(&url, &life, at)).await,
        }
    }
}

/// Resident memory in KiB.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Bytes that an open idle connection holds, each to an origin of its own.
async fn idle(server: &Server) {
    let ours = Ours::new();
    let count = if full() { IDLE } else { 50 };
    let before = resident();
    for n in 0..count {
        let [high, low] = u16::try_from(n).unwrap().to_be_bytes();
        let at = SocketAddr::from(([127, 1, high, low], server.port));
        let url = CrawlUrl::parse(&format!("http://{at}/")).unwrap();
        ours.fetch(ours.permit(&url, &ours.life(&url), at)).await;
    }
    assert_eq!(ours.fetcher.idle_connections(), count);
    let each = resident().saturating_sub(before) * 1024 / count;
    println!("{count} idle HTTP/1.1 connections open at once: {each} bytes each, books of their origins included");
}

fn main() {
    if std::env::var_os(SERVE).is_some() {
        return serve();
    }
    if !cfg!(target_os = "linux") {
        println!("left out: measured on Linux only");
        return;
    }
    let server = Server::start();
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(who) = std::env::var_os(ONLY) {
        return runtime.block_on(only(&who.to_string_lossy(), &server));
    }
    runtime.block_on(per_page(&server));
    runtime.block_on(idle(&server));
}
