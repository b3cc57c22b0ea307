//! The shared corpus as the benches use it: files, and questions in the order of the table.

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

    /// The pairs of file and agent in the order of the table, and the pair of each question.
    pub(crate) fn pairs(&self) -> (Vec<(usize, &str)>, Vec<usize>) {
        let mut known = std::collections::HashMap::new();
        let mut pairs = Vec::new();
        let of_question = self.questions.iter().map(|question| {
            let pair = (question.file, question.agent.as_str());
            *known.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                pairs.len() - 1
            })
        });
        let of_question = of_question.collect();
        (pairs, of_question)
    }
}

fn is_licence(name: &str) -> bool {
    name.ends_with("LICENSE.protego")
}
