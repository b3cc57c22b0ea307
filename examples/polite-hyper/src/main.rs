//! How do I make hyper's client polite? Give its connector the gate's resolver, and put the gate's layer around it.
//!
//! ```text
//! cargo run -p polite-hyper -- http://example.com/ http://example.com/private/x
//! ```
//!
//! Plain http only: for https put hyper-rustls around the connector.

use std::error::Error;

use bytes::Bytes;
use comity_gate::fetch::FetchConfig;
use comity_gate::policy::Identity;
use comity_gate::{CheckedNames, Gate, GateConfig, Polite, PoliteBody, PoliteLayer};
use http::header::{HeaderValue, USER_AGENT};
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tower::{Layer as _, Service as _};

type PoliteHyper = Polite<Client<HttpConnector<CheckedNames>, Empty<Bytes>>>;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a command line tool speaks on stdout")]
async fn main() -> Result<(), Box<dyn Error>> {
    let identity = Identity::new("PoliteHyper/0.1", "https://example.com/bot", &[], Vec::new())?;
    let user_agent = HeaderValue::from_str(&identity.user_agent())?;
    let fetch = FetchConfig::new(identity.user_agent());
    let mut client = client(&Gate::system(GateConfig::new(identity), fetch)?);
    for url in std::env::args().skip(1) {
        match ask(&mut client, &user_agent, &url).await {
            Ok(response) => println!("{} {url}", response.status()),
            Err(error) => println!("not fetched: {url}\n  {error}"),
        }
    }
    Ok(())
}

/// hyper's client follows no redirect, and repeats only what was never written.
fn client(gate: &Gate) -> PoliteHyper {
    let connector = HttpConnector::new_with_resolver(CheckedNames::new(gate.clone()));
    let client = Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build(connector);
    PoliteLayer::new(gate.clone()).layer(client)
}

/// One request. A redirect is an answer: ask for its target in the same way.
async fn ask(
    client: &mut PoliteHyper,
    user_agent: &HeaderValue,
    url: &str,
) -> Result<Response<PoliteBody<Incoming>>, Box<dyn Error>> {
    let request = Request::get(url).header(USER_AGENT, user_agent).body(Empty::new())?;
    Ok(client.call(request).await?)
}

#[cfg(test)]
mod tests;
