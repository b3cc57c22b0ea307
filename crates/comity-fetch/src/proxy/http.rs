use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use comity_policy::Reason;
use http::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::Io;
use crate::proxy::Credentials;
use crate::proxy::health::Evidence;
use crate::proxy::target::Target;
use crate::proxy::verdict::{Verdict, of_connect};

/// The largest answer head of an exit to a `CONNECT` (gateway reference §7).
const MOST_HEAD: usize = 16 << 10;

/// Asks an HTTP exit for a tunnel to `target`: `CONNECT` (RFC 9110 §9.3.6). Bytes after the head of a 2xx are the tunnel's.
pub(crate) async fn connect(
    io: Box<dyn Io>,
    target: Target<'_>,
    credentials: Option<&Credentials>,
    user_agent: &str,
) -> Result<Box<dyn Io>, Verdict> {
    let broken =
        |reason, evidence| move |error: hyper::Error| Verdict::new(reason, evidence, format!("the proxy: {error}"));
    let request = request(target, credentials, user_agent)
        .map_err(|error| Verdict::new(Reason::FetchProxyProtocol, Evidence::Neutral, error.to_string()))?;
    let (mut sender, mut connection) = http1::Builder::new()
        .title_case_headers(true)
        .max_buf_size(MOST_HEAD)
        .handshake::<_, Empty<Bytes>>(TokioIo::new(io))
        .await
        .map_err(broken(Reason::FetchProxyConnect, Evidence::Down))?;
    let mut over = false;
    let answer = {
        let mut sending = pin!(sender.send_request(request));
        poll_fn(|cx| {
            // Its error, if any, reaches the answer.
            over = over || connection.poll_without_shutdown(cx).is_ready();
            sending.as_mut().poll(cx)
        })
        .await
    };
    let answer = answer.map_err(|error| {
        let garbage = error.is_parse() || error.is_parse_too_large();
        let reason = if garbage { Reason::FetchProxyProtocol } else { Reason::FetchProxyConnect };
        broken(reason, Evidence::Down)(error)
    })?;
    if !answer.status().is_success() {
        return Err(of_connect(answer.status(), answer.headers()));
    }
    drop(answer);
    if !over {
        let ended = poll_fn(|cx| connection.poll_without_shutdown(cx)).await;
        ended.map_err(broken(Reason::FetchProxyConnect, Evidence::Down))?;
    }
    let parts = connection.into_parts();
    let io = parts.io.into_inner();
    Ok(if parts.read_buf.is_empty() { io } else { Box::new(Begun { first: parts.read_buf, io }) })
}

fn request(
    target: Target<'_>,
    credentials: Option<&Credentials>,
    user_agent: &str,
) -> Result<Request<Empty<Bytes>>, http::Error> {
    let authority = target.authority();
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = authority.parse::<Uri>()?;
    let fields = request.headers_mut();
    fields.insert(HOST, HeaderValue::from_str(&authority)?);
    fields.insert(USER_AGENT, HeaderValue::from_str(user_agent)?);
    if let Some(value) = credentials.and_then(Credentials::basic) {
        fields.insert(PROXY_AUTHORIZATION, value);
    }
    Ok(request)
}

/// A stream whose first bytes were read already.
struct Begun {
    first: Bytes,
    io: Box<dyn Io>,
}

impl AsyncRead for Begun {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buffer);
        }
        let fits = self.first.len().min(buffer.remaining());
        buffer.put_slice(self.first.get(..fits).unwrap_or_default());
        self.first.advance(fits);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Begun {
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
