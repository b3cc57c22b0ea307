//! One process of a crawl, from its start to its end.

use std::pin::pin;
use std::time::Duration;

use comity::policy::SeededRandom;
use comity::{Crawler, Error, Summary};

use crate::disk::Cut;
use crate::faults::{Fault, Life};
use crate::plan::Dice;
use crate::stage::Stage;

/// How one process of the crawl went.
#[derive(Clone, Debug)]
pub(crate) struct Lived {
    pub(crate) began_us: u64,
    pub(crate) ended_us: u64,
    pub(crate) end: LifeEnd,
    /// What its end was to be; `None` for the one that was left alone.
    pub(crate) planned: Option<Fault>,
    /// What a power cut took.
    pub(crate) cut: Cut,
    /// For how long a commit of the queue was not safe against one, at most.
    pub(crate) exposed: Duration,
    /// A write was refused for want of room.
    pub(crate) was_full: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum LifeEnd {
    /// It came to an end of its own.
    Ended(Box<Summary>),
    /// It stopped because of its storage.
    Storage(String),
    /// It ended with another error, or not at all.
    Broken(String),
    /// It was killed.
    Killed,
}

impl Lived {
    /// What was under way was dropped unfinished.
    pub(crate) const fn breaks_off(&self) -> bool {
        match (&self.end, self.planned) {
            (LifeEnd::Ended(_), Some(Fault::Stop)) | (LifeEnd::Storage(_) | LifeEnd::Killed, _) => true,
            (LifeEnd::Ended(_) | LifeEnd::Broken(_), _) => false,
        }
    }
}

impl Lived {
    /// It ended because it was asked to.
    pub(crate) fn stopped(&self) -> bool {
        matches!(&self.end, LifeEnd::Ended(summary) if summary.end == comity::End::Stopped)
    }
}

/// No crawl of a plan lasts longer: what still waits then waits for ever.
const TOO_LONG: Duration = Duration::from_secs(7 * 86_400);

/// Turns in which everything that a killed crawl left behind ends.
const LAST_TURNS: u64 = 200;

impl Stage<'_> {
    /// Plays one process; `life` says how it ends, if not by itself.
    pub(crate) async fn live(&self, number: usize, life: Option<&Life>) -> Lived {
        self.observer.clients_reborn();
        self.store.process_begins();
        let began_us = self.observer.now_us();
        let refused = || self.store.refused() + self.files.refused();
        let before = refused();
        let end = match self.crawler(number).build() {
            Ok(crawler) => {
                // What earlier processes left was written back since.
                self.files.state_synced();
                self.run(crawler, life).await
            }
            Err(error) => LifeEnd::Broken(format!("it does not start: {}", told(&error))),
        };
        turns(LAST_TURNS).await;
        self.observer.clients_died();
        let exposed = self.store.exposed();
        let cut = match life {
            Some(Life { end: Fault::PowerCut, .. }) if matches!(end, LifeEnd::Killed) => {
                let dice = Dice(SeededRandom::new(self.plan.seed ^ (number as u64).rotate_left(40)));
                let (archived, archived_age) = self.files.cut_power(&dice);
                let robots = self.files.cut_state().map_or(0, |after_us| self.forget(after_us));
                Cut { archived, archived_age, robots, ..self.store.cut_power(&dice) }
            }
            _ => Cut::default(),
        };
        self.files.process_ended();
        let was_full = refused() > before;
        self.store.set_full(false);
        self.files.set_room(None);
        let planned = life.map(|life| life.end);
        Lived { began_us, ended_us: self.observer.now_us(), end, planned, cut, exposed, was_full }
    }

    /// What the clients were told later is forgotten: they have to ask again before they ask for any page. Gives how many answers
    /// to robots.txt are among it.
    fn forget(&self, after_us: u64) -> u64 {
        self.observer.clients_forgot(after_us);
        let told = self.observer.log().into_iter().filter(|seen| seen.ended_us.is_some_and(|ended| ended > after_us));
        told.filter(|seen| seen.request.is_robots_txt()).count() as u64
    }

    async fn run(&self, crawler: Crawler, life: Option<&Life>) -> LifeEnd {
        let stop = crawler.stop_handle();
        let mut running = pin!(tokio::time::timeout(TOO_LONG, crawler.run()));
        let Some(life) = life else { return ended(running.await) };
        let moment = async {
            tokio::time::sleep(life.after).await;
            turns(life.turns).await;
        };
        tokio::select! {
            biased;
            () = moment => {}
            done = &mut running => return ended(done),
        }
        match life.end {
            Fault::Kill | Fault::PowerCut => return LifeEnd::Killed,
            Fault::Drain => stop.drain(),
            Fault::Stop => stop.now(),
            Fault::StoreFull => self.store.set_full(true),
            Fault::ArchiveFull(room) => self.files.set_room(Some(room)),
        }
        ended(running.await)
    }
}

/// Lets everything that is ready run so many times; no time passes.
async fn turns(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

fn ended(done: Result<Result<Summary, Error>, tokio::time::error::Elapsed>) -> LifeEnd {
    match done {
        Ok(Ok(mut summary)) => {
            // They name the directory, which is another in every run.
            summary.files.clear();
            summary.notes.clear();
            LifeEnd::Ended(Box::new(summary))
        }
        // Its cause names files, which are others in every run.
        Ok(Err(error)) if error.is_storage() => LifeEnd::Storage(error.to_string()),
        Ok(Err(error)) => LifeEnd::Broken(told(&error)),
        Err(_) => LifeEnd::Broken("the crawl did not end within a week".to_owned()),
    }
}

fn told(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}
