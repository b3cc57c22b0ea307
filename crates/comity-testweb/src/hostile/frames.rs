use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::wire::Wire;
use super::{LONGEST, Scenario};

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PUSH_PROMISE: u8 = 0x5;
const PING: u8 = 0x6;
const GOAWAY: u8 = 0x7;
const WINDOW_UPDATE: u8 = 0x8;
const CONTINUATION: u8 = 0x9;
const UNKNOWN: u8 = 0xfe;

const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// `:status: 200`, an entry of the static table (RFC 7541, appendix A).
const STATUS_200: &[u8] = &[0x88];

/// A frame (RFC 9113 §4.1) on a stream.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let [_, a, b, c] = length;
    let mut bytes = vec![a, b, c, kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// `:status: 404`, another.
const STATUS_404: &[u8] = &[0x8d];

/// Greets, and gives the stream of the first request.
pub(super) async fn greet<S: AsyncRead + AsyncWrite + Send + Unpin>(wire: &mut Wire<S>) -> io::Result<u32> {
    wire.read(&mut [0; 24]).await?;
    wire.send(frame(SETTINGS, 0, 0, &[])).await?;
    await_request(wire).await
}

/// Says that there is no robots.txt, and gives the stream of the next request.
pub(super) async fn have_no_robots<S: AsyncRead + AsyncWrite + Send + Unpin>(
    stream: u32,
    wire: &mut Wire<S>,
) -> io::Result<u32> {
    wire.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_404)).await?;
    await_request(wire).await
}

/// Speaks HTTP/2 without a library: a library would not let it misbehave.
pub(super) async fn speak<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    stream: u32,
    mut wire: Wire<S>,
) -> io::Result<()> {
    let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
    match scenario {
        Scenario::Http2SlowHead => {
            let long = [STATUS_200, &literal("x", 100)].concat();
            wire.trickle(&frame(HEADERS, END_HEADERS, stream, &long)).await?;
            wire.hold().await
        }
        Scenario::Http2SlowBody => {
            wire.send(head).await?;
            for _ in 0..LONGEST.as_secs() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                wire.send(frame(DATA, 0, stream, b"x")).await?;
            }
            Ok(())
        }
        Scenario::Http2HangUp => Ok(()),
        Scenario::Http2ResetInBody => wire.send_and_wait([head, frame(DATA, 0, stream, b"hello")].concat()).await,
        Scenario::Http2ShortBody => {
            // `content-length: 9`, its name by the static table, never taken into the own (RFC 7541 §6.2.2).
            let block = [STATUS_200, &[0x0f, 0x0d, 1, b'9']].concat();
            let said = frame(HEADERS, END_HEADERS, stream, &block);
            wire.send([said, frame(DATA, END_STREAM, stream, b"hello")].concat()).await?;
            wire.hold().await
        }
        Scenario::Http2Good => be_good(stream, &mut wire).await,
        Scenario::Http2Silent => wire.hold().await,
        Scenario::Http2Noise => wire.repeat(&[0xff, 0x7f, 0x00, 0x42]).await,
        other => flood(other, stream, &mut wire).await,
    }
}

/// Reads frames up to the next HEADERS, and gives its stream.
async fn await_request<S: AsyncRead + AsyncWrite + Send + Unpin>(wire: &mut Wire<S>) -> io::Result<u32> {
    loop {
        let mut header = [0; 9];
        wire.read(&mut header).await?;
        let [a, b, c, kind, _, stream @ ..] = header;
        let mut payload = vec![0; usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)];
        wire.read(&mut payload).await?;
        if kind == HEADERS {
            wire.note_frames();
            return Ok(u32::from_be_bytes(stream));
        }
    }
}

async fn be_good<S: AsyncRead + AsyncWrite + Send + Unpin>(mut stream: u32, wire: &mut Wire<S>) -> io::Result<()> {
    loop {
        let page = [frame(HEADERS, END_HEADERS, stream, STATUS_200), frame(DATA, END_STREAM, stream, b"hello")];
        wire.send(page.concat()).await?;
        stream = await_request(wire).await?;
    }
}

async fn flood<S: AsyncRead + AsyncWrite + Send + Unpin>(
    scenario: Scenario,
    stream: u32,
    wire: &mut Wire<S>,
) -> io::Result<()> {
    let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
    let (first, again) = match scenario {
        Scenario::Http2RapidReset => (Vec::new(), frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())),
        Scenario::Http2Oversized => (head, frame(DATA, 0, stream, &vec![0; 1 << 20])),
        Scenario::Http2Goaway => (Vec::new(), frame(GOAWAY, 0, 0, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0])),
        Scenario::Http2Settings => (Vec::new(), frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0])),
        Scenario::Http2Ping => (Vec::new(), frame(PING, 0, 0, &[7; 8])),
        Scenario::Http2Window => (Vec::new(), frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes())),
        Scenario::Http2Unknown => (Vec::new(), frame(UNKNOWN, 0, 0, &[0; 32])),
        Scenario::Http2Continuation => {
            (frame(HEADERS, 0, stream, STATUS_200), frame(CONTINUATION, 0, stream, &literal("x", 100)))
        }
        Scenario::Http2HeaderBomb => (frame(HEADERS, END_HEADERS, stream, &header_bomb()), frame(PING, 0, 0, &[7; 8])),
        Scenario::Http2EmptyData => (head, frame(DATA, 0, stream, &[])),
        Scenario::Http2Push => (frame(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2, 0x88]), head),
        _ => (head, frame(DATA, 0, stream, &[b'x'; 16 << 10])),
    };
    wire.send(first).await?;
    wire.repeat(&again).await
}

/// A field that is not taken into the table (RFC 7541 §6.2.2), its value shorter than 127 bytes.
fn literal(name: &str, length: u8) -> Vec<u8> {
    let mut field = vec![0, u8::try_from(name.len()).unwrap_or(1)];
    field.extend_from_slice(name.as_bytes());
    field.push(length);
    field.extend(std::iter::repeat_n(b'v', length.into()));
    field
}

/// One field of 3,900 bytes that is taken into the table (RFC 7541 §6.2.1), then named 12,000 times by a byte each.
fn header_bomb() -> Vec<u8> {
    let mut block = STATUS_200.to_vec();
    // The length 3,900 as an integer of a 7-bit prefix: 127, then the rest in groups of seven bits.
    block.extend_from_slice(&[0x40, 1, b'x', 0x7f, 0xbd, 0x1d]);
    block.extend(std::iter::repeat_n(b'v', 3900));
    block.extend(std::iter::repeat_n(0xbe, 12_000));
    block
}
