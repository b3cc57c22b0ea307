use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::{Answer, Generated, Request};

/// One origin of a synthetic web: its robots.txt, its pages, its manners.
///
/// A request is answered by the first of these that has an answer: robots answers for `/robots.txt`, the page of that
/// very target, the page of that path without the query, generated pages, the closure, and 404.
#[derive(Clone, Default)]
pub struct Site {
    pub(crate) name: Option<String>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) robots: Option<Script>,
    pub(crate) pages: BTreeMap<String, Script>,
    pub(crate) generated: Option<Generated>,
    pub(crate) closure: Option<Closure>,
    pub(crate) latency: Duration,
    pub(crate) connect_latency: Duration,
    pub(crate) connect_fault: Option<ConnectFault>,
}

type Closure = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// How connecting to an origin's address fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFault {
    /// Nothing listens.
    Refused,
    /// In memory: connecting never ends. On loopback: the connection opens and nothing is ever read.
    Hang,
    /// The connection opens and is reset after so many bytes from the server; 0 = before the first.
    Reset(u64),
}

/// Answers in turn: the n-th request for a path gets the n-th answer.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    answers: Vec<Arc<Answer>>,
    cycles: bool,
}

impl Site {
    /// A site without robots.txt (404) and without pages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the host: `a.test`. Without, an origin is `oN.demo.test` in memory and its address on loopback.
    #[must_use]
    pub fn name(mut self, host: impl Into<String>) -> Self {
        self.name = Some(host.into());
        self
    }

    /// Puts the host on this address; several may share one. In memory the address is taken as it is; on loopback
    /// addresses outside 127.0.0.0/8 and ::1 are replaced by one loopback address each.
    #[must_use]
    pub const fn address(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Serves this text as robots.txt.
    #[must_use]
    pub fn robots(self, text: impl Into<String>) -> Self {
        self.robots_answer(Answer::text(text))
    }

    /// Answers every request for robots.txt like this: a status, a redirect, silence, a reset, raw bytes.
    #[must_use]
    pub fn robots_answer(self, answer: Answer) -> Self {
        self.robots_answers([answer])
    }

    /// Answers requests for robots.txt in turn; the last answer stays.
    #[must_use]
    pub fn robots_answers(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.robots = Script::new(answers, false);
        self
    }

    /// Answers requests for robots.txt in turn, over and over: a flapping robots.txt.
    #[must_use]
    pub fn robots_cycle(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.robots = Script::new(answers, true);
        self
    }

    /// Answers every request for this target (path, or path and query) like this.
    #[must_use]
    pub fn page(self, target: impl Into<String>, answer: Answer) -> Self {
        self.page_answers(target, [answer])
    }

    /// Answers requests for this target in turn; the last answer stays.
    #[must_use]
    pub fn page_answers(self, target: impl Into<String>, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.script(target, Script::new(answers, false))
    }

    /// Answers requests for this target in turn, over and over.
    #[must_use]
    pub fn page_cycle(self, target: impl Into<String>, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.script(target, Script::new(answers, true))
    }

    /// Adds pages made from the seed.
    #[must_use]
    pub const fn generated(mut self, pages: Generated) -> Self {
        self.generated = Some(pages);
        self
    }

    /// Answers whatever nothing else answers. The closure should be a function of its request alone: the set of
    /// [`crate::Expected`] URLs is computed by asking it.
    #[must_use]
    pub fn otherwise(mut self, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        self.closure = Some(Arc::new(answer));
        self
    }

    /// How long every answer takes, from the request's arrival to the response head.
    #[must_use]
    pub const fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// How long connecting takes; in memory only.
    #[must_use]
    pub const fn connect_latency(mut self, latency: Duration) -> Self {
        self.connect_latency = latency;
        self
    }

    /// Makes connecting fail. Where several sites share an address, the first one's fault counts.
    #[must_use]
    pub const fn connect_fault(mut self, fault: ConnectFault) -> Self {
        self.connect_fault = Some(fault);
        self
    }

    fn script(mut self, target: impl Into<String>, script: Option<Script>) -> Self {
        if let Some(script) = script {
            self.pages.insert(target.into(), script);
        }
        self
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("name", &self.name)
            .field("address", &self.address)
            .field("pages", &self.pages.len())
            .field("generated", &self.generated)
            .finish_non_exhaustive()
    }
}

impl Script {
    fn new(answers: impl IntoIterator<Item = Answer>, cycles: bool) -> Option<Self> {
        let answers: Vec<_> = answers.into_iter().map(Arc::new).collect();
        (!answers.is_empty()).then_some(Self { answers, cycles })
    }

    /// The answer to request `nth`, counted from 0.
    pub(crate) fn at(&self, nth: u64) -> Option<&Arc<Answer>> {
        let count = self.answers.len() as u64;
        let turn = if self.cycles { nth % count.max(1) } else { nth.min(count.saturating_sub(1)) };
        self.answers.get(usize::try_from(turn).unwrap_or(0))
    }

    /// The answer that stays; of a cycle, the best: the lowest status on a sound connection.
    pub(crate) fn settled(&self) -> Option<&Arc<Answer>> {
        if !self.cycles {
            return self.answers.last();
        }
        self.answers.iter().min_by_key(|answer| (answer.is_broken(), answer.status))
    }

    /// True when the answer depends on how often was asked.
    pub(crate) const fn varies(&self) -> bool {
        self.answers.len() > 1
    }
}
