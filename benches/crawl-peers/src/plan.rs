use crate::contestant::Contestant;

/// What is to be measured.
pub struct Plan {
    pub rounds: usize,
    pub contestants: Vec<Contestant>,
    pub web: WebSize,
    /// Pages an origin for those whose rounds would take minutes.
    pub pages_for_slow: u32,
    pub polite_seconds: u64,
}

/// The web of the speed runs.
#[derive(Clone, Copy)]
pub struct WebSize {
    pub origins: u32,
    pub pages: u32,
    pub bytes: u32,
    pub links: u32,
}

impl Plan {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut plan = Self {
            rounds: 5,
            contestants: vec![Contestant::Bare, Contestant::BareJemalloc, Contestant::Comity, Contestant::ComityJemalloc],
            web: WebSize { origins: 64, pages: 400, bytes: 20_000, links: 50 },
            pages_for_slow: 40,
            polite_seconds: 20,
        };
        let mut only = Vec::new();
        while let Some(word) = words.next() {
            let mut next = || words.next().ok_or_else(|| format!("{word}: a word is missing"));
            match word.as_str() {
                "--spider" => plan.contestants.push(Contestant::Spider(next()?)),
                "--scrapy" => plan.contestants.push(Contestant::Scrapy { python: next()?, script: next()? }),
                "--only" => only.push(next()?),
                "--origins" => plan.web.origins = number(&next()?)?,
                "--pages" => plan.web.pages = number(&next()?)?,
                "--pages-for-slow" => plan.pages_for_slow = number(&next()?)?,
                "--polite" => plan.polite_seconds = number(&next()?)?.into(),
                rounds => plan.rounds = usize::try_from(number(rounds)?).unwrap_or(1),
            }
        }
        if !only.is_empty() {
            plan.contestants.retain(|one| only.iter().any(|name| name == one.name()));
        }
        Ok(plan)
    }
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("{word:?} is no number"))
}
