use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder as MultiGzReader;

use super::decoded::{Decoded, codings, ways};
use super::named::{Needle, Relative};
use crate::ArchiveError;
use crate::warc::stream::{WarcHead, WarcStream};

/// Decoded bytes of one body that are searched (our choice).
const MOST: u64 = 256 << 20;

/// Finds responses whose bodies name what is to be erased: as they are, and decoded where they are coded by gzip, deflate, br or zstd.
#[derive(Debug)]
pub(super) struct Mentions {
    needle: Option<Needle>,
    relative: Option<Relative>,
}

impl Mentions {
    pub(super) const fn new(needle: Option<Needle>, relative: Option<Relative>) -> Self {
        Self { needle, relative }
    }

    /// Where they begin in this file. Reads it once; without a needle, not at all.
    pub(super) fn find(&mut self, warc: &Path) -> Result<Vec<u64>, ArchiveError> {
        let Some(needle) = &self.needle else { return Ok(Vec::new()) };
        let file = File::open(warc).map_err(|e| ArchiveError::io(warc, e))?;
        let mut stream = WarcStream::new(BufReader::with_capacity(256 * 1024, file), 0);
        let mut found = Vec::new();
        loop {
            let mut search = Search::new(needle, self.relative.as_ref());
            match stream.next_record(|head, piece| search.take(head, piece)) {
                None => return Ok(found),
                Some(Ok(head)) if search.finish() => found.push(head.offset),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    let problem = format!("byte {}: {}; nothing was changed", error.offset, error.damage);
                    return Err(ArchiveError::Chain { path: warc.to_owned(), problem });
                }
            }
        }
    }
}

/// Files below `dir` that name it, inflated; bodies are not decoded for that. What cannot be read may name it: it is listed,
/// with the reason.
///
/// # Errors
/// When `dir` itself cannot be read.
pub(super) fn files_that_name(dir: &Path, needle: &Needle) -> io::Result<Vec<String>> {
    std::fs::read_dir(dir)?;
    let (mut found, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    let shown = |path: &Path| path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
    let unread = |path: &Path, error: &io::Error| format!("{}, which cannot be read: {error}", shown(path));
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                found.push(unread(&folder, &error));
                continue;
            }
        };
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
                Ok((path, kind)) if kind.is_dir() => folders.push(path),
                Ok((path, kind)) if kind.is_file() => match names(&path, needle) {
                    Ok(true) => found.push(shown(&path)),
                    Ok(false) => {}
                    Err(error) => found.push(unread(&path, &error)),
                },
                Ok(_) => {}
                Err(error) => found.push(unread(&folder, &error)),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn names(path: &Path, needle: &Needle) -> io::Result<bool> {
    let (name, mut finder) = (path.to_string_lossy().into_owned(), Finder { most: u64::MAX, ..Finder::new(needle) });
    let file = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut from: Box<dyn Read> = if name.ends_with(".zst") {
        Box::new(zstd::stream::read::Decoder::with_buffer(file)?)
    } else if name.ends_with(".gz") {
        Box::new(MultiGzReader::new(file))
    } else {
        Box::new(file)
    };
    io::copy(&mut from, &mut finder)?;
    Ok(finder.finish())
}

/// The block of a response under way.
struct Search<'a> {
    /// Not looked up yet: it hangs on whose response it is.
    relative: Option<&'a Relative>,
    head: Vec<u8>,
    /// Of the head: a record may hold a field in another form, or not at all.
    fields: Finder<'a>,
    plain: Finder<'a>,
    /// Where it is coded: each way to read it that may still be the right one, and those that ended.
    decoded: Vec<(Decoded<Finder<'a>>, bool)>,
    in_body: bool,
}

impl<'a> Search<'a> {
    fn new(needle: &'a Needle, relative: Option<&'a Relative>) -> Self {
        let (fields, plain) = (Finder::new(needle), Finder::new(needle));
        Self { relative, head: Vec::new(), fields, plain, decoded: Vec::new(), in_body: false }
    }

    fn take(&mut self, head: &WarcHead, piece: &[u8]) {
        if head.kind() == "response" {
            if let Some(relative) = self.relative.take() {
                let on = head.field("WARC-Target-URI").and_then(|page| relative.on(page));
                (self.fields.relative, self.plain.relative) = (on, on);
            }
            self.block(piece);
        }
    }

    fn block(&mut self, piece: &[u8]) {
        if self.in_body {
            return self.body(piece);
        }
        self.head.extend_from_slice(piece);
        if let Some(at) = memchr::memmem::find(&self.head, b"\r\n\r\n") {
            let body = self.head.split_off(at + 4);
            self.in_body = true;
            drop(self.fields.write_all(&self.head));
            let finder = || Finder { relative: self.plain.relative, ..Finder::new(self.plain.needle) };
            let ways = ways(&codings(&self.head), finder);
            self.decoded = ways.into_iter().map(|way| (way, true)).collect();
            self.body(&body);
        }
    }

    fn body(&mut self, piece: &[u8]) {
        // A body that ends in the middle of its coding was read up to there; one that is not coded as it says is read as it is.
        for (decoded, goes_on) in &mut self.decoded {
            *goes_on = *goes_on && decoded.write_all(piece).is_ok();
        }
        drop(self.plain.write_all(piece));
    }

    fn finish(mut self) -> bool {
        let is_decoded = self.decoded.iter_mut().any(|(decoded, _)| decoded.end().finish());
        self.fields.finish() || self.plain.finish() || is_decoded
    }
}

/// Searches what is written to it, in pieces that overlap.
struct Finder<'a> {
    needle: &'a Needle,
    relative: Option<&'a Needle>,
    window: Vec<u8>,
    passed: u64,
    most: u64,
    /// The window begins where the text does.
    is_begin: bool,
    found: bool,
}

impl<'a> Finder<'a> {
    /// Bytes that are searched at once.
    const PIECE: usize = 64 * 1024;

    const fn new(needle: &'a Needle) -> Self {
        Self { needle, relative: None, window: Vec::new(), passed: 0, most: MOST, is_begin: true, found: false }
    }

    fn look(&mut self, is_end: bool) {
        let needles = || [self.needle].into_iter().chain(self.relative);
        let found = needles().any(|needle| needle.finds_in(&self.window, (self.is_begin, is_end)));
        let longest = needles().map(Needle::longest).max().unwrap_or_default();
        self.found |= found;
        let passed = self.window.len().saturating_sub(longest);
        self.window.drain(..passed);
        self.is_begin &= passed == 0;
    }

    fn finish(&mut self) -> bool {
        self.look(self.passed <= self.most);
        self.found
    }
}

impl Write for Finder<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.passed += bytes.len() as u64;
        if self.passed > self.most {
            return Err(io::Error::other("more than is searched"));
        }
        if !self.found {
            self.window.extend_from_slice(bytes);
            if self.window.len() >= Self::PIECE {
                self.look(false);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use comity_url::Origin;

    use super::super::Named;
    use super::*;

    fn needle() -> Needle {
        Named::Origin(Origin::parse("http://a.test").unwrap()).needle().unwrap()
    }

    /// Wherever the seam of two pieces falls, a name is judged with its neighbours.
    #[test]
    fn a_seam_makes_no_name_and_hides_none() {
        let needle = needle();
        let rows = [
            ("aa.test/", false),
            ("a.tests ", false),
            ("a.test.example", false),
            ("www.a.test/", false),
            ("/a.test/", true),
            ("a.test. ", true),
            ("(A.TEST)", true),
        ];
        for (text, found) in rows {
            for (at, rest) in (0..=text.len() + needle.longest()).flat_map(|at| [(at, 0), (at, 20)]) {
                let mut all = vec![b'\n'; Finder::PIECE - at];
                all.extend_from_slice(text.as_bytes());
                all.extend(std::iter::repeat_n(b'\n', rest));
                let mut finder = Finder::new(&needle);
                let (first, second) = all.split_at(all.len().min(Finder::PIECE));
                finder.write_all(first).unwrap();
                finder.write_all(second).unwrap();
                assert_eq!(finder.finish(), found, "{text:?}, {at} bytes before the seam, {rest} behind");
            }
        }
    }

    #[test]
    fn heads_and_bodies_are_searched_whatever_they_say_of_themselves() {
        let gzip = |text: &[u8]| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gzip.write_all(text).unwrap();
            gzip.finish().unwrap()
        };
        let name: &[u8] = b"see http://a.test/ for more";
        let brotli = |text: &[u8]| {
            let mut out = Vec::new();
            brotli::BrotliCompress(&mut &text[..], &mut out, &brotli::enc::BrotliEncoderParams::default()).unwrap();
            out
        };
        let zstd = |text: &[u8]| zstd::encode_all(text, 3).unwrap();
        let long = [&b"nothing ".repeat(100_000)[..], name, &b" nothing".repeat(100_000)].concat();
        let zlib = |text: &[u8]| {
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            zlib.write_all(text).unwrap();
            zlib.finish().unwrap()
        };
        let raw = |text: &[u8]| {
            let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            raw.write_all(text).unwrap();
            raw.finish().unwrap()
        };
        let without_end = |mut bytes: Vec<u8>| {
            bytes.truncate(bytes.len() - 1);
            bytes
        };
        let rows: [(&[u8], Vec<u8>, bool); 23] = [
            (b"Content-Encoding: br", brotli(name), true),
            (b"content-encoding: BR", brotli(&long), true),
            (b"Content-Encoding: br", brotli(b"nothing"), false),
            (b"Content-Encoding: br", name.to_vec(), true),
            (b"Content-Encoding: zstd", zstd(name), true),
            (b"Content-Encoding: zstd", zstd(&long), true),
            (b"Content-Encoding: zstd", zstd(b"nothing"), false),
            (b"Content-Encoding: zstd", without_end(zstd(&long)), true),
            (b"Content-Encoding: deflate", zlib(name), true),
            (b"Content-Encoding: deflate", raw(&long), true),
            (b"Content-Encoding: deflate", raw(b"nothing"), false),
            (b"Content-Encoding: gzip, br", brotli(&gzip(name)), true),
            (b"Content-Encoding: gzip\r\nContent-Encoding: zstd", zstd(&gzip(&long)), true),
            (b"Content-Encoding: identity", name.to_vec(), true),
            (b"Content-Encoding: gzip", without_end(gzip(&long)), true),
            (b"Content-Encoding: unheard-of", b"nothing".to_vec(), false),
            (b"Server: t", b"nothing".to_vec(), false),
            (b"Server: t", name.to_vec(), true),
            (b"Content-Encoding: gzip", gzip(name), true),
            (b"Content-Encoding: gzip", name.to_vec(), true),
            (b"Content-Encoding: gzip", gzip(b"nothing"), false),
            (b"Link: <http://a.test/\xe9>", b"nothing".to_vec(), true),
            (b"Set-Cookie: a=b; Domain=a.test", b"nothing".to_vec(), true),
        ];
        for (field, body, found) in rows {
            let needle = needle();
            let mut search = Search::new(&needle, None);
            let block = [b"HTTP/1.1 200 OK\r\n", field, b"\r\n\r\n", &body].concat();
            block.chunks(7).for_each(|piece| search.block(piece));
            assert_eq!(search.finish(), found, "{}", String::from_utf8_lossy(&block));
        }
    }
}
