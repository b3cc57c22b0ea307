use std::fmt;

use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::rule::{Rule, Value};
use crate::DiagnosticCode;

/// `/.well-known/tdmrep.json` of one origin in compiled form: parsed once, asked for every resource.
///
/// Rules are asked in the order of the file and the first match wins, whatever its length (TDMRep, 10 May 2024: "the most
/// specific match is the first in sequence"); a rule without `location` or `tdm-reservation` is skipped. What is no JSON says
/// nothing at all.
///
/// ```
/// use comity_signals::{Reservation, SignalOptions, TdmReading, Tdmrep};
/// let body = br#"[{"location":"/open/","tdm-reservation":0},{"location":"/","tdm-reservation":1}]"#;
/// let file = Tdmrep::parse(body, "https://example.com");
/// let known = |path: &[u8]| TdmReading::of_file(&file, path, SignalOptions::default()).effective();
/// assert_eq!(known(b"/open/a"), Some(Reservation::NotReserved));
/// assert_eq!(known(b"/closed"), Some(Reservation::Reserved));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tdmrep {
    pub(super) rules: Box<[Rule]>,
    /// What is odd about the file as a whole.
    pub(super) oddity: Option<DiagnosticCode>,
}

impl Tdmrep {
    /// Bytes that are read of a file (our choice: real ones have a few hundred). Of a longer one its reservations are kept as
    /// far as they stand before the limit, and its permissions are not: nobody has seen whether it is JSON.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Rules that are kept of a file (our choice). Those beyond are not read, and said to be missing.
    pub const MAX_RULES: usize = 4096;

    /// Reads a body that was answered with 200. `origin` is the origin it was asked of, as in `https://example.com`: a
    /// location that is a full URL counts only there.
    ///
    /// Never fails: what cannot be read is silent, and [`TdmReading`](crate::TdmReading) says why. Cost: linear in the first
    /// [`Self::MAX_BYTES`] bytes; hand in one byte more than that of a longer file, so that it is known to be longer.
    #[must_use]
    pub fn parse(body: &[u8], origin: &str) -> Self {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let read = body.get(..Self::MAX_BYTES).unwrap_or(body);
        let cut = read.len() < body.len();
        match read.trim_ascii_start().first() {
            Some(b'[') => Self::of_array(read, origin, cut),
            Some(b'{') => Self::of_object(read, origin),
            _ => Self::unparsable(),
        }
    }

    /// Whether what it says of `path` may be another thing with another query.
    #[must_use]
    pub fn hangs_on_query(&self, path: &[u8]) -> bool {
        let first = self.rules.iter().map(|rule| rule.pattern.with_any_query(path)).find(|found| *found != Some(false));
        first == Some(None)
    }

    /// True when no rule was read: the file says nothing of any resource.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.rules.is_empty()
    }

    /// How many rules are held.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// What is odd about the file as a whole: no JSON, no array, or more of it than is read.
    #[must_use]
    pub const fn oddity(&self) -> Option<DiagnosticCode> {
        self.oddity
    }

    /// Bytes of memory that the rules take, for a cache that is bounded in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.rules.iter().map(Rule::heap_bytes).sum()
    }

    fn of_array(text: &[u8], origin: &str, cut: bool) -> Self {
        let mut array = Array { origin, rules: Vec::new(), next: 0, omitted: false };
        let mut json = serde_json::Deserializer::from_slice(text);
        let read = json.deserialize_seq(&mut array).and_then(|()| json.end());
        let Array { mut rules, omitted, .. } = array;
        match read {
            Ok(()) => {}
            Err(error) if cut && error.is_eof() => {}
            Err(_) => return Self::unparsable(),
        }
        if cut {
            // Also where the array has ended: what stands behind the limit may be anything.
            for rule in rules.iter_mut().filter(|rule| rule.value == Value::NotReserved) {
                rule.value = Value::Unproven;
            }
        }
        let oddity = (cut || omitted).then_some(DiagnosticCode::TdmTruncated);
        Self { rules: rules.into_boxed_slice(), oddity }
    }

    /// A bare object is no file of this format; it counts when it reserves (our choice: leniency may only deny).
    fn of_object(text: &[u8], origin: &str) -> Self {
        let Ok(raw) = serde_json::from_slice::<&RawValue>(text) else { return Self::unparsable() };
        let rule = Rule::read(0, raw.get(), origin);
        let reserves = |rule: &Rule| matches!(rule.value, Value::Reserved | Value::Lenient);
        Self { rules: rule.into_iter().filter(reserves).collect(), oddity: Some(DiagnosticCode::TdmNotArray) }
    }

    fn unparsable() -> Self {
        Self { rules: Box::default(), oddity: Some(DiagnosticCode::TdmUnparsable) }
    }
}

/// The rules as they come by. An element is looked at on its own, so one that is no rule harms no other.
struct Array<'a> {
    origin: &'a str,
    rules: Vec<Rule>,
    next: u32,
    omitted: bool,
}

impl<'de> Visitor<'de> for &mut Array<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of rules")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(raw) = elements.next_element::<&RawValue>()? {
            let index = self.next;
            self.next = self.next.saturating_add(1);
            if self.rules.len() < Tdmrep::MAX_RULES {
                self.rules.extend(Rule::read(index, raw.get(), self.origin));
            } else {
                self.omitted = true;
            }
        }
        Ok(())
    }
}
