//! Lines over Unix sockets.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::super::socket::{Door, IDLE, MOST_LINE};
use super::super::{Answer, Control, ControlError, Request, VERSION};

/// Connections served at once; who comes then is told so.
const CONNECTIONS: usize = 8;
/// An answer that nobody takes in for so long is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// After an accept that failed: the system is out of something.
const AGAIN: Duration = Duration::from_millis(100);

/// Answers until `end` comes, or it is dropped; the socket goes with it. When it returns, nobody that it answered holds the crawl
/// any more.
pub(crate) async fn serve(door: Door, control: Control, end: impl Future<Output = ()>) {
    let listener = match door.listener.try_clone().and_then(UnixListener::from_std) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the control socket cannot be served");
            return;
        }
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the control socket takes no connection");
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().try_acquire_owned() else {
            connections.spawn(async move { drop(refuse(stream).await) });
            continue;
        };
        let control = control.clone();
        connections.spawn(async move {
            let _place = place;
            if let Err(error) = converse(stream, &control).await {
                tracing::debug!(%error, "a control connection broke");
            }
        });
    }
    // Dropped, they would be told to end, and not waited for.
    connections.shutdown().await;
}

/// Answers one line after the other.
async fn converse(mut stream: UnixStream, control: &Control) -> std::io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut reader = BufReader::new(reading);
    loop {
        let mut line = Vec::new();
        let most = MOST_LINE as u64 + 1;
        let mut bounded = (&mut reader).take(most);
        match tokio::time::timeout(IDLE, bounded.read_until(b'\n', &mut line)).await {
            Ok(read) => read?,
            Err(_) => return Ok(()),
        };
        if line.is_empty() {
            return Ok(());
        }
        let is_whole = line.ends_with(b"\n");
        let answer = if is_whole || line.len() <= MOST_LINE {
            answer(&line, control).await
        } else {
            Err(ControlError::usage(format!("the line is longer than {MOST_LINE} bytes")))
        };
        send(&mut writing, &lines(answer)).await?;
        if !is_whole {
            return Ok(());
        }
    }
}

/// One answer too many is no reason to make anybody wait.
async fn refuse(mut stream: UnixStream) -> std::io::Result<()> {
    let error = ControlError::engine(format!("{CONNECTIONS} others are being answered")).hint("try again");
    let (_, mut writing) = stream.split();
    send(&mut writing, &lines(Err(error))).await
}

async fn send(to: &mut (impl tokio::io::AsyncWrite + Unpin), text: &str) -> std::io::Result<()> {
    let sent = tokio::time::timeout(PATIENCE, to.write_all(text.as_bytes()));
    sent.await.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))?
}

async fn answer(line: &[u8], control: &Control) -> Result<Answer, ControlError> {
    let wrong = |e: &dyn std::fmt::Display| {
        ControlError::usage(format!("no request: {e}")).hint("a request is a line of JSON: {\"v\":1,\"op\":\"stats\"}")
    };
    let value: Value = serde_json::from_slice(line).map_err(|e| wrong(&e))?;
    // Told before its fields: another version may have others.
    match value.get("v").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => {
            return Err(ControlError::usage(format!("version {version} is asked for, and {VERSION} is spoken here"))
                .hint("use the comity that runs the crawl"));
        }
        None => return Err(wrong(&"it has no version")),
    }
    let request: Request = serde_json::from_value(value).map_err(|e| wrong(&e))?;
    control.ask(request.op).await
}

/// An answer as it travels.
fn lines(answer: Result<Answer, ControlError>) -> String {
    let mut text = String::new();
    let last = match answer {
        Ok(Answer { rows, about }) => {
            for row in rows {
                text += &json!({"row": row}).to_string();
                text.push('\n');
            }
            json!({"v": VERSION, "ok": about})
        }
        Err(error) => json!({"v": VERSION, "error": error}),
    };
    text += &last.to_string();
    text.push('\n');
    text
}
