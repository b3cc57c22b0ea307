use comity_policy::Digest;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chain::commitment;

/// What stands in the tombstone of a line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note<'a> {
    /// `urn:uuid:…` of the erasure.
    #[serde(borrow)]
    pub(crate) erasure: &'a str,
    #[serde(borrow, default)]
    salt: Option<&'a str>,
    #[serde(borrow, default)]
    commitment: Option<&'a str>,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
}

impl<'a> Note<'a> {
    /// # Errors
    /// When the text is no note of ours.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let note: Self = serde_json::from_str(text).map_err(|e| format!("its note is not of an erasure: {e}"))?;
        match (note.salt, note.commitment, note.body) {
            (None, None, None) | (Some(_), Some(_), Some(_)) => Ok(note),
            _ => Err("its note holds a part of a record".to_owned()),
        }
    }

    /// The record that stands here, and the commitment to it; `None` where the record went as a whole.
    ///
    /// # Errors
    /// When it is not what it commits to.
    pub(crate) fn amended(&self) -> Result<Option<(&'a str, Digest)>, String> {
        let (Some(salt), Some(stated), Some(body)) = (self.salt, self.commitment, self.body) else { return Ok(None) };
        let salt = data_encoding::HEXLOWER.decode(salt.as_bytes()).map_err(|e| format!("salt of its note: {e}"))?;
        let stated: Digest = stated.parse().map_err(|e| format!("commitment of its note: {e}"))?;
        if commitment(&salt, body.get().as_bytes()) == stated {
            Ok(Some((body.get(), stated)))
        } else {
            Err("the record in its note is not what the note commits to".to_owned())
        }
    }
}
