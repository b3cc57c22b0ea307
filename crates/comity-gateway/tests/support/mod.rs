//! A gateway before a web in memory, and a customer that speaks raw HTTP.

#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "test support: a failure here is a failed test")]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::{BoxFuture, FetchConfig, Fetcher, Io, Net, ResolveError, SystemClock};
use comity_gate::{AskFiles, GateConfig};
use comity_gateway::{
    ApiConfig, Auth, Customer, Gateway, GatewayConfig, GatewayError, Phase, Secret, Surface, UserAgentRule,
};
use comity_policy::{Digest, Identity, Politeness, Random, WallTime};
use comity_robots::ProductToken;
use comity_signals::SignalOptions;
use comity_testweb::{MemoryNet, Observer, Site, Web, WebBuilder};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

pub(crate) const KEY: &str = "key-of-the-api";
pub(crate) const PASSWORD: &str = "p:w:x";

/// No jitter: the cases name whole seconds.
#[derive(Debug)]
struct Still;

impl Random for Still {
    fn next_u64(&self) -> u64 {
        0
    }
}

/// What a test changes of the usual profile (gateway reference §11).
pub(crate) struct Profile {
    pub(crate) network: String,
    pub(crate) gateway: GatewayConfig,
    pub(crate) politeness: Politeness,
    pub(crate) allow: Vec<String>,
    /// Files about use that are asked for.
    pub(crate) ask: AskFiles,
    /// How far signals are read.
    pub(crate) options: SignalOptions,
    /// Answers of the resolver for every name, in turn; the last one stays. Empty: the web's own names.
    pub(crate) dns: Vec<Vec<IpAddr>>,
}

impl Default for Profile {
    fn default() -> Self {
        let customer = Customer {
            id: "c1".to_owned(),
            tokens: vec![ProductToken::new("custbot").unwrap()],
            purposes: vec!["search".parse().unwrap()],
            user_agent: UserAgentRule::Any,
        };
        let listen = "127.0.0.1:0".parse().unwrap();
        let gateway = GatewayConfig {
            api: Some(ApiConfig { listen, key: secret(KEY) }),
            ..GatewayConfig::new(listen, Auth::Basic(secret(PASSWORD)), customer)
        };
        Self {
            network: "examplenet".to_owned(),
            gateway,
            politeness: Politeness::default(),
            allow: vec!["10.0.0.0/8".to_owned()],
            ask: AskFiles::default(),
            options: SignalOptions::default(),
            dns: Vec::new(),
        }
    }
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::from_digest(Digest::from_bytes(Sha256::digest(text.as_bytes()).into()))
}

/// The gateway, the web behind it, and every address that was connected to.
pub(crate) struct Room {
    pub(crate) gateway: Gateway,
    pub(crate) observer: Observer,
    pub(crate) connects: Arc<Mutex<Vec<SocketAddr>>>,
    phase: watch::Receiver<Phase>,
    _sender: watch::Sender<Phase>,
}

impl Profile {
    pub(crate) fn open(self, sites: impl IntoIterator<Item = Site>) -> Result<Room, GatewayError> {
        let web = sites.into_iter().fold(Web::builder(1), WebBuilder::site).build().unwrap();
        let (net, observer) = web.in_memory();
        self.open_over(net, observer)
    }

    pub(crate) fn open_over(self, net: MemoryNet, observer: Observer) -> Result<Room, GatewayError> {
        let connects = Arc::default();
        let net = Watched { net, dns: Mutex::new(self.dns), connects: Arc::clone(&connects) };
        let clock = Arc::new(SystemClock::paused_at(WallTime::from_unix_millis(1_796_000_000_000)));
        let name = format!("{}/1.0", self.network);
        let identity = Identity::new(&name, "https://net.example/bot", &[], Vec::new()).unwrap();
        let allow: Vec<_> = self.allow.iter().map(|network| network.parse().unwrap()).collect();
        let mut fetch = FetchConfig::new(identity.user_agent());
        fetch.allow_addresses.clone_from(&allow);
        let fetcher = Fetcher::new(Arc::new(net), clock.clone(), fetch).unwrap();
        let politeness = Politeness { own_networks: allow, ..self.politeness };
        let gate = GateConfig { politeness, ask: self.ask, options: self.options, ..GateConfig::new(identity) };
        let gateway = Gateway::new(fetcher, clock, Arc::new(Still), gate, self.gateway)?;
        let (sender, phase) = watch::channel(Phase::Serving);
        Ok(Room { gateway, observer, connects, phase, _sender: sender })
    }
}

impl Room {
    /// A new connection to one of the listeners.
    pub(crate) fn connect(&self, surface: Surface) -> DuplexStream {
        let (here, there) = tokio::io::duplex(64 << 10);
        let (gateway, phase) = (self.gateway.clone(), self.phase.clone());
        tokio::spawn(async move { gateway.serve_io(there, surface, phase).await });
        here
    }

    /// Sends these bytes to the proxy and reads one answer.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Reply {
        let mut connection = self.connect(Surface::Proxy);
        // A server that has answered already reads no more.
        drop(connection.write_all(bytes).await);
        Reply::read(&mut connection, bytes.starts_with(b"HEAD")).await
    }

    /// A well-formed GET by c1.
    pub(crate) async fn get(&self, url: &str, more: &[(&str, &str)]) -> Reply {
        self.raw(get(url, more).as_bytes()).await
    }

    /// Many questions over one connection.
    pub(crate) async fn decide_on(connection: &mut DuplexStream, question: &Value) -> Value {
        let body = question.to_string();
        let length = body.len();
        let head = format!(
            "POST /v1/decide HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        let reply = Reply::read(connection, false).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    }

    /// A question to the decision API.
    pub(crate) async fn decide(&self, question: &Value) -> Value {
        let reply = self.ask_api("POST", "/v1/decide", &question.to_string(), Some(KEY)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        serde_json::from_str(&reply.body).unwrap()
    }

    pub(crate) async fn ask_api(&self, method: &str, path: &str, body: &str, key: Option<&str>) -> Reply {
        let mut connection = self.connect(Surface::Api);
        let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: api\r\n{key}Content-Length: {length}\r\n\r\n");
        connection.write_all(head.as_bytes()).await.unwrap();
        drop(connection.write_all(body.as_bytes()).await);
        Reply::read(&mut connection, method == "HEAD").await
    }

    /// Targets that the web saw, in order of arrival.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.observer.log().iter().map(|seen| seen.request.target_text().into_owned()).collect()
    }
}

/// `Basic …` of c1.
pub(crate) fn credentials() -> String {
    format!("Basic {}", data_encoding::BASE64.encode(format!("c1:{PASSWORD}").as_bytes()))
}

/// A request as a customer's client writes it; `more` replaces nothing.
pub(crate) fn get(url: &str, more: &[(&str, &str)]) -> String {
    let authority = url.split("://").nth(1).unwrap().split(['/', '?']).next().unwrap();
    let mut head = format!("GET {url} HTTP/1.1\r\nHost: {authority}\r\nProxy-Connection: keep-alive\r\n");
    if !more.iter().any(|(name, _)| *name == "Proxy-Authorization") {
        head.push_str(&format!("Proxy-Authorization: {}\r\n", credentials()));
    }
    for (name, value) in more {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) body: String,
    /// Whether the connection ended after it.
    pub(crate) closed: bool,
}

impl Reply {
    pub(crate) async fn read(connection: &mut DuplexStream, is_head: bool) -> Self {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match connection.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&head)),
            }
        }
        let text = String::from_utf8(head).unwrap();
        let mut lines = text.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let fields: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = fields.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
        let length: usize = if is_head { 0 } else { length.unwrap_or(0) };
        let mut bytes = vec![0; length];
        connection.read_exact(&mut bytes).await.unwrap();
        let end = tokio::time::timeout(Duration::from_millis(5), connection.read_u8()).await;
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Self { status, fields, bytes, body, closed: matches!(end, Ok(Err(_))) }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A web in memory whose connections are noted, and whose names may be answered otherwise.
#[derive(Debug)]
struct Watched {
    net: MemoryNet,
    dns: Mutex<Vec<Vec<IpAddr>>>,
    connects: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Net for Watched {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<comity_fetch::Resolved, ResolveError>> {
        let mut dns = self.dns.lock().unwrap();
        let answer = if dns.len() > 1 { Some(dns.remove(0)) } else { dns.first().cloned() };
        match answer {
            Some(answer) => Box::pin(async move { Ok(answer.into()) }),
            None => self.net.resolve(host),
        }
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        self.connects.lock().unwrap().push(addr);
        self.net.connect(addr)
    }
}
