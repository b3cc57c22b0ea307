//! What exports read and write: the records of a chain that holds, and their WARC members, copied whole.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::dossier::Seals;
use crate::dossier::lines::{Event, Followed, changed};
use crate::dossier::members::{Source, place, warcinfo_member};
use crate::erase::journal::JOURNAL;
use crate::warc::info::{CONFORMS_TO, Fields, SOFTWARE};
use crate::{ArchiveError, ChainHead, Line, Record, WarcFormat, WarcPlaces, read_records};

/// A chain that held from its first line to its last, against every checkpoint and `D/chain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Lines read.
    pub lines: u64,
    /// Of these, tombstones of erased records.
    pub erased: u64,
    /// The last line.
    pub head: Option<ChainHead>,
    /// Checkpoints that it was held against.
    pub checkpoints: u64,
}

/// Reads the records of the crawl in `dir` and hands each to `each`, in the order of the chain; of an erased line there is none.
///
/// Costs one pass over the records. Memory: a frame, and the checkpoints.
///
/// # Errors
/// When the chain or a checkpoint does not hold, when an erasure was not done to its end, when something cannot be read, and
/// what `each` gives. What `each` was handed before that counts for nothing.
pub fn read_proven(
    dir: &Path,
    mut each: impl FnMut(&Line, Option<&Record>) -> Result<(), ArchiveError>,
) -> Result<Proven, ArchiveError> {
    let (folder, journal) = (dir.join("records"), dir.join(JOURNAL));
    if journal.exists() {
        let problem = "an erasure was not done to its end: `comity erase DIR --resume` does the rest".to_owned();
        return Err(ArchiveError::Chain { path: journal, problem });
    }
    // Read before the records, which may grow.
    let seals = Seals::read(dir)?;
    let mut chain = Followed::new(&folder, &seals);
    for line in read_records(dir).map_err(|e| changed(&folder, e))? {
        let line = line.map_err(|e| changed(&folder, e))?;
        chain.step(&line)?;
        each(&line, line.record().map_err(|e| changed(&folder, e))?.as_ref())?;
    }
    chain.end()?;
    let report = chain.chain.report();
    let checkpoints = seals.checkpoints.len() as u64;
    Ok(Proven { lines: report.lines, erased: report.erased, head: report.head, checkpoints })
}

/// What the `warcinfo` of a copied file says.
#[derive(Clone, Debug)]
pub struct WarcCopyFacts {
    /// Name of the crawl.
    pub crawl: Option<String>,
    /// For people: what was copied, and why.
    pub description: String,
    /// When the first exchange began, RFC 3339.
    pub date: String,
    /// What makes the ids of the `warcinfo` records: the same gives the same bytes.
    pub seed: String,
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcCopied {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// Members copied, `warcinfo` records not counted.
    pub members: u64,
}

/// Copies members of a crawl's WARC files, each byte for byte, into a folder: a file for each file that they come from, behind a
/// `warcinfo` of its own. Memory does not grow with what is copied.
#[derive(Debug)]
pub struct WarcCopy {
    dir: PathBuf,
    folder: PathBuf,
    facts: WarcCopyFacts,
    open: Option<Open>,
    copied: WarcCopied,
}

/// The file that is written, and the one that is read.
#[derive(Debug)]
struct Open {
    name: String,
    source: Source,
    path: PathBuf,
    to: BufWriter<File>,
}

impl WarcCopy {
    /// Copies from the crawl in `dir` into `folder`, which exists.
    #[must_use]
    pub fn new(dir: &Path, folder: &Path, facts: WarcCopyFacts) -> Self {
        Self { dir: dir.to_owned(), folder: folder.to_owned(), facts, open: None, copied: WarcCopied::default() }
    }

    /// True when the WARC file of a record is there: it may have been pruned.
    #[must_use]
    pub fn is_there(dir: &Path, places: &WarcPlaces) -> bool {
        place(dir, &places.file).is_some()
    }

    /// Copies the members of one exchange. Cheap where exchanges come in the order of the records.
    ///
    /// # Errors
    /// When the members are not there as the record names them, cannot be read, or cannot be written.
    pub fn add(&mut self, places: &WarcPlaces) -> Result<(), ArchiveError> {
        if self.open.as_ref().is_none_or(|open| open.name != places.file) {
            self.close()?;
            self.open = Some(self.begin(&places.file)?);
        }
        let Some(Open { source, path, to, .. }) = &mut self.open else { return Ok(()) };
        let heads = source.heads(Event::whole(places))?;
        if let Some(named) = &places.response
            && !heads.iter().any(|head| head.id() == named.id && matches!(head.kind(), "response" | "revisit"))
        {
            return Err(source.broken(&format!("the response {} is not at byte {}", named.id, named.offset)));
        }
        for head in &heads {
            source.pass(head, to, &|e| ArchiveError::io(path, e))?;
            self.copied.members += 1;
        }
        Ok(())
    }

    /// Makes the files safe.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn finish(mut self) -> Result<WarcCopied, ArchiveError> {
        self.close()?;
        Ok(self.copied)
    }

    fn begin(&mut self, name: &str) -> Result<Open, ArchiveError> {
        let from = place(&self.dir, name)
            .ok_or_else(|| ArchiveError::export(&self.dir.join("warc").join(name), "it is not there any more"))?;
        let format = if name.ends_with(WarcFormat::Zstd.ending()) { WarcFormat::Zstd } else { WarcFormat::Gzip };
        let path = self.folder.join(format!("export-{:05}{}", self.copied.files.len(), format.ending()));
        let failed = |e| ArchiveError::io(&path, e);
        let mut to = BufWriter::with_capacity(64 * 1024, File::create_new(&path).map_err(failed)?);
        to.write_all(&self.info(&path, format).map_err(failed)?).map_err(failed)?;
        self.copied.files.push(path.clone());
        Ok(Open { name: name.to_owned(), source: Source::open(from)?, path, to })
    }

    fn info(&self, path: &Path, format: WarcFormat) -> std::io::Result<Vec<u8>> {
        let WarcCopyFacts { crawl, description, date, seed } = &self.facts;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut fields = Fields::default();
        fields.push("software", SOFTWARE);
        fields.push("format", "WARC File Format 1.1");
        fields.push("conformsTo", CONFORMS_TO);
        fields.push_some("isPartOf", crawl.as_deref());
        fields.push("description", description);
        warcinfo_member(&fields, &format!("{seed}\n{name}"), date, &name, format)
    }

    fn close(&mut self) -> Result<(), ArchiveError> {
        let Some(Open { path, mut to, .. }) = self.open.take() else { return Ok(()) };
        to.flush().and_then(|()| to.get_ref().sync_all()).map_err(|e| ArchiveError::io(&path, e))
    }
}
