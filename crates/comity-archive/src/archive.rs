use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comity_policy::{Clock, WallTime};

use crate::answers::Answers;
use crate::chain::{ChainFile, ChainHead, Line, SALT_BYTES};
use crate::checkpoint::{CheckpointLog, Now};
use crate::disk::{Disk, RealDisk, sync_folder};
use crate::entropy::{random_tag, record_id};
use crate::erase::journal::Journal;
use crate::erase::{All, carry};
use crate::names::{Names, RECORDS_END};
use crate::prepare::{Prepared, Preparer, lock};
use crate::records::writer::RecordsWriter;
use crate::recovery::recover;
use crate::repeats::Payloads;
use crate::resume::last_head;
use crate::robots_responses::RobotsResponses;
use crate::stored::{Stored, StoredWarc};
use crate::warc::writer::WarcWriter;
use crate::{ArchiveConfig, ArchiveError, ConfigFacts, CrawlLock, Entropy, Event, Record, UnsyncedEvidence, Use};

/// The storage of one crawl: WARC files, record lines and their chain under one directory.
///
/// Synchronous: the engine runs it on a thread of its own. One [`Event`] is one append to the WARC and one record line.
/// A line is acknowledged by its [`Stored`], which only [`Archive::flush`] gives out, after the bytes of both have been
/// handed to the operating system: a killed process loses none of them. [`Archive::sync`] does the same against power
/// loss.
#[derive(Debug)]
pub struct Archive {
    pub(crate) dir: PathBuf,
    pub(crate) config: ArchiveConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Box<dyn Entropy>,
    disk: Arc<dyn Disk>,
    names: Names,
    /// Base name of the open pair of files.
    pub(crate) base: Option<String>,
    pub(crate) warc: WarcWriter,
    pub(crate) records: RecordsWriter,
    pub(crate) head: Option<ChainHead>,
    flushed_head: Option<ChainHead>,
    /// Staged, not yet written as a frame.
    staged: Vec<Stored>,
    /// Where the first staged event begins in the WARC.
    staged_from: Option<u64>,
    /// Flushed by the archive itself, not yet handed out.
    done: Vec<Stored>,
    pub(crate) payloads: Payloads,
    pub(crate) preparer: Arc<Preparer>,
    unchecked: u64,
    pub(crate) checkpoints: CheckpointLog,
    /// Set when the device refused to make a file safe: it may take a second try for done, although bytes are lost.
    pub(crate) refused: bool,
    /// What has to be safe before records and checkpoints are.
    evidence: Option<UnsyncedEvidence>,
    /// The names of its folders, and the first checkpoint, are safe against a power cut.
    has_safe_begin: bool,
    /// When the last checkpoint was made, or none was needed.
    checkpointed: WallTime,
    /// Given back when all else is.
    pub(crate) lock: Arc<CrawlLock>,
}

/// Outcomes held between two flushes, at most.
const MAX_STAGED: usize = 4096;
/// Staged bytes above which the archive flushes by itself.
const STAGED_BYTES: usize = 1 << 20;
/// Free space is looked at again after this many bytes.
const FREE_EVERY: u64 = 4 << 20;
/// Lines after which the next sync makes a checkpoint (our choice: a checkpoint is half a KiB).
const CHECKPOINT_LINES: u64 = 10_000;
/// And time after which it does, in milliseconds: what a cut end can hide from whoever holds the signatures.
const CHECKPOINT_MILLIS: i64 = 60_000;

impl Archive {
    /// Opens the storage of a crawl under `dir`, which is created when missing. A crawl that is there already goes on:
    /// its chain is continued in new files. Files that an earlier run left open are cut to their last whole event,
    /// indexed, and given their final names, which reads them once; closed ones are never written to, but by an erasure
    /// ([`Archive::erase`]): one that was cut short is done to its end first. One process at a time.
    ///
    /// # Errors
    /// When a setting cannot be used, another process has the directory, it cannot be written, less than `min_free` is left, or the records
    /// that are there are damaged or fewer than `D/chain` says.
    pub fn create(
        dir: &Path,
        config: ArchiveConfig,
        clock: Arc<dyn Clock>,
        entropy: Box<dyn Entropy>,
    ) -> Result<Self, ArchiveError> {
        Self::create_on(Arc::new(RealDisk), dir, config, clock, entropy)
    }

    /// As [`Archive::create`], its files written through `disk`.
    ///
    /// # Errors
    /// As [`Archive::create`].
    pub fn create_on(
        disk: Arc<dyn Disk>,
        dir: &Path,
        config: ArchiveConfig,
        clock: Arc<dyn Clock>,
        mut entropy: Box<dyn Entropy>,
    ) -> Result<Self, ArchiveError> {
        config.check()?;
        let (warc_dir, records_dir) = (dir.join("warc"), dir.join("records"));
        for folder in [&warc_dir, &records_dir] {
            std::fs::create_dir_all(folder).map_err(|e| ArchiveError::io(folder, e))?;
        }
        let lock = config.lock.clone();
        let lock = lock.map_or_else(|| CrawlLock::take(dir, Use::Archive).map(Arc::new), Ok)?;
        let erasing = Journal::load(dir, config.signer.as_deref())?;
        if let Some(journal) = &erasing {
            tracing::info!(id = journal.id, "an erasure that was cut short goes on");
            carry::files(dir, journal, &mut All)?;
        }
        recover(dir)?;
        let head = last_head(dir)?;
        let tag = match &config.tag {
            Some(tag) => tag.clone(),
            None => random_tag(entropy.as_mut()).map_err(|e| ArchiveError::io(dir, e))?,
        };
        let mut archive = Self {
            dir: dir.to_owned(),
            names: Names::new(config.prefix.clone(), tag),
            warc: WarcWriter::new(disk.clone(), warc_dir, config.format, config.level)?,
            records: RecordsWriter::new(disk.clone(), records_dir)?,
            base: None,
            head,
            flushed_head: head,
            staged: Vec::new(),
            staged_from: None,
            done: Vec::new(),
            payloads: Payloads::default(),
            preparer: Arc::new(Preparer::new(dir, &config)),
            unchecked: 0,
            checkpoints: CheckpointLog::open(dir)?,
            refused: false,
            evidence: None,
            has_safe_begin: false,
            checkpointed: clock.wall(),
            lock,
            config,
            clock,
            entropy,
            disk,
        };
        archive.check_free()?;
        if let Some(journal) = &erasing {
            archive.conclude(journal, &mut All)?;
        }
        archive.checkpoint()?;
        archive.store_head()?;
        if archive.owns_lock() {
            archive.lock.says(Use::Archive)?;
        }
        Ok(archive)
    }

    /// Whether nobody else says who may read meanwhile.
    pub(crate) const fn owns_lock(&self) -> bool {
        self.config.lock.is_none()
    }

    /// From here on the copies of an evidence store are made safe before the records, and the checkpoints, that rest on them.
    pub fn rest_on(&mut self, evidence: UnsyncedEvidence) {
        self.evidence = Some(evidence);
    }

    /// Stores one outcome: [`Archive::stage`] and [`Archive::flush`]. Prefer staging several when they are at hand:
    /// a frame of many lines is a fraction of the size. What was staged before is flushed too, and acknowledged by the
    /// next [`Archive::flush`].
    ///
    /// # Errors
    /// As these two.
    pub fn append(&mut self, event: &Event) -> Result<Stored, ArchiveError> {
        self.stage(event)?;
        self.flush_staged()?;
        self.done.pop().ok_or(ArchiveError::Staged { limit: MAX_STAGED })
    }

    /// Takes in one outcome: its WARC records are written, its line waits for the next [`Archive::flush`].
    ///
    /// # Errors
    /// On failure nothing of the event is stored and everything before it is as it was.
    pub fn stage(&mut self, event: &Event) -> Result<(), ArchiveError> {
        let prepared = self.preparer.prepare(Cow::Borrowed(event), self.entropy.as_mut())?;
        self.stage_prepared(&prepared)
    }

    fn stage_prepared(&mut self, prepared: &Prepared<'_>) -> Result<(), ArchiveError> {
        if self.staged.len() + self.done.len() >= MAX_STAGED {
            return Err(ArchiveError::Staged { limit: MAX_STAGED });
        }
        self.make_room()?;
        let result = self.write_prepared(prepared);
        if result.is_err() {
            self.warc.discard();
        }
        let stored = result?;
        if self.staged_from.is_none() {
            self.staged_from = stored.warc.as_ref().map(|place| place.offset);
        }
        self.staged.push(stored);
        Ok(())
    }

    /// Stores all of these and flushes them together; an answer for each, in their order. Of one that fails nothing is stored.
    pub(crate) fn append_all(&mut self, events: &[&Prepared<'_>]) -> Vec<Result<Stored, ArchiveError>> {
        let mut answers = Answers::default();
        for (at, event) in events.iter().enumerate() {
            let staged = self.stage_prepared(event);
            // Making room for this one may have stored those before it, or lost them.
            answers.acknowledge(self.done.drain(..));
            match staged {
                Ok(()) => answers.staged.push_back(at),
                Err(error) => {
                    if self.staged.is_empty() {
                        answers.lose(&error);
                    }
                    answers.all.push((at, Err(error)));
                }
            }
        }
        match self.flush_staged() {
            Ok(()) => answers.acknowledge(self.done.drain(..)),
            Err(error) => answers.lose(&error),
        }
        answers.all.sort_by_key(|(at, _)| *at);
        answers.all.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Writes the lines of all staged outcomes and acknowledges them, in their order.
    ///
    /// # Errors
    /// On failure none of the staged outcomes is stored: lines and WARC records are taken back.
    pub fn flush(&mut self) -> Result<Vec<Stored>, ArchiveError> {
        self.flush_staged()?;
        Ok(std::mem::take(&mut self.done))
    }

    /// Flushes, and makes everything acknowledged so far safe against power loss: evidence first, then WARC, then records,
    /// then the chain's head.
    ///
    /// # Errors
    /// As [`Archive::flush`], and when the device refuses.
    pub fn sync(&mut self) -> Result<Vec<Stored>, ArchiveError> {
        self.check_safe()?;
        self.flush_staged()?;
        self.sync_before()?;
        let synced = self.warc.sync().and_then(|()| self.records.sync());
        self.refused = synced.is_err();
        synced?;
        self.checkpoint_if_due()?;
        self.store_head()?;
        Ok(std::mem::take(&mut self.done))
    }

    /// Flushes, syncs, gives the open files their final names.
    ///
    /// # Errors
    /// As [`Archive::sync`]; what could not be closed keeps its `.open` name and is valid up to its last event.
    pub fn close(mut self) -> Result<Vec<Stored>, ArchiveError> {
        self.roll()?;
        Ok(std::mem::take(&mut self.done))
    }

    /// From the next outcome on another configuration is in force; gives the one that was. The open files are closed, since what
    /// a file begins with holds for all of it. The last checkpoint names the new one when this returns.
    ///
    /// # Errors
    /// As [`Archive::sync`]: then the old one holds, and the next checkpoint names it.
    pub fn reconfigure(&mut self, facts: ConfigFacts) -> Result<ConfigFacts, ArchiveError> {
        self.roll()?;
        let before = self.replace_facts(facts);
        // Names it before it stands in the directory: `verify` takes either.
        match self.checkpoint().and_then(|()| self.store_head()) {
            Ok(()) => Ok(before),
            Err(error) => {
                self.replace_facts(before);
                Err(error)
            }
        }
    }

    /// What is prepared under the ones before is made anew in its turn.
    fn replace_facts(&mut self, facts: ConfigFacts) -> ConfigFacts {
        let before = self.config.crawl.replace(facts);
        *lock(&self.preparer.crawl) = Arc::new(self.config.crawl.clone());
        before
    }

    /// Where the open WARC ends validly, with its final name; `None` before the first record of a file.
    #[must_use]
    pub fn end_offset(&self) -> Option<(&str, u64)> {
        self.warc.file_name().map(|name| (name, self.warc.end_offset()))
    }

    /// The chain's head after the last acknowledged line.
    #[must_use]
    pub const fn chain_head(&self) -> Option<ChainHead> {
        self.flushed_head
    }

    /// Room on the device, in the frame and in the files, before an event starts.
    fn make_room(&mut self) -> Result<(), ArchiveError> {
        self.check_safe()?;
        if self.unchecked >= FREE_EVERY {
            self.check_free()?;
            self.unchecked = 0;
        }
        if self.records.staged() >= STAGED_BYTES {
            self.flush_staged()?;
        }
        let limit = self.config.rollover;
        if self.warc.end_offset() >= limit || self.records.end_offset() >= limit || self.warc.index_is_full() {
            self.roll()?;
        }
        if self.base.is_none() { self.open_records() } else { Ok(()) }
    }

    /// Opens a records file; its name reserves that of the WARC beside it.
    fn open_records(&mut self) -> Result<(), ArchiveError> {
        let (warc, records) = (self.dir.join("warc"), self.dir.join("records"));
        loop {
            let base = self.names.next(self.clock.wall(), &warc, &records)?;
            match self.records.open(&format!("{base}{RECORDS_END}")) {
                // Another process was quicker: the next serial is tried, as often as `Names` allows.
                Err(ArchiveError::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    self.base = Some(base);
                    return Ok(());
                }
            }
        }
    }

    /// Opens the WARC of the current pair, with its warcinfo, if it is not open yet.
    pub(crate) fn open_warc(&mut self) -> Result<(), ArchiveError> {
        if self.warc.end_offset() > 0 {
            return Ok(());
        }
        let name = format!("{}{}", self.base.as_deref().unwrap_or_default(), self.config.format.ending());
        if self.warc.file_name().is_none() {
            self.warc.open(&name)?;
        }
        let result = self.write_warcinfo(&name);
        if result.is_err() {
            self.warc.discard();
        }
        result
    }

    /// Stores a record that is of no event.
    pub(crate) fn append_record(&mut self, record: &Record) -> Result<(), ArchiveError> {
        self.make_room()?;
        let line = self.line(record)?;
        let stored = self.stage_line(&line, None);
        self.staged.push(stored);
        self.flush_staged()?;
        // Acknowledged to nobody else.
        self.done.pop();
        Ok(())
    }

    /// The next checkpoint sums these closed files anew: they were changed by right.
    pub(crate) fn forget_sums(&mut self, names: &[String]) {
        self.checkpoints.forget(names);
    }

    /// Nothing is called safe, or added, after what may be lost: the next start reads what is there.
    pub(crate) fn check_safe(&self) -> Result<(), ArchiveError> {
        if !self.refused {
            return Ok(());
        }
        let problem =
            "a file could not be made safe before: nothing more is stored. Look at the device, then start anew";
        Err(ArchiveError::io(&self.dir, std::io::Error::other(problem)))
    }

    /// What has to be safe before records are.
    pub(crate) fn sync_before(&mut self) -> Result<(), ArchiveError> {
        if !self.has_safe_begin {
            self.checkpoints.sync()?;
            // Files in a folder whose name is lost are lost.
            sync_folder(&self.dir).map_err(|e| ArchiveError::io(&self.dir, e))?;
            // The folder above may be one that we may not read: then its owner answers for it.
            if let Some(above) = self.dir.parent() {
                drop(sync_folder(above));
            }
            self.has_safe_begin = true;
        }
        self.evidence.as_ref().map_or(Ok(()), UnsyncedEvidence::sync)
    }

    pub(crate) fn flush_staged(&mut self) -> Result<(), ArchiveError> {
        if self.staged.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.records.flush() {
            self.take_back();
            return Err(error);
        }
        self.done.append(&mut self.staged);
        self.staged_from = None;
        self.flushed_head = self.head;
        Ok(())
    }

    /// Undoes what was staged. A WARC that cannot be cut refuses further writes by itself.
    fn take_back(&mut self) {
        self.records.discard();
        self.staged.clear();
        self.head = self.flushed_head;
        (*lock(&self.preparer.robots), self.payloads) = (RobotsResponses::default(), Payloads::default());
        if let Some(from) = self.staged_from.take()
            && let Err(error) = self.warc.cut(from)
        {
            tracing::error!(%error, "staged events could not be taken back");
        }
    }

    /// Replaces `D/chain`; a chain without a line has no head.
    pub(crate) fn store_head(&self) -> Result<(), ArchiveError> {
        let Some(head) = self.flushed_head else { return Ok(()) };
        ChainFile { head, checkpoint: self.checkpoints.digest() }.store(&self.dir)
    }

    fn checkpoint_if_due(&mut self) -> Result<(), ArchiveError> {
        let lines = self.flushed_head.map_or(0, |head| head.seq + 1);
        let waited = self.clock.wall().unix_millis().saturating_sub(self.checkpointed.unix_millis());
        let due = lines.saturating_sub(self.checkpoints.lines()) >= CHECKPOINT_LINES || waited >= CHECKPOINT_MILLIS;
        if due { self.checkpoint() } else { Ok(()) }
    }

    /// Writes down where the chain stands and what the closed files hold. Everything flushed must be safe before.
    pub(crate) fn checkpoint(&mut self) -> Result<(), ArchiveError> {
        let open = self.base.as_ref().map_or_else(Vec::new, |base| {
            vec![format!("records/{base}{RECORDS_END}"), format!("warc/{base}{}", self.config.format.ending())]
        });
        let at = self.clock.wall();
        self.checkpointed = at;
        self.checkpoints.add(&Now {
            at: at.to_string(),
            head: self.flushed_head,
            config: self.config.crawl.config_digest,
            open: &open,
            signer: self.config.signer.as_deref(),
        })
    }

    fn check_free(&self) -> Result<(), ArchiveError> {
        let min_free = self.config.min_free;
        if min_free == 0 {
            return Ok(());
        }
        let free = self.disk.free(&self.dir).map_err(|e| ArchiveError::io(&self.dir, e))?;
        match free.filter(|free| *free < min_free) {
            Some(free) => Err(ArchiveError::Full { path: self.dir.clone(), free: Some(free), min_free }),
            None => Ok(()),
        }
    }

    /// The next line of the chain, for this record. The head moves only when the event was written.
    pub(crate) fn line(&mut self, record: &Record) -> Result<Line, ArchiveError> {
        let mut salt = [0_u8; SALT_BYTES];
        self.entropy.fill(&mut salt).map_err(|e| ArchiveError::io(&self.dir, e))?;
        let body = serde_json::to_string(record).map_err(|e| ArchiveError::io(&self.dir, e.into()))?;
        Ok(Line::following(self.head, salt, body))
    }

    /// Stages the line of an event whose WARC records are written.
    pub(crate) fn stage_line(&mut self, line: &Line, warc: Option<StoredWarc>) -> Stored {
        let length = self.records.stage(line);
        self.unchecked += length as u64 + warc.as_ref().map_or(0, |place| place.end - place.offset);
        self.head = Some(line.head());
        let records_file = self.records.file_name().unwrap_or_default().into();
        Stored { seq: line.seq, record: line.commitment, records_file, warc, capture: None }
    }

    pub(crate) fn new_id(&mut self) -> Result<String, ArchiveError> {
        record_id(self.entropy.as_mut()).map_err(|e| ArchiveError::io(&self.dir, e))
    }
}
