//! A hand-made client: one connection, raw requests, raw responses.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::io;
use std::net::SocketAddr;

use comity_fetch::{Io, Net};
use comity_testweb::MemoryNet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A User-Agent that no audit finds fault with.
pub const AGENT: &str = "HandBot/1.0 (+https://hand.test/bot)";

/// A response as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One open connection.
pub struct Client {
    io: Box<dyn Io>,
    pub agent: Option<String>,
}

impl Client {
    pub async fn tcp(address: SocketAddr) -> Self {
        Self { io: Box::new(TcpStream::connect(address).await.unwrap()), agent: Some(AGENT.to_owned()) }
    }

    /// Opens a connection to the host of `origin`, which has no port.
    pub async fn memory(net: &MemoryNet, origin: &str) -> Self {
        Self::try_memory(net, origin).await.unwrap()
    }

    pub async fn try_memory(net: &MemoryNet, origin: &str) -> Option<Self> {
        let address = *net.resolve(host(origin)).await.ok()?.addresses.first()?;
        let io = net.connect(SocketAddr::new(address, 80)).await.ok()?;
        Some(Self { io, agent: Some(AGENT.to_owned()) })
    }

    /// Sends a GET and reads the whole response.
    pub async fn get(&mut self, host: &str, target: &str) -> io::Result<Response> {
        self.send(host, target).await?;
        self.receive().await
    }

    pub async fn send(&mut self, host: &str, target: &str) -> io::Result<()> {
        let agent = self.agent.as_ref().map_or_else(String::new, |agent| format!("User-Agent: {agent}\r\n"));
        self.io.write_all(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{agent}\r\n").as_bytes()).await
    }

    pub async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.io.write_all(bytes).await
    }

    pub async fn receive(&mut self) -> io::Result<Response> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.io.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut response = Response { status, head, body: Vec::new() };
        if response.field("transfer-encoding").is_some() {
            response.body = self.chunks().await?;
        } else {
            let length = response.field("content-length").map_or(0, |length| length.parse().unwrap());
            response.body = vec![0; length];
            self.io.read_exact(&mut response.body).await?;
        }
        Ok(response)
    }

    /// Whatever still comes, up to the end of the connection.
    pub async fn rest(&mut self) -> (Vec<u8>, io::Result<()>) {
        let mut rest = Vec::new();
        let end = self.io.read_to_end(&mut rest).await;
        (rest, end.map(|_| ()))
    }

    async fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                line.push(self.io.read_u8().await?);
            }
            let size = usize::from_str_radix(String::from_utf8_lossy(&line).trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.io.read_exact(&mut chunk).await?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
}

pub fn host(origin: &str) -> &str {
    origin.strip_prefix("http://").unwrap()
}
