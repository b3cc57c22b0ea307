//! Every bound of an exchange has a name, an end in time, and keeps what had arrived.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use comity_fetch::{FetchConfig, Limits, Request, ResponseHead, Sink, Want};
use comity_policy::{Clock, Instant, Reason, Truncation, WallTime};
use support::{Rig, Script, Step, config, ok, once, send};

const HEAD: &str = "HTTP/1.1 200 OK\r\n";

struct Row {
    name: &'static str,
    steps: Vec<Step>,
    fault: Option<Reason>,
    status: Option<u16>,
    truncated: Option<Truncation>,
    /// Seconds until the end, from and to.
    seconds: (u64, u64),
    /// Bytes of the body kept.
    kept: usize,
}

fn row(name: &'static str, steps: Vec<Step>) -> Row {
    Row { name, steps, fault: None, status: Some(200), truncated: None, seconds: (0, 0), kept: 0 }
}

impl Row {
    fn fails(self, fault: Reason, seconds: (u64, u64)) -> Self {
        Self { fault: Some(fault), status: None, seconds, ..self }
    }

    fn cut(self, fault: Reason, truncated: Truncation, seconds: (u64, u64), kept: usize) -> Self {
        Self { fault: Some(fault), truncated: Some(truncated), seconds, kept, ..self }
    }

    fn whole(self, seconds: u64, kept: usize) -> Self {
        Self { seconds: (seconds, seconds), kept, ..self }
    }
}

async fn check(config: FetchConfig, rows: Vec<Row>) {
    for row in rows {
        let steps: Vec<Step> = std::iter::once(Step::Request).chain(row.steps).collect();
        let rig = Rig::with(config.clone(), move |_, _| Script::Serve(steps.clone()));
        let page = rig.fetch("http://a.test/").await;
        let capture = &page.fetched.capture;
        let name = row.name;
        assert_eq!((page.fault(), page.status()), (row.fault, row.status), "{name}: {:?}", capture.detail);
        assert_eq!(capture.truncated, row.truncated, "{name}");
        let took = page.took.as_secs();
        assert!((row.seconds.0..=row.seconds.1).contains(&took), "{name}: took {took} s");
        assert_eq!((page.raw().len(), page.body.len()), (row.kept, row.kept), "{name}");
        assert_eq!(page.failed(), row.status.is_none().then_some(row.fault).flatten(), "{name}");
        assert_eq!(rig.pacer.in_flight(), 0, "{name}");
        assert_eq!(rig.log.requests(), 1, "{name}");
        if row.fault.is_some() {
            assert!(capture.detail.is_some(), "{name}");
            assert_eq!(rig.fetcher.idle_connections(), 0, "{name}");
            // What failed after it was written is not asked again at once.
            let ready = rig.pacer.turn(capture.url.origin(), rig.now()).ready.at;
            assert!(row.status.is_some() || ready >= rig.now().after(Duration::from_secs(1)), "{name}");
        }
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded_before_the_head() {
    let head = Reason::FetchTimeoutHead;
    let rows = vec![
        row("no answer", vec![Step::Hold]).fails(head, (15, 15)),
        row("half a head", vec![send(HEAD), Step::Hold]).fails(head, (15, 15)),
        row("a byte a second", vec![Step::Trickle(ok("x").into_bytes(), secs(1))]).fails(head, (15, 15)),
        row(
            "interim responses for ever",
            (0..60).flat_map(|_| [send("HTTP/1.1 102 P\r\n\r\n"), Step::Wait(secs(1))]).collect(),
        )
        .fails(head, (15, 15)),
        row("late but in time", vec![Step::Wait(secs(14)), send(ok("x"))]).whole(14, 1),
    ];
    check(config(), rows).await;
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded_within_the_body() {
    let long = |n: usize| format!("{HEAD}Content-Length: 1000000\r\n\r\n{}", "x".repeat(n));
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
    let (idle, slow, total) = (Reason::FetchTimeoutIdle, Reason::FetchSlow, Reason::FetchTimeoutTotal);
    let time = Truncation::Time;
    let steady = |rate: usize| {
        let second = || [send("x".repeat(rate)), Step::Wait(secs(1))];
        [send(long(0))].into_iter().chain((0..100).flat_map(move |_| second())).collect::<Vec<Step>>()
    };
    let rows = vec![
        row("nothing after the head", vec![send(long(0)), Step::Hold]).cut(idle, time, (15, 15), 0),
        row("a pause", vec![send(long(20_000)), Step::Hold]).cut(idle, time, (15, 15), 20_000),
        row("a byte every 5 s", vec![send(long(0)), Step::Trickle(vec![b'x'; 99], secs(5))]).cut(
            slow,
            time,
            (10, 10),
            2,
        ),
        row("half the least rate", steady(512)).cut(slow, time, (10, 10), 5632),
        row("twice the least rate", steady(2048)).cut(total, time, (60, 60), 2048 * 60),
        row("a late end of a small body", vec![send(&chunked), Step::Wait(secs(12)), send("5\r\nhello\r\n0\r\n\r\n")])
            .whole(12, 5),
        row("a fast start pays for a slow end", vec![send(long(999_999)), Step::Wait(secs(14)), send("x")])
            .whole(14, 1_000_000),
    ];
    check(config(), rows).await;
}

#[tokio::test(start_paused = true)]
async fn sizes_are_bounded() {
    let limits = Limits { max_body: 1000, ..Limits::default() };
    let config = FetchConfig { limits, ..config() };
    let large = (Reason::FetchTooLarge, Truncation::Length);
    let fields = |n: usize| format!("{HEAD}{}Content-Length: 1\r\n\r\nx", "A: b\r\n".repeat(n - 1));
    let head_of = |n: usize| {
        let rest = "Content-Length: 1\r\n\r\nx";
        let filler = "y".repeat(n - HEAD.len() - "X: \r\n".len() - (rest.len() - 1));
        format!("{HEAD}X: {filler}\r\n{rest}")
    };
    let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
    let rows = vec![
        row("exactly the limit", vec![send(ok(&"x".repeat(1000)))]).whole(0, 1000),
        row("one more", vec![send(ok(&"x".repeat(1001)))]).cut(large.0, large.1, (0, 0), 1000),
        row(
            "chunks without end",
            [send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"))]
                .into_iter()
                .chain((0..9).map(|_| send(&chunk)))
                .collect(),
        )
        .cut(large.0, large.1, (0, 0), 1000),
        row("until the end of the connection", vec![send(format!("{HEAD}\r\n{}", "x".repeat(1001)))]).cut(
            large.0,
            large.1,
            (0, 0),
            1000,
        ),
        row("100 fields", vec![send(fields(100))]).whole(0, 1),
        row("101 fields", vec![send(fields(101))]).fails(Reason::FetchHeaders, (0, 0)),
        row("2000 fields", vec![send(fields(2000))]).fails(Reason::FetchHeaders, (0, 0)),
        row("64 KiB of head", vec![send(head_of(64 << 10))]).whole(0, 1),
        row("a byte more of head", vec![send(head_of((64 << 10) + 1))]).fails(Reason::FetchHeaders, (0, 0)),
        row("a line of 1 MB", vec![send(format!("{HEAD}X: {}\r\n\r\n", "y".repeat(1 << 20)))])
            .fails(Reason::FetchHeaders, (0, 0)),
        row("a status line of 1 MB", vec![send("y".repeat(1 << 20))]).fails(Reason::FetchProtocol, (0, 0)),
    ];
    check(config, rows).await;
}

#[tokio::test(start_paused = true)]
async fn messages_that_break_are_named_and_kept_so_far() {
    let (reset, protocol) = (Reason::FetchReset, Reason::FetchProtocol);
    let (cut_off, other) = (Truncation::Disconnect, Truncation::Unspecified);
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
    let rows = vec![
        row("no byte", vec![]).fails(reset, (0, 0)),
        row("half a head and the end", vec![send(HEAD)]).fails(reset, (0, 0)),
        row("no HTTP", vec![send("SSH-2.0-OpenSSH_9\r\n")]).fails(protocol, (0, 0)),
        row("HTML without a head", vec![send("<html>hello</html>")]).fails(protocol, (0, 0)),
        row("two lengths", vec![send(format!("{HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx"))])
            .fails(protocol, (0, 0)),
        row("a length that is no number", vec![send(format!("{HEAD}Content-Length: x\r\n\r\nx"))])
            .fails(protocol, (0, 0)),
        row("shorter than its length", vec![send(format!("{HEAD}Content-Length: 9\r\n\r\nhello"))]).cut(
            reset,
            cut_off,
            (0, 0),
            5,
        ),
        row("chunks without their end", vec![send(format!("{chunked}5\r\nhello\r\n"))]).cut(reset, cut_off, (0, 0), 5),
        row("half a chunk", vec![send(format!("{chunked}9\r\nhello"))]).cut(reset, cut_off, (0, 0), 5),
        row("no chunk at all", vec![send(format!("{chunked}5\r\nhello\r\nzz\r\n"))]).cut(protocol, other, (0, 0), 5),
        row("the end of the connection ends it", vec![send(format!("{HEAD}\r\nhello"))]).whole(0, 5),
        row("trailers", vec![send(format!("{chunked}5\r\nhello\r\n0\r\nX: y\r\n\r\n"))]).whole(0, 5),
        row("bare line feeds", vec![send("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")]).whole(0, 5),
        row("odd fields", vec![send(format!("{HEAD}broken\r\nX : y\r\nZ: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"))])
            .whole(0, 5),
        row("an empty line before the head", vec![send(format!("\r\n{}", ok("hello")))]).whole(0, 5),
        row("an unasked switch", vec![send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")]),
    ];
    let rows = rows.into_iter().map(|row| match row.name {
        "an unasked switch" => Row { fault: Some(protocol), status: Some(101), ..row },
        _ => row,
    });
    check(config(), rows.collect()).await;
}

#[tokio::test(start_paused = true)]
async fn every_limit_acts_at_the_value_it_is_set_to() {
    type Set = fn(&mut FetchConfig);
    let long = || send(format!("{HEAD}Content-Length: 1000000\r\n\r\n"));
    let seconds = |n: usize, rate: usize| (0..n).flat_map(move |_| [send("x".repeat(rate)), Step::Wait(secs(1))]);
    let time = Truncation::Time;
    let rows: Vec<(Set, Row)> = vec![
        (|c| c.limits.head = secs(3), row("head", vec![Step::Hold]).fails(Reason::FetchTimeoutHead, (3, 3))),
        (
            |c| c.limits.idle = secs(4),
            row("idle", vec![long(), Step::Hold]).cut(Reason::FetchTimeoutIdle, time, (4, 4), 0),
        ),
        (
            |c| c.limits.total = secs(5),
            row("total", std::iter::once(long()).chain(seconds(60, 5000)).collect()).cut(
                Reason::FetchTimeoutTotal,
                time,
                (5, 5),
                25_000,
            ),
        ),
        (|c| c.limits.total = secs(2), row("total, head", vec![Step::Hold]).fails(Reason::FetchTimeoutTotal, (2, 2))),
        (
            |c| c.limits.rate_grace = secs(2),
            row("grace", std::iter::once(long()).chain(seconds(60, 512)).collect()).cut(
                Reason::FetchSlow,
                time,
                (2, 2),
                1536,
            ),
        ),
        (
            |c| c.limits.least_rate = 100,
            row("rate", std::iter::once(long()).chain(seconds(60, 200)).collect()).cut(
                Reason::FetchTimeoutTotal,
                time,
                (60, 60),
                12_000,
            ),
        ),
        (
            |c| c.limits.max_body = 3,
            row("body", vec![send(ok("hello"))]).cut(Reason::FetchTooLarge, Truncation::Length, (0, 0), 3),
        ),
        (|c| c.limits.max_head_bytes = 50, row("head", vec![send(ok("hello"))]).whole(0, 5)),
        (|c| c.limits.max_head_bytes = 30, row("head", vec![send(ok("hello"))]).fails(Reason::FetchHeaders, (0, 0))),
        (
            |c| c.limits.max_fields = 1,
            row("fields", vec![send(format!("{HEAD}A: b\r\nContent-Length: 1\r\n\r\nx"))])
                .fails(Reason::FetchHeaders, (0, 0)),
        ),
        (
            |c| c.limits.max_fields = 101,
            row("fields", vec![send(format!("{HEAD}{}Content-Length: 1\r\n\r\nx", "A: b\r\n".repeat(100)))])
                .whole(0, 1),
        ),
    ];
    for (set, row) in rows {
        let mut config = config();
        set(&mut config);
        check(config, vec![row]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_and_keeping_act_at_the_values_they_are_set_to() {
    let mut settings = config();
    settings.limits.connect = secs(3);
    let page = Rig::with(settings, |_, _| Script::Hang).fetch("http://a.test/").await;
    assert_eq!((page.fault(), page.took), (Some(Reason::FetchTimeoutConnect), secs(3)));
    let mut settings = config();
    settings.limits.dns = secs(2);
    let rig = Rig::with(settings, |_, _| Script::Hang);
    let origin = comity_url::Origin::parse("http://silent.test").unwrap();
    let begun = rig.now();
    let refused = rig.fetcher.candidates(&origin).await.unwrap_err();
    assert_eq!((refused.reason, rig.now().since(begun)), (Reason::FetchDnsTimeout, secs(2)));
    type Set = fn(&mut FetchConfig);
    let rows: [(Set, usize); 4] = [
        (|_| {}, 1),
        (|c| c.max_idle_per_origin = 0, 0),
        (|c| c.max_idle_total = 0, 0),
        (|c| c.idle_timeout = Duration::ZERO, 0),
    ];
    for (at, (set, kept)) in rows.into_iter().enumerate() {
        let mut settings = config();
        set(&mut settings);
        let rig = Rig::with(settings, |_, _| support::answering(ok("x")));
        rig.fetch("http://a.test/").await;
        rig.fetcher.close_idle();
        assert_eq!(rig.fetcher.idle_connections(), kept, "row {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_request_may_have_a_bound_of_its_own_on_its_body() {
    for (limit, own, expected) in [(1000, Some(100), 100), (100, Some(1000), 1000), (100, None, 100)] {
        let limits = Limits { max_body: limit, ..Limits::default() };
        let rig = Rig::with(FetchConfig { limits, ..config() }, |_, _| once(ok(&"x".repeat(2000))));
        let request = Request { max_body: own, ..Request::default() };
        let page = rig.fetch_with("http://a.test/", &request).await;
        assert_eq!(
            (page.fault(), page.raw().len(), page.body.len()),
            (Some(Reason::FetchTooLarge), expected, expected)
        );
    }
}

/// A clock that moves only when it is told to.
#[derive(Debug, Default)]
struct ByHand(AtomicU64);

impl Clock for ByHand {
    fn now(&self) -> Instant {
        Instant::from_micros(1_000_000 + self.0.load(Ordering::Relaxed))
    }

    fn wall(&self) -> WallTime {
        support::WALL
    }
}

/// Takes 40 s for every chunk, as a disk that is full of other work might.
struct Slow(Arc<ByHand>, usize);

impl Sink for Slow {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }
    fn chunk(&mut self, decoded: &[u8]) {
        self.0.0.fetch_add(40_000_000, Ordering::Relaxed);
        self.1 += decoded.len();
    }

    #[expect(clippy::disallowed_methods, reason = "the test keeps its own bytes")]
    fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
        comity_fetch::Keep::unjudged()
    }
}

#[tokio::test(start_paused = true)]
async fn what_we_take_ourselves_is_not_the_sites_slowness() {
    let steps = || {
        vec![Step::Request, send(format!("{HEAD}Content-Length: 10\r\n\r\nhello")), Step::Wait(secs(1)), send("world")]
    };
    let clock = Arc::new(ByHand::default());
    let rig = Rig::with(config(), move |_, _| Script::Serve(steps())).on_clock(clock.clone());
    let permit = rig.permit("http://a.test/").await;
    let mut sink = Slow(clock, 0);
    let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
    assert_eq!(
        (fetched.capture.fault, sink.1),
        (Some(Reason::FetchTimeoutTotal), 10),
        "40 s after five bytes: not slow"
    );
    rig.settle(&mut fetched);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_lets_us_wait_meets_the_total_limit_too() {
    let chunks = "5\r\nhello\r\n".repeat(9);
    let wire = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let clock = Arc::new(ByHand::default());
    let limits = Limits { least_rate: 0, ..Limits::default() };
    let rig = Rig::with(FetchConfig { limits, ..config() }, move |_, _| once(&wire)).on_clock(clock.clone());
    let permit = rig.permit("http://a.test/").await;
    let mut sink = Slow(clock, 0);
    let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
    assert_eq!((fetched.capture.fault, sink.1), (Some(Reason::FetchTimeoutTotal), 10), "two chunks, 80 s");
    rig.settle(&mut fetched);
}
