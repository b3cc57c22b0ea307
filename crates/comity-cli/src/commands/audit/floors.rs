//! Our own floor at the time of each request: a reload may change it in the middle of a crawl.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comity::config::ConfigFile;
use comity::policy::WallTime;

use super::requests::{Request, Wire};

/// What was permitted under a configuration leaves, or never does, within this time of the next one: permits go stale after
/// 30 s, and an answer is waited for as long (our choice).
pub(super) const LINGERS: Duration = Duration::from_secs(60);

/// Floors of WARC files, each of which is written under one configuration.
#[derive(Debug)]
pub(super) struct Floors {
    /// When a file begins, and its floor; the places are those of [`Wire::files`].
    files: Vec<(WallTime, Duration)>,
}

impl Floors {
    /// One floor for everything.
    pub(super) fn all(wire: &Wire, floor: Duration) -> Self {
        Self { files: wire.agents.iter().map(|agent| (agent.since, floor)).collect() }
    }

    /// The floors of the configurations that the files name, `D/configs/SHA256.toml`. A file whose configuration is not kept is
    /// measured by `D/crawl.toml`, as the crawl has it now.
    pub(super) fn read(wire: &Wire, dir: &Path) -> Self {
        let now = delay_of(&dir.join("crawl.toml")).unwrap_or(Duration::ZERO);
        let mut known: HashMap<&str, Duration> = HashMap::new();
        let mut floor = |digest| {
            let read = || delay_of(&dir.join("configs").join(format!("{digest}.toml"))).unwrap_or(now);
            *known.entry(digest).or_insert_with(read)
        };
        let files = wire.agents.iter().map(|agent| (agent.since, agent.config.as_deref().map_or(now, &mut floor)));
        Self { files: files.collect() }
    }

    /// The floor that a request was held to: the least of its file's and of those that were in force until shortly before.
    pub(super) fn of(&self, request: &Request) -> Duration {
        let files = self.files.get(..=request.file).unwrap_or_default();
        let mut least: Option<Duration> = None;
        for (since, floor) in files.iter().rev() {
            least = Some(least.map_or(*floor, |least| least.min(*floor)));
            if since.after(LINGERS) < request.at {
                break;
            }
        }
        least.unwrap_or_default()
    }

    /// The least and the greatest, in milliseconds.
    pub(super) fn span_ms(&self) -> (u64, u64) {
        let ms = |floor: Duration| u64::try_from(floor.as_millis()).unwrap_or(u64::MAX);
        let floors = || self.files.iter().map(|(_, floor)| *floor);
        (ms(floors().min().unwrap_or_default()), ms(floors().max().unwrap_or_default()))
    }
}

/// The delay that a configuration asks for, as it stands there: what else it names need not be there any more.
fn delay_of(path: &PathBuf) -> Option<Duration> {
    Some(ConfigFile::read(path).ok()?.politeness.delay.map_or(Duration::ZERO, |span| span.0))
}
