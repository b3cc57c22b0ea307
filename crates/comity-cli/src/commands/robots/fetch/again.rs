//! The second question: whether the site answers the same a moment later.

use comity_gate::{FetchedRobots, RobotsClass};

use crate::commands::asker::Asker;
use crate::commands::asker::words;

/// What the second question brought.
#[derive(Debug)]
pub(super) enum Again {
    /// The same class, status and bytes.
    Same,
    /// Something else.
    Differs(Box<FetchedRobots>),
    /// Not asked, and why.
    NotAsked(String),
}

/// Asks again when the origin's delay has run. Where the first answer was none, the site is left alone.
pub(super) fn ask(asker: &Asker, first: &FetchedRobots) -> Again {
    if matches!(first.class, RobotsClass::Unreachable { .. }) {
        return Again::NotAsked("the first answer was none".to_owned());
    }
    let wait = asker.wait(&first.origin);
    eprintln!("asking a second time in {} (--once: leave it out)", words::span(wait));
    let second = asker.ask_again(&first.origin);
    let bytes = |found: &FetchedRobots| found.file.as_ref().map(|(digest, _)| *digest);
    match &second.class {
        RobotsClass::Later(_) => Again::NotAsked(format!("the site asks for {} between requests", words::span(wait))),
        class if *class == first.class && bytes(&second) == bytes(first) => Again::Same,
        _ => Again::Differs(Box::new(second)),
    }
}
