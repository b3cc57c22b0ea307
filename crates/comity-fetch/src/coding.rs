mod brotli;
mod flate;
mod zstd;

use crate::ResponseHead;

/// A content coding that we ask for and can undo (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// What we say in Accept-Encoding.
pub(crate) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Codings stacked on one body at most (our choice: two are rare, more are an attack).
const MOST_STACKED: usize = 3;

/// Why decoding stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The coded bytes are broken; what is wrong.
    Broken(&'static str),
    /// Whoever takes the decoded bytes wants no more.
    Enough,
}

/// Takes decoded bytes, piece by piece.
pub(crate) type Out<'a> = dyn FnMut(&[u8]) -> Result<(), Halt> + 'a;

/// Undoes one coding, fed piece by piece. Its memory is bounded by the coding's window, 16 MiB at most; it hands out
/// 16 KiB at a time and never runs ahead of its taker.
pub(crate) trait Decode: Send {
    /// Decodes the next coded bytes.
    fn push(&mut self, input: &[u8], out: &mut Out<'_>) -> Result<(), Halt>;

    /// Says whether the coded stream may end here.
    fn end(&self) -> Result<(), Halt>;
}

/// The codings of a response in the order in which they were applied; `identity` and empty items left out.
///
/// # Errors
/// Names the coding that is unknown, or says that too many are stacked.
pub(crate) fn codings(head: &ResponseHead<'_>) -> Result<Vec<Coding>, String> {
    let mut found = Vec::new();
    let items = head.fields_named("content-encoding").flat_map(|value| value.split(','));
    for item in items.map(str::trim).filter(|item| !item.is_empty() && !item.eq_ignore_ascii_case("identity")) {
        found.push(coding(item).ok_or_else(|| format!("content coding {:?} is unknown", excerpt(item)))?);
        if found.len() > MOST_STACKED {
            return Err(format!("more than {MOST_STACKED} content codings are stacked"));
        }
    }
    Ok(found)
}

fn coding(name: &str) -> Option<Coding> {
    const NAMES: [(&str, Coding); 6] = [
        ("gzip", Coding::Gzip),
        ("x-gzip", Coding::Gzip), // RFC 9110 §8.4.1.3: equivalent
        ("deflate", Coding::Deflate),
        ("br", Coding::Brotli),
        ("zstd", Coding::Zstd),
        ("x-zstd", Coding::Zstd),
    ];
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, coding)| *coding)
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Undoes stacked codings, the last applied first. Every layer may hand on `most` bytes, so that no inner layer can
/// be made to work more than the outermost would be allowed to.
pub(crate) struct Stack {
    layers: Vec<Layer>,
    most: u64,
}

struct Layer {
    decoder: Box<dyn Decode>,
    passed: u64,
}

impl Stack {
    pub(crate) fn new(codings: &[Coding], most: u64) -> Result<Self, Halt> {
        let layers = codings.iter().rev().map(|coding| decoder(*coding).map(|decoder| Layer { decoder, passed: 0 }));
        Ok(Self { layers: layers.collect::<Result<_, _>>()?, most })
    }

    pub(crate) fn push(&mut self, input: &[u8], out: &mut Out<'_>) -> Result<(), Halt> {
        push_through(&mut self.layers, input, self.most, out)
    }

    pub(crate) fn end(&self) -> Result<(), Halt> {
        self.layers.iter().try_for_each(|layer| layer.decoder.end())
    }
}

fn push_through(layers: &mut [Layer], input: &[u8], most: u64, out: &mut Out<'_>) -> Result<(), Halt> {
    let Some((layer, rest)) = layers.split_first_mut() else { return out(input) };
    let Layer { decoder, passed } = layer;
    decoder.push(input, &mut |piece| {
        *passed = passed.saturating_add(piece.len() as u64);
        // The last layer's bytes are counted by the taker, which also takes the part that still fits.
        if *passed > most && !rest.is_empty() {
            return Err(Halt::Enough);
        }
        push_through(rest, piece, most, out)
    })
}

fn decoder(coding: Coding) -> Result<Box<dyn Decode>, Halt> {
    Ok(match coding {
        Coding::Gzip => Box::new(flate::Gzip::new()),
        Coding::Deflate => Box::new(flate::Deflate::new()),
        Coding::Brotli => Box::new(brotli::Brotli::new()),
        Coding::Zstd => Box::new(zstd::Zstd::new()?),
    })
}

/// Decoders hand out this much at once.
const PIECE: usize = 16 << 10;

#[cfg(test)]
mod tests;
