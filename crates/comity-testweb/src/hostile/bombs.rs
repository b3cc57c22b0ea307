use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use tokio::io::{AsyncRead, AsyncWrite};

use super::Scenario;
use super::wire::Wire;

/// Decoded bytes of a bomb.
const SIZE: u64 = 1 << 30;
/// Decoded bytes that are made at a time.
const STEP: usize = 256 << 10;

/// Sends a body that is small on the wire and large in memory, made as it goes out.
pub(super) async fn answer<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    wire: &mut Wire<S>,
) -> io::Result<()> {
    let out = Pipe::default();
    let (coding, mut encoder) = encoder(scenario, out.clone())?;
    wire.send(format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}\r\n\r\n")).await?;
    let zeros = vec![0; STEP];
    for _ in 0..SIZE / STEP as u64 {
        encoder.write_all(&zeros)?;
        // Coders of so much nothing would keep it to themselves for long.
        encoder.flush()?;
        let made = out.take();
        if !made.is_empty() {
            wire.send(made).await?;
        }
        tokio::task::yield_now().await;
    }
    drop(encoder);
    wire.send(out.take()).await
}

/// The coding as its head names it, and what codes so.
fn encoder(scenario: Scenario, out: Pipe) -> io::Result<(&'static str, Box<dyn Write + Send>)> {
    let best = Compression::best();
    let brotli = |out| brotli::CompressorWriter::new(out, 4096, 4, 20);
    Ok(match scenario {
        Scenario::BombZlib => ("deflate", Box::new(ZlibEncoder::new(out, best))),
        Scenario::BombDeflate => ("deflate", Box::new(DeflateEncoder::new(out, best))),
        Scenario::BombBrotli => ("br", Box::new(brotli(out))),
        Scenario::BombZstd => ("zstd", Box::new(zstd::stream::write::Encoder::new(out, 3)?.auto_finish())),
        Scenario::BombGzipGzip => ("gzip, gzip", Box::new(GzEncoder::new(GzEncoder::new(out, best), best))),
        Scenario::BombZstdBrotli => {
            ("zstd, br", Box::new(zstd::stream::write::Encoder::new(brotli(out), 3)?.auto_finish()))
        }
        _ => ("gzip", Box::new(GzEncoder::new(out, best))),
    })
}

/// One small text in gzip.
pub(super) fn gzip_of(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text)?;
    encoder.finish()
}

/// What coders write into, and the server takes out of.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
