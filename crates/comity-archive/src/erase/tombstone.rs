use std::io;

use comity_policy::Digest;

use crate::WarcFormat;
use crate::digests::sha1_label;
use crate::warc::grammar::{RecordHeader, WarcType};
use crate::warc::info::Fields;
use crate::warc::padded::Padded;
use crate::warc::stream::WarcHead;

/// The field by which a record of a WARC file says that it stands for what was erased.
pub(crate) const ERASURE: &str = "comity-erasure";
/// A field whose value means nothing: some lengths need another text.
const FILLING: &str = "comity-filling";
/// Texts that are tried: gzip needs one of the first few, zstd one in three.
const TRIES: usize = 64;

/// What takes the place of one record, or of those of a whole event.
#[derive(Debug)]
pub(crate) struct Tombstone<'a> {
    /// `urn:uuid:…` of the erasure.
    pub(crate) erasure: &'a str,
    /// The id of the record whose place it takes; of an event, that of its first record.
    pub(crate) id: &'a str,
    /// `WARC-Date`.
    pub(crate) date: &'a str,
    /// The line that it belongs to, where that is erased, too.
    pub(crate) commitment: Option<Digest>,
}

impl Tombstone<'_> {
    /// The member, of exactly this length.
    pub(crate) fn member(&self, format: WarcFormat, length: u64) -> io::Result<Padded> {
        let mut fields = Fields::default();
        fields.push(ERASURE, self.erasure);
        fields.push("comity-erased", if self.commitment.is_some() { "record" } else { "payload" });
        fields.push_some("comity-record", self.commitment.map(|digest| format!("sha256:{digest}")).as_deref());
        let header = || RecordHeader::new(WarcType::Metadata, &format!("<{}>", self.id), self.date);
        fit(format, length, &fields.text, &header)?
            .ok_or_else(|| io::Error::other(format!("a tombstone does not fit into the {length} bytes of a record")))
    }
}

/// A metadata record without the lines that `names` finds, of the same length as before. What is left out first where that
/// does not fit is what the record line says, too.
pub(crate) fn amended(
    head: &WarcHead,
    block: &str,
    names: &dyn Fn(&str) -> bool,
    (erasure, format): (&str, WarcFormat),
) -> io::Result<Option<Padded>> {
    const SPARE: [&[&str]; 3] =
        [&[], &["comity-policy-digest"], &["comity-policy-digest", "comity-payload-sha256", "comity-agent-token"]];
    let header = || {
        let of = |name: &str| head.field(name).unwrap_or_default().to_owned();
        let mut header = RecordHeader::new(WarcType::Metadata, &of("WARC-Record-ID"), &of("WARC-Date"));
        header.push_some("WARC-Target-URI", head.field("WARC-Target-URI"));
        header.push_some("WARC-Concurrent-To", head.field("WARC-Concurrent-To"));
        header
    };
    for spare in SPARE {
        let is_spare = |line: &str| {
            line.split_once(':').is_some_and(|(name, _)| spare.contains(&name) || matches!(name, ERASURE | FILLING))
        };
        let mut text: String = block.split_inclusive("\r\n").filter(|line| !names(line) && !is_spare(line)).collect();
        text.push_str(&format!("{ERASURE}: {erasure}\r\n"));
        if let Some(padded) = fit(format, head.length, &text, &header)? {
            return Ok(Some(padded));
        }
    }
    Ok(None)
}

fn fit(format: WarcFormat, length: u64, block: &str, header: &dyn Fn() -> RecordHeader) -> io::Result<Option<Padded>> {
    for n in 0..TRIES {
        let mut fields = Fields { text: block.to_owned() };
        if n > 0 {
            fields.push(FILLING, &"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:"[..n]);
        }
        let mut header = header();
        header.push("WARC-Block-Digest", &sha1_label(fields.text.as_bytes()));
        let header = header.finish(WarcType::Metadata, fields.text.len() as u64);
        let text = [header.as_bytes(), fields.text.as_bytes(), b"\r\n\r\n"].concat();
        if let Some(padded) = Padded::new(format, &text, length)? {
            return Ok(Some(padded));
        }
    }
    Ok(None)
}
