use std::fmt::Display;
use std::str::FromStr;

use comity::config::{ConfigError, CustomerSection, GatewaySection};
use comity_gateway::{ApiConfig, Auth, CombineTokens, Customer, GatewayConfig, Secret, UserAgentRule};
use comity_policy::Digest;
use comity_robots::ProductToken;

/// The `[gateway]` section, resolved.
pub(crate) fn gateway(typed: &GatewaySection) -> Result<GatewayConfig, ConfigError> {
    let Some(customer) = &typed.customer else {
        return Err(wrong("[gateway.customer]", "it is missing").hint("give it an id, a password_sha256 and tokens"));
    };
    let proxy = parse("[gateway] proxy", typed.proxy.as_deref().unwrap_or("127.0.0.1:3128"))?;
    let auth = one_of("[gateway] auth", typed.auth.as_deref(), &[("basic", true), ("none", false)])?;
    let auth = if auth { Auth::Basic(password(customer)?) } else { Auth::None };
    let mut config = GatewayConfig::new(proxy, auth, self::customer(customer)?);
    config.api = api(typed)?;
    let combine = [("all", CombineTokens::All), ("customer", CombineTokens::Customer)];
    config.combine_tokens = one_of("[gateway] combine_tokens", typed.combine_tokens.as_deref(), &combine)?;
    if let Some(name) = &typed.name {
        config.name.clone_from(name);
    }
    if let Some(ports) = &typed.ports {
        config.ports.clone_from(ports);
    }
    if let Some(span) = typed.hold_max {
        config.hold_max = span.0;
    }
    if let Some(size) = typed.max_buffered {
        config.max_buffered = size.0;
    }
    if let Some(span) = typed.drain {
        config.drain = span.0;
    }
    config.max_held = at_least_one("[gateway] max_held", typed.max_held, config.max_held)?;
    config.max_connections = at_least_one("[gateway] max_connections", typed.max_connections, config.max_connections)?;
    Ok(config)
}

fn customer(typed: &CustomerSection) -> Result<Customer, ConfigError> {
    let id = typed.id.clone().ok_or_else(|| wrong("[gateway.customer] id", "it is missing"))?;
    let token = |text: &String| ProductToken::new(text).map_err(|error| wrong("[gateway.customer] tokens", error));
    let tokens = typed.tokens.iter().flatten().map(token);
    let default = [String::from("search")];
    let purposes = typed.purposes.as_deref().unwrap_or(&default);
    let purposes = purposes.iter().map(|purpose| parse("[gateway.customer] purposes", purpose));
    let rules = [("any", UserAgentRule::Any), ("contains_token", UserAgentRule::ContainsToken)];
    Ok(Customer {
        id,
        tokens: tokens.collect::<Result<_, _>>()?,
        purposes: purposes.collect::<Result<_, _>>()?,
        user_agent: one_of("[gateway.customer] user_agent", typed.user_agent.as_deref(), &rules)?,
    })
}

fn password(typed: &CustomerSection) -> Result<Secret, ConfigError> {
    match &typed.password_sha256 {
        Some(text) => secret("[gateway.customer] password_sha256", text),
        None => Err(wrong("[gateway.customer] password_sha256", "it is missing").hint(HOW_TO_HASH)),
    }
}

fn api(typed: &GatewaySection) -> Result<Option<ApiConfig>, ConfigError> {
    let Some(listen) = typed.api.as_deref().filter(|listen| !listen.is_empty()) else { return Ok(None) };
    let listen = parse("[gateway] api", listen)?;
    match &typed.api_key_sha256 {
        Some(text) => Ok(Some(ApiConfig { listen, key: secret("[gateway] api_key_sha256", text)? })),
        None => {
            Err(wrong("[gateway] api_key_sha256", "it is missing: the API answers only who has the key")
                .hint(HOW_TO_HASH))
        }
    }
}

const HOW_TO_HASH: &str = "openssl rand -hex 32 makes a secret, printf %s SECRET | sha256sum its digest";

fn secret(place: &str, text: &str) -> Result<Secret, ConfigError> {
    // What was typed may be the secret itself: it is not shown.
    let digest = text.parse::<Digest>().map_err(|error| wrong(place, error).hint(HOW_TO_HASH))?;
    Ok(Secret::from_digest(digest))
}

fn parse<T: FromStr>(place: &str, text: &str) -> Result<T, ConfigError>
where
    T::Err: Display,
{
    text.parse().map_err(|error| wrong(place, format!("{text:?}: {error}")))
}

fn at_least_one(place: &str, typed: Option<u32>, default: usize) -> Result<usize, ConfigError> {
    match typed.map(usize::try_from) {
        None => Ok(default),
        Some(Ok(some @ 1..)) => Ok(some),
        Some(_) => Err(wrong(place, "0 would serve nobody").hint("1 or more")),
    }
}

/// The value of a named choice; the first is the default.
fn one_of<T: Copy>(place: &str, typed: Option<&str>, choices: &[(&str, T); 2]) -> Result<T, ConfigError> {
    let [first, second] = choices;
    match typed {
        None => Ok(first.1),
        Some(name) if name == first.0 => Ok(first.1),
        Some(name) if name == second.0 => Ok(second.1),
        Some(name) => {
            Err(wrong(place, format!("unknown value {name:?}")).hint(format!("known: {:?}, {:?}", first.0, second.0)))
        }
    }
}

fn wrong(place: &str, what: impl Display) -> ConfigError {
    ConfigError::new(what).at(place)
}
