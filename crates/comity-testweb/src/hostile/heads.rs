use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

use super::Scenario;
use super::wire::Wire;

const OK: &str = "HTTP/1.1 200 OK\r\n";
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";

/// Answers as any server would.
pub(super) async fn be_good<S: AsyncRead + AsyncWrite + Send + Unpin>(wire: &mut Wire<S>) -> io::Result<()> {
    loop {
        wire.send(PAGE).await?;
        wire.request().await?;
    }
}

/// Says that there is no robots.txt.
pub(super) async fn have_no_robots<S: AsyncRead + AsyncWrite + Send + Unpin>(wire: &mut Wire<S>) -> io::Result<()> {
    wire.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await
}

/// Misbehaves before or within its head.
pub(super) async fn answer<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    wire: &mut Wire<S>,
) -> io::Result<()> {
    match scenario {
        Scenario::ResetAfterRequest => Ok(()),
        Scenario::ResetInHead => wire.send_and_wait(format!("{OK}Content-Len")).await,
        Scenario::SlowHead => wire.trickle(PAGE.as_bytes()).await,
        Scenario::EndlessHead => {
            wire.send(OK).await?;
            wire.repeat(b"X-Field: value\r\n").await
        }
        Scenario::EndlessLine => {
            wire.send(format!("{OK}X-Field: ")).await?;
            wire.repeat(b"value ").await
        }
        Scenario::EndlessInterim => wire.repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n").await,
        Scenario::ManyFields => wire.send(format!("{OK}{}\r\n", "X-Field: value\r\n".repeat(2000))).await,
        Scenario::HugeField => wire.send(format!("{OK}X-Field: {}\r\n\r\n", "v".repeat(1 << 20))).await,
        Scenario::FoldedField => {
            wire.send(format!("{OK}X-Field: one\r\n  two\r\n\tthree\r\nContent-Length: 5\r\n\r\nhello")).await?;
            wire.hold().await
        }
        Scenario::SplitField => {
            let hidden = "X-Field: a\r\rHTTP/1.1 200 OK\r\rSet-Cookie: b\0c\r\n";
            wire.send(format!("{OK}{hidden}Content-Length: 5\r\n\r\nhello")).await?;
            wire.hold().await
        }
        Scenario::NotHttp => {
            wire.send("220 mail.hostile.test ESMTP ready\r\n").await?;
            wire.hold().await
        }
        Scenario::BinaryNoise => wire.repeat(&[0x80, 0x00, 0xff, 0x0a, 0x16, 0x03]).await,
        Scenario::TwoLengths => {
            wire.send(format!("{OK}Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello")).await?;
            wire.hold().await
        }
        Scenario::NegativeLength => {
            wire.send(format!("{OK}Content-Length: -5\r\n\r\nhello")).await?;
            wire.hold().await
        }
        Scenario::LengthAndChunks => {
            let chunks = "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
            wire.send(format!("{OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}")).await?;
            wire.hold().await
        }
        _ => wire.hold().await,
    }
}

/// Misbehaves before there is TLS.
pub(super) async fn break_tls<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    mut wire: Wire<S>,
) -> io::Result<()> {
    match scenario {
        Scenario::TlsNoise => {
            wire.read(&mut [0; 16]).await?;
            wire.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await?;
        }
        Scenario::TlsSlow => {
            wire.read(&mut [0; 16]).await?;
            // A record of the handshake that says it is 16 KiB long (RFC 8446 §5.1), with a ServerHello in it.
            wire.trickle(&[&[22, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc, 3, 3][..], &[7; 600]].concat()).await?;
        }
        Scenario::TlsReset => {
            wire.read(&mut [0; 16]).await?;
            return wire.send([22, 3, 3, 0, 80, 2]).await;
        }
        _ => {}
    }
    wire.hold().await
}
