use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::answer::Pace;
use crate::dice::Dice;
use crate::log::Log;

/// Most bytes handed to the connection at once.
const CHUNK: usize = 16 * 1024;

/// A response body made while it is sent: the filler of a page is never held.
#[derive(Debug, Default)]
pub(crate) struct PageBody {
    parts: VecDeque<Part>,
    chunked: bool,
    pace: Option<Pace>,
    sleep: Option<Pin<Box<Sleep>>>,
    end: Option<EndMark>,
}

#[derive(Debug)]
enum Part {
    Bytes(Bytes),
    Filler { left: u64, offset: usize },
}

/// Notes the end of a response, whole or not, when dropped.
#[derive(Debug)]
pub(crate) struct EndMark(pub(crate) Arc<Log>, pub(crate) Option<u64>);

impl Drop for EndMark {
    fn drop(&mut self) {
        self.0.ended(self.1);
    }
}

impl Drop for PageBody {
    fn drop(&mut self) {
        // Not all of it was sent: the client hung up, or was made to.
        if let (Some(EndMark(log, number)), false) = (&self.end, self.parts.is_empty()) {
            log.cut(*number);
        }
    }
}

impl PageBody {
    pub(crate) fn bytes(mut self, bytes: Bytes) -> Self {
        if !bytes.is_empty() {
            self.parts.push_back(Part::Bytes(bytes));
        }
        self
    }

    /// So many bytes of words, starting at a place that `dice` draws.
    pub(crate) fn filler(mut self, left: u64, dice: &mut Dice) -> Self {
        let offset = usize::try_from(dice.below(FILLER.len() as u64)).unwrap_or(0);
        if left > 0 {
            self.parts.push_back(Part::Filler { left, offset });
        }
        self
    }

    pub(crate) const fn chunked(mut self, chunked: bool) -> Self {
        self.chunked = chunked;
        self
    }

    pub(crate) const fn paced(mut self, pace: Option<Pace>) -> Self {
        self.pace = pace;
        self
    }

    pub(crate) fn ending(mut self, end: EndMark) -> Self {
        self.end = Some(end);
        self
    }

    /// Bytes still to come.
    fn left(&self) -> u64 {
        self.parts.iter().map(Part::left).sum()
    }

    /// The whole body at once, for coding it.
    pub(crate) fn collect(mut self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(usize::try_from(self.left()).unwrap_or(0));
        while let Some(bytes) = self.next_piece(CHUNK) {
            whole.extend_from_slice(&bytes);
        }
        whole
    }

    fn next_piece(&mut self, most: usize) -> Option<Bytes> {
        let part = self.parts.front_mut()?;
        let piece = part.take(most);
        if part.left() == 0 {
            self.parts.pop_front();
        }
        Some(piece)
    }
}

impl Part {
    const fn left(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Filler { left, .. } => *left,
        }
    }

    /// The next bytes, at least one and at most `most`.
    fn take(&mut self, most: usize) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes.split_to(most.min(bytes.len())),
            Self::Filler { left, offset } => {
                let run = most.min(FILLER.len() - *offset).min(usize::try_from(*left).unwrap_or(usize::MAX));
                let piece = FILLER.slice(*offset..*offset + run);
                *left -= run as u64;
                *offset = (*offset + run) % FILLER.len();
                piece
            }
        }
    }
}

impl Body for PageBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Some(sleep) = &mut this.sleep {
            std::task::ready!(sleep.as_mut().poll(cx));
            this.sleep = None;
        }
        let Some(piece) = this.next_piece(this.pace.map_or(CHUNK, |pace| pace.chunk)) else {
            this.end = None;
            return Poll::Ready(None);
        };
        if this.parts.is_empty() {
            // Before the last byte is written: nobody can have the whole response earlier.
            this.end = None;
        } else if let Some(pace) = this.pace {
            this.sleep = Some(Box::pin(tokio::time::sleep(pace.every)));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.chunked { SizeHint::new() } else { SizeHint::with_exact(self.left()) }
    }
}

/// Words for pages: 32 KiB, one for all.
static FILLER: LazyLock<Bytes> = LazyLock::new(|| {
    const WORDS: [&str; 16] = [
        "polite", "crawlers", "wait", "their", "turn", "and", "read", "the", "rules", "of", "every", "house", "before",
        "they", "knock", "twice",
    ];
    let mut dice = Dice::at(0, &[]);
    let mut text = String::with_capacity(2 * CHUNK + 16);
    while text.len() < 2 * CHUNK {
        let word = usize::try_from(dice.below(16)).ok().and_then(|at| WORDS.get(at));
        text.push_str(word.unwrap_or(&""));
        text.push(if dice.below(12) == 0 { '\n' } else { ' ' });
    }
    Bytes::from(text)
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_as_long_as_it_says_and_the_same_every_time() {
        for size in [0_u64, 1, 16_383, 16_384, 40_000, 100_001] {
            let make = || PageBody::default().bytes(Bytes::from_static(b"head")).filler(size, &mut Dice::at(9, &[3]));
            assert_eq!(make().size_hint().exact(), Some(size + 4));
            let whole = make().collect();
            assert_eq!(whole.len() as u64, size + 4);
            assert_eq!(whole, make().collect());
        }
    }
}
