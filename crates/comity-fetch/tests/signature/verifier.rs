//! A verifier of Web Bot Auth, written from RFC 9421 §3.2 and the draft's checks, apart from the signer's code.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::signature::{ED25519, UnparsedPublicKey};

/// A request as a server behind TLS sees it.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) authority: String,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Verified,
    Unsigned,
    Unverified(&'static str),
    Invalid(&'static str),
}

impl Message {
    /// From the bytes of a request head.
    pub(crate) fn of_head(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let fields: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let authority = fields.iter().find(|(name, _)| name == "host").unwrap().1.clone();
        Self { method: words[0].to_owned(), authority, target: words[1].to_owned(), fields }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.fields.iter_mut().find(|(field, _)| field == name).unwrap().1 = value.to_owned();
    }

    /// The value of a covered component (RFC 9421 §2.1, §2.2).
    fn component(&self, identifier: &str) -> Option<String> {
        Some(match identifier {
            "\"@method\"" => self.method.clone(),
            "\"@authority\"" => self.authority.clone(),
            "\"@target-uri\"" => format!("https://{}{}", self.authority, self.target),
            _ => {
                let key = identifier.strip_prefix("\"signature-agent\";key=\"")?.strip_suffix('"')?;
                self.agent_member(key)?.to_owned()
            }
        })
    }

    /// A member of `Signature-Agent`, with its quotes.
    fn agent_member(&self, key: &str) -> Option<&str> {
        let members = self.field("signature-agent")?.split(", ");
        members.filter_map(|member| member.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

/// What a site that has fetched `directory` says of `message` at `now` (seconds since the epoch).
pub(crate) fn verify(message: &Message, directory: &str, now: i64) -> Verdict {
    let (Some(input), Some(signature)) = (message.field("signature-input"), message.field("signature")) else {
        return Verdict::Unsigned;
    };
    judge(message, (input, signature), directory, now).unwrap_or(Verdict::Invalid("parse"))
}

/// `None` for what cannot be parsed.
fn judge(message: &Message, (input, signature): (&str, &str), directory: &str, now: i64) -> Option<Verdict> {
    let (label, inner) = input.split_once('=')?;
    let (covered, parameters) = inner.strip_prefix('(')?.split_once(')')?;
    let covered: Vec<&str> = covered.split(' ').collect();
    let signature = signature.strip_prefix(label)?.strip_prefix("=:")?.strip_suffix(':')?;
    let signature = BASE64.decode(signature.as_bytes()).ok()?;
    let parameter = |name: &str| {
        let values = parameters.split(';').filter_map(|part| part.split_once('='));
        values.filter(|(found, _)| *found == name).map(|(_, value)| value.trim_matches('"')).next()
    };
    if parameter("tag") != Some("web-bot-auth") {
        return Some(Verdict::Unsigned);
    }
    if !covered.iter().any(|component| matches!(*component, "\"@authority\"" | "\"@target-uri\"")) {
        return Some(Verdict::Invalid("coverage"));
    }
    let member = format!("\"signature-agent\";key=\"{label}\"");
    if !covered.contains(&member.as_str()) || message.agent_member(label).is_none() {
        return Some(Verdict::Invalid("agent_not_covered"));
    }
    let (created, expires): (i64, i64) = (parameter("created")?.parse().ok()?, parameter("expires")?.parse().ok()?);
    if created > now {
        return Some(Verdict::Invalid("future"));
    }
    if expires < now {
        return Some(Verdict::Invalid("expired"));
    }
    if expires - created > 24 * 3600 {
        return Some(Verdict::Invalid("life"));
    }
    if !matches!(parameter("alg"), None | Some("ed25519")) {
        return Some(Verdict::Invalid("alg"));
    }
    let Some(key) = public_key(directory, parameter("keyid")?) else { return Some(Verdict::Unverified("unknown_key")) };
    let mut base = String::new();
    for identifier in covered {
        base += &format!("{identifier}: {}\n", message.component(identifier)?);
    }
    base += &format!("\"@signature-params\": {inner}");
    let held = UnparsedPublicKey::new(&ED25519, key).verify(base.as_bytes(), &signature).is_ok();
    Some(if held { Verdict::Verified } else { Verdict::Invalid("signature") })
}

/// `x` of the key that the directory lists under this thumbprint.
fn public_key(directory: &str, keyid: &str) -> Option<Vec<u8>> {
    let directory: serde_json::Value = serde_json::from_str(directory).ok()?;
    let key = directory["keys"].as_array()?.iter().find(|key| key["kid"] == keyid)?;
    BASE64URL_NOPAD.decode(key["x"].as_str()?.as_bytes()).ok()
}
