//! The files in which sites speak about use, over restarts.

use super::*;

/// What was kept of an earlier process's files: place, and whether there were bytes.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<Vec<(String, u16, bool)>>);

impl Recorder for Told {
    fn robots_visit(&self, _visit: RobotsVisit) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn site_file_visit(&self, _visit: SiteFileVisit) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn site_file_recalled(&self, recalled: RecalledFile) -> BoxFuture<'_, ()> {
        let seen = (recalled.file.to_string(), recalled.status, recalled.copy.is_some());
        self.0.lock().unwrap().push(seen);
        Box::pin(async {})
    }

    fn robots_recalled(&self, _recalled: RecalledRobots) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

pub(super) const TDMREP: &str = "/.well-known/tdmrep.json";

pub(super) fn tdmrep_requests(observer: &Observer) -> usize {
    observer.log().iter().filter(|seen| seen.request.target() == TDMREP.as_bytes()).count()
}

/// A file about use is not asked for again within its life, is evidence of each crawl that rests on it, and holds on while the
/// site does not answer.
#[tokio::test(start_paused = true)]
async fn a_restart_asks_no_tdmrep_json_again_within_its_life() {
    let file = Answer::status(200).content("application/json", r#"[{"location":"/closed","tdm-reservation":1}]"#);
    let absent = || Answer::status(404);
    for (name, answers, is_there) in [
        ("there", [file.clone(), Answer::status(503)], true),
        ("there, then no answer", [file, Answer::reset()], true),
        ("none", [absent(), absent()], false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new().page_answers(TDMREP, answers).page("/", Answer::text("x"));
        let (net, observer) = web(site);
        let known = |process: &Process| match process.gate.judge(&page("/closed")) {
            Judgement::Allow(allowance) => allowance.decision().site.tdmrep.clone(),
            other => panic!("{name}: {other:?}"),
        };
        let told = Arc::new(Told::default());
        let first = Process::asking(&net, dir.path(), START, &told);
        assert!(first.visit("/").await.is_some());
        assert!(known(&first).unwrap().copy.is_some() == is_there && told.0.lock().unwrap().is_empty(), "{name}");
        let wall = first.wall();
        drop(first);
        let second = Process::asking(&net, dir.path(), wall.after(HOUR * 20), &told);
        assert!(second.visit("/").await.is_some());
        assert_eq!(tdmrep_requests(&observer), 1, "{name}");
        assert_eq!(known(&second).unwrap().copy.is_some(), is_there, "{name}");
        let status = if is_there { 200 } else { 404 };
        assert_eq!(*told.0.lock().unwrap(), [(format!("http://a.test{TDMREP}"), status, is_there)], "{name}");
        drop(second);
        let third = Process::asking(&net, dir.path(), wall.after(HOUR * 25), &told);
        assert!(third.visit("/").await.is_some());
        assert_eq!(tdmrep_requests(&observer), 2, "{name}: its life was over");
        assert_eq!(known(&third).unwrap().copy.is_some(), is_there, "{name}: what was not learnt takes nothing back");
        drop(third);
        told.0.lock().unwrap().clear();
        let fourth = Process::asking(&net, dir.path(), wall.after(HOUR * 25 + HOUR / 2), &told);
        assert!(fourth.visit("/").await.is_some());
        assert_eq!(tdmrep_requests(&observer), 2, "{name}: nothing was learnt within the hour");
        assert_eq!(known(&fourth).unwrap().copy.is_some(), is_there, "{name}");
        assert_eq!(
            *told.0.lock().unwrap(),
            [(format!("http://a.test{TDMREP}"), status, is_there)],
            "{name}: what decides"
        );
    }
}
