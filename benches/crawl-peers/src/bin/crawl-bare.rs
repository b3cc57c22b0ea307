//! hyper-util's pooled client that fetches given pages and does nothing else: `crawl-bare DIRECTORY`.
//!
//! It is told every URL (`urls.txt`), reads bodies and drops them. One task for each origin, as comity has one request open to
//! each.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

type Bare = Client<HttpConnector, Empty<Bytes>>;

#[tokio::main]
pub async fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let urls = std::fs::read_to_string(Path::new(&dir).join("urls.txt")).unwrap();
    let mut origins: BTreeMap<String, Vec<http::Uri>> = BTreeMap::new();
    for url in urls.lines() {
        let url: http::Uri = url.parse().unwrap();
        origins.entry(url.authority().unwrap().to_string()).or_default().push(url);
    }
    let client: Bare = Client::builder(TokioExecutor::new()).build_http();
    let tasks: Vec<_> = origins.into_values().map(|urls| tokio::spawn(fetch_all(client.clone(), urls))).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn fetch_all(client: Bare, urls: Vec<http::Uri>) {
    for url in urls {
        let request = http::Request::get(url).header("user-agent", "BenchBot/1.0 (+https://example.com/bot)");
        let request = request.header("accept", "*/*").header("accept-encoding", "gzip, deflate, br, zstd");
        let mut body = client.request(request.body(Empty::new()).unwrap()).await.unwrap().into_body();
        while let Some(frame) = body.frame().await {
            drop(frame.unwrap());
        }
    }
}
