//! A queue that moves to another crawl: what is exported, and how it is taken in.

use std::collections::BTreeMap;

use comity_frontier::{Offer, Offered, QueuedUrl, Scheduled, UserData};
use comity_policy::Reason;
use comity_url::{CrawlUrl, KEY_RULES_VERSION, UrlKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::visits::VisitLine;
use super::{Answer, Control, ControlError};
use crate::directory::ScopeSeeds;

/// By what fingerprints were made: two crawls know each other's only when all of it is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prints {
    /// Version of the canonical form.
    pub version: u16,
    /// The key rules of `[keys]`, as text.
    pub rules: String,
    /// The secret key, 32 hexadecimal digits: whoever has it can make URLs that collide.
    pub key: String,
}

/// A URL of an export. Only `url` is needed: alone it is a seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlLine {
    url: String,
    depth: Option<u32>,
    seed: Option<bool>,
    priority: Option<u8>,
    #[serde(default)]
    hops: u8,
    #[serde(default)]
    attempts: u32,
    #[serde(default)]
    via: Option<String>,
    /// What its author keeps with it: text, or what is none in hexadecimal digits.
    #[serde(default)]
    user_data: Option<UserDataLine>,
    /// What its visits have shown, and when it is due again.
    #[serde(default)]
    visit: Option<VisitLine>,
    /// Its number where it comes from: means nothing elsewhere.
    #[serde(default, rename = "sequence")]
    _sequence: Option<u64>,
}

/// User data of a URL.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UserDataLine {
    /// UTF-8.
    Text(String),
    /// Any bytes, two digits each.
    Hex(String),
}

/// A line of an export.
enum Line {
    Url(Box<UrlLine>),
    Seen(Vec<UrlKey>),
    ScopeSeed(CrawlUrl),
}

/// What became of the lines.
#[derive(Debug, Default)]
struct Report {
    new: u64,
    scheduled: u64,
    seen: u64,
    refused: BTreeMap<Reason, u64>,
    prints: u64,
    prints_of_others: u64,
    scope_seeds: u64,
    bad: Vec<Value>,
}

/// Fingerprints in one row.
const PRINTS: usize = 1000;
/// Lines taken in at once.
const MOST: usize = 1000;
/// Bad lines that are named one by one in an answer; the rest is counted.
const NAMED: usize = 100;

impl Prints {
    pub(super) fn of(rules: comity_url::KeyRules, key: [u8; 16]) -> Self {
        Self { version: KEY_RULES_VERSION, rules: rules.to_string(), key: hex(&key) }
    }

    /// The secret key.
    #[cfg(feature = "disk")]
    pub(super) fn key(&self) -> Option<[u8; 16]> {
        unhex(&self.key)
    }
}

impl Control {
    /// `head`: how an export begins.
    pub(super) async fn head(&self) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let last = held.frontier().last_taken().await?;
        let seeds: Vec<Value> = match held.dir() {
            Some(dir) => {
                let read = ScopeSeeds::read(dir)?;
                read.iter().map(|seed| json!({"scope_seed": seed.to_string()})).collect()
            }
            None => Vec::new(),
        };
        let about = json!({"prints": held.prints(), "last": last, "running": self.is_running()});
        Ok(Answer { rows: seeds, about })
    }

    /// `seen`: fingerprints, up to a thousand a row.
    pub(super) async fn seen(&self, after: Option<u64>, last: u64) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        let page = held.frontier().seen(after, Some(last)).await?;
        let row = |keys: &[UrlKey]| {
            let prints: Vec<String> = keys.iter().map(|key| hex(&key.to_bytes())).collect();
            json!({"seen": prints})
        };
        Ok(Answer { rows: page.rows.chunks(PRINTS).map(row).collect(), about: json!({"next": page.next}) })
    }

    /// `import`: takes in lines of an export. A bad one is named and stops nothing.
    pub(super) async fn import(
        &self,
        lines: &[String],
        first: u64,
        prints: Option<&Prints>,
    ) -> Result<Answer, ControlError> {
        let held = self.subject.hold()?;
        if lines.len() > MOST {
            return Err(ControlError::usage(format!("{} lines: give {MOST} at most", lines.len())));
        }
        let _taking_in = held.taking_in().await?;
        let (mut offers, mut visits, mut keys, mut scope) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut report = Report::default();
        for (number, line) in (first..).zip(lines) {
            match Line::read(line).and_then(|line| match line {
                Line::Url(line) if line.visit.is_some() => {
                    line.scheduled(|url| held.key(url)).map(|visit| visits.push(visit))
                }
                Line::Url(line) => line.offer(|url| held.key(url)).map(|offer| offers.push(offer)),
                Line::Seen(found) => {
                    keys.extend(found);
                    Ok(())
                }
                Line::ScopeSeed(url) => {
                    scope.push(url);
                    Ok(())
                }
            }) {
                Ok(()) => {}
                Err(what) => report.bad.push(json!({"line": number, "what": what})),
            }
        }
        report.scope_seeds = scope.len() as u64;
        scope.extend(offers.iter().filter(|offer| offer.seed).map(|offer| offer.url.clone()));
        scope.extend(visits.iter().filter(|visit| visit.queued.seed).map(|visit| visit.queued.url.clone()));
        held.widen(&scope)?;
        for offered in held.frontier().offer(offers).await? {
            report.new += u64::from(report.taken(offered));
        }
        if !visits.is_empty() {
            for offered in held.frontier().schedule(visits).await? {
                report.scheduled += u64::from(report.taken(offered));
            }
        }
        if prints.is_some_and(|theirs| *theirs == held.prints()) {
            report.prints = held.frontier().mark_seen(keys).await?;
        } else {
            report.prints_of_others = keys.len() as u64;
        }
        held.poke();
        Ok(report.answer())
    }
}

impl Line {
    fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
        if !value.is_object() {
            return Err("no JSON object".to_owned());
        }
        if let Some(prints) = value.get("seen").filter(|_| value.get("url").is_none()) {
            let read = |print: &Value| print.as_str().and_then(unhex).map(UrlKey::from_bytes);
            let keys = prints.as_array().and_then(|prints| prints.iter().map(read).collect::<Option<Vec<_>>>());
            return keys.map(Self::Seen).ok_or_else(|| "seen: 32 hexadecimal digits each".to_owned());
        }
        if let Some(seed) = value.get("scope_seed") {
            return url("scope_seed", seed.as_str().unwrap_or_default()).map(Self::ScopeSeed);
        }
        serde_json::from_value(value).map(|line| Self::Url(Box::new(line))).map_err(|e| e.to_string())
    }
}

impl UrlLine {
    /// A URL that was visited elsewhere.
    fn scheduled(mut self, key: impl Fn(&CrawlUrl) -> UrlKey) -> Result<Scheduled, String> {
        let visit = self.visit.take().unwrap_or_default();
        let offer = Offer { attempts: 0, ..self.offer(key)? };
        visit.scheduled(offer.priority, QueuedUrl::from(offer))
    }

    fn offer(self, key: impl Fn(&CrawlUrl) -> UrlKey) -> Result<Offer, String> {
        let target = url("url", &self.url)?;
        // At depth 0 stand seeds, and sitemaps, which are none.
        let seed = self.seed.unwrap_or(self.depth.is_none());
        Ok(Offer {
            key: key(&target),
            url: target,
            depth: self.depth.unwrap_or(u32::from(!seed)),
            hops: self.hops,
            via: self.via.map(|via| url("via", &via)).transpose()?,
            seed,
            priority: self.priority.unwrap_or(u8::from(!seed)),
            attempts: self.attempts,
            hint: None,
            user_data: self.user_data.map(user_data).transpose()?,
        })
    }
}

impl Report {
    /// Whether it is new here; what became of the others is counted.
    fn taken(&mut self, offered: Offered) -> bool {
        match offered {
            Offered::New => return true,
            Offered::Seen => self.seen += 1,
            Offered::Refused(reason) => *self.refused.entry(reason).or_default() += 1,
        }
        false
    }

    fn answer(self) -> Answer {
        let refused: BTreeMap<&str, u64> = self.refused.iter().map(|(reason, n)| (reason.code(), *n)).collect();
        let about = json!({
            "new": self.new,
            "scheduled": self.scheduled,
            "seen": self.seen,
            "refused": refused,
            "prints": self.prints,
            "prints_of_others": self.prints_of_others,
            "scope_seeds": self.scope_seeds,
            "bad": self.bad.len(),
        });
        Answer { rows: self.bad.into_iter().take(NAMED).collect(), about }
    }
}

fn url(field: &str, text: &str) -> Result<CrawlUrl, String> {
    CrawlUrl::parse(text).map_err(|error| format!("{field}: {text:?}: {error}"))
}

impl UserDataLine {
    pub(super) fn of(user_data: &UserData) -> Self {
        match std::str::from_utf8(user_data.as_bytes()) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex(hex_of(user_data.as_bytes())),
        }
    }
}

pub(super) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn user_data(line: UserDataLine) -> Result<UserData, String> {
    let bytes = match line {
        UserDataLine::Text(text) => text.into_bytes(),
        UserDataLine::Hex(digits) => bytes(&digits).ok_or("user_data: two hexadecimal digits a byte")?,
    };
    UserData::new(bytes).map_err(|error| error.to_string())
}

pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4) | digit(*low)?);
    pairs.iter().map(byte).collect()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use comity_url::KeyHasher;

    use super::*;

    fn offer(line: &str) -> Result<Offer, String> {
        match Line::read(line)? {
            Line::Url(line) => line.offer(|url| KeyHasher::new([1; 16]).key(url)),
            Line::Seen(_) | Line::ScopeSeed(_) => Err("no URL".to_owned()),
        }
    }

    #[test]
    fn a_line_is_an_offer_or_says_what_is_wrong_with_it() {
        let alone = offer(r#"{"url":"https://a.test/"}"#).unwrap();
        assert_eq!((alone.seed, alone.depth, alone.priority), (true, 0, 0), "alone it is a seed");
        let link = offer(r#"{"url":"https://a.test/x","depth":3,"via":"https://a.test/","attempts":2}"#).unwrap();
        assert_eq!((link.seed, link.depth, link.priority, link.attempts), (false, 3, 1, 2));
        assert_eq!(link.via.unwrap().as_str(), "https://a.test/");
        let sitemap =
            offer(r#"{"url":"https://a.test/s.xml","depth":0,"seed":false,"priority":0,"sequence":7}"#).unwrap();
        assert_eq!((sitemap.seed, sitemap.depth, sitemap.priority), (false, 0, 0));
        let table = [
            ("", "no JSON"),
            ("[]", "no JSON object"),
            ("{}", "missing field `url`"),
            (r#"{"url":"ftp://a.test/"}"#, "url: \"ftp://a.test/\""),
            (r#"{"url":"https://a.test/","via":"x"}"#, "via: \"x\""),
            (r#"{"url":"https://a.test/","depth":-1}"#, "invalid value"),
            (r#"{"url":"https://a.test/","hops":256}"#, "invalid value"),
            (r#"{"url":"https://a.test/","depht":1}"#, "unknown field `depht`"),
            (r#"{"scope_seed":"a.test"}"#, "scope_seed: \"a.test\""),
            (r#"{"seen":["12"]}"#, "32 hexadecimal digits"),
            (r#"{"seen":"x"}"#, "32 hexadecimal digits"),
        ];
        for (line, says) in table {
            let error = offer(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn a_key_travels_whole() {
        for key in [[0; 16], [0xab; 16], std::array::from_fn(|i| i as u8)] {
            assert_eq!(unhex(&hex(&key)), Some(key));
        }
        assert_eq!(unhex("+1234567890123456789012345678901"), None);
    }
}
