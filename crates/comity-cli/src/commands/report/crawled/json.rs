//! All numbers, for programs.

use serde_json::{Map, Value, json};

use super::Report;
use super::pauses::Clock;
use super::series::Powers;

pub(super) fn object(report: &Report) -> Value {
    let Report { totals, origins, exceptions, evidence, standing, chain, .. } = report;
    let signals = totals.signals.iter();
    let signals = signals.map(|((source, purpose, verdict), records)| {
        json!({"source": source, "purpose": purpose, "verdict": verdict, "records": records})
    });
    let decided = totals.purposes_decided.iter().map(|(purpose, [proceed, refuse, unspecified])| {
        (purpose.clone(), json!({"proceed": proceed, "refuse": refuse, "unspecified": unspecified}))
    });
    let pauses = Clock::ALL.iter().filter_map(|clock| {
        let (count, ms) = origins.pauses.by_clock.get(clock)?;
        Some(json!({"clock": clock, "pauses": count, "ms": ms}))
    });
    let rows = totals.timeline.rows().into_iter();
    let rows = rows.map(|(at, one)| json!({"at": at, "answered": one.answered, "failed": one.failed, "skipped": one.skipped, "bytes": one.bytes}));
    json!({
        "report": "crawl",
        "version": 1,
        "made": report.made,
        "crawl": totals.crawl,
        "agents": totals.agents,
        "contact": totals.contact,
        "purposes": totals.purposes,
        "chain": {"lines": chain.lines, "tombstones": chain.tombstones, "erasures": totals.erasures, "torn": chain.torn},
        "records": totals.records,
        "span_ms": totals.span,
        "requests": totals.requests,
        "pages": totals.pages,
        "statuses": totals.statuses.iter().map(|(status, n)| (status.to_string(), json!(n))).collect::<Map<_, _>>(),
        "skipped": totals.skipped,
        "withheld": totals.withheld,
        "failed": totals.failed,
        "depths": totals.depths.iter().map(|(depth, n)| (depth.to_string(), json!(n))).collect::<Map<_, _>>(),
        "sizes": powers(&totals.sizes),
        "latencies_ms": powers(&totals.latencies),
        "timeline": {"width_ms": totals.timeline.width_ms, "buckets": rows.collect::<Vec<_>>()},
        "signals": signals.collect::<Vec<_>>(),
        "decided": decided.collect::<Map<_, _>>(),
        "robots": totals.robots,
        "politeness": {
            "gaps": origins.all.iter().map(|origin| origin.gaps.measured).sum::<u64>(),
            "violations": origins.violations(),
            "against_rule": origins.against_rule,
            "floor_unknown": origins.floor_unknown,
            "first_violations": origins.violations,
        },
        "pauses": pauses.collect::<Vec<_>>(),
        "longest_pauses": origins.longest,
        "overrides": exceptions.overrides,
        "grants": exceptions.grants,
        "exceptions": exceptions.written.iter().map(|one| {
            let keys = one.keys.iter().map(|(key, value)| (key.clone(), json!(value)));
            json!({"kind": one.kind, "keys": keys.collect::<Map<_, _>>()})
        }).collect::<Vec<_>>(),
        "configurations_gone": exceptions.configs_gone,
        "evidence": {"sightings": evidence.sightings, "unreadable": evidence.unreadable, "kinds": evidence.kinds, "latest": evidence.latest},
        "standing": standing,
        "origins": origins.sorted(),
    })
}

fn powers(counts: &Powers) -> Vec<Value> {
    counts.rows().into_iter().map(|(least, most, n)| json!({"least": least, "most": most, "count": n})).collect()
}
