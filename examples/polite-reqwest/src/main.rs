//! How do I make reqwest polite? Put the gate's layer around it, and let it neither redirect, repeat nor resolve.
//!
//! ```text
//! cargo run -p polite-reqwest -- https://example.com/ https://example.com/private/x
//! ```

use std::error::Error;
use std::net::SocketAddr;

use comity_gate::fetch::FetchConfig;
use comity_gate::policy::Identity;
use comity_gate::{CheckedNames, Gate, GateConfig, PoliteBody, PoliteLayer};
use http::{Request, Response};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Body, Client, redirect, retry};
use tower::{Layer as _, Service, service_fn};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a command line tool speaks on stdout")]
async fn main() -> Result<(), Box<dyn Error>> {
    let identity = Identity::new("PoliteReqwest/0.1", "https://example.com/bot", &[], Vec::new())?;
    let user_agent = identity.user_agent();
    let gate = Gate::system(GateConfig::new(identity), FetchConfig::new(&user_agent))?;
    let client = client(&gate, &user_agent)?;
    for url in std::env::args().skip(1) {
        match ask(client.clone(), &gate, &url).await {
            Ok(response) => println!("{} {url}", response.status()),
            Err(error) => println!("not fetched: {url}\n  {error}"),
        }
    }
    Ok(())
}

/// reqwest, without everything that would send a request or find an address behind the gate's back.
fn client(gate: &Gate, user_agent: &str) -> reqwest::Result<Client> {
    let checked = Checked(CheckedNames::new(gate.clone()));
    let client = Client::builder().user_agent(user_agent).no_proxy().dns_resolver(checked);
    client.redirect(redirect::Policy::none()).retry(retry::never()).build()
}

/// One request. A redirect is an answer: ask for its target in the same way.
async fn ask(client: Client, gate: &Gate, url: &str) -> Result<Response<PoliteBody<Body>>, Box<dyn Error>> {
    let send = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move { client.execute(request.try_into()?).await.map(Response::<Body>::from) }
    });
    let request = Request::get(url).body(Body::default())?;
    Ok(PoliteLayer::new(gate.clone()).layer(send).call(request).await?)
}

/// The gate's resolver, as reqwest wants it.
struct Checked(CheckedNames);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = names.addresses(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
