//! Questions of the shared robots corpora, and the project's own.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::PathBuf;

use comity_policy::Identity;
use comity_robots::request_target;
use flate2::read::GzDecoder;
use serde_json::Value;

/// One question: a file, the token asked for, the path, and the verdict of the corpus where it has one.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) file: String,
    pub(crate) token: String,
    pub(crate) target: String,
    pub(crate) expected: Option<bool>,
}

/// Files by name, and the questions about them.
#[derive(Debug, Default)]
pub(crate) struct Corpus {
    pub(crate) files: HashMap<String, Vec<u8>>,
    pub(crate) questions: Vec<Question>,
    /// Rows that no door can be asked: no token, or no URL.
    pub(crate) unaskable: usize,
}

impl Corpus {
    pub(crate) fn own() -> Self {
        let mut corpus = Self::default();
        corpus.add_cases("own", include_str!("../cases/robots.jsonl"));
        corpus
    }

    /// Everything that lies beside the project; of the verdicts, the files of every `nth` place by name.
    pub(crate) fn shared(nth: usize) -> Option<Self> {
        let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../shared/robots-corpus"].iter().collect();
        let cases = std::fs::read_to_string(folder.join("cases.jsonl")).ok()?;
        let mut corpus = Self::default();
        corpus.add_cases("shared", &cases);
        let mut files: BTreeMap<_, _> = untar(&gunzip(&folder.join("robots.tar.gz"))).into_iter().collect();
        let taken: Vec<_> = files.keys().step_by(nth).cloned().collect();
        files.retain(|name, _| taken.contains(name));
        let table = String::from_utf8(gunzip(&folder.join("verdicts.tsv.gz"))).unwrap();
        for line in table.lines().skip(1) {
            let row: Vec<_> = line.split('\t').collect();
            let Some(bytes) = files.get(&format!("robots/{}", row[0])) else { continue };
            corpus.add(row[0], bytes, row[1], row[2], Some(row[5] == "1"));
        }
        Some(corpus)
    }

    fn add_cases(&mut self, name: &str, text: &str) {
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let field = |name: &str| case[name].as_str();
            let bytes = field("robots_b64").map_or_else(
                || field("robots").unwrap().as_bytes().to_vec(),
                |coded| data_encoding::BASE64.decode(coded.as_bytes()).unwrap(),
            );
            let file = format!("{name}/{}", field("id").unwrap());
            self.add(&file, &bytes, field("agent").unwrap(), field("url").unwrap(), None);
        }
    }

    /// Adds a question under a token that a crawler of ours may carry: comity impersonates nobody, so where the corpus
    /// asks for a known crawler, its name is changed by one letter in token, file and URL alike.
    fn add(&mut self, name: &str, bytes: &[u8], token: &str, url: &str, expected: Option<bool>) {
        let Some((token, change)) = bearable(token) else {
            self.unaskable += 1;
            return;
        };
        let target = change.apply(&request_target(url.as_bytes()));
        let Ok(target) = String::from_utf8(target) else {
            self.unaskable += 1;
            return;
        };
        let file = format!("{name} for {token}");
        self.files.entry(file.clone()).or_insert_with(|| change.apply(bytes));
        self.questions.push(Question { file, token, target, expected });
    }
}

/// Another first letter for every occurrence of a name, its case kept.
struct Change {
    from: Vec<u8>,
    to: u8,
}

impl Change {
    fn apply(&self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        let mut at = 0;
        while self.to != 0 && at + self.from.len() <= text.len() {
            if text[at..at + self.from.len()].eq_ignore_ascii_case(&self.from) {
                text[at] = if text[at].is_ascii_uppercase() { self.to.to_ascii_uppercase() } else { self.to };
            }
            at += 1;
        }
        text
    }
}

/// The token itself where a crawler of ours may carry it, or one that differs in its first letter.
fn bearable(token: &str) -> Option<(String, Change)> {
    [0, b'q', b'x', b'j', b'z'].into_iter().find_map(|to| {
        let change = Change { from: token.as_bytes().to_vec(), to };
        let token = String::from_utf8(change.apply(token.as_bytes())).ok()?;
        let name = format!("{token}/1.0");
        Identity::new(&name, "https://e.example/bot", &[], Vec::new()).ok().map(|_| (token, change))
    })
}

fn gunzip(path: &PathBuf) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Regular members of a ustar archive, by name.
fn untar(mut archive: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut members = HashMap::new();
    while let Some((header, rest)) = archive.split_at_checked(512) {
        if header[0] == 0 {
            break;
        }
        let text = |range: std::ops::Range<usize>| {
            let field = header[range].split(|byte| *byte == 0).next().unwrap();
            String::from_utf8(field.to_vec()).unwrap()
        };
        let size = usize::from_str_radix(text(124..136).trim(), 8).unwrap();
        if matches!(header[156], b'0' | 0) {
            members.insert(text(0..100), rest[..size].to_vec());
        }
        archive = &rest[size.next_multiple_of(512)..];
    }
    members
}
