//! Whether a journal may be carried out: it is read from a directory that others may have written to.

use std::path::{Component, Path};

use comity_policy::Digest;
use data_encoding::BASE64URL_NOPAD;
use ring::signature::{ED25519, UnparsedPublicKey};

use super::journal::{Becomes, Journal, PairPlan};
use crate::digests::sha256;
use crate::names::RECORDS_END;
use crate::{CheckpointSigner, WarcFormat};

/// What a signature covers begins with this line: no signature of another kind fits (our choice).
const SIGNED_AS: &str = "comity-erasing/1\n";

/// Signs it, where there is a key.
pub(super) fn sign(journal: &mut Journal, signer: Option<&dyn CheckpointSigner>) {
    (journal.key, journal.signature) = (signer.map(CheckpointSigner::public), None);
    let text = signed_text(journal);
    journal.signature = signer.map(|signer| BASE64URL_NOPAD.encode(&signer.sign(text.as_bytes())));
}

/// What is wrong with it: it is not of the key, or it names what no erasure of ours names. Without a key whoever can write to
/// the directory is believed, within that.
pub(super) fn check(journal: &Journal, signer: Option<&dyn CheckpointSigner>) -> Result<(), String> {
    if let Some(signer) = signer {
        let (key, decoded) = (signer.public(), |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).ok());
        let signature = journal.signature.as_deref().filter(|_| journal.key.as_deref() == Some(&*key));
        let fits = decoded(&key).zip(signature.and_then(decoded)).is_some_and(|(key, signature)| {
            UnparsedPublicKey::new(&ED25519, key).verify(signed_text(journal).as_bytes(), &signature).is_ok()
        });
        if !fits {
            return Err("it is not signed by the key of [archive] signing_key: if you began it with another key, or \
                        with none, end it with that; else remove it"
                .to_owned());
        }
    }
    names(journal)
}

/// Everything of it that becomes a part of a path, or of what is written.
fn names(journal: &Journal) -> Result<(), String> {
    let evidence = &journal.evidence;
    let digests = [&evidence.digests, &evidence.copies, &evidence.named, &journal.configs].into_iter().flatten();
    for text in digests {
        digest(text)?;
    }
    id(&journal.id)?;
    journal.pairs.iter().try_for_each(pair)
}

fn pair(pair: &PairPlan) -> Result<(), String> {
    file(&pair.records, &[RECORDS_END])?;
    if let Some(warc) = &pair.warc {
        file(warc, &[WarcFormat::Gzip.ending(), WarcFormat::Zstd.ending()])?;
    }
    for amended in pair.lines.iter().filter_map(|line| line.amended.as_ref()) {
        digest(&amended.commitment)?;
    }
    for span in &pair.spans {
        id(&span.record)?;
        if let Becomes::Event(commitment) | Becomes::Metadata(commitment) = &span.becomes {
            digest(commitment)?;
        }
        if !span.date.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ".contains(&byte)) {
            return Err(format!("{:?} is no date", span.date));
        }
    }
    Ok(())
}

fn digest(text: &str) -> Result<(), String> {
    // In its one form: a file is named by it.
    let is_one = text.parse::<Digest>().is_ok_and(|digest| digest.to_string() == text);
    if is_one { Ok(()) } else { Err(format!("{text:?} is no digest")) }
}

fn id(text: &str) -> Result<(), String> {
    let fits = |rest: &str| rest.len() == 36 && rest.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    let is_id = text.strip_prefix("urn:uuid:").is_some_and(fits);
    if is_id { Ok(()) } else { Err(format!("{text:?} is no id of a record")) }
}

/// A file of the folder itself.
fn file(name: &str, endings: &[&str]) -> Result<(), String> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    if is_plain && !name.contains(['/', '\\']) && endings.iter().any(|ending| name.ends_with(ending)) {
        return Ok(());
    }
    Err(format!("{name:?} is no file of a crawl"))
}

fn signed_text(journal: &Journal) -> String {
    // Texts and numbers only: it cannot fail. The signature is the last member, and stands for itself only.
    let mut text = serde_json::to_string(journal).unwrap_or_default();
    if let Some(signature) = &journal.signature {
        let end = format!(",\"signature\":\"{signature}\"}}");
        let kept = text.strip_suffix(&end).map(str::len);
        text.truncate(kept.unwrap_or_default());
        text.push('}');
    }
    format!("{SIGNED_AS}{}", sha256(text.as_bytes()))
}
