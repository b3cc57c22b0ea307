//! What comity does in a turn, and the ceiling.

use comity_robots::{Compiler, Dialect, Evidence, Robots, RuleSet, request_target};

use crate::corpus::{Asked, Corpus, Questions};
use crate::rounds::Contestant;

/// The agent of the parse bench: no file of the corpus names it.
pub(crate) const AGENT: &str = "benchbot";

/// The ceiling: the end of each line and its `:`, by memchr.
pub(crate) fn scan(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("memchr to each line end and its ':'", || {
        let mut sum = 0;
        for mut rest in corpus.files.iter().map(Vec::as_slice) {
            while !rest.is_empty() {
                let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let colon = memchr::memchr(b':', rest.get(..end).unwrap_or_default());
                sum += colon.map_or(1, |colon| colon as u64);
                rest = rest.get(end + 1..).unwrap_or_default();
            }
        }
        sum
    })
}

pub(crate) fn parse_for_everybody(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("comity-robots: parse for everybody, compile for one", || {
        let sets = corpus.files.iter().map(|file| Robots::parse(file).rules(&[AGENT], Dialect::Standard));
        sets.map(|set| set.rule_count() as u64).sum()
    })
}

/// As a crawler does it: in room that is kept from file to file.
pub(crate) fn parse_for_one(corpus: &Corpus) -> Contestant<'_> {
    let mut compiler = Compiler::new();
    Contestant::new("comity-robots: parse and compile for one", move || {
        let sets = corpus.files.iter().map(|file| compiler.parse(file, &[AGENT], Dialect::Standard));
        sets.map(|set| set.rule_count() as u64).sum()
    })
}

pub(crate) fn parse_one(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("comity-robots: the same, each file in room of its own", || {
        let sets = corpus.files.iter().map(|file| RuleSet::parse(file, &[AGENT], Dialect::Standard));
        sets.map(|set| set.rule_count() as u64).sum()
    })
}

/// The rules of each pair of file and agent, and for each question its pair and its target.
pub(crate) struct Cached {
    pub(crate) sets: Vec<RuleSet>,
    pub(crate) questions: Questions,
}

impl Cached {
    pub(crate) fn new(corpus: &Corpus, asked: &Asked<'_>, dialect: Dialect) -> Self {
        let sets = asked.pairs.iter().map(|(file, agent)| RuleSet::parse(&corpus.files[*file], &[agent], dialect));
        Self { sets: sets.collect(), questions: Questions::targets(corpus, asked) }
    }

    fn answers(&self) -> impl Iterator<Item = bool> {
        self.questions.iter().map(|(pair, target)| self.sets[pair].allows(target.as_bytes()))
    }

    pub(crate) fn ask(&self) -> u64 {
        self.answers().map(u64::from).sum()
    }

    /// The same with the rule that decided, its line and its group's.
    pub(crate) fn ask_why(&self) -> u64 {
        let lines = self.questions.iter().map(|(pair, target)| match self.sets[pair].evidence(target.as_bytes()) {
            Evidence::Rule(rule) => u64::from(rule.line() ^ rule.group_line()),
            _ => 1,
        });
        lines.sum()
    }

    /// Answers unlike Google's parser.
    pub(crate) fn misses(&self, corpus: &Corpus) -> usize {
        corpus.questions.iter().zip(self.answers()).filter(|(question, answer)| question.allowed != *answer).count()
    }
}

/// Every question answered from the bytes of its file.
pub(crate) fn one_shot(corpus: &Corpus) -> u64 {
    let answers = corpus.questions.iter().map(|question| {
        let set = RuleSet::parse(&corpus.files[question.file], &[&question.agent], Dialect::Google);
        set.allows(&request_target(&question.url))
    });
    answers.map(u64::from).sum()
}

/// Mean size of the compiled rules of one agent, in bytes: a set for each file, and each different set once.
pub(crate) fn sizes(corpus: &Corpus) -> (f64, f64) {
    let sets: Vec<_> = corpus.files.iter().map(|file| Robots::parse(file).rules(&[AGENT], Dialect::Standard)).collect();
    let files = sets.len() as f64;
    let sum = sets.iter().map(RuleSet::heap_bytes).sum::<usize>() as f64;
    let different: std::collections::HashSet<_> = sets.into_iter().collect();
    (sum / files, different.iter().map(RuleSet::heap_bytes).sum::<usize>() as f64 / files)
}
