//! What is known of the files in which a site speaks about use: `/.well-known/tdmrep.json`, `/ai.txt`, `/trust.txt`, licences, terms.

use std::sync::Arc;
use std::time::Duration;

use comity_signals::{AiTxt, Remarks, RslCarrier, RslDocument, RslReading, Statement, Tdmrep, TrustTxt, Verdict};
use comity_url::{CrawlUrl, Origin};

use crate::{Digest, Terms, WallTime};

/// Which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteFileKind {
    /// `/.well-known/tdmrep.json` (TDMRep, 10 May 2024).
    Tdmrep,
    /// `/ai.txt` as Spawning defines it (2023).
    AiTxt,
    /// `/trust.txt` (JournalList, April 2024). Its second place, below `/.well-known/`, is not looked at: a second request to every site
    /// for the same few lines (our choice).
    TrustTxt,
    /// An RSL document that a site or a page names (RSL 1.0).
    Licence,
    /// Terms in prose: kept, never interpreted.
    Terms,
}

impl SiteFileKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Tdmrep, Self::AiTxt, Self::TrustTxt, Self::Licence, Self::Terms];

    /// The word of errands in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tdmrep => "tdmrep",
            Self::AiTxt => "ai_txt",
            Self::TrustTxt => "trust_txt",
            Self::Licence => "licence",
            Self::Terms => "terms",
        }
    }

    /// Where the file of `origin` stands, if it has a place of its own.
    #[must_use]
    pub fn url_on(self, origin: &Origin) -> Option<CrawlUrl> {
        let path = match self {
            Self::Tdmrep => "/.well-known/tdmrep.json",
            Self::AiTxt => "/ai.txt",
            Self::TrustTxt => "/trust.txt",
            Self::Licence | Self::Terms => return None,
        };
        origin.robots_url().join(path).ok()
    }

    /// Bytes that are taken of it: one more than is read of what is parsed, so that a longer one is known to be longer.
    #[must_use]
    pub const fn most_bytes(self) -> usize {
        match self {
            Self::Tdmrep => Tdmrep::MAX_BYTES + 1,
            Self::AiTxt => 512 * 1024,
            Self::TrustTxt => TrustTxt::MAX_BYTES + 1,
            Self::Licence => RslDocument::MAX_BYTES + 1,
            Self::Terms => 2 << 20,
        }
    }
}

/// What asking for the file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteFileState {
    /// 2xx with a whole body: what it says holds, if it can be read.
    Read,
    /// 4xx but 429, or a redirect that leads nowhere: there is none.
    Absent,
    /// More redirects than are followed: as absent.
    RedirectLimit,
    /// Nothing was learnt: 429, 5xx, no answer, a cut body. What an earlier copy says holds on.
    Unreachable,
    /// Not asked: robots.txt refuses it, the address may not be connected to, or its origin sees no request.
    NotAsked,
}

impl SiteFileState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Read, Self::Absent, Self::RedirectLimit, Self::Unreachable, Self::NotAsked];

    /// The word of records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Absent => "absent",
            Self::RedirectLimit => "redirect_limit",
            Self::Unreachable => "unreachable",
            Self::NotAsked => "not_asked",
        }
    }

    /// How long it is not asked again. Our choice, since TDMRep names no life: a day, as robots.txt at most; what was not
    /// learnt is asked again in an hour.
    #[must_use]
    pub const fn life(self) -> Duration {
        const HOUR: u64 = 3600;
        match self {
            Self::Read | Self::Absent | Self::RedirectLimit => Duration::from_secs(24 * HOUR),
            Self::Unreachable | Self::NotAsked => Duration::from_secs(HOUR),
        }
    }
}

/// One such file: never changed, only replaced.
///
/// That nothing was learnt is no permission and no denial: it is silence, with its name in the record, and what the operator
/// has set for silence decides (docs/decisions/0052).
#[derive(Clone, Debug)]
pub struct SiteFile {
    /// What asking came to, the last time.
    pub state: SiteFileState,
    /// HTTP status of the last answer.
    pub status: Option<u16>,
    /// When that was.
    pub asked: WallTime,
    /// From when it is to be asked again.
    pub until: WallTime,
    /// Where redirects led; `None` where it was answered at its own place.
    pub final_url: Option<CrawlUrl>,
    /// The copy that holds, of now or of before.
    pub copy: Option<SiteCopy>,
}

/// A copy of a file.
#[derive(Clone, Debug)]
pub struct SiteCopy {
    /// SHA-256 of its bytes as far as they are read.
    pub digest: Digest,
    /// When it was received.
    pub fetched: WallTime,
    /// What it says.
    pub rules: SiteRules,
}

/// What a copy says, compiled.
#[derive(Clone, Debug)]
pub enum SiteRules {
    /// Reservations.
    Tdmrep(Arc<Tdmrep>),
    /// Rules about training, read for each list of own tokens.
    AiTxt(Arc<[AiTxt]>),
    /// What is said of training on everything of the site, if anything is.
    TrustTxt(Arc<TrustTxt>),
    /// A licence.
    Licence(Arc<RslDocument>),
    /// Prose: nothing is read.
    Terms,
}

impl SiteRules {
    /// Reads a body. `lists` are the ordered lists of own product tokens.
    #[must_use]
    pub fn read(kind: SiteFileKind, body: &[u8], origin: &Origin, lists: &[Vec<String>]) -> Self {
        match kind {
            SiteFileKind::Tdmrep => Self::Tdmrep(Arc::new(Tdmrep::parse(body, origin.as_str()))),
            SiteFileKind::AiTxt => {
                let read = |list: &Vec<String>| {
                    let tokens: Vec<&str> = list.iter().map(String::as_str).collect();
                    AiTxt::parse(body, &tokens)
                };
                Self::AiTxt(lists.iter().map(read).collect())
            }
            SiteFileKind::TrustTxt => Self::TrustTxt(Arc::new(TrustTxt::parse(body))),
            SiteFileKind::Licence => Self::Licence(Arc::new(RslDocument::parse(body))),
            SiteFileKind::Terms => Self::Terms,
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Tdmrep(rules) => rules.heap_bytes() + size_of::<Tdmrep>(),
            Self::AiTxt(lists) => lists.iter().map(|one| one.heap_bytes() + size_of::<AiTxt>()).sum(),
            Self::Licence(document) => document.heap_bytes() + size_of::<RslDocument>(),
            Self::TrustTxt(said) => size_of::<TrustTxt>() + said.heap_bytes(),
            Self::Terms => 0,
        }
    }
}

impl SiteFile {
    /// True when it is to be asked before anything else of its origin.
    #[must_use]
    pub fn is_due(&self, now: WallTime) -> bool {
        self.until <= now
    }

    /// Its reservations, if it is a tdmrep.json that could be had.
    #[must_use]
    pub fn tdmrep(&self) -> Option<&Tdmrep> {
        match &self.copy.as_ref()?.rules {
            SiteRules::Tdmrep(rules) => Some(rules),
            _ => None,
        }
    }

    /// The licence, if it is one that could be had.
    #[must_use]
    pub fn licence(&self) -> Option<&RslDocument> {
        match &self.copy.as_ref()?.rules {
            SiteRules::Licence(document) => Some(document),
            _ => None,
        }
    }

    /// What an ai.txt says of training on the resource at `target`: for several lists of tokens the strictest.
    #[must_use]
    pub fn ai_txt(&self, target: &[u8]) -> Option<Statement> {
        let SiteRules::AiTxt(lists) = &self.copy.as_ref()?.rules else { return None };
        let mut said = lists.iter().filter_map(|rules| rules.statement(target));
        let first = said.next()?;
        Some(if first.verdict == Verdict::Denied {
            first
        } else {
            said.find(|said| said.verdict == Verdict::Denied).unwrap_or(first)
        })
    }

    /// Its words, if it is a trust.txt that could be had.
    #[must_use]
    pub fn trust_txt(&self) -> Option<&TrustTxt> {
        let SiteRules::TrustTxt(said) = &self.copy.as_ref()?.rules else { return None };
        Some(said)
    }

    /// Bytes that it holds beside itself.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let named = self.final_url.as_ref().map_or(0, |url| url.as_str().len());
        named + self.copy.as_ref().map_or(0, |copy| copy.rules.heap_bytes())
    }
}

/// A licence that a site or a page names, and what is known of it.
#[derive(Clone, Debug)]
pub struct NamedLicence {
    /// Where it stands.
    pub url: CrawlUrl,
    /// Where it is named.
    pub carrier: RslCarrier,
    /// What is known.
    pub file: Arc<SiteFile>,
}

impl NamedLicence {
    /// Licences that one robots.txt names, one page links to, or one page holds, at most (our choice).
    pub const MOST: usize = 16;
    /// Those that are known of one page at most: of its robots.txt, by its links, and within it. None of them takes the room of another
    /// one, so that what decided is never what falls off.
    pub const MOST_IN_ALL: usize = 3 * Self::MOST;

    /// What it says of the resource at `target` of `origin`. A permission under a condition that is not among those met is a denial,
    /// marked as conditional.
    #[must_use]
    pub fn read(&self, origin: &Origin, target: &[u8], terms: &Terms) -> RslReading {
        match self.file.licence() {
            Some(document) => document.read(origin.as_str(), target, self.carrier, &terms.conditions, terms.options),
            // Nobody has tried.
            None if self.file.state == SiteFileState::NotAsked => RslReading::default(),
            None => RslReading::unfetchable(),
        }
    }
}

/// What is known of the files of one site.
#[derive(Clone, Debug, Default)]
pub struct SiteFiles {
    /// tdmrep.json; `None` where it is not asked for.
    pub tdmrep: Option<Arc<SiteFile>>,
    /// ai.txt; `None` where it is not asked for.
    pub ai_txt: Option<Arc<SiteFile>>,
    /// trust.txt; `None` where it is not asked for.
    pub trust_txt: Option<Arc<SiteFile>>,
    /// The licences that its robots.txt names, at most [`NamedLicence::MOST`]; after the second decision those that the page names,
    /// too, [`NamedLicence::MOST_IN_ALL`] at most.
    pub licences: Vec<NamedLicence>,
}

impl SiteFiles {
    /// Nothing is known, since nothing is asked for.
    pub const NONE: &'static Self = &Self { tdmrep: None, ai_txt: None, trust_txt: None, licences: Vec::new() };

    /// True when nothing is asked for.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.tdmrep.is_none() && self.ai_txt.is_none() && self.trust_txt.is_none() && self.licences.is_empty()
    }

    /// What ai.txt and trust.txt say of the resource at `target`, and each licence. tdmrep.json stands apart: its later layers take its place.
    #[must_use]
    pub fn read(&self, origin: &Origin, target: &[u8], terms: &Terms) -> (Vec<Statement>, Remarks) {
        let mut said: Vec<_> = self.ai_txt.iter().filter_map(|file| file.ai_txt(target)).collect();
        let mut remarks = Remarks::NONE;
        if let Some(file) = self.trust_txt.as_deref().and_then(SiteFile::trust_txt) {
            remarks = remarks.with(file);
            said.extend(file.statement().cloned());
        }
        for licence in &self.licences {
            let read = licence.read(origin, target, terms);
            remarks = remarks.with(&read);
            said.extend(read.statements);
        }
        (said, remarks)
    }
}
