use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

use super::Scenario;
use super::wire::Wire;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n";

/// Misbehaves within its body, or by where it points.
pub(super) async fn answer<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    asked: String,
    wire: &mut Wire<S>,
) -> io::Result<()> {
    match scenario {
        other if other.is_redirect() => redirect(other, asked, wire).await,
        other if other >= Scenario::FalseCoding => coded(other, wire).await,
        other => framed(other, wire).await,
    }
}

async fn redirect<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    mut asked: String,
    wire: &mut Wire<S>,
) -> io::Result<()> {
    loop {
        let target = target(scenario, &asked);
        wire.send(format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n")).await?;
        asked = wire.request().await?;
    }
}

/// Where a redirect leads from the page that was asked for.
fn target(scenario: Scenario, asked: &str) -> &str {
    match scenario {
        Scenario::RedirectRing if asked == "/to" => "/fro",
        Scenario::RedirectRing => "/to",
        Scenario::RedirectFile => "file:///etc/passwd",
        Scenario::RedirectScript => "javascript:alert(1)",
        Scenario::RedirectPrivate => "http://0x7f.0.0.01:8080/",
        Scenario::RedirectDecimal => "http://2130706433:8080/",
        Scenario::RedirectOctal => "http://0177.0.0.1:8080/",
        Scenario::RedirectShort => "http://127.1:8080/",
        Scenario::RedirectMapped => "http://[::ffff:127.0.0.1]:8080/",
        Scenario::RedirectLinkLocal => "http://169.254.169.254/latest/meta-data/",
        Scenario::RedirectName => "http://inside.hostile.test:8080/",
        Scenario::RedirectRebind => "http://rebind.hostile.test/",
        _ => asked,
    }
}

async fn framed<S: AsyncRead + AsyncWrite + Send + Unpin>(scenario: Scenario, wire: &mut Wire<S>) -> io::Result<()> {
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    match scenario {
        Scenario::SlowBody => {
            wire.send(format!("{OK}Content-Length: 500\r\n\r\n")).await?;
            wire.trickle(&[b'x'; 500]).await
        }
        Scenario::EndlessBody => {
            wire.send(format!("{OK}\r\n")).await?;
            wire.repeat(b"endless ").await
        }
        Scenario::EndlessChunks => {
            wire.send(format!("{OK}{CHUNKED}")).await?;
            wire.repeat(chunk.as_bytes()).await
        }
        Scenario::ResetInBody => wire.send_and_wait(format!("{OK}Content-Length: 500\r\n\r\nhello")).await,
        Scenario::ShortBody => wire.send(format!("{OK}Content-Length: 9\r\nConnection: close\r\n\r\nhello")).await,
        Scenario::LongBody => {
            wire.send(format!("{OK}Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
                .await?;
            wire.hold().await
        }
        Scenario::ChunkNoise => wire.send(format!("{OK}{CHUNKED}5\r\nhello\r\nsurprise\r\n")).await,
        Scenario::ChunkOverflow => wire.send(format!("{OK}{CHUNKED}5\r\nhello\r\n100000000000000000\r\nx")).await,
        Scenario::ChunkExtension => {
            wire.send(format!("{OK}{CHUNKED}5\r\nhello\r\n5;x=")).await?;
            wire.repeat(b"extension").await
        }
        Scenario::EndlessTrailers => {
            wire.send(format!("{OK}{CHUNKED}5\r\nhello\r\n0\r\n")).await?;
            wire.repeat(b"X-Trailer: value\r\n").await
        }
        _ => wire.hold().await,
    }
}

async fn coded<S: AsyncRead + AsyncWrite + Send + Unpin>(scenario: Scenario, wire: &mut Wire<S>) -> io::Result<()> {
    let plain = b"<p>plain text, whatever the head says of it</p>".to_vec();
    let (coding, body) = match scenario {
        Scenario::CutCoding => {
            let whole = super::bombs::gzip_of(&b"a page that is cut. ".repeat(500))?;
            ("gzip".to_owned(), whole.get(..whole.len() / 2).unwrap_or_default().to_vec())
        }
        Scenario::UnknownCoding => ("enigma".to_owned(), plain),
        Scenario::StackedCodings => (vec!["gzip"; 40].join(", "), plain),
        _ => ("gzip".to_owned(), plain),
    };
    let head = format!("{OK}Content-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    wire.send([head.as_bytes(), &body].concat()).await?;
    wire.hold().await
}
