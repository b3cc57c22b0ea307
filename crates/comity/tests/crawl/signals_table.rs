//! Some sixty origins, each with a signal of its own, crawled for training, for search, and for both: what becomes of each page, and
//! whether its record is what the evidence alone leads to.

use std::path::Path;

use comity::config::{ConfigFile, Moment, TermsSection};
use comity::policy::Reviews;
use comity_archive::{EvidenceKind, EvidenceStore, RawText, Record, Sighting};
use comity_robots::{Dialect, Robots};
use comity_signals::{
    AiTxt, EmbeddedFacts, HeadFacts, PolicyGroups, Preferences, Purpose, RobotsMeta, RobotsReading, RslCarrier,
    RslConditions, RslDocument, SignalOptions, Source, Statement, TdmReading, Tdmrep, TrustTxt, UnixSeconds,
    UseCeiling, Verdict, page_signals, robots_preferences,
};
use comity_testweb::{Answer, Site};
use comity_url::Origin;

use crate::licences::{licence, prohibits, secured, xml};

use crate::support::{assert_clean, crawler, requests, run, web};

/// What becomes of the page under each set of purposes: `F` fetched, `W` withheld after its answer, `R` refused before.
type Wanted = [char; 3];

const PURPOSES: [&[&str]; 3] = [&["ai_train"], &["search"], &["ai_train", "search"]];
const ONE: &str = r#"[{"location":"/","tdm-reservation":1}]"#;
const ZERO: &str = r#"[{"location":"/","tdm-reservation":0}]"#;

fn html(head: &str) -> Answer {
    Answer::status(200).content("text/html", format!("<head>{head}</head><body>words of a page"))
}

fn meta(name: &str, content: &str) -> Answer {
    html(&format!("<meta name='{name}' content='{content}'>"))
}

fn field(name: &str, value: &str) -> Answer {
    html("").field(name, value)
}

fn json(text: &str) -> Answer {
    Answer::status(200).content("application/json", text.to_owned())
}

fn robots(lines: &str) -> Site {
    Site::new().robots(format!("User-agent: *\n{lines}\nAllow: /\n")).page("/p", html(""))
}

fn tdm(answer: Answer) -> Site {
    Site::new().page("/.well-known/tdmrep.json", answer).page("/p", html(""))
}

fn page(answer: Answer) -> Site {
    Site::new().page("/p", answer)
}

fn within(text: &str) -> Site {
    page(html(&format!("<script type='application/rsl+xml'>{text}</script>")))
}

fn linked(name: &str) -> String {
    format!("<https://lic.test/{name}>; rel=\"license\"; type=\"application/rsl+xml\"")
}

fn ai_txt(rule: &str) -> Site {
    let text = Answer::text(format!("User-agent: *\n{rule}\n"));
    Site::new().page("/ai.txt", text).page("/p", html(""))
}

fn trust_txt(word: &str) -> Site {
    Site::new().page("/trust.txt", Answer::text(format!("datatrainingallowed={word}\n"))).page("/p", html(""))
}

/// A document with a packet of XMP.
pub(crate) fn embedding(kind: &str, said: &str) -> Answer {
    let packet = format!(
        "<?xpacket begin?><r:RDF xmlns:r=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><r:Description \
         xmlns:t=\"http://www.w3.org/ns/tdmrep#\" xmlns:p=\"http://ns.useplus.org/ldf/xmp/1.0/\" {said}/></r:RDF>\
         <?xpacket end?>"
    );
    Answer::status(200).content(kind, packet)
}

/// What rows named `terms: …` have in their terms.
fn reviews() -> Vec<TermsSection> {
    let named = rows().into_iter().enumerate().filter_map(|(n, (name, ..))| Some((n, name.strip_prefix("terms: ")?)));
    let section = |(n, said): (usize, &str)| {
        let pair = |one: &str| one.split_once(' ').map(|(purpose, verdict)| (purpose.to_owned(), verdict.to_owned()));
        TermsSection {
            origin: Some(format!("http://s{n}.test")),
            url: Some(format!("http://s{n}.test/terms")),
            reviewed_by: Some("Counsel".to_owned()),
            reviewed_on: Some(Moment("2026-11-29T00:00:00Z".parse().unwrap())),
            verdicts: Some(said.split(", ").filter_map(pair).collect()),
            ..TermsSection::default()
        }
    };
    named.map(section).collect()
}

/// The origins in order; number n is `sN.test`.
#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<(&'static str, Site, Wanted)> {
    let first = r#"[{"location":"/p","tdm-reservation":0},{"location":"/","tdm-reservation":1}]"#;
    let past = "unavailable_after: 25 Jun 2010 15:00:00 UTC";
    let hidden = "User-agent: *\nDisallow: /.well-known/\n";
    let moved = |to: &str| tdm(Answer::redirect(301, to)).page("/moved.json", json(ONE));
    let (free, train, search) = (['F', 'F', 'F'], ['R', 'F', 'F'], ['F', 'R', 'F']);
    let (late, all) = (['W', 'F', 'F'], ['R', 'R', 'R']);
    vec![
        ("silence", page(html("")).page("/other.json", json(ONE)), free),
        ("robots signal: train no", robots("Content-Signal: ai-train=no"), train),
        ("robots signal: search no", robots("Content-Signal: search=no"), search),
        ("robots signal: both no", robots("Content-Signal: search=no, ai-train=no"), all),
        ("robots usage: no", robots("Content-Usage: train-ai=n"), train),
        ("robots usage: yes", robots("Content-Usage: train-ai=y"), free),
        ("robots usage: another path", robots("Content-Usage: /q train-ai=n"), free),
        ("DisallowAITraining", robots("DisallowAITraining: /"), train),
        ("signal of another's group", robots("Disallow:\n\nUser-agent: other\nContent-Signal: ai-train=no"), free),
        ("file: 1", tdm(json(ONE)), train),
        ("file: 0", tdm(json(ZERO)), free),
        ("file: the first match", tdm(json(first)), free),
        ("file: none", tdm(Answer::status(404)), free),
        ("file: broken", tdm(json("[{")), free),
        ("file: no array", tdm(json(r#"{"location":"/","tdm-reservation":1}"#)), train),
        ("file: \"1\"", tdm(json(r#"[{"location":"/","tdm-reservation":"1"}]"#)), train),
        ("file: 500", tdm(Answer::status(500)), free),
        ("file: moved", moved("/moved.json"), train),
        ("file: moved to another origin", moved("http://s0.test/other.json"), train),
        ("file: refused by robots.txt", tdm(json(ONE)).robots(hidden), free),
        ("file: a page", tdm(html("")), free),
        ("field: 1", page(field("tdm-reservation", "1")), late),
        ("field 0 over file 1", tdm(json(ONE)).page("/p", field("tdm-reservation", "0")), train),
        ("meta: 1", page(meta("tdm-reservation", "1")), late),
        ("meta 0 over field 1", page(meta("tdm-reservation", "0").field("tdm-reservation", "1")), free),
        ("broken field over file 1", tdm(json(ONE)).page("/p", field("tdm-reservation", "no")), train),
        ("noai", page(field("X-Robots-Tag", "noai")), late),
        ("noindex", page(field("X-Robots-Tag", "noindex")), free),
        ("noindex and noai", page(field("X-Robots-Tag", "noindex, noai")), ['W', 'F', 'W']),
        ("noarchive", page(field("X-Robots-Tag", "noarchive")), late),
        ("noml", page(field("X-Robots-Tag", "noml")), late),
        ("noai of another", page(field("X-Robots-Tag", "otherbot: noai")), free),
        ("a date of the past", page(field("X-Robots-Tag", past)), free),
        ("robots-tag", page(field("robots-tag", "*=noai")), late),
        ("meta noai", page(meta("robots", "noai")), late),
        ("field usage: no", page(field("Content-Usage", "train-ai=n")), late),
        ("field signal: both no", page(field("Content-Signal", "search=no, ai-train=no")), ['W', 'W', 'W']),
        (
            "robots no, field yes",
            robots("Content-Signal: ai-train=no").page("/p", field("Content-Signal", "ai-train=yes")),
            train,
        ),
        ("Disallow", Site::new().robots("User-agent: *\nDisallow: /p\n").page("/p", html("")), all),
        ("meta of our name", page(meta("testbot", "noai")), late),
        ("policy token", robots("Disallow:\n\nUser-agent: __usage_ai-training\nDisallow: /p"), train),
        ("policy token, another path", robots("Disallow:\n\nUser-agent: __Usage_AI-training\nDisallow: /q"), free),
        ("licence within: no training", within(&prohibits("ai-train")), late),
        ("licence within: nothing at all", within(&prohibits("all")), ['W', 'W', 'W']),
        ("licence within: everything", within(&licence("all", "")), free),
        ("licence within: search alone", within(&licence("search", "")), late),
        ("licence within: training alone", within(&licence("ai-train", "")), ['F', 'W', 'F']),
        (
            "licence within: search for a payment",
            within(&licence("search", "<payment type=\"crawl\"/>")),
            ['W', 'W', 'W'],
        ),
        ("licence of robots.txt: no training", robots("License: https://lic.test/no.xml"), train),
        ("licence of robots.txt: search alone", robots("License: https://lic.test/search.xml"), train),
        ("licence of robots.txt: missing", robots("License: https://lic.test/absent.xml"), free),
        (
            "licence of another's group",
            robots("Disallow:\n\nUser-agent: other\nLicense: https://lic.test/no.xml"),
            free,
        ),
        ("licence of a field", page(field("Link", &linked("no.xml"))), late),
        ("licence of a field, search alone", page(field("Link", &linked("search.xml"))), late),
        ("licence yes, robots no", robots("Content-Signal: ai-train=no\nLicense: https://lic.test/all.xml"), train),
        ("ai.txt: no", ai_txt("Disallow: /"), train),
        ("ai.txt: yes", ai_txt("Allow: /"), free),
        ("ai.txt: another path", ai_txt("Disallow: /q"), free),
        ("ai.txt: no, field yes", ai_txt("Disallow: /").page("/p", field("Content-Usage", "train-ai=y")), train),
        ("terms: ai_train denied", page(html("")), train),
        ("terms: search denied", page(html("")), search),
        ("terms: ai_train denied, search denied", page(html("")), all),
        ("terms: ai_train allowed", page(field("X-Robots-Tag", "noai")), late),
        ("trust.txt: no", trust_txt("no"), train),
        ("trust.txt: yes", trust_txt("yes"), free),
        ("a PDF reserves", page(embedding("application/pdf", "t:reservation=\"1\"")), late),
        ("an image prohibits", page(embedding("image/png", "p:DataMining=\"DMI-PROHIBITED\"")), late),
        ("use=immediate", robots("Content-Signal: use=immediate"), ['R', 'R', 'R']),
        ("use=immediate in a field", page(field("Content-Signal", "use=immediate")), ['W', 'W', 'W']),
        ("use=reference", robots("Content-Signal: search=yes, use=reference"), free),
    ]
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "one crawl for each set of purposes, and all that is held against it")]
async fn some_sixty_origins_end_as_their_signals_say_and_the_evidence_says_the_same() {
    let count = rows().len();
    for (set, purposes) in PURPOSES.into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let sites = rows().into_iter().enumerate().map(|(n, (_, site, _))| site.name(format!("s{n}.test")));
        let licences = Site::new()
            .name("lic.test")
            .page("/no.xml", xml(prohibits("ai-train")))
            .page("/search.xml", xml(licence("search", "")))
            .page("/all.xml", xml(licence("all", "")));
        let (net, observer) = web(sites.chain([licences]));
        let (secure, root) = secured(&net);
        let roots = vec![root.path().to_owned()];
        let seeds: Vec<String> = (0..count).map(|n| format!("http://s{n}.test/p")).collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let declared: Vec<String> = purposes.iter().map(|purpose| (*purpose).to_owned()).collect();
        let summary = run(crawler(&net, &seeds).net(secure).dir(dir.path()).configure(move |file| {
            file.agent.purposes = Some(declared);
            file.fetch.roots = Some(roots);
            (file.signals.licences, file.signals.ai_txt) = (Some(true), Some(true));
            (file.signals.trust_txt, file.signals.content_use_level) = (Some(true), Some("reference".to_owned()));
            file.terms = Some(reviews());
            file.frontier.store = Some("memory".to_owned());
        }))
        .await;

        let lines = comity_archive::read_records(dir.path()).unwrap();
        let records: Vec<Record> = lines.map(|line| line.unwrap().record().unwrap().unwrap()).collect();
        let evidence = EvidenceStore::open(dir.path()).unwrap();
        let terms = ConfigFile::read(&dir.path().join("crawl.toml")).unwrap().read_reviews().unwrap();
        let (mut different, mut counts) = (Vec::new(), [0; 3]);
        for (n, (name, _, wanted)) in rows().into_iter().enumerate() {
            let url = format!("http://s{n}.test/p");
            let found = records.iter().rfind(|record| record.url == url).unwrap();
            let end = match &*found.outcome {
                "fetched" => 'F',
                "withheld" => 'W',
                "not_fetched" => 'R',
                other => panic!("{name}: {other}"),
            };
            counts[['F', 'W', 'R'].iter().position(|one| *one == end).unwrap()] += 1;
            if end != wanted[set] {
                different.push(format!("{name}: {end}, wanted {}", wanted[set]));
            }
            let (verdicts, refused) = decided_anew(found, &evidence, &terms);
            let stated: Vec<(String, String)> = found
                .decision
                .iter()
                .flat_map(|decision| &decision.purposes)
                .map(|(purpose, one)| (purpose.clone(), one.verdict.clone()))
                .collect();
            if stated != verdicts || refused != (end != 'F') {
                different.push(format!("{name}: says {stated:?}, by its evidence {verdicts:?}, refused {refused}"));
            }
        }
        assert!(different.is_empty(), "{purposes:?}: {different:#?}\n{summary}");
        let [fetched, withheld, refused] = counts;
        let told = (summary.fetched.values().sum::<u64>(), summary.withheld.values().sum(), summary.refusals());
        assert_eq!(told, (fetched, withheld, refused), "{purposes:?}");
        assert!(summary.denied.contains_key(&Purpose::AiTrain));
        // Asked of every origin that may be asked, and where it can change something only.
        let asked = requests(&observer).iter().filter(|url| url.ends_with("/.well-known/tdmrep.json")).count();
        assert_eq!(asked, if purposes.contains(&"ai_train") { count - 1 } else { 0 }, "{purposes:?}");
        check_sightings(dir.path(), &evidence, purposes.contains(&"ai_train"));
        assert_clean(&observer);
        let verified = comity_archive::verify::verify(dir.path(), &Default::default()).unwrap();
        assert!(verified.holds(), "{:?}", verified.faults);
    }
}

/// The bytes once, the sightings dated, absence too.
fn check_sightings(dir: &Path, evidence: &EvidenceStore, asked: bool) {
    let seen: Vec<Sighting> = evidence.sightings().unwrap().map(Result::unwrap).collect();
    let tdm: Vec<_> = seen.iter().filter(|one| one.kind == EvidenceKind::Tdmrep).collect();
    if !asked {
        assert!(tdm.is_empty());
        return;
    }
    let of = |host: &str| tdm.iter().find(|one| one.url == format!("http://{host}/.well-known/tdmrep.json")).unwrap();
    assert_eq!((of("s12.test").status, &of("s12.test").digest), (404, &None));
    assert_eq!((of("s16.test").status, &of("s16.test").digest), (500, &None));
    assert_eq!(of("s9.test").digest, of("s22.test").digest, "the same bytes");
    let digest = of("s9.test").digest.clone().unwrap();
    assert_eq!(std::fs::read(dir.join("evidence").join(&digest[..2]).join(&digest)).unwrap(), ONE.as_bytes());
    let lines = comity_archive::read_records(dir).unwrap();
    let records: Vec<Record> = lines.map(|line| line.unwrap().record().unwrap().unwrap()).collect();
    let kept = records.iter().filter(|record| record.errand == "tdmrep").count();
    assert_eq!(kept, tdm.len() + 1, "a record for each request, and for the one that was refused");
    let refused = records.iter().find(|record| record.errand == "tdmrep" && record.outcome == "not_fetched").unwrap();
    assert_eq!(refused.reason, "robots.disallow");
}

/// Verdicts of the declared purposes and whether the page is refused, by the kept copies and the record's own raw texts.
#[expect(clippy::too_many_lines, reason = "one reader after the other, in the order of the decision")]
fn decided_anew(record: &Record, evidence: &EvidenceStore, terms: &Reviews) -> (Vec<(String, String)>, bool) {
    let target = record.url.split_once(".test").unwrap().1.as_bytes();
    let copy =
        |digest: &Option<String>| digest.as_ref().map(|hex| evidence.find(hex.parse().unwrap()).unwrap().unwrap());
    let robots = copy(&record.robots.as_ref().unwrap().digest);
    let policies = robots.as_ref().map(|bytes| PolicyGroups::parse(bytes, Dialect::Standard)).unwrap_or_default();
    let rules = robots.map(|bytes| Robots::parse(&bytes).rules(&["TestBot"], Dialect::Standard));
    let declared: Vec<Purpose> = record.agent.purposes.iter().map(|purpose| purpose.parse().unwrap()).collect();
    let verdicts = |found: &Preferences| {
        let mut verdicts: Vec<_> =
            declared.iter().map(|purpose| (purpose.to_string(), found.verdict(*purpose).to_string())).collect();
        verdicts.sort();
        verdicts
    };
    if rules.as_ref().is_some_and(|rules| !rules.verdict(target).allowed) {
        return (verdicts(&Preferences::none()), true);
    }
    let options = SignalOptions::default();
    let ceiling = rules.as_ref().and_then(|rules| RobotsReading::read(rules, target, options).use_ceiling);
    let known = rules.map_or_else(Preferences::none, |rules| robots_preferences(&rules, target));
    let known = known.with(policies.denials(target));
    let file = copy(&record.tdmrep.as_ref().and_then(|file| file.digest.clone()));
    let origin = record.url.strip_suffix("/p").unwrap();
    let file = file.map(|bytes| Tdmrep::parse(&bytes, origin));
    let fields: Vec<(String, Vec<u8>)> = record
        .response
        .iter()
        .flat_map(|response| &response.fields)
        .map(|(name, value)| match value {
            RawText::Text(text) => (name.clone(), text.clone().into_bytes()),
            RawText::Bytes { .. } => panic!("{name} is no text"),
        })
        .collect();
    // The raw text of each meta that spoke stands in the record; the page itself may be gone.
    let raw = |source: Source| {
        record.signals.iter().filter(move |one| one.source == source.as_str()).map(|one| one.raw.clone())
    };
    let robots = raw(Source::MetaRobots).map(|content| RobotsMeta { name: "robots".to_owned(), content });
    let embedded = EmbeddedFacts {
        tdm_reservation: raw(Source::EmbeddedTdm).collect(),
        data_mining: raw(Source::EmbeddedPlus).collect(),
        ..EmbeddedFacts::default()
    };
    let tdm_reservation = raw(Source::MetaTdm).collect();
    let head = HeadFacts { robots: robots.collect(), tdm_reservation, embedded, ..HeadFacts::default() };
    let reading = TdmReading::read(file.as_ref(), target, &fields, &head, SignalOptions::default());
    let page = page_signals(&fields, &head, "TestBot", false);
    let now = crate::support::START.unix_millis() / 1000;
    let mut others: Vec<Statement> = terms.statements(&Origin::parse(origin).unwrap()).collect();
    let ai_txt = copy(&record.ai_txt.as_ref().and_then(|file| file.digest.clone()));
    others.extend(ai_txt.and_then(|bytes| AiTxt::parse(&bytes, &["TestBot"]).statement(target)));
    let trust = copy(&record.trust_txt.as_ref().and_then(|file| file.digest.clone()));
    others.extend(trust.and_then(|bytes| TrustTxt::parse(&bytes).statement().cloned()));
    for one in &record.licences {
        let Some(bytes) = copy(&one.digest) else { continue };
        let carrier = RslCarrier::from_name(&one.carrier).unwrap();
        let document = RslDocument::parse(&bytes);
        let read = document.read(origin, target, carrier, &RslConditions::default(), SignalOptions::default());
        others.extend(read.statements);
    }
    let found = page.preferences(reading.preferences(known), UnixSeconds(now)).with(others);
    let of_index =
        |source: &Source| matches!(source, Source::HeaderXRobotsTag | Source::HeaderRobotsTag | Source::MetaRobots);
    let drops = |purpose: &Purpose| {
        found.statements().iter().any(|one| {
            one.purpose == *purpose
                && one.verdict == Verdict::Denied
                && !(one.purpose == Purpose::Search && of_index(&one.source))
        })
    };
    let all = declared.iter().all(|purpose| found.verdict(*purpose) == Verdict::Denied);
    let is_above = [ceiling, page.use_ceiling].into_iter().flatten().any(|ceiling| ceiling < UseCeiling::Reference);
    (verdicts(&found), is_above || all && declared.iter().any(drops))
}
