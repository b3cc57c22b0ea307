use std::io::{self, BufRead, BufWriter, Read as _, Write};

use serde_json::{Value, json};

use crate::exit::Failure;

/// The longest line that a `batch` command reads: a robots.txt of 500 KiB in base64 fits many times.
const LONGEST_LINE: u64 = 16 << 20;

/// Answers each line of standard input with one line, flushed, order kept; a bad line is answered and does not stop it.
///
/// Memory is one line, however long the input is.
pub(crate) fn answer(mut answer: impl FnMut(&str) -> Value) -> Result<(), Failure> {
    let (mut input, mut output) = (io::stdin().lock(), BufWriter::new(io::stdout().lock()));
    loop {
        let value = match next_line(&mut input).map_err(|e| Failure::unavailable(format!("standard input: {e}")))? {
            Line::End => return Ok(()),
            Line::TooLong => json!({"error": format!("line longer than {LONGEST_LINE} bytes")}),
            Line::Text(text) if text.trim().is_empty() => json!({"error": "empty line"}),
            Line::Text(text) => answer(&text),
            Line::NotText => json!({"error": "line is not UTF-8"}),
        };
        match writeln!(output, "{value}").and_then(|()| output.flush()) {
            // The reader went away: nobody wants more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|e| Failure::unavailable(format!("standard output: {e}")))?,
        }
    }
}

enum Line {
    End,
    Text(String),
    NotText,
    TooLong,
}

fn next_line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(Line::End);
    }
    if bytes.last() != Some(&b'\n') && bytes.len() as u64 >= LONGEST_LINE {
        skip_line(input)?;
        return Ok(Line::TooLong);
    }
    Ok(String::from_utf8(bytes).map_or(Line::NotText, Line::Text))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (used, ended) = buffer.iter().position(|b| *b == b'\n').map_or((buffer.len(), false), |at| (at + 1, true));
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}
