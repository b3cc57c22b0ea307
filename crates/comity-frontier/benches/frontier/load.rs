use comity_frontier::{Lease, Offer, Settlement, Spent};
use comity_policy::{
    Instant, Judge, Judgement, OptOuts, Overlap, Ready, Reason, RobotsEvent, RobotsLife, RobotsPolicy, SeededRandom,
    Terms, Turn, WallTime,
};
use comity_url::{CrawlUrl, UrlKey};

/// So many URLs of 76 bytes on so many origins, each offered so many times.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) urls: u64,
    /// The last so many are on one origin, whatever `per_origin` says of the others.
    pub(crate) on_one: u64,
    pub(crate) per_origin: u64,
    pub(crate) times: u64,
}

const BATCH: u64 = 4096;

impl Load {
    /// Batches of numbers of URLs: each number comes so many times, within some hundred thousand offers.
    pub(crate) fn batches(self) -> impl Iterator<Item = Vec<u64>> {
        let times = self.times;
        let window = self.urls.min(262_144);
        let numbers = (0..self.urls.div_ceil(window)).flat_map(move |at| {
            let first = at * window;
            let count = window.min(self.urls - first);
            (0..times * count).map(move |n| first + (n.wrapping_mul(0x9e37_79b1) % count))
        });
        let mut numbers = numbers;
        std::iter::from_fn(move || {
            let batch: Vec<u64> = numbers.by_ref().take(BATCH as usize).collect();
            (!batch.is_empty()).then_some(batch)
        })
    }

    pub(crate) fn offers(self, numbers: Vec<u64>) -> Vec<Offer> {
        numbers.into_iter().map(|number| self.offer(number)).collect()
    }

    fn offer(self, number: u64) -> Offer {
        let others = self.urls - self.on_one;
        let origins = (others / self.per_origin).max(1);
        // Origins come in any order, each of them again and again.
        let origin = if number < others { number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % origins } else { origins };
        let text = format!("https://site-{origin:09}.test/section/page-with-a-long-name/{number:012}.html");
        let url = CrawlUrl::parse(&text).expect("a URL");
        Offer { depth: 3, seed: false, priority: 1, ..Offer::seed(url, key(number)) }
    }
}

/// As random as a keyed hash is, and cheaper.
fn key(number: u64) -> UrlKey {
    let mix = |mut x: u64| {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let (high, low) = (mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15)), mix(!number));
    UrlKey::from_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// Allows everything.
#[derive(Debug)]
pub(crate) struct Everything;

impl Judge for Everything {
    #[expect(clippy::disallowed_methods, reason = "the bench plays the gate")]
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        const WALL: WallTime = WallTime::from_unix_millis(1_796_000_000_000);
        let mut life = RobotsLife::new(url.origin().clone(), RobotsPolicy::default().into());
        life.apply(RobotsEvent::Absent { status: 404, max_age: None }, WALL, &SeededRandom::new(1));
        comity_policy::judge(url, &life, &Terms::default(), OptOuts::nobody(), WALL)
    }
}

/// Its page was fetched; the origin is due a second later.
pub(crate) fn done(lease: &Lease, now: u64) -> Settlement {
    let ready = Ready { at: Instant::from_micros(now + 1_000_000), clock: Reason::RateOrigin };
    let turn = Turn { ready, overlap: Overlap::AfterHead };
    Settlement::Done { lease: lease.id, spent: Spent::default(), links: Vec::new(), pace: lease.pace, turn }
}
