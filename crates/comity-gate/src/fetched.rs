use std::time::Duration;

use bytes::Bytes;
use comity_fetch::{ConfigError, FetchConfig, Fetcher, Refused, SystemClock, SystemNet, SystemRandom};
use comity_policy::{
    Capture, ChainEnd, Digest, Identity, Network, Ready, Reason, RobotsEvent, RobotsLife, Standing, Turn, Validators,
    WallTime,
};
use comity_robots::{Robots, RuleSet};
use comity_url::{CrawlUrl, Origin};

use crate::flight::When;
use crate::trail::Trail;
use crate::{Gate, GateConfig};

/// Asks for the robots.txt of one origin and tells everything about it: the chain of redirects, what its end means, the
/// bytes, the life, the rules.
///
/// A gate and a fetcher are made for this call over the machine's network, and the request goes the way of every other
/// one: a turn, a permit and an address check for each hop. Whoever has a [`Gate`] already calls
/// [`Gate::fetch_robots`], so that the site is paced as one. Takes as long as the site does, at most some minutes: five
/// redirects to slow sites. Never fails for what a site does: that is the [`RobotsClass`].
///
/// ```
/// use comity_gate::{RobotsClass, RobotsFetch, fetch_robots};
/// use comity_policy::Identity;
/// use comity_testweb::{Answer, Site, Web};
/// use comity_url::Origin;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A site on this machine. For one on the web, fetch_robots(&origin, identity) is enough.
/// let file = Answer::text("User-agent: *\nCrawl-delay: 2\nDisallow: /private/\n").field("Cache-Control", "max-age=3600");
/// let site = Site::new().robots_answer(Answer::redirect(301, "/moved")).page("/moved", file);
/// let served = Web::builder(1).site(site).build()?.serve_loopback().await?;
/// let origin = Origin::parse(&served.origins()[0])?;
///
/// let identity = Identity::new("MyBot/1.0", "https://example.com/bot", &[], Vec::new())?;
/// let found = fetch_robots(&origin, RobotsFetch::new(identity).allow(["127.0.0.0/8".parse()?])).await?;
///
/// assert_eq!(found.class, RobotsClass::Parsed { status: 200 });
/// assert_eq!(found.hops.len(), 2, "the redirect, and the file");
/// assert!(!found.rules().ok_or("no rules")?[0].verdict(b"/private/diary").allowed);
/// assert_eq!(found.life.asked_pace().delay(), Some(std::time::Duration::from_secs(2)));
/// assert_eq!(found.max_age, Some(std::time::Duration::from_secs(3600)));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Settings that cannot work; see [`ConfigError`].
pub async fn fetch_robots(origin: &Origin, settings: impl Into<RobotsFetch>) -> Result<FetchedRobots, ConfigError> {
    Ok(settings.into().open()?.fetch_robots(origin, AskRobots::Anew).await)
}

/// The settings of [`fetch_robots`].
#[derive(Clone, Debug)]
pub struct RobotsFetch {
    /// Who asks, how fast, and how the answer is read.
    pub gate: GateConfig,
    /// How it is fetched; the User-Agent is that of the identity.
    pub fetch: FetchConfig,
}

impl RobotsFetch {
    /// The defaults of design §7 for one identity.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self { fetch: FetchConfig::new(identity.user_agent()), gate: GateConfig::new(identity) }
    }

    /// Lets these non-public networks be connected to.
    #[must_use]
    pub fn allow(mut self, networks: impl IntoIterator<Item = Network>) -> Self {
        self.fetch.allow_addresses.extend(networks);
        self.gate.politeness.own_networks.clone_from(&self.fetch.allow_addresses);
        self
    }

    /// A gate over the machine's network, clock and randomness, for several origins or several questions.
    ///
    /// # Errors
    /// Settings that cannot work; see [`ConfigError`].
    pub fn open(self) -> Result<Gate, ConfigError> {
        let clock = std::sync::Arc::new(SystemClock::new());
        let fetcher = Fetcher::new(std::sync::Arc::new(SystemNet::new()), clock.clone(), self.fetch)?;
        Ok(Gate::new(fetcher, clock, std::sync::Arc::new(SystemRandom::new()), self.gate))
    }
}

impl From<Identity> for RobotsFetch {
    fn from(identity: Identity) -> Self {
        Self::new(identity)
    }
}

/// Whether robots.txt is asked for although what is known of it still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskRobots {
    /// As a crawl does: within its life it is not asked again, and a copy with validators is asked with them.
    #[default]
    IfDue,
    /// Asked now, and whole: for those who want to see what the site answers. Paced like everything else.
    Anew,
}

/// The robots.txt of one origin as it was asked for: every hop, what the end means, the file, the life.
#[derive(Clone, Debug)]
pub struct FetchedRobots {
    /// The origin whose rules these are, wherever the chain led.
    pub origin: Origin,
    /// What was asked, in order, at most six; empty when nothing was.
    pub hops: Vec<RobotsHop>,
    /// What the end of the chain means.
    pub class: RobotsClass,
    /// `max-age` less `Age` of the answer, as it was said: [`RobotsLife`] takes 5 min to 24 h of it.
    pub max_age: Option<Duration>,
    /// SHA-256 of the decoded bytes that are parsed, at most 512,000, and the bytes; `None` unless a file came.
    pub file: Option<(Digest, Bytes)>,
    /// What the gate knows of the origin's robots.txt now: age, expiry, failures, rules.
    pub life: RobotsLife,
    /// When this was found, civil time.
    pub at: WallTime,
    /// When the origin may be asked next.
    pub turn: Turn,
}

/// One hop of the chain.
#[derive(Clone, Debug)]
pub struct RobotsHop {
    /// The URL: `/robots.txt` of the origin, then what redirects named.
    pub url: CrawlUrl,
    /// What it meant.
    pub meaning: HopMeaning,
    /// What was sent and received, with times and TLS facts, without the body of a redirect that is followed; `None` when
    /// nothing was sent.
    pub capture: Option<Box<Capture>>,
    /// The first 512,000 bytes of the decoded body, whatever the status; none of a redirect that is followed.
    pub body: Bytes,
}

/// What one hop meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HopMeaning {
    /// The chain goes on at this URL.
    Redirect(CrawlUrl),
    /// A redirect that is not followed: the file counts as absent.
    NotFollowed(NotFollowed),
    /// The chain ends with this answer, or with its failure: see [`FetchedRobots::class`].
    Answer,
    /// Not asked: the name does not exist, no address may be connected to, or the origin is opted out.
    NotAsked(Refused),
}

/// Why a redirect is not followed (RFC 9309 §2.3.1.2, Google robots spec).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFollowed {
    /// It would be the sixth.
    TooMany,
    /// Its target was asked already.
    Loop,
    /// It names no http or https URL.
    NoTarget,
}

impl From<ChainEnd> for NotFollowed {
    fn from(end: ChainEnd) -> Self {
        match end {
            ChainEnd::TooMany => Self::TooMany,
            ChainEnd::Loop => Self::Loop,
        }
    }
}

/// What the end of a chain means (robots semantics §2.1).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsClass {
    /// 2xx with a whole body: these rules hold.
    Parsed {
        /// HTTP status.
        status: u16,
    },
    /// 304: the copy at hand holds. Only after [`AskRobots::IfDue`].
    NotModified,
    /// 4xx but 429: no rules, or everything disallowed where the policy is strict.
    Absent {
        /// HTTP status.
        status: u16,
    },
    /// A redirect that is not followed: no rules.
    RedirectLimit {
        /// HTTP status of the last redirect.
        status: u16,
    },
    /// Everything is disallowed.
    Unreachable {
        /// `robots.unreachable` for a status, else what failed.
        cause: Reason,
        /// HTTP status, when there was one.
        status: Option<u16>,
        /// The parsed `Retry-After`, uncapped.
        retry_after: Option<Duration>,
    },
    /// Nothing was asked: what is known still holds, or the next try has not come.
    AtHand,
    /// Nothing was asked: the turn of the origin is more than a minute ahead.
    Later(Ready),
}

impl RobotsClass {
    pub(crate) const fn of(event: &RobotsEvent) -> Self {
        match *event {
            RobotsEvent::Parsed { status, .. } => Self::Parsed { status },
            RobotsEvent::NotModified { .. } => Self::NotModified,
            RobotsEvent::Absent { status, .. } => Self::Absent { status },
            RobotsEvent::RedirectLimit { status } => Self::RedirectLimit { status },
            RobotsEvent::Unreachable { cause, status, retry_after } => Self::Unreachable { cause, status, retry_after },
        }
    }

    /// The stable word: `parsed`, `not_modified`, `absent`, `redirect_limit`, `unreachable`, `at_hand`, `later`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Parsed { .. } => "parsed",
            Self::NotModified => "not_modified",
            Self::Absent { .. } => "absent",
            Self::RedirectLimit { .. } => "redirect_limit",
            Self::Unreachable { .. } => "unreachable",
            Self::AtHand => "at_hand",
            Self::Later(_) => "later",
        }
    }

    /// The HTTP status that the chain ended with, when there was one.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match *self {
            Self::Parsed { status } | Self::Absent { status } | Self::RedirectLimit { status } => Some(status),
            Self::Unreachable { status, .. } => status,
            Self::NotModified => Some(304),
            Self::AtHand | Self::Later(_) => None,
        }
    }
}

impl Gate {
    /// Asks for the robots.txt of `origin` as [`fetch_robots`] does, within this gate: with its cache, clocks, recorder
    /// and limits. A flight under way is joined. What is learnt is in force for every judgement from then on.
    pub async fn fetch_robots(&self, origin: &Origin, ask: AskRobots) -> FetchedRobots {
        let when = match ask {
            AskRobots::IfDue => When::Due,
            AskRobots::Anew => When::Anew,
        };
        let news = self.robots_when(origin, when).await;
        let Trail { hops, class, max_age, file } = news.trail.as_deref().cloned().unwrap_or_default();
        FetchedRobots {
            origin: origin.clone(),
            hops,
            class: class.unwrap_or(RobotsClass::AtHand),
            max_age,
            file,
            life: self.robots_life(origin),
            at: self.clock().wall(),
            turn: news.turn,
        }
    }
}

impl FetchedRobots {
    /// The exchange that the chain ended with.
    #[must_use]
    pub fn answer(&self) -> Option<&Capture> {
        self.hops.last()?.capture.as_deref()
    }

    /// The rules for the identity's tokens, per token list; `None` without a copy.
    #[must_use]
    pub fn rules(&self) -> Option<&[RuleSet]> {
        self.life.copy().map(|copy| &*copy.rules)
    }

    /// The file, parsed for everybody; an empty one where there are no rules, and `None` where everything is disallowed
    /// or nothing is known. Cost: one pass over the bytes.
    #[must_use]
    pub fn robots(&self) -> Option<Robots> {
        match (&self.file, self.life.standing(self.at)) {
            (Some((_, bytes)), _) => Some(Robots::parse(bytes)),
            (None, Standing::Absent | Standing::RedirectLimit | Standing::Open) => Some(Robots::parse(b"")),
            _ => None,
        }
    }

    /// How long ago the file was received.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        self.life.fetched().map(|(fetched, ..)| self.at.since(fetched))
    }

    /// What the answer offers to be asked anew with.
    #[must_use]
    pub fn validators(&self) -> Option<&Validators> {
        self.life.validators().map(|(_, validators)| validators)
    }
}
