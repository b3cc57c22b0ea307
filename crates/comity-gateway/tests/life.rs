//! The gateway as a server on real sockets: it drains, it stops, it answers what it is while it does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use comity_fetch::{FetchConfig, Fetcher, SystemClock, SystemNet, SystemRandom};
use comity_gate::{GateConfig, StateDir};
use comity_gateway::{Gateway, GatewayConfig, Phase};
use comity_policy::{Clock as _, Identity, Politeness};
use comity_testweb::{Answer, Served, Site, Web};
use support::{Profile, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A gateway on loopback before a web on loopback.
struct Up {
    web: Served,
    proxy: std::net::SocketAddr,
    api: std::net::SocketAddr,
    phase: watch::Sender<Phase>,
    serving: JoinHandle<()>,
}

async fn up(drain: Duration) -> Up {
    up_with(drain, None).await
}

async fn up_with(drain: Duration, state: Option<Arc<StateDir>>) -> Up {
    let slow = Answer::text("late").delay(Duration::from_millis(600));
    let site = Site::new().name("a.example").robots("").page("/slow", slow).otherwise(|_| Answer::text("page"));
    let web = Web::builder(1).site(site).build().unwrap().serve_names().await.unwrap();
    let identity = Identity::new("examplenet/1.0", "https://net.example/bot", &[], Vec::new()).unwrap();
    let own: Vec<_> = vec!["127.0.0.0/8".parse().unwrap()];
    let mut fetch = FetchConfig::new(identity.user_agent());
    fetch.allow_addresses.clone_from(&own);
    fetch.resolve.clone_from(web.names());
    let clock = Arc::new(SystemClock::new());
    let fetcher = Fetcher::new(Arc::new(SystemNet::new()), clock.clone(), fetch).unwrap();
    let politeness = Politeness { own_networks: own, delay: Duration::from_millis(10), ..Politeness::default() };
    let gate = GateConfig { politeness, state, ..GateConfig::new(identity) };
    let config = GatewayConfig { ports: vec![web.port()], drain, ..Profile::default().gateway };
    let gateway = Gateway::new(fetcher, clock, Arc::new(SystemRandom::new()), gate, config).unwrap();
    let listeners = gateway.bind().await.unwrap();
    let (proxy, api) = (listeners.proxy().local_addr().unwrap(), listeners.api().unwrap().local_addr().unwrap());
    let (phase, told) = watch::channel(Phase::Serving);
    let serving = tokio::spawn(async move { gateway.serve(listeners, told).await });
    Up { web, proxy, api, phase, serving }
}

impl Up {
    /// A request to the proxy, sent; its answer comes with the end of the connection.
    async fn ask(&self, path: &str) -> JoinHandle<String> {
        let url = format!("{}{path}", self.web.origins()[0]);
        let mut stream = TcpStream::connect(self.proxy).await.unwrap();
        stream.write_all(get(&url, &[("Connection", "close")]).as_bytes()).await.unwrap();
        tokio::spawn(async move {
            let mut answer = String::new();
            // What a stopped gateway cut off is what there is.
            drop(stream.read_to_string(&mut answer).await);
            answer
        })
    }

    async fn ready(&self) -> String {
        let mut stream = TcpStream::connect(self.api).await.unwrap();
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.unwrap_or_else(|_| panic!("{what} takes too long"))
}

#[tokio::test]
async fn draining_finishes_what_is_under_way_and_takes_nothing_new() {
    let up = up(Duration::from_secs(15)).await;
    assert!(up.ready().await.starts_with("HTTP/1.1 200"));
    assert!(within("a page", up.ask("/x").await).await.unwrap().contains("200 OK"));
    let under_way = up.ask("/slow").await;
    let mut idle = TcpStream::connect(up.proxy).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    up.phase.send(Phase::Draining).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let ready = up.ready().await;
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("gateway.draining"), "{ready}");
    assert!(TcpStream::connect(up.proxy).await.is_err(), "nothing new");
    assert_eq!(within("an idle connection", idle.read(&mut [0; 1])).await.unwrap(), 0, "closed");
    let answer = within("what is under way", under_way).await.unwrap();
    assert!(answer.contains("200 OK") && answer.ends_with("late"), "{answer}");
    within("the end", up.serving).await.unwrap();
}

#[tokio::test]
async fn a_drain_has_an_end_and_a_second_word_ends_at_once() {
    for second in [None, Some(Phase::Stopped)] {
        let up = up(Duration::from_millis(if second.is_some() { 60_000 } else { 100 })).await;
        let under_way = up.ask("/slow").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        up.phase.send(Phase::Draining).unwrap();
        if let Some(second) = second {
            tokio::time::sleep(Duration::from_millis(50)).await;
            up.phase.send(second).unwrap();
        }
        within("the end", up.serving).await.unwrap();
        assert_eq!(within("what was under way", under_way).await.unwrap(), "", "cut off");
        assert!(TcpStream::connect(up.api).await.is_err());
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut profile = Profile::default();
    profile.gateway.proxy = taken.local_addr().unwrap();
    let room = profile.open([]).unwrap();
    let error = room.gateway.bind().await.unwrap_err().to_string();
    assert!(error.contains(&taken.local_addr().unwrap().to_string()), "{error}");
}

/// A disk that failed while the state directory was made: without a sync the mark would stay, and the directory be made anew after the
/// next start of the machine, however long it was used.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_gate_remembers_is_made_safe_while_it_serves_and_when_it_ends() {
    for at_the_end in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (path, now) = (dir.path().join("gate"), SystemClock::new().wall());
        drop(StateDir::open(&path, now).unwrap());
        // As a process leaves it that was killed in its first second, and a name that no call can follow.
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let (mark, ill) = (path.join("version.unsafe"), path.join("ill"));
        std::fs::write(&mark, format!("boot {}\n", boot.trim())).unwrap();
        std::os::unix::fs::symlink(&ill, &ill).unwrap();
        let state = Arc::new(StateDir::open(&path, now).unwrap());
        state.sync().unwrap_err();
        if !at_the_end {
            std::fs::remove_file(&ill).unwrap();
        }
        let up = up_with(Duration::from_secs(15), Some(state)).await;
        assert!(within("a page", up.ask("/x").await).await.unwrap().contains("200 OK"));
        if at_the_end {
            assert!(mark.exists(), "the disk is not well");
            std::fs::remove_file(&ill).unwrap();
        } else {
            within("a sync", async {
                while mark.exists() {
                    tokio::time::sleep(Duration::from_millis(10)).await
                }
            })
            .await;
        }
        up.phase.send(Phase::Draining).unwrap();
        within("the end", up.serving).await.unwrap();
        assert!(!mark.exists(), "at the end: {at_the_end}");
    }
}
