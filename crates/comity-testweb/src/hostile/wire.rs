use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Scenario;
use super::asked::{AskedFor, AskedLog};

/// One end of a connection, and what its server has written so far.
pub(super) struct Wire<S> {
    stream: S,
    scenario: Scenario,
    log: AskedLog,
    written: u64,
}

/// A server writes no more than this on one connection.
const MOST: u64 = 2 << 30;
/// Clients that send more are hung up on.
const LONGEST_HEAD: usize = 64 << 10;
/// What is endless comes in pieces of about this many bytes.
pub(super) const PIECE: usize = 16 << 10;

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire<S> {
    pub(super) fn new(stream: S, scenario: Scenario, log: AskedLog) -> Self {
        Self { stream, scenario, log, written: 0 }
    }

    /// Reads up to the end of a request head, notes it, and gives its target.
    pub(super) async fn request(&mut self) -> io::Result<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await?);
            if head.len() > LONGEST_HEAD {
                return Err(io::Error::other("the request head is too long"));
            }
        }
        let asked = AskedFor::of_head(&head);
        self.log.note(self.scenario, Some(asked.clone()));
        Ok(asked.target)
    }

    /// Notes a request that came by frames.
    pub(super) fn note_frames(&self) {
        self.log.note(self.scenario, None);
    }

    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.stream.read_exact(buffer).await.map(drop)
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let bytes = bytes.as_ref();
        self.written += bytes.len() as u64;
        if self.written > MOST {
            return Err(io::Error::other("enough"));
        }
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Sends the same again and again, until the client hangs up.
    pub(super) async fn repeat(&mut self, bytes: &[u8]) -> io::Result<()> {
        let piece = bytes.repeat((PIECE / bytes.len().max(1)).max(1));
        loop {
            self.send(&piece).await?;
        }
    }

    /// A byte a second.
    pub(super) async fn trickle(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.send([*byte]).await?;
        }
        Ok(())
    }

    /// Sends, and waits until that has been read: a reset takes what the other end has not read yet with it.
    pub(super) async fn send_and_wait(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.send(bytes).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(())
    }

    /// Does nothing more until the client hangs up.
    pub(super) async fn hold(&mut self) -> io::Result<()> {
        let mut sink = [0; 1024];
        while self.stream.read(&mut sink).await? > 0 {}
        Ok(())
    }
}
