use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A span of time as configuration files and flags write it: `500ms`, `1.5s`, `15m`, `2h`, `30d`; a bare number is
/// refused, because nobody can tell seconds from milliseconds later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A size as configuration files and flags write it: `1GB`, `10MiB`, `512KB`, `300B`. Decimal and binary units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const SPANS: [(&str, u64); 5] =
    [("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000), ("d", 86_400_000_000)];

const SIZES: [(&str, u64); 7] = [
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        quantity(text, &SPANS)
            .map(|micros| Self(Duration::from_micros(micros)))
            .ok_or_else(|| format!("{text:?} is no span of time, write for instance 500ms, 1s, 15m, 2h or 30d"))
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        quantity(text, &SIZES)
            .map(Self)
            .ok_or_else(|| format!("{text:?} is no size, write for instance 300B, 512KB, 10MiB or 1GB"))
    }
}

/// Digits, an optional fraction, a unit of the table; `None` when it is not that, or does not fit.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().ok()?;
    if fraction.len() > 6 || number.ends_with('.') {
        return None;
    }
    let scale = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let part: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    whole.checked_mul(factor)?.checked_add(part.checked_mul(factor)? / scale)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX);
        let (name, factor) = SPANS
            .iter()
            .rev()
            .find(|(_, factor)| micros >= *factor && micros.is_multiple_of(*factor))
            .unwrap_or(&SPANS[0]);
        write!(f, "{}{name}", micros / factor)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) = SIZES
            .iter()
            .rev()
            .find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor))
            .unwrap_or(&SIZES[0]);
        write!(f, "{}{name}", self.0 / factor)
    }
}

macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

as_text!(Span, ByteSize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_read_and_written() {
        for text in ["500ms", "1s", "15m", "2h", "30d", "1500ms"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("1.5s".parse::<Span>().unwrap().0, Duration::from_millis(1500));
        assert_eq!("0s".parse::<Span>().unwrap().0, Duration::ZERO);
        for text in ["", "1", "s", "-1s", "1 week", "1.s", "999999999999999d", "1e3s", "inf"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!("1GB".parse::<ByteSize>().unwrap().0, 1_000_000_000);
        assert_eq!("10MiB".parse::<ByteSize>().unwrap().0, 10 << 20);
        assert!("10".parse::<ByteSize>().is_err());
    }
}
