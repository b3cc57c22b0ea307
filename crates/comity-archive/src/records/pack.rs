use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::writer::frame_compressor;
use crate::disk::{Backing, Disk, sync_folder};

/// Inflated bytes of a packed frame, about (our choice).
const PACKED: u64 = 1 << 20;

/// Writes a closed records file anew in large frames: while it is written each flush needs a frame of its own, which takes
/// twice the room. As a whole or not at all; the lines and their order are the same. Only for a file whose sum nobody has
/// taken yet.
///
/// # Errors
/// When something cannot be read or written: the file is as it was.
pub(crate) fn pack(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    Packed::make(disk, path, path)?.take_place()
}

/// A records file written anew, beside it: removed again unless it takes its place.
#[derive(Debug)]
pub(crate) struct Packed {
    tmp: PathBuf,
    path: PathBuf,
    took_place: bool,
}

impl Packed {
    /// Of the lines of `from`, to which nobody writes any more, for the place of `path`. Safe against a power cut, but for its name.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub(crate) fn make(disk: &dyn Disk, from: &Path, path: &Path) -> io::Result<Self> {
        let mut tmp = path.as_os_str().to_owned();
        tmp.push(".tmp");
        let mut to = disk.create(Path::new(&tmp))?;
        let packed = Self { tmp: tmp.into(), path: path.to_owned(), took_place: false };
        pack_to(to.as_mut(), from)?;
        Ok(packed)
    }

    /// # Errors
    /// When it cannot be renamed: the file is as it was.
    pub(crate) fn take_place(mut self) -> io::Result<()> {
        std::fs::rename(&self.tmp, &self.path)?;
        self.took_place = true;
        sync_folder(self.path.parent().unwrap_or(&self.path))
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        if !self.took_place {
            drop(std::fs::remove_file(&self.tmp));
        }
    }
}

fn pack_to(to: &mut dyn Backing, path: &Path) -> io::Result<()> {
    // One decoder for all frames: they are many and small.
    let mut lines = zstd::stream::read::Decoder::new(File::open(path)?)?;
    let (mut zstd, mut text) = (frame_compressor()?, Vec::new());
    loop {
        let read = lines.by_ref().take(PACKED).read_to_end(&mut text)?;
        // A frame holds whole lines; the begin of the next waits for its end.
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if read == 0 && whole < text.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the last line has no end"));
        }
        if whole > 0 {
            let rest = text.split_off(whole);
            to.write_all(&zstd.compress(&text)?)?;
            text = rest;
        }
        if read == 0 {
            to.flush()?;
            return to.sync();
        }
    }
}
