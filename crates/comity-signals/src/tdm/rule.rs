use comity_robots::{Dialect, Pattern};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::found::cut;
use crate::scope::path_on;

/// Bytes kept of a rule's text and of its policy.
const MAX_TEXT_BYTES: usize = 2048;

/// One rule that names a place and says something, however little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Its place in the array, from 0.
    pub(super) index: u32,
    pub(super) value: Value,
    /// `location` as it is compared.
    pub(super) pattern: Pattern,
    pub(super) location: Box<str>,
    pub(super) policy: Option<Box<str>>,
    /// As written, white space included.
    pub(super) raw: Box<str>,
}

/// What `tdm-reservation` of a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    NotReserved,
    /// Neither: the rule matches, and says nothing.
    Bad,
    /// `"1"` as a string.
    Lenient,
    Reserved,
    /// 0 of a file that is not read to its end: whether it is JSON at all is not known, so it permits nothing.
    Unproven,
}

/// A rule as its text has it. Of a repeated key that reads differently the stricter counts (our choice: JSON leaves it
/// open).
#[derive(Default)]
struct Members {
    location: Option<String>,
    value: Option<Value>,
    policy: Option<String>,
}

impl Rule {
    /// Reads an element of the array; `None` for one that lacks `location` or `tdm-reservation`, or whose location is not of
    /// this origin: it matches nothing.
    pub(super) fn read(index: u32, raw: &str, origin: &str) -> Option<Self> {
        let members = serde_json::Deserializer::from_str(raw).deserialize_map(MembersOf).ok()?;
        let (location, value) = (members.location?, members.value?);
        let pattern = Pattern::new(path_on(origin, &location)?.as_bytes(), Dialect::Standard);
        let policy = members.policy.filter(|policy| !policy.trim().is_empty());
        Some(Self {
            index,
            value,
            pattern,
            location: cut(&location, MAX_TEXT_BYTES).into(),
            policy: policy.map(|policy| cut(policy.trim(), MAX_TEXT_BYTES).into()),
            raw: cut(raw, MAX_TEXT_BYTES).into(),
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let policy = self.policy.as_ref().map_or(0, |policy| policy.len());
        size_of::<Self>() + self.pattern.as_bytes().len() + self.location.len() + self.raw.len() + policy
    }
}

impl Value {
    fn read(raw: &str) -> Self {
        if let Ok(text) = serde_json::from_str::<String>(raw) {
            return if text == "1" { Self::Lenient } else { Self::Bad };
        }
        match serde_json::from_str::<f64>(raw) {
            // Both are exact.
            Ok(1.0) => Self::Reserved,
            Ok(0.0) => Self::NotReserved,
            _ => Self::Bad,
        }
    }

    const fn strictness(self) -> u8 {
        match self {
            Self::NotReserved => 0,
            Self::Bad | Self::Unproven => 1,
            Self::Lenient => 2,
            Self::Reserved => 3,
        }
    }
}

struct MembersOf;

impl<'de> Visitor<'de> for MembersOf {
    type Value = Members;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a rule of tdmrep.json")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some((key, raw)) = map.next_entry::<String, &RawValue>()? {
            let text = || serde_json::from_str::<String>(raw.get()).ok();
            match key.as_str() {
                "location" => members.location = text(),
                "tdm-policy" => members.policy = text(),
                "tdm-reservation" => {
                    let found = Value::read(raw.get());
                    let stricter = members.value.filter(|known| known.strictness() > found.strictness());
                    members.value = Some(stricter.unwrap_or(found));
                }
                _ => {}
            }
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let rows = [
            ("1", Value::Reserved),
            ("1.0", Value::Reserved),
            ("1e0", Value::Reserved),
            ("0", Value::NotReserved),
            ("0.0", Value::NotReserved),
            ("-0", Value::NotReserved),
            ("\"1\"", Value::Lenient),
            ("\"0\"", Value::Bad),
            ("\" 1\"", Value::Bad),
            ("true", Value::Bad),
            ("false", Value::Bad),
            ("null", Value::Bad),
            ("2", Value::Bad),
            ("-1", Value::Bad),
            ("1.5", Value::Bad),
            ("1e999", Value::Bad),
            ("[1]", Value::Bad),
            ("{}", Value::Bad),
        ];
        for (raw, wanted) in rows {
            assert_eq!(Value::read(raw), wanted, "{raw}");
        }
    }

    #[test]
    fn of_a_repeated_key_the_stricter_counts() {
        for (a, b) in [("0", "1"), ("1", "0"), ("\"x\"", "1"), ("1", "null")] {
            let raw = format!("{{\"location\":\"/\",\"tdm-reservation\":{a},\"tdm-reservation\":{b}}}");
            assert_eq!(Rule::read(0, &raw, "https://a.test").unwrap().value, Value::Reserved, "{raw}");
        }
        let raw = "{\"location\":\"/\",\"tdm-reservation\":0,\"tdm-reservation\":2}";
        assert_eq!(Rule::read(0, raw, "https://a.test").unwrap().value, Value::Bad);
    }
}
