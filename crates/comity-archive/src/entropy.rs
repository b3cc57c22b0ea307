use std::fmt;
use std::io;

/// Where secret random bytes come from: salts of records and the ids in WARC files. Passed in (invariant 13).
///
/// Salts hide erased content from guessing, so a seeded generator is for tests and simulation only.
pub trait Entropy: Send + fmt::Debug {
    /// Fills `buffer` with random bytes.
    ///
    /// # Errors
    /// When the source has none: nothing is stored then.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()>;
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        getrandom::fill(buffer).map_err(|error| io::Error::other(format!("no random bytes: {error}")))
    }
}

/// `<urn:uuid:…>` of a version 4 UUID (RFC 9562 §5.4), with its angle brackets: the form of `WARC-Record-ID`.
pub(crate) fn record_id(entropy: &mut dyn Entropy) -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    entropy.fill(&mut bytes)?;
    Ok(format!("<urn:uuid:{}>", uuid_v4(bytes)))
}

/// The last part of file names, where the operator gives none.
pub(crate) fn random_tag(entropy: &mut dyn Entropy) -> io::Result<String> {
    let mut bytes = [0_u8; 3];
    entropy.fill(&mut bytes)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

fn uuid_v4(random: [u8; 16]) -> String {
    let bits = u128::from_be_bytes(random);
    let bits = bits & !(0xf << 76) | (0x4 << 76);
    let bits = bits & !(0x3 << 62) | (0x2 << 62);
    let hex = data_encoding::HEXLOWER.encode(&bits.to_be_bytes());
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_uuids() {
        assert_eq!(uuid_v4([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid_v4([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let (a, b) = (record_id(&mut OsEntropy).unwrap(), record_id(&mut OsEntropy).unwrap());
        assert_ne!(a, b);
        assert_eq!(a.len(), "<urn:uuid:00000000-0000-4000-8000-000000000000>".len());
    }
}
