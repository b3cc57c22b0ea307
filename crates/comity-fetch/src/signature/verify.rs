//! Signatures of others (signals reference §12.2): who vouches for a request, when anybody does.

use comity_policy::WallTime;
use comity_url::{CrawlUrl, Origin, Scheme};
use data_encoding::BASE64;
use ring::signature::{ED25519, UnparsedPublicKey};
use sfv::{BareItem, Dictionary, InnerList, Item, ListEntry, Parser, StringRef};
use sha2::{Digest as _, Sha256};

use super::agent::WELL_KNOWN;
use super::jwks::KeySet;
use super::received::{base, dictionary, integer, joined, member, name, text};
use super::signer::seconds;

const TAG: &str = "web-bot-auth";
const DIRECTORY_TAG: &str = "http-message-signatures-directory";
const AGENT: &str = "signature-agent";
/// Signatures with the tag that are looked at (our choice).
const MOST_SIGNATURES: usize = 4;

/// A request as it was received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedRequest<'a, N, V> {
    /// The method as written.
    pub method: &'a str,
    /// The target URI.
    pub url: &'a CrawlUrl,
    /// Header fields in wire order, repeated fields not folded.
    pub fields: &'a [(N, V)],
}

/// What a verification came to. A signature is identity and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// The key belongs to the agent: the URL of the key directory that vouches for it.
    Verified {
        /// The resolved URL.
        agent: String,
    },
    /// The signature is wrong: whoever sent it is not who it says.
    Invalid(Fault),
    /// Nothing is known against it, and nobody vouches for it.
    Unverified(Doubt),
    /// There is no signature of this kind.
    Unsigned {
        /// True when there are signatures, for something else.
        other_tags: bool,
    },
}

/// Why a signature is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A field that cannot be read.
    Parse,
    /// Neither `@authority` nor `@target-uri` is covered, or a covered component is not there.
    Coverage,
    /// No member of `Signature-Agent` is covered.
    AgentNotCovered,
    /// A parameter that has to be there is missing.
    Params,
    /// Created after now.
    Future,
    /// Expired.
    Expired,
    /// No signature with a public key.
    Alg,
    /// The bytes do not match.
    Signature,
}

/// Why nobody vouches for a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// No covered member of `Signature-Agent` leads to a directory.
    NoAgent,
    /// The directory could not be had.
    Discovery,
    /// The directory does not hold the key.
    UnknownKey,
    /// A public-key algorithm other than Ed25519, which is not read here.
    Alg,
}

impl Verified {
    /// `verified`, `invalid`, `unverified` or `unsigned`.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Verified { .. } => "verified",
            Self::Invalid(_) => "invalid",
            Self::Unverified(_) => "unverified",
            Self::Unsigned { .. } => "unsigned",
        }
    }

    /// Why, for all but `verified`.
    #[must_use]
    pub const fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Verified { .. } => return None,
            Self::Invalid(Fault::Parse) => "parse",
            Self::Invalid(Fault::Coverage) => "coverage",
            Self::Invalid(Fault::AgentNotCovered) => "agent_not_covered",
            Self::Invalid(Fault::Params) => "params",
            Self::Invalid(Fault::Future) => "future",
            Self::Invalid(Fault::Expired) => "expired",
            Self::Invalid(Fault::Alg) | Self::Unverified(Doubt::Alg) => "alg",
            Self::Invalid(Fault::Signature) => "signature",
            Self::Unverified(Doubt::NoAgent) => "no_agent",
            Self::Unverified(Doubt::Discovery) => "discovery",
            Self::Unverified(Doubt::UnknownKey) => "unknown_key",
            Self::Unsigned { other_tags: true } => "no_tag",
            Self::Unsigned { other_tags: false } => "no_signature",
        })
    }
}

/// Whether the older form of `Signature-Agent`, a bare string, is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacyAgent {
    /// It is unreadable.
    #[default]
    Refuse,
    /// It is read as the only member, and covered as a whole field.
    Accept,
}

/// Verifies the Web Bot Auth signature of a request (draft-ietf-webbotauth-httpsig-protocol-00).
///
/// `directory` gives the keys of a directory by its resolved URL, `None` when it could not be had; fetching within bounds,
/// without redirects and never at private addresses is the caller's. Of several signatures with the tag the first that
/// verifies counts, else what is said of the first. Any covered member of `Signature-Agent` is the agent, whatever it is
/// called (our choice: the published vectors do so).
pub fn verify<N: AsRef<str>, V: AsRef<[u8]>>(
    request: &ReceivedRequest<'_, N, V>,
    directory: impl Fn(&str) -> Option<KeySet>,
    legacy: LegacyAgent,
    now: WallTime,
) -> Verified {
    let read = |name| dictionary(request.fields, name);
    let (Ok(inputs), Ok(signatures)) = (read("signature-input"), read("signature")) else {
        return Verified::Invalid(Fault::Parse);
    };
    let (inputs, signatures) = match (inputs, signatures) {
        (None, None) => return Verified::Unsigned { other_tags: false },
        (Some(inputs), Some(signatures)) => (inputs, signatures),
        _ => return Verified::Invalid(Fault::Parse),
    };
    let tagged = inputs.iter().filter_map(|(label, entry)| match entry {
        ListEntry::InnerList(list) if text(&list.params, "tag") == Some(TAG) => Some((label.as_str(), list)),
        _ => None,
    });
    let mut first = None;
    for (label, covered) in tagged.take(MOST_SIGNATURES) {
        let found = one(request, (covered, signatures.get(label)), &directory, legacy, seconds(now));
        if matches!(found, Verified::Verified { .. }) {
            return found;
        }
        first.get_or_insert(found);
    }
    first.unwrap_or(Verified::Unsigned { other_tags: true })
}

/// The text that the first Web Bot Auth signature of a request is over, for whoever looks for a fault; `None` when there is
/// none, or it cannot be put together.
#[must_use]
pub fn signature_base<N: AsRef<str>, V: AsRef<[u8]>>(request: &ReceivedRequest<'_, N, V>) -> Option<String> {
    let inputs = dictionary(request.fields, "signature-input").ok()??;
    let covered = inputs.values().find_map(|entry| match entry {
        ListEntry::InnerList(list) if text(&list.params, "tag") == Some(TAG) => Some(list),
        _ => None,
    })?;
    base(covered, |item| component(request, item))
}

fn one<N: AsRef<str>, V: AsRef<[u8]>>(
    request: &ReceivedRequest<'_, N, V>,
    (covered, signature): (&InnerList, Option<&ListEntry>),
    directory: impl Fn(&str) -> Option<KeySet>,
    legacy: LegacyAgent,
    now: i64,
) -> Verified {
    let invalid = Verified::Invalid;
    let Some(signature) = signature.and_then(bytes) else { return invalid(Fault::Parse) };
    let Ok(agents) = agents(request.fields, legacy) else { return invalid(Fault::Parse) };
    let names = |wanted: &str| covered.items.iter().any(|item| name(item) == Some(wanted) && item.params.is_empty());
    if !names("@authority") && !names("@target-uri") {
        return invalid(Fault::Coverage);
    }
    let agents: Vec<&Item> = covered.items.iter().filter_map(|item| agents.covered_by(item)).collect();
    if agents.is_empty() {
        return invalid(Fault::AgentNotCovered);
    }
    let parameters = &covered.params;
    let (Some(created), Some(expires)) = (integer(parameters, "created"), integer(parameters, "expires")) else {
        return invalid(Fault::Params);
    };
    let Some(key) = text(parameters, "keyid") else { return invalid(Fault::Params) };
    if created > now {
        return invalid(Fault::Future);
    }
    if expires <= now {
        return invalid(Fault::Expired);
    }
    match parameters.get("alg").map(|alg| alg.as_string().map(StringRef::as_str)) {
        None | Some(Some("ed25519")) => {}
        Some(Some("rsa-pss-sha512" | "rsa-v1_5-sha256" | "ecdsa-p256-sha256" | "ecdsa-p384-sha384")) => {
            return Verified::Unverified(Doubt::Alg);
        }
        Some(_) => return invalid(Fault::Alg),
    }
    let Some(text) = base(covered, |item| component(request, item)) else { return invalid(Fault::Coverage) };
    let Some(agent) = agents.into_iter().find_map(resolve) else { return Verified::Unverified(Doubt::NoAgent) };
    let Some(keys) = directory(&agent) else { return Verified::Unverified(Doubt::Discovery) };
    let Some(key) = keys.find(key, now) else { return Verified::Unverified(Doubt::UnknownKey) };
    match UnparsedPublicKey::new(&ED25519, &key.bytes).verify(text.as_bytes(), signature) {
        Ok(()) => Verified::Verified { agent },
        Err(_) => invalid(Fault::Signature),
    }
}

/// The members of `Signature-Agent`.
enum Agents {
    Members(Dictionary),
    /// The older form: the whole field.
    Whole(Item),
}

fn agents<N: AsRef<str>, V: AsRef<[u8]>>(fields: &[(N, V)], legacy: LegacyAgent) -> Result<Agents, ()> {
    match dictionary(fields, AGENT) {
        Ok(members) => Ok(Agents::Members(members.unwrap_or_default())),
        Err(()) if legacy == LegacyAgent::Accept => {
            let value = joined(fields, AGENT).ok_or(())?;
            Parser::new(&value).parse().map(Agents::Whole).map_err(|_| ())
        }
        Err(()) => Err(()),
    }
}

impl Agents {
    /// The member that a component covers.
    fn covered_by(&self, component: &Item) -> Option<&Item> {
        if name(component) != Some(AGENT) {
            return None;
        }
        match self {
            Self::Members(members) => match members.get(text(&component.params, "key")?)? {
                ListEntry::Item(item) => Some(item),
                ListEntry::InnerList(_) => None,
            },
            Self::Whole(item) => component.params.is_empty().then_some(item),
        }
    }
}

/// The URL of the directory that a member leads to; `None` for one that is ignored.
fn resolve(agent: &Item) -> Option<String> {
    let value = agent.bare_item.as_string()?.as_str();
    let url = CrawlUrl::parse(value).ok().filter(|url| url.origin().scheme() == Scheme::Https)?;
    match agent.params.get("type").map(type_of) {
        None | Some("directory") => {
            let rest = value.get(value.find("://")? + 3..)?;
            let bare = !rest.trim_end_matches('/').contains(['/', '?', '#', '@']) && !rest.ends_with("//");
            bare.then(|| format!("{}{WELL_KNOWN}", url.origin().as_str()))
        }
        Some("jwks_uri") => Some(url.as_str().to_owned()),
        Some(_) => None,
    }
}

/// The `type` of a member: a token or a string.
fn type_of(value: &BareItem) -> &str {
    let string = value.as_string().map(StringRef::as_str);
    string.or_else(|| value.as_token().map(sfv::TokenRef::as_str)).unwrap_or_default()
}

/// The value of a covered component (RFC 9421 §2.1, §2.2); `None` for one that is not there or not read here.
fn component<N: AsRef<str>, V: AsRef<[u8]>>(request: &ReceivedRequest<'_, N, V>, item: &Item) -> Option<String> {
    let name = name(item)?;
    if let Some(derived) = name.strip_prefix('@') {
        let url = request.url;
        let target = target(url);
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        return match derived {
            _ if !item.params.is_empty() => None,
            "method" => Some(request.method.to_owned()),
            "authority" => Some(url.origin().authority().to_ascii_lowercase()),
            "target-uri" => Some(url.as_str().to_owned()),
            "scheme" => Some(url.origin().scheme().as_str().to_owned()),
            "request-target" => Some(target.to_owned()),
            "path" => Some(path.to_owned()),
            "query" => Some(format!("?{}", query.unwrap_or_default())),
            _ => None,
        };
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    match text(&item.params, "key") {
        Some(key) if item.params.len() == 1 => member(dictionary(request.fields, name).ok()??.get(key)?.clone()),
        None if item.params.is_empty() => String::from_utf8(joined(request.fields, name)?).ok(),
        _ => None,
    }
}

/// Path and query.
fn target(url: &CrawlUrl) -> &str {
    let rest = url.as_str().get(url.origin().as_str().len()..).unwrap_or_default();
    let rest = rest.split('#').next().unwrap_or(rest);
    if rest.is_empty() { "/" } else { rest }
}

fn bytes(entry: &ListEntry) -> Option<&[u8]> {
    match entry {
        ListEntry::Item(item) => item.bare_item.as_byte_sequence(),
        ListEntry::InnerList(_) => None,
    }
}

/// Whether the answer of a key directory is signed with the key of this id, which shows that whoever serves the key also
/// holds it: `Some(false)` when it is signed wrongly, `None` when it is not.
///
/// `origin` is the one that was asked; `body` and `fields` are of its answer.
#[must_use]
pub fn verify_directory<N: AsRef<str>, V: AsRef<[u8]>>(
    origin: &Origin,
    body: &[u8],
    fields: &[(N, V)],
    key: &str,
    now: WallTime,
) -> Option<bool> {
    let inputs = dictionary(fields, "signature-input").ok()??;
    let signatures = dictionary(fields, "signature").ok()??;
    let ours =
        |list: &InnerList| text(&list.params, "tag") == Some(DIRECTORY_TAG) && text(&list.params, "keyid") == Some(key);
    let (label, covered) = inputs.iter().find_map(|(label, entry)| match entry {
        ListEntry::InnerList(list) if ours(list) => Some((label.as_str(), list)),
        _ => None,
    })?;
    let digest = format!("sha-256=:{}:", BASE64.encode(&Sha256::digest(body)));
    let value = |item: &Item| match (name(item)?, item.params.len()) {
        ("@authority", 1) if item.params.get("req").and_then(BareItem::as_boolean) == Some(true) => {
            Some(origin.authority().to_ascii_lowercase())
        }
        ("content-digest", 0) => {
            String::from_utf8(joined(fields, "content-digest")?).ok().filter(|sent| *sent == digest)
        }
        _ => None,
    };
    let covers = |wanted: &str| covered.items.iter().any(|item| name(item) == Some(wanted));
    let holds = integer(&covered.params, "created").is_some_and(|at| at <= seconds(now))
        && integer(&covered.params, "expires").is_none_or(|at| seconds(now) < at);
    let (text, signature) = (base(covered, value), signatures.get(label).and_then(bytes));
    let keys = KeySet::parse(body);
    let key = keys.as_ref().and_then(|keys| keys.find(key, seconds(now)));
    let (Some(text), Some(signature), Some(key)) = (text, signature, key) else { return Some(false) };
    let fits = UnparsedPublicKey::new(&ED25519, &key.bytes).verify(text.as_bytes(), signature).is_ok();
    Some(holds && covers("@authority") && covers("content-digest") && fits)
}
