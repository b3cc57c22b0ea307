//! Files and URLs of the commands that read one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use comity::url::CrawlUrl;

use crate::exit::Failure;

/// The URL that a file belongs to.
pub(super) fn url(text: &str) -> Result<CrawlUrl, Failure> {
    CrawlUrl::parse(text)
        .map_err(|e| Failure::usage(format!("--url {text:?}: {e}")).hint("the address it was fetched from, https://…"))
}

/// Gives a file to `take` piece by piece; `-` is standard input.
pub(super) fn chunks(path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), Failure> {
    let name = path.display();
    let unreadable = |e: io::Error| Failure::usage(format!("{name}: {e}"));
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => take(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
}
