use crate::{Answer, Coding, Generated, Site, Target, Web, WebError};
use std::time::Duration;

use crate::dice::Dice;

/// Origins of [`Web::demo`].
const DEMO_SITES: usize = 56;
/// Seconds that a polite crawl with a floor of one second spends on one origin of the demo.
const DEMO_SECONDS: f64 = 22.0;

impl Web {
    /// A web to show a crawler on: 56 origins with rules of all kinds, Crawl-delays of 0.2 to 1.5 s, redirects into
    /// refused paths and to refusing origins, missing pages, a robots.txt that fails at first, off-origin links.
    ///
    /// With a floor of one second a polite crawl from all front pages takes about half a minute.
    ///
    /// | site | what it is there for |
    /// |--:|---|
    /// | 0 | named group for another crawler, `/private/` refused but for `/private/open`, redirects into it |
    /// | 1 | refuses everything: origins 0 and 2 redirect and link to it |
    /// | 2 | 404, 410, 500 pages, a page behind two redirects, one that leads to the refusing origin |
    /// | 3 | robots.txt answers 503 with Retry-After 3, twice; then it refuses `/p/3` |
    /// | 4 | robots.txt is 404: no rules |
    /// | 5 | robots.txt redirects to that of site 6 |
    /// | 6 | `$` and `*` rules |
    /// | 7 | a page that answers 429 with Retry-After 2, then 200 |
    /// | 8 | robots.txt with a byte-order mark, a missing colon and a typo |
    /// | 9 | coded bodies: gzip, deflate, br, zstd |
    /// | 10… | generated pages; every third has a Crawl-delay, every second refuses a third of its pages |
    #[must_use]
    pub fn demo(seed: u64) -> Self {
        let mut builder = Self::builder(seed);
        for number in 0..DEMO_SITES {
            let latency = Duration::from_millis(5 + Dice::at(seed, &[4, number as u64]).below(50));
            builder = builder.site(demo_site(seed, number).latency(latency));
        }
        nameless(builder.build())
    }

    /// So many origins with so many generated pages and links a page, a tenth of them off-origin; no latency, no
    /// rules, no delays: for measuring. 2,000 bytes a page.
    #[must_use]
    pub fn plain(origins: usize, pages: u32, links: u32) -> Self {
        Self::plain_of(origins, Generated::new(pages, links))
    }

    /// As [`plain`](Self::plain), with everything about the pages said.
    #[must_use]
    pub fn plain_of(origins: usize, pages: Generated) -> Self {
        let origins = origins.min(crate::MAX_SITES);
        let site = Site::new().robots("User-agent: *\nDisallow:\n").generated(pages);
        nameless((0..origins).fold(Self::builder(0), |web, _| web.site(site.clone())).build())
    }
}

/// A web whose sites have no names of their own.
#[expect(clippy::expect_used, reason = "only names can be wrong, and too many sites: these have none and are few")]
fn nameless(built: Result<Web, WebError>) -> Web {
    built.expect("a web without names can be laid out")
}

fn demo_site(seed: u64, number: usize) -> Site {
    match number {
        0 => front(),
        1 => Site::new().robots("User-agent: *\nDisallow: /\n").generated(Generated::new(5, 3)),
        2 => errors(),
        3 => {
            let recovered = Answer::text("User-agent: *\nCrawl-delay: 0.5\nDisallow: /p/3\n");
            let busy = || Answer::retry_after(503, 3);
            Site::new().robots_answers([busy(), busy(), recovered]).generated(Generated::new(8, 4))
        }
        4 => Site::new().generated(Generated::new(18, 6)),
        5 => Site::new()
            .robots_answer(Answer::redirect(301, Target::at(6, "/robots.txt")))
            .generated(Generated::new(16, 6)),
        6 => Site::new()
            .robots("User-agent: *\nCrawl-delay: 1\nDisallow: /*.pdf$\nDisallow: /*?sort=\nAllow: /p/1.pdf$\n")
            .page("/list", Answer::page(["/p/1.pdf", "/p/2.pdf", "/p/2.pdf?print", "/list?sort=name", "/list?page=2"]))
            .page("/", Answer::page(["/list", "/p/1", "/p/2"]))
            .page("/p/1.pdf", Answer::status(200).content("application/pdf", &b"%PDF-1.4\n"[..]))
            .generated(Generated::new(10, 4)),
        7 => Site::new()
            .robots("User-agent: *\nCrawl-delay: 0.4\n")
            .page("/", Answer::page(["/busy", "/p/1", "/p/2"]))
            .page_answers("/busy", [Answer::retry_after(429, 2), Answer::page(["/p/3"])])
            .generated(Generated::new(12, 4)),
        8 => Site::new()
            .robots("\u{feff}User-agent: *\nCrawl-delay 0.6\nDissallow: /hidden\nDisallow: /p/4\n")
            .page("/", Answer::page(["/hidden", "/hidden/too", "/p/1", "/p/2"]))
            .generated(Generated::new(14, 5)),
        9 => coded(),
        _ => ordinary(seed, number),
    }
}

fn front() -> Site {
    let rules = "User-agent: GreedyBot\nDisallow: /\n\n\
        User-agent: *\nCrawl-delay: 0.8\nDisallow: /private/\nAllow: /private/open\n";
    Site::new()
        .robots(rules)
        .page(
            "/",
            Answer::page(["/go", "/away", "/private/x", "/private/open", "/p/1", "/p/2"]).link(Target::at(2, "/")),
        )
        .page("/go", Answer::redirect(302, "/private/secret"))
        .page("/away", Answer::redirect(302, Target::at(1, "/p/1")))
        .page("/private/open", Answer::page(["/p/3"]))
        .page("/private/secret", Answer::text("nobody should have asked for this\n"))
        .generated(Generated::new(14, 5))
}

fn errors() -> Site {
    Site::new()
        .robots("User-agent: *\nCrawl-delay: 0.7\nDisallow: /no\n")
        .page("/", Answer::page(["/missing", "/gone", "/broken", "/hop", "/leave", "/no", "/nothing", "/p/1", "/p/2"]))
        .page("/gone", Answer::text("gone\n").with_status(410))
        .page("/broken", Answer::text("out of order\n").with_status(500))
        .page("/hop", Answer::redirect(301, "/hop/2"))
        .page("/hop/2", Answer::redirect(307, "/arrived"))
        .page("/arrived", Answer::page(["/p/3"]))
        .page("/leave", Answer::redirect(302, Target::at(1, "/")))
        .generated(Generated::new(10, 5))
}

fn coded() -> Site {
    let page = |coding| Answer::page(["/p/1", "/p/2"]).bytes(30_000).coding(coding);
    Site::new()
        .robots_answer(Answer::text("User-agent: *\nCrawl-delay: 0.3\nDisallow: /p/5\n").coding(Coding::Gzip))
        .page("/", Answer::page(["/gzip", "/deflate", "/br", "/zstd", "/chunked"]).coding(Coding::Gzip))
        .page("/gzip", page(Coding::Gzip))
        .page("/deflate", page(Coding::Deflate))
        .page("/br", page(Coding::Brotli))
        .page("/zstd", page(Coding::Zstd))
        .page("/chunked", page(Coding::Identity).chunked())
        .generated(Generated::new(12, 4))
}

fn ordinary(seed: u64, number: usize) -> Site {
    let mut dice = Dice::at(seed, &[5, number as u64]);
    let tenths = 2 + u32::try_from(dice.below(14)).unwrap_or(0);
    let delay = number.is_multiple_of(3).then(|| f64::from(tenths) / 10.0);
    let mut rules = "User-agent: *\n".to_owned();
    if let Some(delay) = delay {
        rules.push_str(&format!("Crawl-delay: {delay}\n"));
    }
    let refuses = number.is_multiple_of(2);
    rules.push_str(if refuses {
        "Disallow: /p/*1$\nDisallow: /p/*4$\nDisallow: /p/*7$\nAllow: /p/1$\n"
    } else {
        "Disallow:\n"
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 14 and 22")]
    let turns = (DEMO_SECONDS / delay.unwrap_or(1.0).max(1.1)) as u32;
    // Refused pages take no turn.
    let pages = if refuses { turns * 10 / 7 } else { turns };
    Site::new().robots(rules).generated(Generated::new(pages, 8).bytes(2_000 + 1_000 * dice.below(20)))
}
