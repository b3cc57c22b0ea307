//! What an exchange tells to whoever listens.
#![expect(clippy::unwrap_used, reason = "a test may end here")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::Collect;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::support::{Rig, Script, Step, answering, ok, send};

type Fields = BTreeMap<&'static str, String>;

/// Keeps the fields of every span, and says whether spans are wanted at all.
struct Listener {
    most: Level,
    spans: Arc<Mutex<Vec<Fields>>>,
}

struct Writer<'a>(&'a mut Fields);

impl Visit for Writer<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most && metadata.target().starts_with("comity_fetch")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut spans = self.spans.lock().unwrap();
        let mut fields = Fields::from([("span", attributes.metadata().name().to_owned())]);
        attributes.record(&mut Writer(&mut fields));
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let at = usize::try_from(span.into_u64() - 1).unwrap();
        values.record(&mut Writer(&mut self.spans.lock().unwrap()[at]));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// The spans of `work` with a listener that takes levels up to `most`.
async fn heard(most: Level, work: impl Future<Output = ()>) -> Vec<Fields> {
    let spans = Arc::default();
    let _guard = tracing::subscriber::set_default(Listener { most, spans: Arc::clone(&spans) });
    work.await;
    std::mem::take(&mut *spans.lock().unwrap())
}

fn slow_rig() -> Rig {
    Rig::new(|_, _| {
        Script::Late(
            Duration::from_millis(20),
            vec![
                Step::Request,
                Step::Wait(Duration::from_millis(40)),
                send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
                Step::Wait(Duration::from_millis(60)),
                send("lo"),
                Step::Request,
                send(ok("again")),
                Step::Hold,
            ],
        )
    })
}

#[tokio::test(start_paused = true)]
async fn an_exchange_is_a_span_with_its_origin_its_hop_and_the_times_of_its_parts() {
    let rig = slow_rig();
    let spans = heard(Level::DEBUG, async {
        rig.fetch("http://a.test/x?y").await;
        rig.fetch("http://a.test/z").await;
    })
    .await;
    let [first, second] = &spans[..] else { panic!("{spans:?}") };
    let expected = [
        ("span", "exchange"),
        ("origin", "http://a.test"),
        ("target", "/x?y"),
        ("peer", "10.0.0.1"),
        ("protocol", "http/1.1"),
        ("status", "200"),
        ("bytes", "5"),
        ("dns_ms", "0.0"),
        ("connect_ms", "20.0"),
        ("head_ms", "40.0"),
        ("body_ms", "60.0"),
        ("total_ms", "120.0"),
    ];
    assert_eq!(first.len(), expected.len(), "what did not happen is left out: {first:?}");
    for (name, value) in expected {
        assert_eq!(first.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(second["target"], "/z");
    assert!(!second.contains_key("dns_ms") && !second.contains_key("connect_ms"), "a kept connection: {second:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_and_robots_hops_are_told_too_and_nothing_to_nobody() {
    let spans = heard(Level::DEBUG, async {
        let rig = Rig::new(|_, _| Script::Refuse);
        let permit = rig.robots_permit("http://a.test").await;
        let mut fetched = rig.fetcher.fetch(permit, &mut Collect::default()).await;
        rig.settle(&mut fetched);
    })
    .await;
    let [failed] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((failed["target"].as_str(), failed["reason"].as_str()), ("/robots.txt", "fetch.refused"));
    assert_eq!(failed["hop"], "0");
    assert!(!failed.contains_key("status") && failed.contains_key("total_ms"), "{failed:?}");
    let spans = heard(Level::INFO, async {
        Rig::new(|_, _| answering(ok("x"))).fetch("http://a.test/").await;
    })
    .await;
    assert_eq!(spans, Vec::<Fields>::new());
}
