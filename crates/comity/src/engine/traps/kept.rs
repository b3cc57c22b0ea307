//! What the guards have counted, in the crawl's directory: a crawl that goes on counts on.
//!
//! `state/traps` is a head of one row's length, which names the form and the way of hashing, and then a row for each thing that was
//! counted, in that order. Rows are handed to the system as pages are settled, so that a kill loses at most those of the settlements
//! under way. Nothing waits for the disk: a power cut may take what the system had not written. A file of another form or
//! another way of hashing counts nothing, and is begun anew.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read as _, Result as IoResult, Write as _};
use std::path::{Path, PathBuf};

use comity_url::{GROWTH_ROW, GrowthRow};

use crate::Error;

const FORM: &[u8; 16] = b"comity traps 1\n\0";
/// Rows may be written so long before the file is written anew: more than twice what it was then.
const ROOM: u64 = 4 << 20;

/// The file, and what is to be written to it.
#[derive(Debug)]
pub(super) struct Kept {
    path: PathBuf,
    /// `None` before the first row.
    file: Option<File>,
    pending: Vec<GrowthRow>,
    length: u64,
    /// Above it the file is written anew.
    most: u64,
    /// A write failed: the rest of the crawl is not kept.
    has_failed: bool,
}

fn place(dir: &Path) -> PathBuf {
    dir.join("state").join("traps")
}

fn head() -> [u8; GROWTH_ROW] {
    let mut head = [0; GROWTH_ROW];
    head[..16].copy_from_slice(FORM);
    head[16..24].copy_from_slice(&GrowthRow::hashing().to_le_bytes());
    head
}

impl Kept {
    /// Reads what an earlier process of the crawl in `dir` counted, row by row. What a kill cut off is left out.
    ///
    /// # Errors
    /// When it cannot be read or mended.
    pub(super) fn open(dir: &Path, counted: impl FnMut(&GrowthRow)) -> Result<Self, Error> {
        let path = place(dir);
        let taken = taken(&path, counted);
        let (file, length) = taken.map_err(|e| Error::directory(format!("{} cannot be used: {e}", path.display())))?;
        let most = length.saturating_mul(2).saturating_add(ROOM);
        Ok(Self { path, file, pending: Vec::new(), length, most, has_failed: false })
    }

    /// Takes a row in, for the next [`Kept::write`].
    pub(super) fn add(&mut self, row: GrowthRow) {
        match self.pending.last_mut() {
            _ if self.has_failed => {}
            Some(last) if let Some(both) = last.with(&row) => *last = both,
            _ => self.pending.push(row),
        }
    }

    /// Writes what was taken in. `all` is everything that is counted, for a file that has grown long.
    ///
    /// A failure is logged, and ends the keeping: what protects from traps ends no crawl.
    pub(super) fn write(&mut self, all: impl Iterator<Item = GrowthRow>) {
        if self.pending.is_empty() {
            return;
        }
        if let Err(error) = self.written(all) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "what the guards against traps count is not kept for a later start any more");
            self.has_failed = true;
            self.file = None;
        }
        self.pending.clear();
    }

    fn written(&mut self, all: impl Iterator<Item = GrowthRow>) -> IoResult<()> {
        let mut bytes = Vec::with_capacity((self.pending.len() + 1) * GROWTH_ROW);
        if self.file.is_none() {
            self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            bytes.extend(head());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().create(true).append(true).open(&self.path)?),
        };
        bytes.extend(self.pending.iter().flat_map(|row| row.to_bytes()));
        file.write_all(&bytes)?;
        self.length += bytes.len() as u64;
        if self.length > self.most { self.write_anew(all) } else { Ok(()) }
    }

    fn write_anew(&mut self, all: impl Iterator<Item = GrowthRow>) -> IoResult<()> {
        let new = self.path.with_extension("new");
        let mut file = BufWriter::new(File::create(&new)?);
        file.write_all(&head())?;
        let mut length = GROWTH_ROW as u64;
        for row in all {
            file.write_all(&row.to_bytes())?;
            length += GROWTH_ROW as u64;
        }
        // Else a power cut might leave the name with an empty file.
        file.into_inner().map_err(|error| error.into_error())?.sync_data()?;
        fs::rename(&new, &self.path)?;
        self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        (self.length, self.most) = (length, length.saturating_mul(2).saturating_add(ROOM));
        Ok(())
    }
}

/// Reads the file, and opens it behind its last whole row; gives its length.
fn taken(path: &Path, mut counted: impl FnMut(&GrowthRow)) -> IoResult<(Option<File>, u64)> {
    let mut from = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((None, 0)),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; GROWTH_ROW];
    if !has_next(&mut from, &mut bytes)? || bytes != head() {
        fs::remove_file(path)?;
        return Ok((None, 0));
    }
    let mut length = GROWTH_ROW as u64;
    while has_next(&mut from, &mut bytes)?
        && let Some(row) = GrowthRow::from_bytes(&bytes)
    {
        counted(&row);
        length += GROWTH_ROW as u64;
    }
    drop(from);
    let file = OpenOptions::new().append(true).open(path)?;
    file.set_len(length)?;
    Ok((Some(file), length))
}

/// Whether there was another whole row.
fn has_next(from: &mut BufReader<File>, row: &mut [u8; GROWTH_ROW]) -> IoResult<bool> {
    match from.read_exact(row) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes it away: the hashes in it name a site to whoever guesses it. The next start counts anew.
///
/// # Errors
/// When it cannot be removed.
#[cfg(any(test, feature = "disk"))]
pub(crate) fn forget(dir: &Path) -> Result<(), Error> {
    let path = place(dir);
    for path in [path.with_extension("new"), path] {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(Error::directory(format!("{} cannot be removed: {e}", path.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use comity_url::{CrawlUrl, GrowthLimits, PatternGrowth, Shape};

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn counted(growth: &mut PatternGrowth, kept: &mut Kept, text: &str) -> Outcome {
        let url = CrawlUrl::parse(text)?;
        kept.add(growth.count(url.origin(), Shape::of(&url).ok_or("no number in it")?));
        kept.write(growth.rows());
        Ok(())
    }

    fn read(dir: &Path) -> Result<(PatternGrowth, Kept), Error> {
        let mut growth = PatternGrowth::new(GrowthLimits::default());
        let kept = Kept::open(dir, |row| growth.restore(row))?;
        Ok((growth, kept))
    }

    fn rows(growth: &PatternGrowth) -> Vec<GrowthRow> {
        growth.rows().collect()
    }

    /// Wherever a kill or a fault of the disk cut it: the rows before count, and what is counted later is behind them.
    #[test]
    fn cut_anywhere_or_overwritten_it_counts_what_was_before() -> Outcome {
        let dir = tempfile::tempdir()?;
        let (mut growth, mut kept) = read(dir.path())?;
        assert!(!place(dir.path()).exists(), "a crawl that counted nothing has none");
        for n in 0..5 {
            counted(&mut growth, &mut kept, &format!("http://a.test/{}/1", ["p", "q"][n % 2]))?;
        }
        let whole = fs::read(place(dir.path()))?;
        assert_eq!(whole.len(), 6 * GROWTH_ROW);
        for at in 0..whole.len() {
            let mut overwritten = whole.clone();
            overwritten[at] ^= 0x40;
            for bytes in [&whole[..at], &overwritten] {
                fs::write(place(dir.path()), bytes)?;
                let before = (at / GROWTH_ROW).saturating_sub(1);
                let (mut growth, mut kept) = read(dir.path())?;
                let total = |growth: &PatternGrowth| rows(growth).len();
                assert_eq!(total(&growth), before.min(2), "{at}");
                counted(&mut growth, &mut kept, "http://b.test/1")?;
                assert_eq!(rows(&read(dir.path())?.0), rows(&growth), "{at}");
            }
        }
        Ok(())
    }

    #[test]
    fn written_anew_it_says_the_same_in_less() -> Outcome {
        let dir = tempfile::tempdir()?;
        let (mut growth, mut kept) = read(dir.path())?;
        kept.most = 150 * GROWTH_ROW as u64;
        // More shapes than are counted: some make room, with an error.
        for n in 0..200 {
            counted(&mut growth, &mut kept, &format!("http://a.test/{}/1", "x".repeat(n % 70 + 1)))?;
        }
        let length = fs::metadata(place(dir.path()))?.len();
        assert!(length < 150 * GROWTH_ROW as u64, "{length}");
        assert_eq!(length, kept.length);
        assert_eq!(rows(&read(dir.path())?.0), rows(&growth));
        forget(dir.path())?;
        assert_eq!(rows(&read(dir.path())?.0), []);
        Ok(())
    }
}
