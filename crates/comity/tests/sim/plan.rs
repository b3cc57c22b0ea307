use std::net::IpAddr;
use std::time::Duration;

use comity::policy::{Random, SeededRandom, WallTime};
use comity_fetch::ResolveError;
use comity_testweb::hostile::Scenario;
use comity_testweb::{Answer, ConnectFault, Site, Web};

use crate::faults::Faults;
use crate::{hostile, pages, robots};

/// Everything that a seed decides.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) web: Web,
    pub(crate) names: Vec<String>,
    pub(crate) start: WallTime,
    pub(crate) settings: Settings,
    pub(crate) outages: Vec<Outage>,
    /// Sites beside the web, whose pages are seeds too.
    pub(crate) hostile: Vec<Scenario>,
    /// What befalls the crawl itself.
    pub(crate) faults: Faults,
}

/// The crawl's settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) delay: Duration,
    pub(crate) total: u32,
    pub(crate) per_origin: u32,
    pub(crate) per_address: u32,
    pub(crate) address_gap: Duration,
    pub(crate) adaptive: bool,
    pub(crate) max_rate: &'static str,
    pub(crate) max_rate_domain: &'static str,
    /// What the pages are wanted for: `search`, which no page can refuse by itself, or `ai_input`.
    pub(crate) purpose: &'static str,
    /// Seeds beside the first origin's front page, by site.
    pub(crate) also: Vec<usize>,
}

/// A fault of the network from one moment of the crawl to another.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    pub(crate) fault: NetFault,
}

#[derive(Clone, Debug)]
pub(crate) enum NetFault {
    Connect(IpAddr, ConnectFault),
    Resolve(String, ResolveError),
    /// The name leads elsewhere.
    Move(String, IpAddr),
}

/// Draws from a seed.
pub(crate) struct Dice(pub(crate) SeededRandom);

impl Dice {
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A number from `low` to `high`, both among them.
    pub(crate) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub(crate) fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn millis(&self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    pub(crate) fn pick<T: Clone>(&self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()].clone()
    }
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        // Another stream than the crawl's own jitter, which begins at the seed itself.
        let dice = Dice(SeededRandom::new(seed ^ 0x5eed_5eed_5eed_5eed));
        let faults = Faults::draw(seed);
        // Hours of the day mean something only to whoever knows the time.
        let hours = !faults.sets_clock();
        let sites = usize::try_from(dice.between(5, 12)).unwrap();
        let domains = ["alpha", "beta", "gamma"];
        let names: Vec<String> = (0..sites).map(|n| format!("s{n}.{}.test", dice.pick(&domains))).collect();
        // Any time of the day, so that hours open, close and run over midnight.
        let start = WallTime::from_unix_millis(1_795_996_800_000 + i64::try_from(dice.below(86_400_000)).unwrap());
        let addresses: Vec<IpAddr> = (0..sites).map(|n| address(&dice, n)).collect();
        let mut web = Web::builder(seed).epoch(start);
        for (n, name) in names.iter().enumerate() {
            web = web.site(site(&dice, n, sites, (start, hours)).name(name).address(addresses[n]));
        }
        let outages = (0..dice.below(7)).map(|_| outage(&dice, &names, &addresses)).collect();
        let purpose = if seed.is_multiple_of(2) { "ai_input" } else { "search" };
        let (settings, hostile) = (Settings { purpose, ..settings(&dice, sites) }, hostile::drawn(&dice));
        Self { seed, web: web.build().unwrap(), settings, names, start, outages, hostile, faults }
    }

    /// A web of one good site, and these beside it.
    pub(crate) fn of_hostile_sites(hostile: &[Scenario]) -> Self {
        let site =
            Site::new().name("good.test").address("203.0.114.9".parse().unwrap()).page("/", Answer::text("good"));
        let start = WallTime::from_unix_millis(1_795_996_800_000);
        let web = Web::builder(1).epoch(start).site(site).build().unwrap();
        let settings = Settings {
            delay: Duration::from_secs(1),
            total: 32,
            per_origin: 1,
            per_address: 2,
            address_gap: Duration::from_millis(500),
            adaptive: true,
            max_rate: "off",
            max_rate_domain: "off",
            purpose: "search",
            also: Vec::new(),
        };
        let names = vec!["good.test".to_owned()];
        Self {
            seed: 1,
            web,
            names,
            start,
            settings,
            outages: Vec::new(),
            hostile: hostile.to_vec(),
            faults: Faults::default(),
        }
    }
}

/// Two of five sites share an address with others.
fn address(dice: &Dice, n: usize) -> IpAddr {
    let last = if dice.percent(40) { dice.between(1, 2) } else { 10 + n as u64 };
    format!("203.0.114.{last}").parse().unwrap()
}

fn site(dice: &Dice, n: usize, sites: usize, start: (WallTime, bool)) -> Site {
    let slow = dice.percent(15);
    let latency = if slow { dice.millis(500, 4000) } else { dice.millis(0, 200) };
    let connecting = if dice.percent(12) { dice.millis(1000, 4000) } else { dice.millis(0, 50) };
    let site = Site::new().latency(latency).connect_latency(connecting);
    let site = robots::drawn(dice, site, n, sites, start);
    let site = pages::drawn(dice, site, sites);
    match dice.below(40) {
        0 => site.connect_fault(ConnectFault::Refused),
        1 => site.connect_fault(ConnectFault::Reset(dice.between(0, 400))),
        _ => site,
    }
}

fn outage(dice: &Dice, names: &[String], addresses: &[IpAddr]) -> Outage {
    let from = dice.millis(0, 120_000);
    let fault = match dice.below(11) {
        0 | 1 => NetFault::Connect(dice.pick(addresses), ConnectFault::Refused),
        2 => NetFault::Connect(dice.pick(addresses), ConnectFault::Hang),
        3..=5 => NetFault::Connect(dice.pick(addresses), ConnectFault::Reset(dice.between(0, 1000))),
        6 => NetFault::Resolve(dice.pick(names), ResolveError::Temporary("no server answers".to_owned())),
        7 => NetFault::Resolve(dice.pick(names), ResolveError::NoSuchName),
        8 => NetFault::Resolve(dice.pick(names), ResolveError::Timeout),
        // Between two answers: into the own network, and to where nobody is.
        9 => NetFault::Move(dice.pick(names), dice.pick(&["127.0.0.1", "169.254.169.254"]).parse().unwrap()),
        _ => NetFault::Move(dice.pick(names), "203.0.114.250".parse().unwrap()),
    };
    Outage { from, until: from + dice.millis(100, 90_000), fault }
}

fn settings(dice: &Dice, sites: usize) -> Settings {
    Settings {
        delay: dice.millis(200, 1500),
        total: dice.pick(&[1, 2, 4, 8, 32]),
        per_origin: dice.pick(&[1, 1, 2, 3]),
        per_address: dice.pick(&[1, 2, 2, 3]),
        address_gap: dice.millis(50, 800),
        adaptive: dice.percent(70),
        max_rate: dice.pick(&["off", "off", "off", "5/s"]),
        max_rate_domain: dice.pick(&["off", "off", "off", "2/s"]),
        purpose: "search",
        also: (1..sites).filter(|_| dice.percent(60)).collect(),
    }
}
