//! The fetch future is dropped at every await point: no panic, nothing goes on, the books are right (invariant 6).

#![allow(clippy::unwrap_used, reason = "a test may end here")]

mod support;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use comity_fetch::{Collect, Fetched};
use comity_policy::{Instant, Reason};
use support::{Rig, Script, Step, ok, send};

/// Polls `work` at most `polls` times; `None` when it was not ready by then.
async fn polled<T>(work: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match Pin::new(&mut work).as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            // The last allowed poll is over: no need to be woken once more.
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A site that reads and answers in many small steps, so that there are many await points.
fn slow_site() -> Script {
    let answer = format!("HTTP/1.1 100 Continue\r\n\r\n{}", ok(&"body ".repeat(20)));
    let pieces = answer.as_bytes().chunks(7).flat_map(|piece| [send(piece), Step::Wait(Duration::from_millis(3))]);
    let one: Vec<Step> = std::iter::once(Step::Request).chain(pieces).collect();
    Script::Narrow(16, [one.clone(), one, vec![Step::Hold]].concat())
}

/// One run: `before` whole fetches, then one that is dropped after `polls` polls. True when it was ready in time.
async fn run(before: usize, polls: usize) -> bool {
    let rig = Rig::new(|_, _| slow_site());
    for _ in 0..before {
        assert_eq!(rig.fetch("http://a.test/").await.fault(), None);
    }
    let permit = rig.permit("http://a.test/page").await;
    let origin = permit.url().origin().clone();
    let bytes_before = rig.log.bytes();
    let mut sink = Collect::default();
    let fetched: Option<Fetched> = polled(rig.fetcher.fetch(permit, &mut sink), polls).await;
    let dropped_at = rig.now();
    let done = fetched.is_some();
    if let Some(mut fetched) = fetched {
        assert_eq!(fetched.capture.fault, None);
        rig.settle(&mut fetched);
    }
    assert_eq!(rig.pacer.in_flight(), 0, "after {polls} polls");
    let idle = rig.fetcher.idle_connections();
    let ready = rig.pacer.turn(&origin, dropped_at).ready.at;
    // The server tells whether the request had left: a whole second later nothing more may have arrived.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let written = rig.log.bytes() > bytes_before;
    let bytes_after = rig.log.bytes();
    assert!(!written || idle == usize::from(done), "an unfinished exchange keeps no connection, after {polls} polls");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(rig.log.bytes(), bytes_after, "nothing goes on after {polls} polls");
    match (written, done) {
        (true, true) => assert!(ready > dropped_at, "the delay runs"),
        (true, false) => {
            assert!(ready >= dropped_at.after(Duration::from_millis(800)), "failed now, after {polls} polls")
        }
        (false, _) if before == 0 => assert_eq!(ready, Instant::START, "no charge after {polls} polls"),
        (false, _) => assert!(ready <= dropped_at, "no charge after {polls} polls"),
    }
    // The next request is free to go when the pacer says so, and not before.
    let slot = rig.pacer.try_slot(&origin, vec!["10.0.0.1:80".parse().unwrap()], rig.now());
    assert!(slot.is_ok(), "after {polls} polls");
    done
}

async fn every_await_point(before: usize) -> usize {
    for polls in 0..1000 {
        if run(before, polls).await {
            return polls;
        }
    }
    panic!("not ready after 1000 polls");
}

#[tokio::test(start_paused = true)]
async fn a_fetch_on_a_new_connection_may_be_dropped_anywhere() {
    let polls = every_await_point(0).await;
    assert!(polls > 20, "only {polls} await points were tried");
}

#[tokio::test(start_paused = true)]
async fn a_fetch_on_a_kept_connection_may_be_dropped_anywhere() {
    let polls = every_await_point(1).await;
    assert!(polls > 20, "only {polls} await points were tried");
}

#[tokio::test(start_paused = true)]
async fn a_fetch_dropped_while_connecting_charges_nothing() {
    let rig = Rig::new(|_, _| Script::Hang);
    let permit = rig.permit("http://a.test/").await;
    let origin = permit.url().origin().clone();
    let mut sink = Collect::default();
    let waited = tokio::time::timeout(Duration::from_secs(3), rig.fetcher.fetch(permit, &mut sink)).await;
    assert!(waited.is_err());
    assert_eq!(rig.pacer.in_flight(), 0);
    let ready = rig.pacer.turn(&origin, rig.now()).ready;
    assert_eq!((ready.at, ready.clock), (Instant::START, Reason::Ok));
}
