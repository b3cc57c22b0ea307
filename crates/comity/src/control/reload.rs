//! A new configuration for a crawl that runs.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use comity_frontier::{OriginFilter, TurnNews};
use comity_gate::{GateChange, OptOutFiles};
use comity_url::CrawlUrl;
use serde_json::json;

use super::{Answer, Control, ControlError};
use crate::config::{ConfigFile, CrawlConfig, expiring, live_changes};
use crate::control::subject::Held;
use crate::engine::{Live, Shared};
use crate::keep::facts;
use crate::{directory, marking, open};

/// What is to be done with a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// Only say what would change.
    Show,
    /// Put it in force.
    Apply,
}

/// What was permitted under the old settings has ended by then, or takes unusually long.
const PATIENCE: Duration = Duration::from_secs(35);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Origins that are looked at in one go.
const PAGE: usize = 1000;

impl Control {
    /// Puts another configuration in force, for queued URLs and leases that are not sent too: delays, gaps and rates, `include`
    /// and `exclude`, opt-out files, overrides, limits of the crawl, of origins and of domains, retries, places and revisits. All or nothing.
    ///
    /// The answer names the changes, and comes when the exchanges that began under the old settings are over, 35 s at most:
    /// `open` tells how many are not. Seeds that the crawl has stay; records that follow name the new configuration's digest.
    ///
    /// # Errors
    /// When the crawl is stopped, a setting cannot be used, or one would change that holds for a whole run or changes what the
    /// crawl means: then nothing was changed.
    pub async fn reload(&self, file: ConfigFile, reload: Reload) -> Result<Answer, ControlError> {
        let Held::Running(shared) = self.subject.hold()? else {
            return Err(ControlError::engine("the crawl is stopped: there is nothing to change while it runs")
                .hint("it takes its configuration at the start: comity crawl --dir DIR --config FILE"));
        };
        // One at a time: the next one sees what this one left.
        let mut config = shared.control.config.lock().await;
        let mut next = resolved(file, &config, shared.control.dir.as_deref())?;
        let changes = live_changes(&config, &next).map_err(crate::Error::from)?;
        let mut notes = expiring(&next.overrides, shared.clock.wall()).map_err(crate::Error::from)?;
        if reload == Reload::Show || changes.is_empty() {
            return Ok(answer(&changes, &notes, 0, None));
        }
        let (digest, takes_limits) = record_with_limits(&shared, &config, &next).await?;
        let optouts = std::mem::take(&mut next.optouts);
        let before = apply(&shared, &next, optouts);
        notes.extend((!takes_limits).then(|| open::without_effect(&next.file)).flatten());
        tracing::info!(?changes, digest, "configuration reloaded");
        let said = changes.iter().map(|change| format!("reloaded at {}: {change}", shared.clock.wall()));
        shared.tally().summary.notes.extend(said);
        *config = slim(next);
        judge_anew(&shared).await?;
        let open = over(&shared, &before).await;
        // Visits that began before may have been told to wait by the old settings meanwhile.
        judge_anew(&shared).await?;
        Ok(answer(&changes, &notes, open, Some(digest)))
    }
}

impl Control {
    /// [`Control::reload`] of a configuration as text.
    pub(super) async fn reload_text(&self, text: &str, show: bool) -> Result<Answer, ControlError> {
        let file = ConfigFile::of_text(text)
            .map_err(|e| ControlError::usage(format!("the configuration cannot be read: {}", e.message())))?;
        self.reload(file, if show { Reload::Show } else { Reload::Apply }).await
    }
}

/// The new configuration with the seeds that the crawl has: those of its directory's, for one seed is kept here.
fn resolved(mut file: ConfigFile, config: &CrawlConfig, dir: Option<&Path>) -> Result<CrawlConfig, ControlError> {
    let seeds = match dir {
        Some(dir) => {
            let known = ConfigFile::read(&dir.join("crawl.toml")).map_err(crate::Error::from)?.crawl.seeds;
            refuse_new(file.crawl.seeds.as_deref(), known.as_deref().unwrap_or_default())?;
            known
        }
        None => Some(config.seeds.iter().map(ToString::to_string).collect()),
    };
    file.crawl.seeds = seeds;
    Ok(CrawlConfig::resolve(file).map_err(crate::Error::from)?)
}

/// A seed is offered once, at the start: naming another one in the file would look as if it did something.
fn refuse_new(named: Option<&[String]>, known: &[String]) -> Result<(), ControlError> {
    let known: HashSet<CrawlUrl> = known.iter().filter_map(|text| CrawlUrl::parse(text).ok()).collect();
    let is_new = |text: &&String| !CrawlUrl::parse(text).is_ok_and(|url| known.contains(&url));
    match named.into_iter().flatten().find(is_new) {
        Some(new) => Err(ControlError::usage(format!("{new:?} is a new seed; nothing was changed"))
            .hint("add it with `comity frontier seed`")),
        None => Ok(()),
    }
}

/// What is kept of a configuration in memory: of a million seeds, one.
pub(super) fn slim(mut config: CrawlConfig) -> CrawlConfig {
    config.seeds.truncate(1);
    config.seeds.shrink_to_fit();
    config.file.crawl.seeds = Some(config.seeds.iter().map(ToString::to_string).collect());
    config
}

/// What is narrower before what says of it, what is wider after: at no instant more is let in than the configuration on record says.
/// A frontier may fail to take limits: then, and where they cannot be recorded, the old ones hold again. One that fails to widen them
/// afterwards keeps the narrower ones, and that is told. Tells the digest, and whether the frontier has limits at all.
async fn record_with_limits(
    shared: &Arc<Shared>,
    config: &CrawlConfig,
    next: &CrawlConfig,
) -> Result<(String, bool), ControlError> {
    let (old, new) = (open::limits(config), open::limits(next));
    let takes_limits = shared.frontier.set_limits(new.narrower(old)).await.map_err(crate::Error::from)?;
    let digest = match record(shared, next).await {
        Ok(digest) => digest,
        Err(error) => {
            if let Err(fault) = shared.frontier.set_limits(old).await {
                tracing::error!(error = %fault, "the frontier keeps the limits of a configuration that was not put in force");
            }
            return Err(error);
        }
    };
    if let Err(fault) = shared.frontier.set_limits(new).await {
        tracing::error!(error = %fault, "the frontier keeps narrower limits than its configuration says");
        shared.tally().summary.notes.push(format!("limits of the queue were not widened: {fault}"));
    }
    Ok((digest, takes_limits))
}

/// Writes down what comes into force, before it does. A kill between any two steps leaves a directory that tells one story: the
/// new text is kept under its digest, then the last checkpoint names it, then it takes the place of `crawl.toml`.
async fn record(shared: &Arc<Shared>, next: &CrawlConfig) -> Result<String, ControlError> {
    let text = marking::resolved_text(next)?;
    let digest = marking::digest(&text);
    let dir = shared.control.dir.as_deref();
    if let Some(dir) = dir {
        directory::keep(dir, &text)?;
    }
    let before = shared.keeper.reconfigured(facts(next, digest)).await?;
    if let (Some(dir), Some(before)) = (dir, before)
        && let Err(error) = directory::write_mark(dir, &text)
    {
        // Nothing changed: what follows is recorded under the configuration that stays in force.
        shared.keeper.reconfigured(before).await?;
        return Err(error.into());
    }
    Ok(digest.to_string())
}

/// Puts it in force, what leaves out first; gives the settings that visits under way began with.
fn apply(shared: &Shared, next: &CrawlConfig, optouts: OptOutFiles) -> Arc<Live> {
    shared.scope().set_patterns(&next.scope);
    shared.gate.change(GateChange {
        politeness: next.politeness.clone(),
        overrides: next.overrides.clone(),
        optouts,
        max_rate: next.max_rate,
        max_rate_domain: next.max_rate_domain,
    });
    drop(shared.gate.look_at_optouts());
    shared.tally().add_overrides(&next.overrides);
    shared.set_live(Live::of(next))
}

/// Tells who waits until told when its turn is by the new settings: a longer `max_crawl_delay` or an override may let in whom the
/// old ones held. Whoever they hold too is held again by its next judgement, without a request. Parks of the operator's stay.
async fn judge_anew(shared: &Shared) -> Result<(), ControlError> {
    let (mut after, now) = (None, shared.clock.now());
    loop {
        let page = shared.frontier.origins(OriginFilter::Stuck, after, PAGE, now).await?;
        for standing in page.rows {
            let origin = standing.waiting.origin;
            let turn = shared.gate.turn_anew(&origin);
            shared.frontier.turn(origin, TurnNews::RobotsReady { turn }, now).await?;
        }
        after = page.next;
        if after.is_none() {
            shared.poke.notify_one();
            return Ok(());
        }
    }
}

/// Waits until nobody works by the old settings any more; tells how many do when that takes too long.
async fn over(shared: &Shared, before: &Arc<Live>) -> usize {
    let until = shared.clock.now().after(PATIENCE);
    let optouts = shared.gate.optouts();
    loop {
        // A visit holds its settings; a robots.txt on its way to who is opted out is counted by the gate.
        let left = shared.gate.open_to(|origin| optouts.covering(origin).is_some());
        let open = (Arc::strong_count(before) - 1).max(left as usize);
        if open == 0 || shared.clock.now() >= until {
            return open;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn answer(changes: &[String], notes: &[String], open: usize, digest: Option<String>) -> Answer {
    let rows = changes.iter().map(|change| json!({"change": change})).collect();
    Answer { rows, about: json!({"next": null, "notes": notes, "open": open, "digest": digest}) }
}
