use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// The longest header, and the most of a block that is read; the rest of a block is passed over.
const LONGEST_HEADER: usize = 320 * 1024;
const MOST_OF_BLOCK: u64 = 2 << 20;

/// One record whose block was wanted.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// `WARC-Type`.
    pub(super) kind: String,
    /// `WARC-Target-URI`, without the angle brackets that some tools write.
    pub(super) uri: String,
    /// `WARC-Date`.
    pub(super) date: String,
    /// `WARC-Refers-To-Target-URI` of a revisit.
    pub(super) refers_to: Option<String>,
    /// The first 2 MiB of the block.
    pub(super) block: Vec<u8>,
}

/// Reads a WARC file of any tool: gzip by record or as a whole, zstd, or plain; 1.0 or 1.1. Memory: a header and what is
/// wanted of a block.
pub(super) struct Records {
    input: Box<dyn BufRead>,
}

#[derive(Debug, Default)]
struct Header {
    kind: String,
    uri: String,
    date: String,
    refers_to: Option<String>,
    length: Option<u64>,
}

impl Records {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(64 * 1024, File::open(path)?);
        let magic = file.fill_buf()?.get(..4).unwrap_or_default().to_vec();
        let input: Box<dyn BufRead> = match magic.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(BufReader::with_capacity(64 * 1024, MultiGzDecoder::new(file))),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(BufReader::new(zstd::stream::read::Decoder::with_buffer(file)?)),
            _ => Box::new(file),
        };
        Ok(Self { input })
    }

    /// The next response or revisit whose address is wanted; `None` at the end.
    ///
    /// # Errors
    /// Where the file breaks: nothing behind that place can be trusted.
    pub(super) fn next(&mut self, wants: impl Fn(&str) -> bool) -> io::Result<Option<Record>> {
        while let Some(header) = self.header()? {
            let length = header.length.ok_or_else(|| broken("a record without Content-Length"))?;
            let wanted = matches!(header.kind.as_str(), "response" | "revisit") && wants(&header.uri);
            let mut block = Vec::new();
            if wanted {
                self.input.by_ref().take(length.min(MOST_OF_BLOCK)).read_to_end(&mut block)?;
            }
            let left = length - block.len() as u64;
            if io::copy(&mut self.input.by_ref().take(left), &mut io::sink())? < left {
                return Err(broken("the file ends within a record"));
            }
            if wanted {
                let Header { kind, uri, date, refers_to, .. } = header;
                return Ok(Some(Record { kind, uri, date, refers_to, block }));
            }
        }
        Ok(None)
    }

    fn header(&mut self) -> io::Result<Option<Header>> {
        let version = loop {
            match self.line()? {
                None => return Ok(None),
                // What closes the block before.
                Some(line) if line.is_empty() => {}
                Some(line) => break line,
            }
        };
        if !version.starts_with("WARC/") {
            return Err(broken("no record begins where one should"));
        }
        let (mut header, mut read) = (Header::default(), 0);
        loop {
            let line = self.line()?.ok_or_else(|| broken("the file ends within a header"))?;
            read += line.len();
            if line.is_empty() {
                return Ok(Some(header));
            }
            if read > LONGEST_HEADER {
                return Err(broken("a header is too long"));
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "warc-type" => value.clone_into(&mut header.kind),
                "warc-target-uri" => bare(value).clone_into(&mut header.uri),
                "warc-refers-to-target-uri" => header.refers_to = Some(bare(value).to_owned()),
                "warc-date" => value.clone_into(&mut header.date),
                "content-length" => header.length = value.parse().ok(),
                _ => {}
            }
        }
    }

    /// A line without its end.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(LONGEST_HEADER as u64).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.last() != Some(&b'\n') && bytes.len() >= LONGEST_HEADER {
            return Err(broken("a line is too long"));
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }
}

/// Without the angle brackets of WARC 1.0's grammar.
fn bare(value: &str) -> &str {
    value.trim_start_matches('<').trim_end_matches('>')
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
