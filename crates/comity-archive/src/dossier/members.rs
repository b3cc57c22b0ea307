use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use comity_url::Origin;

use super::bundle::Bundle;
use super::lines::{Event, Lines};
use crate::append_file::OPEN_SUFFIX;
use crate::digests::{sha1_label, sha256};
use crate::warc::coder::Coder;
use crate::warc::grammar::{RecordHeader, WarcType};
use crate::warc::info::{CONFORMS_TO, Fields, SOFTWARE};
use crate::{ArchiveError, WarcFormat, WarcHead, WarcStream};

/// What was copied.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) copied: u64,
    /// Members that lines name and that are not there any more: pruned with their file.
    pub(super) gone: u64,
}

/// Copies the origin's members, each byte for byte, into one file of each format behind a `warcinfo` of its own: those of the crawl may
/// name other origins, in the overrides that they list.
pub(super) fn copy(dir: &Path, origin: &Origin, found: &Lines, bundle: &mut Bundle) -> Result<Moved, ArchiveError> {
    let mut moved = Moved::default();
    for format in [WarcFormat::Gzip, WarcFormat::Zstd] {
        let files: Vec<_> = found.events.iter().filter(|(file, _)| file.ends_with(format.ending())).collect();
        if files.is_empty() {
            continue;
        }
        let name = format!("warc/dossier{}", format.ending());
        bundle.add_with(&name, |to, failed| {
            let info = info(origin, found, &name, format).map_err(failed)?;
            to.write_all(&info).map_err(failed)?;
            for (file, events) in files {
                if let Some(path) = place(dir, file) {
                    let mut source = Source::open(path)?;
                    for event in events {
                        moved.copied += source.copy(*event, to, failed)?;
                    }
                } else {
                    moved.gone += events.iter().map(|event| u64::from(event.parts)).sum::<u64>();
                }
            }
            Ok(())
        })?;
    }
    Ok(moved)
}

/// A WARC file by its final name; it may be open still. A name out of a record is a name, no path.
pub(crate) fn place(dir: &Path, file: &str) -> Option<PathBuf> {
    let plain = !file.contains(['/', '\\', '\0']) && !file.starts_with('.');
    let path = dir.join("warc").join(file);
    let open = dir.join("warc").join(format!("{file}{OPEN_SUFFIX}"));
    [path, open].into_iter().find(|path| plain && path.is_file())
}

/// A WARC file that members are copied from.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    file: Option<BufReader<File>>,
}

impl Source {
    pub(crate) fn open(path: PathBuf) -> Result<Self, ArchiveError> {
        let file = File::open(&path).map_err(|e| ArchiveError::io(&path, e))?;
        Ok(Self { path, file: Some(BufReader::with_capacity(64 * 1024, file)) })
    }

    /// Copies the members of an event but those that are withheld; gives their number.
    fn copy(
        &mut self,
        event: Event,
        to: &mut dyn Write,
        failed: &dyn Fn(io::Error) -> ArchiveError,
    ) -> Result<u64, ArchiveError> {
        let mut copied = 0;
        for head in self.heads(event)? {
            let wanted = match head.kind() {
                "metadata" => event.metadata,
                "request" => true,
                _ => event.response,
            };
            if wanted {
                self.pass(&head, to, failed)?;
                copied += 1;
            }
        }
        Ok(copied)
    }

    /// The heads of an event's members: each is inflated whole, so its CRC holds.
    pub(crate) fn heads(&mut self, event: Event) -> Result<Vec<WarcHead>, ArchiveError> {
        let mut input = self.take()?;
        input.seek(SeekFrom::Start(event.offset)).map_err(|e| ArchiveError::io(&self.path, e))?;
        let mut stream = WarcStream::new(input, event.offset);
        let mut heads = Vec::new();
        for _ in 0..event.parts {
            let head = stream.next_record(|_, _| {}).unwrap_or_else(|| {
                let (offset, damage) = (stream.offset(), crate::Damage::Torn);
                Err(crate::WarcError { offset, damage })
            });
            heads.push(head.map_err(|e| self.broken(&e))?);
        }
        self.file = Some(stream.into_inner());
        Ok(heads)
    }

    pub(crate) fn pass(
        &mut self,
        head: &WarcHead,
        to: &mut dyn Write,
        failed: &dyn Fn(io::Error) -> ArchiveError,
    ) -> Result<(), ArchiveError> {
        let mut input = self.take()?;
        let read = |e| ArchiveError::io(&self.path, e);
        input.seek(SeekFrom::Start(head.offset)).map_err(read)?;
        let (mut piece, mut left) = (vec![0; 64 * 1024], head.length);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let room = piece.get_mut(..most).unwrap_or_default();
            let got = input.read(room).map_err(read)?;
            if got == 0 {
                return Err(read(io::ErrorKind::UnexpectedEof.into()));
            }
            to.write_all(room.get(..got).unwrap_or_default()).map_err(failed)?;
            left -= got as u64;
        }
        self.file = Some(input);
        Ok(())
    }

    fn take(&mut self) -> Result<BufReader<File>, ArchiveError> {
        match self.file.take() {
            Some(file) => Ok(file),
            None => Self::open(self.path.clone())?.take(),
        }
    }

    pub(crate) fn broken(&self, problem: &dyn std::fmt::Display) -> ArchiveError {
        ArchiveError::Chain { path: self.path.clone(), problem: format!("{problem}: `comity verify` tells more") }
    }
}

/// The `warcinfo` member that the file begins with. Made from the crawl alone, as everything else.
fn info(origin: &Origin, found: &Lines, name: &str, format: WarcFormat) -> io::Result<Vec<u8>> {
    let mut fields = Fields::default();
    fields.push("software", SOFTWARE);
    fields.push("format", "WARC File Format 1.1");
    fields.push("conformsTo", CONFORMS_TO);
    fields.push_some("isPartOf", found.crawl.as_deref());
    let origin = origin.as_str();
    fields.push("description", &format!("records about {origin}, each copied whole from the files of the crawl"));
    let link = found.head.map(|head| head.link.to_string()).unwrap_or_default();
    let date = found.first.as_deref().unwrap_or("1970-01-01T00:00:00.000Z");
    warcinfo_member(&fields, &format!("{origin}\n{link}\n{name}"), date, name, format)
}

/// A `warcinfo` member for a file of copied members: its id is made of `seed`.
pub(crate) fn warcinfo_member(
    fields: &Fields,
    seed: &str,
    date: &str,
    name: &str,
    format: WarcFormat,
) -> io::Result<Vec<u8>> {
    let id = uuid(&sha256(seed.as_bytes()).to_string());
    let mut header = RecordHeader::new(WarcType::Warcinfo, &id, date);
    header.push_some("WARC-Filename", name.rsplit('/').next());
    header.push("WARC-Block-Digest", &sha1_label(fields.text.as_bytes()));
    let header = header.finish(WarcType::Warcinfo, fields.text.len() as u64);
    let whole = [header.as_bytes(), fields.text.as_bytes(), b"\r\n\r\n"].concat();
    let (mut coder, mut out) = (Coder::new(format, 6)?, Vec::new());
    coder.begin(whole.len() as u64, &mut out)?;
    coder.write(&whole, &mut out);
    coder.finish(&mut out)?;
    Ok(out)
}

/// A version 8 UUID (RFC 9562 §5.8) of the first bits of a digest.
fn uuid(hex: &str) -> String {
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("<urn:uuid:{}-{}-8{}-a{}-{}>", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
