//! One seed is one run: same web, same randomness, same log.

use comity_testweb::Web;

use crate::support::{arrivals, crawler, run};

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_log_to_the_microsecond() {
    let mut logs = Vec::new();
    for _ in 0..2 {
        let (net, observer) = Web::demo(5).in_memory();
        let seeds = observer.seeds();
        let summary = run(crawler(&net, &seeds.iter().map(String::as_str).collect::<Vec<_>>())).await;
        logs.push((arrivals(&observer), format!("{summary}")));
    }
    let differs = logs[0].0.iter().zip(&logs[1].0).position(|(a, b)| a != b);
    assert!(differs.is_none(), "first at {differs:?}: {:?}", differs.map(|at| (&logs[0].0[at], &logs[1].0[at])));
    assert_eq!(logs[0].0.len(), logs[1].0.len());
    assert_eq!(logs[0].1, logs[1].1);
}
