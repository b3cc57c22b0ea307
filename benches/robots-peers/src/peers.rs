//! The other crates, each used as its documentation says.

use std::panic::{AssertUnwindSafe, catch_unwind};

use robotstxt::{DefaultMatcher, RobotsParseHandler};
use robotxt::Robots;
use texting_robots::Robot;

use crate::corpus::{Asked, Corpus, Questions};
use crate::ours::AGENT;
use crate::rounds::Contestant;

pub(crate) fn robotxt_parse(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("robotxt: parse and compile", || {
        corpus.files.iter().map(|file| u64::from(Robots::parse(file, AGENT).is_allowed("/"))).sum()
    })
}

pub(crate) fn texting_robots_parse(corpus: &Corpus) -> Contestant<'_> {
    Contestant::new("texting_robots: parse and compile", || {
        corpus.files.iter().map(|file| u64::from(Robot::new(AGENT, file).is_ok())).sum()
    })
}

pub(crate) fn robotstxt_parse(corpus: &Corpus) -> Contestant<'_> {
    let texts: Vec<_> = corpus.files.iter().map(|file| String::from_utf8_lossy(file).into_owned()).collect();
    Contestant::new("robotstxt: parse, count lines", move || {
        texts.iter().map(|text| quietly(|| count_lines(text)).unwrap_or_default()).sum()
    })
}

fn count_lines(text: &str) -> u64 {
    let mut count = Count(0);
    robotstxt::parse_robotstxt(text, &mut count);
    count.0
}

/// A handler that only counts.
struct Count(u64);

impl RobotsParseHandler for Count {
    fn handle_robots_start(&mut self) {}
    fn handle_robots_end(&mut self) {}
    fn handle_user_agent(&mut self, _: u32, _: &str) {
        self.0 += 1;
    }
    fn handle_allow(&mut self, _: u32, _: &str) {
        self.0 += 1;
    }
    fn handle_disallow(&mut self, _: u32, _: &str) {
        self.0 += 1;
    }
    fn handle_sitemap(&mut self, _: u32, _: &str) {
        self.0 += 1;
    }
    fn handle_unknown_action(&mut self, _: u32, _: &str, _: &str) {
        self.0 += 1;
    }
}

pub(crate) fn robotxt_hostile<'a>(file: &[u8], path: &'a [u8]) -> Contestant<'a> {
    let set = Robots::parse(file, AGENT);
    let path = std::str::from_utf8(path).unwrap_or("/");
    Contestant::new("robotxt", move || u64::from(set.is_allowed(path)))
}

/// robotxt: rules of each pair of file and agent; asked with the path.
pub(crate) struct RobotxtCached {
    sets: Vec<Robots>,
    questions: Questions,
}

impl RobotxtCached {
    pub(crate) fn new(corpus: &Corpus, asked: &Asked<'_>) -> Self {
        let sets = asked.pairs.iter().map(|(file, agent)| Robots::parse(&corpus.files[*file], *agent)).collect();
        Self { sets, questions: Questions::targets(corpus, asked) }
    }

    fn answers(&self) -> impl Iterator<Item = bool> {
        self.questions.iter().map(|(pair, path)| self.sets[pair].is_allowed(path))
    }

    pub(crate) fn ask(&self) -> u64 {
        self.answers().map(u64::from).sum()
    }

    pub(crate) fn misses(&self, corpus: &Corpus) -> usize {
        corpus.questions.iter().zip(self.answers()).filter(|(question, answer)| question.allowed != *answer).count()
    }
}

/// texting_robots: the same; asked with the URL, which is its way.
pub(crate) struct TextingCached<'a> {
    sets: Vec<Option<Robot>>,
    questions: Vec<(usize, &'a str)>,
}

impl<'a> TextingCached<'a> {
    pub(crate) fn new(corpus: &'a Corpus, asked: &Asked<'_>) -> Self {
        let sets = asked.pairs.iter().map(|(file, agent)| Robot::new(agent, &corpus.files[*file]).ok()).collect();
        let urls = corpus.questions.iter().map(|question| question.url.as_str());
        Self { sets, questions: asked.of_question.iter().copied().zip(urls).collect() }
    }

    fn answers(&self) -> impl Iterator<Item = bool> {
        self.questions.iter().map(|(pair, url)| self.sets[*pair].as_ref().is_some_and(|set| set.allowed(url)))
    }

    pub(crate) fn ask(&self) -> u64 {
        self.answers().map(u64::from).sum()
    }

    pub(crate) fn misses(&self, corpus: &Corpus) -> usize {
        corpus.questions.iter().zip(self.answers()).filter(|(question, answer)| question.allowed != *answer).count()
    }
}

/// robotstxt has no cached form: it reads the file for every question.
fn robotstxt_answers(corpus: &Corpus) -> impl Iterator<Item = Option<bool>> {
    let texts: Vec<_> = corpus.files.iter().map(|file| String::from_utf8_lossy(file).into_owned()).collect();
    corpus.questions.iter().map(move |question| {
        let ask = || {
            DefaultMatcher::default().one_agent_allowed_by_robots(&texts[question.file], &question.agent, &question.url)
        };
        quietly(ask)
    })
}

pub(crate) fn robotstxt_one_shot(corpus: &Corpus) -> u64 {
    robotstxt_answers(corpus).map(|answer| u64::from(answer == Some(true))).sum()
}

pub(crate) fn robotstxt_misses(corpus: &Corpus) -> usize {
    corpus
        .questions
        .iter()
        .zip(robotstxt_answers(corpus))
        .filter(|(question, answer)| Some(question.allowed) != *answer)
        .count()
}

/// `None` when it panics, as robotstxt 0.3 does on some files; the message is not shown.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
