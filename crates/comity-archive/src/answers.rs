use std::collections::VecDeque;

use crate::ArchiveError;
use crate::stored::Stored;

/// What became of events that are stored together, by their places.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Staged, neither stored nor lost yet; oldest first.
    pub(crate) staged: VecDeque<usize>,
    pub(crate) all: Vec<(usize, Result<Stored, ArchiveError>)>,
}

impl Answers {
    pub(crate) fn acknowledge(&mut self, stored: impl Iterator<Item = Stored>) {
        for stored in stored {
            self.all.extend(self.staged.pop_front().map(|at| (at, Ok(stored))));
        }
    }

    pub(crate) fn lose(&mut self, error: &ArchiveError) {
        self.all.extend(self.staged.drain(..).map(|at| (at, Err(error.again()))));
    }
}
