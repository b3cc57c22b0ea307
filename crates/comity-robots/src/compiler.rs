//! Compiling with room that is kept.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::compile::read_and_compile;
use crate::draft::Draft;
use crate::order::Item;
use crate::robots::parsed_part;
use crate::{Dialect, RuleSet};

/// Compiles file after file, and keeps the room that it worked in: the next file of a size costs two allocations where `*` groups hold,
/// the rule set and its rules, and some more for named groups, signals and notes. [`RuleSet::parse`] asks for all of it anew.
///
/// Holds as much as the largest of its files took, at most 4 MiB; nothing of one file is seen by another.
///
/// ```
/// # use comity_robots::{Compiler, Dialect, RuleSet};
/// let mut compiler = Compiler::new();
/// for file in [&b"User-agent: *\nDisallow: /a\n"[..], b"User-agent: ExampleBot\nAllow: /\n"] {
///     let set = compiler.parse(file, &["ExampleBot"], Dialect::Standard);
///     assert_eq!(set, RuleSet::parse(file, &["ExampleBot"], Dialect::Standard));
/// }
/// ```
#[derive(Debug, Default)]
pub struct Compiler {
    pub(crate) room: Room,
    /// The tokens of `*` groups, as many sets share them.
    pub(crate) global: Option<Arc<[Box<str>]>>,
}

/// Room for the rules of a file.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) list: Vec<Draft>,
    pub(crate) own: Vec<u8>,
    pub(crate) items: Vec<Item>,
    /// Large tables are written here first. What stood there before is overwritten.
    pub(crate) bytes: Vec<u8>,
}

/// Bytes of each part of the room that are kept: those of the largest file, but for texts that are compared in another form.
const KEPT: usize = 1 << 20;

impl Compiler {
    /// One without any room yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`RuleSet::parse`].
    #[must_use]
    pub fn parse(&mut self, body: &[u8], tokens: &[&str], dialect: Dialect) -> RuleSet {
        let set = read_and_compile(parsed_part(body), tokens, dialect, self);
        self.room.shrink();
        set
    }
}

impl Room {
    /// Forgets what is too large to be kept.
    fn shrink(&mut self) {
        shrink(&mut self.list);
        shrink(&mut self.own);
        shrink(&mut self.items);
        shrink(&mut self.bytes);
    }
}

fn shrink<T>(part: &mut Vec<T>) {
    if part.capacity() > KEPT / size_of::<T>() {
        *part = Vec::new();
    }
}
