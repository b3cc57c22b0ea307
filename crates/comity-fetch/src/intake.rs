use bytes::Bytes;
use comity_policy::{ContentPermit, Reason, Spool};

use crate::coding::{Halt, Stack, codings};
use crate::fault::Fault;
use crate::spool::{Draft, Spooler};
use crate::{Keep, Read, ResponseHead, Sink};

/// Takes in a body: keeps its coded bytes once, hands its decoded bytes to the sink, and holds both to their bounds.
pub(crate) struct Intake<'a> {
    sink: &'a mut dyn Sink,
    bounds: Bounds,
    decoding: Decoding,
    coded: Draft<'a>,
    /// Whether what was read may be kept.
    held: Held,
    received: u64,
    decoded: u64,
    /// The coding is unknown or broken: the coded bytes are kept all the same.
    flaw: Option<String>,
}

/// What a body may be at most: see [`crate::Limits`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) max_body: u64,
    pub(crate) max_ratio: u64,
}

enum Decoding {
    /// No content coding.
    Identity,
    /// To be undone.
    Coded(Box<Stack>),
    /// Cannot be undone, or not any further.
    Given,
}

/// What the sink has said of keeping the body.
enum Held {
    Undecided,
    Kept(ContentPermit),
    Refused,
}

/// Why the sink refused a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// By what it read: whatever else the body had said, or what became of it, changes nothing.
    ByWord,
    /// By what it did not read.
    BySilence,
}

/// The body at its end.
pub(crate) struct Taken {
    /// Nothing where the sink refused it.
    pub(crate) body: Spool,
    pub(crate) refused: Option<Refused>,
    pub(crate) decoded: u64,
    /// What is wrong with its coding; looked for only in bodies that arrived whole.
    pub(crate) coding: Option<Fault>,
}

/// Coded bytes are decoded in steps of this many, so that a body cut by a bound on its decoded bytes ends near the byte
/// at which the bound was met.
const STEP: usize = 4 << 10;
/// Below this many decoded bytes any ratio is fine: small bodies of blanks are.
const RATIO_FROM: u64 = 64 << 10;

impl<'a> Intake<'a> {
    pub(crate) fn new(head: &ResponseHead<'_>, sink: &'a mut dyn Sink, bounds: Bounds, spooler: &'a Spooler) -> Self {
        let stack = |found: &[_]| match Stack::new(found, bounds.max_body) {
            Ok(stack) => (Decoding::Coded(Box::new(stack)), None),
            Err(_) => (Decoding::Given, Some("the decoder cannot be set up".to_owned())),
        };
        let (decoding, flaw) = match codings(head) {
            Ok(found) if found.is_empty() => (Decoding::Identity, None),
            Ok(found) => stack(&found),
            Err(unknown) => (Decoding::Given, Some(unknown)),
        };
        let mut coded = spooler.draft();
        if let Some(length) = head.field("content-length").and_then(|text| text.parse().ok()) {
            coded.expect(length);
        }
        Self { sink, bounds, decoding, coded, held: Held::Undecided, received: 0, decoded: 0, flaw }
    }

    /// Takes the next bytes as received.
    ///
    /// # Errors
    /// The bound that was reached; what fits was taken.
    pub(crate) fn take(&mut self, mut piece: Bytes) -> Result<(), Fault> {
        let room = self.bounds.max_body.saturating_sub(self.received);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let fits = room >= piece.len();
        piece.truncate(room);
        let step = if matches!(self.decoding, Decoding::Coded(_)) { STEP } else { usize::MAX };
        let before = self.received;
        let decoded = piece.chunks(step).try_for_each(|part| {
            self.received += part.len() as u64;
            self.decode(part)
        });
        // What was handed to the decoder is kept, that which met a bound included.
        piece.truncate(usize::try_from(self.received - before).unwrap_or(usize::MAX));
        self.coded.push(piece);
        decoded?;
        if fits { Ok(()) } else { Err(self.too_large()) }
    }

    /// Bytes received so far.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// True when [`Intake::flush`] is due.
    pub(crate) fn is_full(&self) -> bool {
        self.coded.is_full()
    }

    /// True when nothing more is to be read: the sink has refused the body.
    pub(crate) fn is_refused(&mut self, read: Read) -> bool {
        if matches!(self.held, Held::Undecided) {
            self.tell_flaw();
            self.held = match (self.sink.keep(read), read) {
                (Keep::Keep(permit), _) => Held::Kept(permit),
                (Keep::Undecided, Read::Piece) => Held::Undecided,
                (Keep::Undecided | Keep::Refuse | Keep::Silent, _) => Held::Refused,
            };
        }
        matches!(self.held, Held::Refused)
    }

    /// Makes room in memory; what the sink has not let through stays there.
    ///
    /// # Errors
    /// `fetch.spool`
    pub(crate) async fn flush(&mut self) -> Result<(), Fault> {
        match &self.held {
            Held::Kept(permit) => self.coded.flush(permit).await,
            Held::Undecided | Held::Refused => Ok(()),
        }
    }

    /// Brings the coded bytes to where they stay. To be called before the end.
    ///
    /// # Errors
    /// `fetch.spool`
    pub(crate) async fn settle(&mut self) -> Result<(), Fault> {
        match &self.held {
            Held::Kept(permit) => self.coded.settle(permit).await,
            Held::Undecided | Held::Refused => Ok(()),
        }
    }

    /// Ends the body; `whole` when it arrived to its end.
    pub(crate) fn end(mut self, whole: bool) -> Taken {
        if let (true, Decoding::Coded(stack)) = (whole, &self.decoding)
            && let Err(Halt::Broken(what)) = stack.end()
        {
            self.flaw = Some(what.to_owned());
        }
        self.tell_flaw();
        // No bytes need no coding, whatever the head says of them.
        let flaw = self.flaw.filter(|_| self.received > 0);
        let coding = flaw.map(|what| Fault::new(Reason::FetchCoding, what));
        // What was let through by its begin may be refused by its end.
        let permit = match self.held {
            Held::Refused => Err(Refused::ByWord),
            Held::Undecided | Held::Kept(_) => match self.sink.keep(Read::End) {
                Keep::Keep(permit) => Ok(permit),
                Keep::Silent => Err(Refused::BySilence),
                Keep::Undecided | Keep::Refuse => Err(Refused::ByWord),
            },
        };
        let (refused, decoded) = (permit.as_ref().err().copied(), self.decoded);
        Taken { body: permit.map(|permit| self.coded.finish(permit)).unwrap_or_default(), refused, decoded, coding }
    }

    fn decode(&mut self, taken: &[u8]) -> Result<(), Fault> {
        let mut tally = Tally {
            sink: &mut *self.sink,
            bounds: self.bounds,
            received: self.received,
            decoded: self.decoded,
            over: None,
        };
        let result = match &mut self.decoding {
            Decoding::Given => Ok(()),
            Decoding::Identity => tally.take(taken),
            Decoding::Coded(stack) => stack.push(taken, &mut |piece| tally.take(piece)),
        };
        self.decoded = tally.decoded;
        let over = tally.over;
        match result {
            Ok(()) => Ok(()),
            Err(Halt::Broken(what)) => {
                self.flaw = Some(what.to_owned());
                self.decoding = Decoding::Given;
                Ok(())
            }
            Err(Halt::Enough) => {
                let fault = over.unwrap_or_else(|| self.too_large());
                let coded = self.received;
                Err(Fault::new(fault.reason, format!("{}: cut at byte {coded} of the coded body", fault.detail)))
            }
        }
    }

    fn tell_flaw(&mut self) {
        if self.flaw.is_some() && self.received > 0 {
            self.sink.unreadable();
        }
    }

    fn too_large(&self) -> Fault {
        too_large(self.bounds)
    }
}

/// Counts decoded bytes on their way to the sink.
struct Tally<'a> {
    sink: &'a mut dyn Sink,
    bounds: Bounds,
    received: u64,
    decoded: u64,
    over: Option<Fault>,
}

impl Tally<'_> {
    fn take(&mut self, piece: &[u8]) -> Result<(), Halt> {
        let room = self.bounds.max_body.saturating_sub(self.decoded);
        let fits = usize::try_from(room).unwrap_or(usize::MAX).min(piece.len());
        let (taken, left) = piece.split_at_checked(fits).unwrap_or((piece, &[]));
        if !taken.is_empty() {
            self.sink.chunk(taken);
            self.decoded += taken.len() as u64;
        }
        if !left.is_empty() {
            self.over = Some(too_large(self.bounds));
            return Err(Halt::Enough);
        }
        if self.decoded > RATIO_FROM && self.decoded > self.received.saturating_mul(self.bounds.max_ratio) {
            let (decoded, received, most) = (self.decoded, self.received, self.bounds.max_ratio);
            let detail = format!("{received} bytes inflate to {decoded} and more, over {most}:1");
            self.over = Some(Fault::new(Reason::FetchRatio, detail));
            return Err(Halt::Enough);
        }
        Ok(())
    }
}

fn too_large(bounds: Bounds) -> Fault {
    Fault::new(Reason::FetchTooLarge, format!("the body is larger than {} bytes", bounds.max_body))
}
