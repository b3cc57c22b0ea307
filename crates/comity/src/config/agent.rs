//! `[agent]`: who we are, how we show it, and from where we come.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use comity_fetch::signature::{SignatureAgent, Signer, SigningKey};
use comity_fetch::{AddressGuard, SystemRandom};
use comity_policy::{Identity, IdentityError, Network};
use comity_signals::{Declared, Purpose};

use super::file::{AgentSection, ArchiveSection};
use super::{ConfigError, ConfigFile};

impl AgentSection {
    /// Tokens of an earlier layer belong to the name beside them: under another one that does not bear them they are nobody's.
    pub(super) fn forget_tokens_of_another(&mut self, later: &Self) {
        let (Some(before), Some(name)) = (&self.name, &later.name) else { return };
        // Anywhere in the User-Agent, which the contact is a part of: as an identity is judged.
        let contact = later.contact.as_ref().or(self.contact.as_ref()).map_or("", String::as_str);
        let user_agent = format!("{name} (+{contact})").to_ascii_lowercase();
        let is_borne = |token: &String| user_agent.contains(&token.to_ascii_lowercase());
        if before != name && !self.tokens.iter().flatten().all(is_borne) {
            self.tokens = None;
        }
    }

    /// Brings a relative key file to `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        if let Some(file) = &mut self.signing_key {
            let joined = folder.join(&*file);
            *file = std::path::absolute(&joined).unwrap_or(joined);
        }
    }
}

impl ArchiveSection {
    /// Brings a relative key file to `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        if let Some(file) = &mut self.signing_key {
            let joined = folder.join(&*file);
            *file = std::path::absolute(&joined).unwrap_or(joined);
        }
    }
}

/// What to do about it: by what is wrong, not by what may be missing.
const fn to_do(error: &IdentityError) -> &'static str {
    match error {
        IdentityError::NameInvalid(_) | IdentityError::TokenInvalid(_) => {
            "a name of letters, - and _, then a version: MyBot/1.0. robots.txt names nobody by a digit (RFC 9309 §2.2.1)"
        }
        IdentityError::ContactInvalid(_) => "a page or an address at which a site reaches you: https://example.com/bot",
        IdentityError::TokenNotInName { .. } => "sites find by the token in their logs: let the name begin with it",
        IdentityError::Impersonation(_) => "choose a name that is yours alone",
        _ => "run `comity init` once, or give --agent and --contact",
    }
}

/// Name, contact, tokens, purposes, From.
pub(super) fn identity(file: &ConfigFile) -> Result<Identity, ConfigError> {
    let agent = &file.agent;
    let declared = agent.purposes.as_deref().unwrap_or_default().iter();
    let mut purposes = Vec::new();
    for purpose in declared {
        purposes.push(purpose.parse::<Declared>().map_err(|e| ConfigError::new(e).at("[agent] purposes"))?);
    }
    if purposes.is_empty() {
        purposes.push(Declared::Judged(Purpose::Search));
    }
    let (name, contact) = (agent.name.as_deref().unwrap_or(""), agent.contact.as_deref().unwrap_or(""));
    let identity =
        Identity::new(name, contact, agent.tokens.as_deref().unwrap_or_default(), purposes).map_err(|error| {
            let hint = to_do(&error);
            ConfigError::new(error).at("[agent]").hint(hint)
        })?;
    match &agent.from {
        None => Ok(identity),
        Some(from) => identity
            .with_from(from)
            .map_err(|e| ConfigError::new(e).at("[agent] from").hint("for instance bot@example.com, or leave it out")),
    }
}

/// What signs the requests, if anything does. Reads the key.
pub(super) fn signer(agent: &AgentSection) -> Result<Option<Signer>, ConfigError> {
    let (path, url) = match (&agent.signing_key, &agent.signature_agent) {
        (None, None) => return Ok(None),
        (Some(path), Some(url)) => (path, url),
        (Some(_), None) => {
            return Err(ConfigError::new("a signature has to say where its key is published")
                .at("[agent] signing_key")
                .hint("set signature_agent = \"https://…\", the origin that serves the key directory"));
        }
        (None, Some(_)) => {
            return Err(ConfigError::new("there is no key to sign with")
                .at("[agent] signature_agent")
                .hint("set signing_key = \"FILE\"; `comity identity key new FILE` makes one"));
        }
    };
    let url: SignatureAgent = url.parse().map_err(|e| ConfigError::new(e).at("[agent] signature_agent"))?;
    Ok(Some(Signer::new(read_key("[agent] signing_key", path)?, url, Arc::new(SystemRandom::new()))))
}

pub(super) fn read_key(place: &str, path: &Path) -> Result<SigningKey, ConfigError> {
    SigningKey::read(path)
        .map_err(|error| ConfigError::new(format!("{}: {error}", path.display())).at(place).hint(error.hint()))
}

/// The address blocks that the crawler comes from.
pub(super) fn ranges(agent: &AgentSection) -> Result<Vec<Network>, ConfigError> {
    let mut ranges = Vec::new();
    for text in agent.ranges.as_deref().unwrap_or_default() {
        let range: Network = text.parse().map_err(|e| wrong_range(e).hint("for instance \"5.9.0.0/24\""))?;
        check_range(&range)?;
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    Ok(ranges)
}

/// What is published has to be a block as routers write it, visible from outside, and not half of the internet, since
/// whoever trusts the list trusts every address in it.
fn check_range(range: &Network) -> Result<(), ConfigError> {
    let first = first_address(range);
    if first != range.base() {
        let right = format!("write {first}/{}, or the single address", range.prefix());
        return Err(wrong_range(format!("{range} has bits beyond its prefix")).hint(right));
    }
    if !AddressGuard::is_public_range(range) {
        let hint = "give the addresses that sites see, those of your NAT or proxy";
        return Err(wrong_range(format!("{range} is not public: no site can see it")).hint(hint));
    }
    let widest = if range.base().is_ipv4() { WIDEST_V4 } else { WIDEST_V6 };
    if range.prefix() < widest {
        return Err(
            wrong_range(format!("{range} is wider than /{widest}")).hint("give the blocks that are yours alone")
        );
    }
    Ok(())
}

/// Our choice: larger than what one crawler has, smaller than what a typing error makes.
const WIDEST_V4: u8 = 12;
const WIDEST_V6: u8 = 28;

fn wrong_range(what: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(what).at("[agent] ranges")
}

/// The address of the block whose other bits are zero.
fn first_address(range: &Network) -> IpAddr {
    let other_bits = |bits: u32| bits - u32::from(range.prefix());
    match range.base() {
        IpAddr::V4(base) => IpAddr::V4((base.to_bits() & u32::MAX.checked_shl(other_bits(32)).unwrap_or(0)).into()),
        IpAddr::V6(base) => IpAddr::V6((base.to_bits() & u128::MAX.checked_shl(other_bits(128)).unwrap_or(0)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(keys: &str) -> AgentSection {
        ConfigFile::parse(&format!("[agent]\n{keys}"), None).unwrap().agent
    }

    #[test]
    fn ranges_are_blocks_that_a_site_can_see() {
        let good = agent("ranges = [\"5.9.0.0/24\", \"2a00:1450::/32\", \"8.8.8.8\", \"8.8.8.8/32\"]");
        let texts: Vec<String> = ranges(&good).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["5.9.0.0/24", "2a00:1450::/32", "8.8.8.8/32"]);
        let rows = [
            ("5.9.0.1/24", "5.9.0.0/24"),
            ("2a00:1450::1/32", "2a00:1450::/32"),
            ("10.0.0.0/8", "NAT"),
            ("192.0.2.0/24", "NAT"),
            ("::1", "NAT"),
            ("0.0.0.0/0", "yours alone"),
            ("8.0.0.0/11", "yours alone"),
            ("2000::/3", "yours alone"),
            ("5.9.0.0", ""),
            ("here", "5.9.0.0/24"),
        ];
        for (text, hint) in rows {
            match ranges(&agent(&format!("ranges = [\"{text}\"]"))) {
                Ok(taken) => assert_eq!((hint, taken.len()), ("", 1), "{text}"),
                Err(error) => {
                    assert!(error.to_string().starts_with("[agent] ranges: "), "{error}");
                    assert!(!hint.is_empty() && error.advice().unwrap().contains(hint), "{text}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_key_needs_an_agent_and_an_agent_a_key() {
        assert_eq!(signer(&agent("")).unwrap(), None);
        let rows = [
            ("signing_key = \"/no/such/file\"", "[agent] signing_key: a signature has to say"),
            ("signature_agent = \"https://bot.example.com\"", "[agent] signature_agent: there is no key"),
            ("signing_key = \"x\"\nsignature_agent = \"http://bot.example.com\"", "[agent] signature_agent: \"http:"),
            (
                "signing_key = \"/no/such/file\"\nsignature_agent = \"https://bot.example.com\"",
                "[agent] signing_key: /no/such/file: ",
            ),
        ];
        for (keys, said) in rows {
            let error = signer(&agent(keys)).unwrap_err();
            assert!(error.to_string().starts_with(said), "{keys}: {error}");
        }
    }
}
