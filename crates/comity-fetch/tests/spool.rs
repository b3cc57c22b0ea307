//! Bodies that outgrow memory, and bodies that nobody wants.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use comity_fetch::{Collect, FetchConfig, Limits, MediaTypes, ResponseHead, Sink, Want};
use comity_policy::{Reason, Truncation};
use support::{Rig, config, once};

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|n| u8::try_from(n * 7 % 251).unwrap()).collect()
}

fn answer(body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body]
        .concat()
}

#[tokio::test(start_paused = true)]
async fn a_body_is_the_same_whether_it_fits_in_memory_or_not() {
    for len in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20, 10 << 20] {
        let sent = body(len);
        let wire = answer(&sent);
        let rig = Rig::new(move |_, _| once(&wire));
        let page = rig.fetch("http://a.test/").await;
        assert_eq!(page.fault(), None, "{len}: {:?}", page.fetched.capture.detail);
        assert!(page.raw() == sent && page.body == sent, "{len}");
        let on_disk = rig.fetcher.spooled_bytes();
        assert_eq!(on_disk, if len < 1 << 20 { 0 } else { len as u64 }, "{len}");
        drop(page);
        assert_eq!(rig.fetcher.spooled_bytes(), 0, "{len}: the file goes with its capture");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_without_room_is_cut_with_its_name_and_keeps_what_fits() {
    let wire = answer(&body(5 << 20));
    let settings = FetchConfig { spool_max: 3 << 20, ..config() };
    let rig = Rig::with(settings, move |_, _| once(&wire));
    let page = rig.fetch("http://a.test/").await;
    let capture = &page.fetched.capture;
    assert_eq!((page.status(), page.fault()), (Some(200), Some(Reason::FetchSpool)), "{:?}", capture.detail);
    assert_eq!(capture.truncated, Some(Truncation::Unspecified));
    let kept = page.raw();
    assert!(kept.len() >= 1 << 20 && kept.len() <= 3 << 20, "{}", kept.len());
    assert!(kept == body(kept.len()), "what is kept is the start of the body");
    assert_eq!(rig.pacer.in_flight(), 0);
    drop(page);
    assert_eq!(rig.fetcher.spooled_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_fails_is_named_and_the_answer_survives() {
    let wire = answer(&body(5 << 20));
    let settings = FetchConfig { spool_dir: Some("/nowhere/at/all".into()), ..config() };
    let rig = Rig::with(settings, move |_, _| once(&wire));
    let page = rig.fetch("http://a.test/").await;
    assert_eq!((page.status(), page.fault()), (Some(200), Some(Reason::FetchSpool)));
    assert!(page.fetched.capture.detail.unwrap().starts_with("/nowhere/at/all: "));
}

#[tokio::test(start_paused = true)]
async fn a_cut_body_on_disk_is_whole_up_to_its_cut() {
    let wire = answer(&body(5 << 20));
    let limits = Limits { max_body: 4_000_001, ..Limits::default() };
    let rig = Rig::with(FetchConfig { limits, ..config() }, move |_, _| once(&wire));
    let page = rig.fetch("http://a.test/").await;
    assert_eq!(page.fault(), Some(Reason::FetchTooLarge));
    assert!(page.raw() == body(4_000_001) && page.body.len() == 4_000_001);
}

#[tokio::test(start_paused = true)]
async fn an_unwanted_type_ends_after_its_head() {
    struct Only(MediaTypes, Collect);
    impl Sink for Only {
        fn head(&mut self, head: &ResponseHead<'_>) -> Want {
            if self.0.want(head.content_type()) { self.1.head(head) } else { Want::OtherType }
        }
        fn chunk(&mut self, decoded: &[u8]) {
            self.1.chunk(decoded);
        }

        #[expect(clippy::disallowed_methods, reason = "the test keeps its own bytes")]
        fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
            comity_fetch::Keep::unjudged()
        }
    }
    for (range, fault) in [("image/*", None), ("text/html", Some(Reason::FetchType))] {
        let wire = answer(b"pixels");
        let rig = Rig::new(move |_, _| once(&wire));
        let permit = rig.permit("http://a.test/").await;
        let mut sink = Only(MediaTypes::new(vec![range.parse().unwrap()]), Collect::default());
        let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
        let capture = &fetched.capture;
        assert_eq!((capture.status, capture.fault), (Some(200), fault), "{range}");
        let unread = fault.is_some();
        assert_eq!(capture.truncated, unread.then_some(Truncation::Unspecified), "{range}");
        assert_eq!((sink.1.body.is_empty(), capture.body.is_empty()), (unread, unread), "{range}");
        if unread {
            assert_eq!(capture.detail.as_deref(), Some("a body of image/png is not wanted"));
        }
        rig.settle(&mut fetched);
        assert_eq!(rig.pacer.in_flight(), 0, "{range}");
    }
}

/// Says what it is told to, at the n-th question of each kind, and notes what lay on disk at the first.
struct Judge {
    rig: comity_fetch::Fetcher,
    at_bound: comity_fetch::Keep,
    at_end: comity_fetch::Keep,
    asked: Vec<(comity_fetch::Read, u64)>,
}

impl Sink for Judge {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, _decoded: &[u8]) {}

    fn keep(&mut self, read: comity_fetch::Read) -> comity_fetch::Keep {
        self.asked.push((read, self.rig.spooled_bytes()));
        let said = match read {
            comity_fetch::Read::Piece => return comity_fetch::Keep::Undecided,
            comity_fetch::Read::Bound => &mut self.at_bound,
            comity_fetch::Read::End => &mut self.at_end,
        };
        std::mem::replace(said, comity_fetch::Keep::Undecided)
    }
}

/// A body that is left by what it said is left whatever became of it; one that said nothing yet was cut.
#[tokio::test(start_paused = true)]
async fn a_cut_is_a_fault_of_what_only_silence_refuses() {
    use comity_fetch::Keep;
    type Row = (fn() -> Keep, Option<Reason>);
    #[expect(clippy::disallowed_methods, reason = "the test plays the judge")]
    let rows: [Row; 3] = [
        (|| Keep::Silent, Some(Reason::FetchReset)),
        (|| Keep::Refuse, None),
        (Keep::unjudged, Some(Reason::FetchReset)),
    ];
    for (at_end, fault) in rows {
        let name = format!("{:?}", at_end());
        let mut wire = answer(&body(1000));
        wire.truncate(wire.len() - 100);
        let rig = Rig::with(config(), move |_, _| once(&wire));
        let permit = rig.permit("http://a.test/").await;
        let at_bound = Keep::Undecided;
        let mut sink = Judge { rig: rig.fetcher.clone(), at_bound, at_end: at_end(), asked: Vec::new() };
        let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
        assert_eq!(fetched.capture.fault, fault, "{name}");
        assert_eq!(fetched.capture.body.is_empty(), !name.starts_with("Keep("), "{name}");
        assert!(fetched.capture.truncated.is_some(), "{name}");
        rig.settle(&mut fetched);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_reaches_a_file_or_the_capture_before_it_may_be_kept() {
    use comity_fetch::{Keep, Read};
    type Row = (&'static str, usize, fn() -> Keep, fn() -> Keep, bool);
    #[expect(clippy::disallowed_methods, reason = "the test plays the judge")]
    let keep = Keep::unjudged as fn() -> Keep;
    let refuse: fn() -> Keep = || Keep::Refuse;
    let undecided: fn() -> Keep = || Keep::Undecided;
    let rows: [Row; 8] = [
        ("small, kept", 1000, undecided, keep, true),
        ("small, refused", 1000, undecided, refuse, false),
        ("small, never decided", 1000, keep, undecided, false),
        ("large, kept", 5 << 20, keep, keep, true),
        ("large, refused at the bound", 5 << 20, refuse, keep, false),
        ("large, undecided at the bound", 5 << 20, undecided, keep, false),
        ("large, refused at the end", 5 << 20, keep, refuse, false),
        ("nothing", 0, undecided, refuse, false),
    ];
    for (name, length, at_bound, at_end, kept) in rows {
        let wire = answer(&body(length));
        let rig = Rig::with(config(), move |_, _| once(&wire));
        let permit = rig.permit("http://a.test/").await;
        let (at_bound, at_end) = (at_bound(), at_end());
        let mut sink = Judge { rig: rig.fetcher.clone(), at_bound, at_end, asked: Vec::new() };
        let mut fetched = rig.fetcher.fetch(permit, &mut sink).await;
        let first = sink.asked.iter().find(|(read, _)| *read != Read::Piece).unwrap();
        assert_eq!(first.1, 0, "{name}: on disk before it was asked");
        assert_eq!(fetched.capture.body.len(), if kept { length as u64 } else { 0 }, "{name}");
        assert_eq!(rig.fetcher.spooled_bytes(), if kept && length > 1 << 20 { length as u64 } else { 0 }, "{name}");
        let truncated = (!kept && length > 0).then_some(Truncation::Unspecified);
        assert_eq!((fetched.capture.truncated, fetched.capture.fault), (truncated, None), "{name}");
        rig.settle(&mut fetched);
    }
}
