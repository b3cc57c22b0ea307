//! What the signals of one resource cost: CPU time of this thread, contestants taking turns. `cargo bench -p comity-signals`.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench that cannot set up its inputs ends")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use comity_robots::{Dialect, Robots};
use comity_signals::{
    Carriers, HeadFacts, LicenceLink, PageReader, ResourceReader, RobotsMeta, RobotsSignals, RslCarrier, RslConditions,
    RslDocument, SignalOptions, TdmReading, Tdmrep, UnixSeconds,
};
use rustix::time::{ClockId, clock_gettime};

const ORIGIN: &str = "https://example.com";
const TARGET: &[u8] = b"/articles/2026/11/a-page-about-something?page=2";
const TURNS: u32 = 2_000;

/// What is timed, by name.
type Contestant<'a> = (&'static str, Box<dyn FnMut() + 'a>);

fn main() {
    let rounds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(15);
    let inputs = Inputs::new();
    let mut contestants: Vec<Contestant<'_>> = vec![
        ("fields and head of a page without signals", Box::new(|| inputs.page(&inputs.plain, &inputs.bare))),
        ("fields and head of a page with every signal", Box::new(|| inputs.page(&inputs.rich, &inputs.head))),
        ("the same, all families joined", Box::new(|| inputs.resource())),
        ("tdmrep.json of 200 rules, the last matches", Box::new(|| inputs.tdmrep())),
        ("robots.txt lines, policy tokens, 40 agents of others", Box::new(|| inputs.robots())),
        ("an RSL document of 20 contents", Box::new(|| inputs.rsl())),
        (
            "compile tdmrep.json of 200 rules",
            Box::new(|| drop(black_box(Tdmrep::parse(inputs.tdm_text.as_bytes(), ORIGIN)))),
        ),
        ("compile the RSL document", Box::new(|| drop(black_box(RslDocument::parse(inputs.rsl_text.as_bytes()))))),
        ("compile robots.txt", Box::new(|| drop(black_box(compile(&inputs.robots_text))))),
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for ((_, work), times) in contestants.iter_mut().zip(&mut times) {
            let start = cpu_time();
            (0..TURNS).for_each(|_| work());
            times.push(cpu_time().saturating_sub(start) / TURNS);
        }
    }
    println!("| work | µs, median | µs, best |\n| --- | ---: | ---: |");
    for ((name, _), mut times) in contestants.iter().zip(times) {
        times.sort_unstable();
        let micros = |at: usize| times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6;
        println!("| {name} | {:.2} | {:.2} |", micros(times.len() / 2), micros(0));
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn compile(text: &str) -> RobotsSignals {
    RobotsSignals::compile(&Robots::parse(text.as_bytes()), &["ComityBot"], Dialect::Standard)
}

type Fields = Vec<(String, String)>;

struct Inputs {
    plain: Fields,
    rich: Fields,
    bare: HeadFacts,
    head: HeadFacts,
    tdm_text: String,
    tdmrep: Tdmrep,
    robots_text: String,
    robots: RobotsSignals,
    rsl_text: String,
    rsl: RslDocument,
    conditions: RslConditions,
}

impl Inputs {
    fn new() -> Self {
        let own =
            |rows: &[(&str, &str)]| rows.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect::<Fields>();
        let plain = own(&[
            ("Date", "Mon, 30 Nov 2026 10:00:00 GMT"),
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", "48213"),
            ("Connection", "keep-alive"),
            ("Server", "nginx"),
            ("Cache-Control", "max-age=600, public"),
            ("ETag", "\"5f2c-61a\""),
            ("Last-Modified", "Mon, 30 Nov 2026 09:00:00 GMT"),
            ("Vary", "Accept-Encoding"),
            ("Strict-Transport-Security", "max-age=63072000"),
            ("X-Frame-Options", "SAMEORIGIN"),
            ("Set-Cookie", "id=1; Path=/; HttpOnly"),
        ]);
        let signals = own(&[
            ("Content-Usage", "train-ai=n, ai-use=n, search=y"),
            ("Content-Signal", "search=yes, ai-train=no, use=reference"),
            ("X-Robots-Tag", "otherbot: noindex, nofollow"),
            ("X-Robots-Tag", "noarchive, max-snippet:50, unavailable_after: 25 Jun 2030 15:00:00 PST"),
            ("tdm-reservation", "1"),
            ("tdm-policy", "https://example.com/policy.json"),
            ("Link", "<https://example.com/l.xml>; rel=\"license\"; type=\"application/rsl+xml\""),
        ]);
        let meta = |name: &str, content: &str| RobotsMeta { name: name.into(), content: content.into() };
        let head = HeadFacts {
            robots: vec![meta("robots", "noai, noimageai"), meta("comitybot", "max-snippet:20")],
            tdm_reservation: vec!["1".into()],
            licences: vec![LicenceLink { href: "https://creativecommons.org/by".into(), media_type: None }],
            ..HeadFacts::default()
        };
        let rules = (0..199).map(|n| format!("{{\"location\":\"/section-{n}/*.html$\",\"tdm-reservation\":0}},"));
        let tdm_text = format!("[{}{{\"location\":\"/\",\"tdm-reservation\":1}}]", rules.collect::<String>());
        let mut robots_text = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /articles/ train-ai=n\nDisallow: /private/\n\n".to_owned();
        for agent in comity_robots::KnownAgent::all().take(40) {
            writeln!(robots_text, "User-agent: {}", agent.token()).expect("a string");
        }
        robots_text.push_str("Disallow: /\n\nUser-agent: __usage_ai-training\nDisallow: /articles/\n");
        let content = |n| {
            format!("<content url=\"/part-{n}/\"><license><permits type=\"usage\">search</permits></license></content>")
        };
        let contents: String = (0..19).map(content).collect();
        let last = "<content url=\"/\"><license><prohibits type=\"usage\">ai-all</prohibits></license></content>";
        let rsl_text = format!("<rsl xmlns=\"{}\">{contents}{last}</rsl>", RslDocument::NAMESPACE);
        Self {
            rich: [plain.clone(), signals].concat(),
            plain,
            bare: HeadFacts::default(),
            head,
            tdmrep: Tdmrep::parse(tdm_text.as_bytes(), ORIGIN),
            tdm_text,
            robots: compile(&robots_text),
            robots_text,
            rsl: RslDocument::parse(rsl_text.as_bytes()),
            rsl_text,
            conditions: RslConditions::default(),
        }
    }

    fn page(&self, fields: &Fields, head: &HeadFacts) {
        let reader = PageReader { token: "ComityBot", image: false, options: SignalOptions::default() };
        black_box(reader.read(fields, head));
        black_box(TdmReading::read(None, TARGET, fields, head, SignalOptions::default()));
    }

    fn resource(&self) {
        let carriers = Carriers {
            origin: ORIGIN,
            target: TARGET,
            robots: Some(&self.robots),
            tdmrep: Some(&self.tdmrep),
            ai_txt: None,
            trust_txt: None,
            fields: &self.rich,
            head: &self.head,
            licences: &[(RslCarrier::Link, &self.rsl)],
        };
        let options = SignalOptions::default();
        let reader = ResourceReader { token: "ComityBot", image: false, options, conditions: &self.conditions };
        black_box(reader.read(&carriers, UnixSeconds(1_796_000_000)));
    }

    fn tdmrep(&self) {
        black_box(TdmReading::of_file(&self.tdmrep, TARGET, SignalOptions::default()));
    }

    fn robots(&self) {
        black_box(self.robots.read(TARGET, SignalOptions::default()));
    }

    fn rsl(&self) {
        let options = SignalOptions::default();
        black_box(self.rsl.read(ORIGIN, TARGET, RslCarrier::Link, &self.conditions, options));
    }
}
