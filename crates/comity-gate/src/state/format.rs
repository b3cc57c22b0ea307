//! How entries are written: JSON with a version, so that a reader of another version asks anew instead of guessing.

use std::time::Duration;

use comity_policy::{Digest, Failing, KnownMemory, LifeMemory, PaceMemory, Reason, Remembered, Validators, WallTime};
use comity_url::CrawlUrl;
use serde::{Deserialize, Serialize};

/// The version of both formats.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Life {
    v: u32,
    written: i64,
    run: u64,
    known: Option<Known>,
    failing: Option<Run>,
    answered: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct Known {
    what: What,
    status: u16,
    fetched: i64,
    confirmed: i64,
    expires: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Copy {
        digest: String,
        bytes: u64,
        truncated: bool,
        final_url: Option<String>,
        etag: Option<Box<str>>,
        last_modified: Option<Box<str>>,
    },
    Absent,
    RedirectLimit,
}

#[derive(Serialize, Deserialize)]
struct Run {
    since: i64,
    attempts: u32,
    /// Missing in what was written before these two were: such a run has no witness yet.
    last_try: Option<i64>,
    #[serde(default)]
    witnessed_ms: u64,
    next_try: i64,
    cause: String,
    status: Option<u16>,
}

#[derive(Serialize, Deserialize)]
struct Pace {
    v: u32,
    backoff_until: Option<i64>,
    parked_until: Option<i64>,
    failures: u16,
}

pub(super) fn write_life(memory: &LifeMemory, now: WallTime, run: u64) -> Vec<u8> {
    let life = Life {
        v: VERSION,
        written: now.unix_millis(),
        run,
        known: memory.known.as_ref().map(Known::from),
        failing: memory.failing.as_ref().map(Run::from),
        answered: memory.answered.map(WallTime::unix_millis),
    };
    // Numbers, strings and options: there is nothing that JSON could not hold.
    serde_json::to_vec(&life).unwrap_or_default()
}

/// A life, when it was written, and in which run.
pub(super) struct WrittenLife {
    pub(super) memory: LifeMemory,
    pub(super) written: WallTime,
    pub(super) run: u64,
}

pub(super) fn read_life(bytes: &[u8]) -> Option<WrittenLife> {
    let life: Life = serde_json::from_slice(bytes).ok().filter(|life: &Life| life.v == VERSION)?;
    let memory = LifeMemory {
        known: match life.known {
            None => None,
            Some(known) => Some(known.read()?),
        },
        failing: match life.failing {
            None => None,
            Some(run) => Some(run.read()?),
        },
        answered: life.answered.map(WallTime::from_unix_millis),
    };
    Some(WrittenLife { memory, written: WallTime::from_unix_millis(life.written), run: life.run })
}

pub(super) fn write_pace(pace: &PaceMemory) -> Vec<u8> {
    let pace = Pace {
        v: VERSION,
        backoff_until: pace.backoff_until.map(WallTime::unix_millis),
        parked_until: pace.parked_until.map(WallTime::unix_millis),
        failures: pace.failures,
    };
    serde_json::to_vec(&pace).unwrap_or_default()
}

pub(super) fn read_pace(bytes: &[u8]) -> Option<PaceMemory> {
    let pace: Pace = serde_json::from_slice(bytes).ok().filter(|pace: &Pace| pace.v == VERSION)?;
    Some(PaceMemory {
        backoff_until: pace.backoff_until.map(WallTime::from_unix_millis),
        parked_until: pace.parked_until.map(WallTime::from_unix_millis),
        failures: pace.failures,
    })
}

impl From<&KnownMemory> for Known {
    fn from(known: &KnownMemory) -> Self {
        let what = match &known.what {
            Remembered::Absent => What::Absent,
            Remembered::RedirectLimit => What::RedirectLimit,
            Remembered::Copy { digest, bytes, truncated, final_url, validators } => {
                let validators = validators.as_deref().cloned().unwrap_or_default();
                What::Copy {
                    digest: digest.to_string(),
                    bytes: *bytes,
                    truncated: *truncated,
                    final_url: final_url.as_ref().map(ToString::to_string),
                    etag: validators.etag,
                    last_modified: validators.last_modified,
                }
            }
        };
        Self {
            what,
            status: known.status,
            fetched: known.fetched.unix_millis(),
            confirmed: known.confirmed.unix_millis(),
            expires: known.expires.unix_millis(),
        }
    }
}

impl Known {
    fn read(self) -> Option<KnownMemory> {
        let what = match self.what {
            What::Absent => Remembered::Absent,
            What::RedirectLimit => Remembered::RedirectLimit,
            What::Copy { digest, bytes, truncated, final_url, etag, last_modified } => {
                let validators = Validators { etag, last_modified };
                Remembered::Copy {
                    digest: digest.parse::<Digest>().ok()?,
                    bytes,
                    truncated,
                    final_url: match final_url {
                        None => None,
                        Some(url) => Some(CrawlUrl::parse(&url).ok()?),
                    },
                    validators: Some(validators).filter(|v| *v != Validators::default()).map(Box::new),
                }
            }
        };
        Some(KnownMemory {
            what,
            status: self.status,
            fetched: WallTime::from_unix_millis(self.fetched),
            confirmed: WallTime::from_unix_millis(self.confirmed),
            expires: WallTime::from_unix_millis(self.expires),
        })
    }
}

impl From<&Failing> for Run {
    fn from(failing: &Failing) -> Self {
        Self {
            since: failing.since.unix_millis(),
            attempts: failing.attempts,
            last_try: Some(failing.last_try.unix_millis()),
            witnessed_ms: u64::try_from(failing.witnessed.as_millis()).unwrap_or(u64::MAX),
            next_try: failing.next_try.unix_millis(),
            cause: failing.cause.code().to_owned(),
            status: failing.status,
        }
    }
}

impl Run {
    fn read(self) -> Option<Failing> {
        Some(Failing {
            since: WallTime::from_unix_millis(self.since),
            attempts: self.attempts,
            last_try: WallTime::from_unix_millis(self.last_try.unwrap_or(self.since)),
            witnessed: Duration::from_millis(self.witnessed_ms),
            next_try: WallTime::from_unix_millis(self.next_try),
            cause: Reason::from_code(&self.cause)?,
            status: self.status,
        })
    }
}
