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

/// Random bytes of an id.
pub(crate) const ID_BYTES: usize = 16;

/// An id of its own draw.
pub(crate) fn record_id(entropy: &mut dyn Entropy) -> io::Result<String> {
    let mut bytes = [0_u8; ID_BYTES];
    entropy.fill(&mut bytes)?;
    Ok(record_id_of(bytes))
}

/// `<urn:uuid:…>` of a version 4 UUID (RFC 9562 §5.4), with its angle brackets: the form of `WARC-Record-ID`.
pub(crate) fn record_id_of(random: [u8; ID_BYTES]) -> String {
    const BEGIN: &str = "<urn:uuid:";
    let mut id = String::with_capacity(BEGIN.len() + 36 + 1);
    id.push_str(BEGIN);
    push_uuid_v4(random, &mut id);
    id.push('>');
    id
}

/// The last part of file names, where the operator gives none.
pub(crate) fn random_tag(entropy: &mut dyn Entropy) -> io::Result<String> {
    let mut bytes = [0_u8; 3];
    entropy.fill(&mut bytes)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

fn push_uuid_v4(random: [u8; ID_BYTES], text: &mut String) {
    let bits = u128::from_be_bytes(random);
    let bits = bits & !(0xf << 76) | (0x4 << 76);
    let bytes = (bits & !(0x3 << 62) | (0x2 << 62)).to_be_bytes();
    for (from, to) in [(0, 4), (4, 6), (6, 8), (8, 10), (10, 16)] {
        if from > 0 {
            text.push('-');
        }
        data_encoding::HEXLOWER.encode_append(bytes.get(from..to).unwrap_or_default(), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_uuids() {
        assert_eq!(record_id_of([0; 16]), "<urn:uuid:00000000-0000-4000-8000-000000000000>");
        assert_eq!(record_id_of([0xff; 16]), "<urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff>");
        let counted =
            record_id_of([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x98, 0x76, 0x54, 0x32, 0x10, 0, 1, 2]);
        assert_eq!(counted, "<urn:uuid:01234567-89ab-4def-9876-543210000102>");
        let (a, b) = (record_id(&mut OsEntropy).unwrap(), record_id(&mut OsEntropy).unwrap());
        assert_ne!(a, b);
        assert_eq!(a.len(), "<urn:uuid:00000000-0000-4000-8000-000000000000>".len());
    }
}
