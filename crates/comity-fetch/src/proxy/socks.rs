use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_socks::tcp::Socks5Stream;

use crate::net::Io;
use crate::proxy::Credentials;
use crate::proxy::target::Target;
use crate::proxy::verdict::{Verdict, of_socks};

/// Asks a SOCKS5 exit for a stream to `target` (RFC 1928, login RFC 1929). Reads not one byte beyond its reply.
///
/// `greeted` is set with the first byte of the exit: whoever waits then waits for the site behind it as well.
pub(crate) async fn connect(
    io: Box<dyn Io>,
    target: Target<'_>,
    credentials: Option<&Credentials>,
    greeted: &Arc<AtomicBool>,
) -> Result<Box<dyn Io>, Verdict> {
    let heard = Heard { io, greeted: Arc::clone(greeted) };
    let asked = match (target, credentials) {
        (Target::Address(address), None) => Socks5Stream::connect_with_socket(heard, address).await,
        (Target::Name(origin), None) => Socks5Stream::connect_with_socket(heard, (origin.host(), origin.port())).await,
        (Target::Address(address), Some(login)) => {
            Socks5Stream::connect_with_password_and_socket(heard, address, login.user(), login.password()).await
        }
        (Target::Name(origin), Some(login)) => {
            let target = (origin.host(), origin.port());
            Socks5Stream::connect_with_password_and_socket(heard, target, login.user(), login.password()).await
        }
    };
    match asked {
        Ok(stream) => Ok(stream.into_inner().io),
        Err(error) => Err(of_socks(&error, greeted.load(Ordering::Relaxed))),
    }
}

/// A stream that tells when its peer said something.
struct Heard {
    io: Box<dyn Io>,
    greeted: Arc<AtomicBool>,
}

impl AsyncRead for Heard {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.greeted.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Heard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
