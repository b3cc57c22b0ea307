use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use comity_policy::{Identity, IdentityError};
use comity_robots::ProductToken;
use comity_signals::Declared;

use crate::Secret;

/// The settings of a gateway beside those of its gate and fetcher: the `[gateway]` section, resolved.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Pseudonym in Via, Proxy-Status and decision records; must differ from node to node. Default `comity`.
    pub name: String,
    /// Where the proxy listens.
    pub proxy: SocketAddr,
    /// The decision API, if it is on.
    pub api: Option<ApiConfig>,
    /// Whether customers show a password.
    pub auth: Auth,
    /// Who may ask.
    pub customer: Customer,
    /// Whose tokens a target is judged by.
    pub combine_tokens: CombineTokens,
    /// Ports of targets. Default 80 and 443.
    pub ports: Vec<u16>,
    /// The longest wait for a turn before 429. Default 10 s.
    pub hold_max: Duration,
    /// Requests held at once; more are answered 429 at once. Default 1,000.
    pub max_held: usize,
    /// Connections open at once on each listener; more wait to be accepted. Default 1,024.
    pub max_connections: usize,
    /// Bytes of response bodies that wait to be read by customers. Default 256 MiB; without room a request is answered
    /// 429 (`conc.total`). A body that is larger needs all of it.
    pub max_buffered: u64,
    /// How long requests under way may take once the gateway is told to stop. Default 30 s.
    pub drain: Duration,
}

/// The listener of the decision API.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The bearer key of `/v1/…`.
    pub key: Secret,
}

/// How a customer is known.
#[derive(Clone, Debug)]
pub enum Auth {
    /// `Proxy-Authorization: Basic` with the customer's id and this password.
    Basic(Secret),
    /// Not at all: on loopback only.
    None,
}

/// Who may ask, and as whom.
#[derive(Clone, Debug)]
pub struct Customer {
    /// Name in credentials and records; printable ASCII without colon.
    pub id: String,
    /// Product tokens that its requests are judged by: each of them, and the strictest answer wins. The first is the
    /// one in records where a request names none.
    pub tokens: Vec<ProductToken>,
    /// What it may declare; a request that declares nothing declares all of them. Empty: every denial of any purpose
    /// denies (design §14).
    pub purposes: Vec<Declared>,
    /// Whether its User-Agent has to carry one of its tokens.
    pub user_agent: UserAgentRule,
}

/// What is asked of a customer's User-Agent. It is never read for a token (gateway reference §5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserAgentRule {
    /// Nothing.
    #[default]
    Any,
    /// It contains one of the customer's tokens, without regard to case; otherwise `auth.token`.
    ContainsToken,
}

/// Whose tokens a target is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CombineTokens {
    /// The customer's and the network's own (`[agent]`): a site that names the network is obeyed for everybody.
    #[default]
    All,
    /// The customer's alone.
    Customer,
}

impl GatewayConfig {
    /// The defaults, for one customer on one listener.
    #[must_use]
    pub fn new(proxy: SocketAddr, auth: Auth, customer: Customer) -> Self {
        Self {
            name: "comity".to_owned(),
            proxy,
            api: None,
            auth,
            customer,
            combine_tokens: CombineTokens::default(),
            ports: vec![80, 443],
            hold_max: Duration::from_secs(10),
            max_held: 1_000,
            max_connections: 1_024,
            max_buffered: 256 << 20,
            drain: Duration::from_secs(30),
        }
    }

    /// Refuses what must not start.
    ///
    /// # Errors
    /// An open proxy, a name or a customer that cannot be used; the first that is found.
    pub fn check(&self) -> Result<(), GatewayError> {
        if matches!(self.auth, Auth::None) && !self.proxy.ip().is_loopback() {
            return Err(GatewayError::OpenProxy(self.proxy));
        }
        let token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let starts_well = self.name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts_well || self.name.len() > 64 || !self.name.bytes().all(token_byte) {
            return Err(GatewayError::Name(self.name.clone()));
        }
        self.customer.check()
    }
}

impl Customer {
    fn check(&self) -> Result<(), GatewayError> {
        let id = &self.id;
        if id.is_empty() || id.len() > 100 || !id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
            return Err(GatewayError::CustomerId(id.clone()));
        }
        if self.tokens.is_empty() {
            return Err(GatewayError::NoToken(id.clone()));
        }
        for token in &self.tokens {
            // The rule of the crawler's own identity, asked of a bot that carries nothing but this token.
            Identity::new(&format!("{token}/1"), "mailto:bot@example.com", &[token.to_string()], Vec::new())
                .map_err(|error| GatewayError::Token(token.to_string(), error))?;
        }
        Ok(())
    }

    /// The customer's token of this name, compared without regard to case.
    pub(crate) fn token(&self, name: &str) -> Option<&ProductToken> {
        self.tokens.iter().find(|token| token.as_str().eq_ignore_ascii_case(name))
    }

    /// True when the customer may send this User-Agent.
    pub(crate) fn may_send(&self, user_agent: Option<&str>) -> bool {
        let agent = user_agent.unwrap_or_default().to_ascii_lowercase();
        match self.user_agent {
            UserAgentRule::Any => true,
            UserAgentRule::ContainsToken => {
                self.tokens.iter().any(|token| agent.contains(&token.as_str().to_ascii_lowercase()))
            }
        }
    }
}

/// Why a gateway does not start. `Display` says what to do.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayError {
    /// A listener beyond loopback without authentication.
    OpenProxy(SocketAddr),
    /// A pseudonym that cannot stand in Via.
    Name(String),
    /// A customer id that cannot stand in credentials.
    CustomerId(String),
    /// A customer without a product token.
    NoToken(String),
    /// A product token that a customer must not use.
    Token(String, IdentityError),
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenProxy(listen) => {
                write!(
                    f,
                    "{listen} without authentication would be an open proxy: set auth = \"basic\", or listen on loopback"
                )
            }
            Self::Name(name) => {
                write!(f, "name {name:?} cannot stand in a Via field: a letter, then at most 63 of A-Z a-z 0-9 - . _")
            }
            Self::CustomerId(id) => write!(f, "customer id {id:?}: 1 to 100 printable ASCII characters without colon"),
            Self::NoToken(id) => write!(f, "customer {id:?} has no product token: sites could not name it"),
            Self::Token(token, error) => write!(f, "token {token:?}: {error}"),
        }
    }
}

impl std::error::Error for GatewayError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> GatewayConfig {
        let customer = Customer {
            id: "c1".to_owned(),
            tokens: vec![ProductToken::new("custbot").unwrap()],
            purposes: Vec::new(),
            user_agent: UserAgentRule::Any,
        };
        GatewayConfig::new("127.0.0.1:3128".parse().unwrap(), Auth::None, customer)
    }

    #[test]
    fn what_must_not_start_does_not() {
        type Spoil = fn(&mut GatewayConfig);
        let token = |name| vec![ProductToken::new(name).unwrap()];
        let rows: [(Spoil, &str); 8] = [
            (|c| c.proxy = "0.0.0.0:3128".parse().unwrap(), "open proxy"),
            (|c| c.proxy = "[::]:3128".parse().unwrap(), "open proxy"),
            (|c| c.name = "a b".into(), "Via"),
            (|c| c.name = String::new(), "Via"),
            (|c| c.customer.id = "a:b".into(), "without colon"),
            (|c| c.customer.tokens.clear(), "no product token"),
            (|c| c.customer.tokens = vec![ProductToken::new("Googlebot").unwrap()], "impersonates"),
            (|c| c.customer.tokens = vec![ProductToken::new("chrome").unwrap()], "impersonates"),
        ];
        assert_eq!(config().check(), Ok(()));
        for (spoil, says) in rows {
            let mut config = config();
            spoil(&mut config);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(says), "{says}: {error}");
        }
        assert!(config().customer.token("CUSTBOT").is_some());
        let strict =
            Customer { user_agent: UserAgentRule::ContainsToken, tokens: token("custbot"), ..config().customer };
        assert!(strict.may_send(Some("CustBot/2 (+https://c.example)")));
        assert!(!strict.may_send(Some("Mozilla/5.0")) && !strict.may_send(None));
    }
}
