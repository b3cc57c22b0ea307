use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::reader::MAX_FRAME_BYTES;
use super::writer::frame_compressor;
use crate::counting::Counting;
use crate::disk::{Backing, Disk, sync_folder};

/// Inflated bytes of a packed frame, at least, but for the last (our choice: larger frames gain nothing that can be measured).
const PACKED: usize = 1 << 20;

/// Writes a closed records file anew in large frames: while it is written each flush needs a frame of its own, which takes
/// twice the room. As a whole or not at all; the lines and their order are the same. Only for a file whose sum nobody has
/// taken yet.
///
/// # Errors
/// When something cannot be read or written: the file is as it was.
pub(crate) fn pack(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = PathBuf::from(tmp);
    let packed = pack_to(disk.create(&tmp)?.as_mut(), path).and_then(|()| std::fs::rename(&tmp, path));
    if packed.is_err() {
        drop(std::fs::remove_file(&tmp));
    }
    packed.and_then(|()| sync_folder(path.parent().unwrap_or(path)))
}

fn pack_to(to: &mut dyn Backing, path: &Path) -> io::Result<()> {
    let mut input = Counting::new(BufReader::with_capacity(64 * 1024, std::fs::File::open(path)?));
    let (mut zstd, mut text) = (frame_compressor()?, Vec::new());
    let mut write = |text: &mut Vec<u8>| {
        let frame = zstd.compress(text)?;
        text.clear();
        to.write_all(&frame)
    };
    while !input.at_end()? {
        let frame = zstd::stream::read::Decoder::with_buffer(&mut input)?.single_frame();
        frame.take(MAX_FRAME_BYTES).read_to_end(&mut text)?;
        if text.len() >= PACKED {
            write(&mut text)?;
        }
    }
    if !text.is_empty() {
        write(&mut text)?;
    }
    to.flush()?;
    to.sync()
}
