//! The shared corpus as the benches use it: files, and questions in the order of the table.

use comity_robots::request_target;

use crate::shared::{corpus, gunzip, untar};

/// Real files, and questions about them.
pub(crate) struct Corpus {
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) questions: Vec<Question>,
}

/// One row of the table.
pub(crate) struct Question {
    /// Place of the file in [`Corpus::files`].
    pub(crate) file: usize,
    pub(crate) agent: String,
    pub(crate) url: String,
    /// What Google's parser answers.
    pub(crate) allowed: bool,
}

impl Corpus {
    /// `None`, said on stdout, when the corpus is not beside the repository.
    pub(crate) fn load() -> Option<Self> {
        let archive = corpus("robots-corpus/robots.tar.gz")?;
        let table = corpus("robots-corpus/verdicts.tsv.gz")?;
        let mut members: Vec<_> = untar(&gunzip(&archive)).into_iter().filter(|(name, _)| !is_licence(name)).collect();
        members.sort_unstable();
        let table = String::from_utf8(gunzip(&table)).unwrap();
        let place = |name: &str| members.binary_search_by(|(member, _)| member.as_str().cmp(name)).unwrap();
        let questions = table.lines().skip(1).map(|row| {
            let fields: Vec<_> = row.split('\t').collect();
            let [file, agent, url, allowed, ..] = fields[..] else { panic!("{row}") };
            let file = place(&format!("robots/{file}"));
            Question { file, agent: agent.to_owned(), url: url.to_owned(), allowed: allowed == "1" }
        });
        let questions = questions.collect();
        Some(Self { files: members.into_iter().map(|(_, bytes)| bytes).collect(), questions })
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> usize {
        self.files.iter().map(Vec::len).sum()
    }

    /// Every question for the agent it names: each pair of file and agent once, in the order of the table.
    pub(crate) fn as_asked(&self) -> Asked<'_> {
        let mut known = std::collections::HashMap::new();
        let mut asked = Asked { pairs: Vec::new(), of_question: Vec::new() };
        for question in &self.questions {
            let pair = (question.file, question.agent.as_str());
            asked.of_question.push(*known.entry(pair).or_insert_with(|| {
                asked.pairs.push(pair);
                asked.pairs.len() - 1
            }));
        }
        asked
    }

    /// Every question for one agent, as a crawler asks.
    pub(crate) fn for_one<'a>(&'a self, agent: &'a str) -> Asked<'a> {
        let pairs = (0..self.files.len()).map(|file| (file, agent)).collect();
        Asked { pairs, of_question: self.questions.iter().map(|question| question.file).collect() }
    }
}

/// Whom the questions are for.
pub(crate) struct Asked<'a> {
    /// File and agent.
    pub(crate) pairs: Vec<(usize, &'a str)>,
    /// For each question, the place of its pair.
    pub(crate) of_question: Vec<usize>,
}

/// Questions side by side in memory, so that a bench measures the matcher and not the way to the question.
pub(crate) struct Questions {
    text: String,
    /// The pair of file and agent, and where the question ends in the text.
    ends: Vec<(usize, usize)>,
}

impl Questions {
    /// What a crawler would ask: path and query.
    pub(crate) fn targets(corpus: &Corpus, asked: &Asked<'_>) -> Self {
        let target = |question: &Question| String::from_utf8_lossy(&request_target(&question.url)).into_owned();
        Self::new(asked.of_question.iter().copied().zip(corpus.questions.iter().map(target)))
    }

    fn new(questions: impl Iterator<Item = (usize, String)>) -> Self {
        let mut all = Self { text: String::new(), ends: Vec::new() };
        for (pair, text) in questions {
            all.text.push_str(&text);
            all.ends.push((pair, all.text.len()));
        }
        all
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let starts = [0].into_iter().chain(self.ends.iter().map(|(_, end)| *end));
        self.ends.iter().zip(starts).map(|((pair, end), start)| (*pair, &self.text[start..*end]))
    }
}

fn is_licence(name: &str) -> bool {
    name.ends_with("LICENSE.protego")
}
