use comity_robots::{Chain, KnownAgent, ProductToken, Robots, RuleSet, token_note};

use crate::args::{CheckArgs, DialectArg};
use crate::exit::Failure;

/// For whom a file is read: as the person typed it, and as the file is asked.
#[derive(Debug)]
pub(super) struct Asked {
    typed: String,
    tokens: Vec<String>,
    /// The known agent whose own chain is used.
    known: Option<KnownAgent>,
}

impl Asked {
    /// By `--agent`, `--agents` and `--exact`.
    pub(super) fn of_flags(args: &CheckArgs) -> Result<Self, Failure> {
        match &args.agent {
            Some(agent) if args.exact => Self::exact(std::slice::from_ref(agent)),
            Some(agent) => Self::agent(agent),
            None => Self::exact(&args.agents),
        }
    }

    /// One agent: with its own chain when it is known.
    pub(super) fn agent(typed: &str) -> Result<Self, Failure> {
        let known = KnownAgent::find(typed.split(['/', ' ']).next().unwrap_or(typed));
        let tokens = match known {
            // What a file could not name is warned of all the same.
            Some(known) if token_note(known.token()).is_none() => known.chain().map(str::to_owned).collect(),
            _ => vec![caller_token(typed)?],
        };
        Ok(Self { typed: typed.to_owned(), tokens, known })
    }

    /// These tokens in turn, then `*`.
    fn exact(typed: &[String]) -> Result<Self, Failure> {
        let tokens = typed.iter().map(|token| caller_token(token)).collect::<Result<_, _>>()?;
        Ok(Self { typed: typed.join(","), tokens, known: None })
    }

    pub(super) fn typed(&self) -> &str {
        &self.typed
    }

    pub(super) fn chain(&self) -> Chain<'_> {
        let tokens: Vec<&str> = self.tokens.iter().map(String::as_str).collect();
        self.known.map_or_else(|| Chain::new(&tokens), Chain::of)
    }

    pub(super) fn rules(&self, robots: &Robots, dialect: DialectArg) -> RuleSet {
        self.chain().rules(robots, dialect.into())
    }

    /// `Googlebot-Image, then Googlebot, then *`.
    pub(super) fn in_words(&self) -> String {
        let end = if self.chain().takes_global() { &["*"][..] } else { &[] };
        let steps: Vec<&str> = self.tokens.iter().map(String::as_str).chain(end.iter().copied()).collect();
        steps.join(", then ")
    }

    /// What is known of the agent, for people; only where it changes how the file is read.
    pub(super) fn known_in_words(&self) -> Option<String> {
        let known = self.known?;
        let chain = self.chain();
        if chain.tokens().len() < 2 && chain.takes_global() {
            return None;
        }
        let star = if chain.takes_global() { "" } else { "; a * group does not apply to it" };
        Some(format!(
            "known agent of {}, asked as {}{star} (--exact for the token alone)",
            known.operator(),
            self.in_words()
        ))
    }
}

/// A token as a person types it: `BOT/2.0` is cut to `BOT`, and said; one that no file can name is warned of.
fn caller_token(text: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the agent is empty").hint("--agent MyBot"));
    }
    let head = text.split(['/', ' ']).next().unwrap_or(text);
    if let Some(note) = token_note(head) {
        eprintln!("warning: {head:?}: {note}");
        return Ok(head.to_owned());
    }
    let token = ProductToken::cut(text).map_err(|e| Failure::usage(format!("--agent {text:?}: {e}")))?;
    if token.as_str() != text {
        eprintln!("note: {text:?} asked as {:?}: a product token is letters, - and _", token.as_str());
    }
    Ok(token.as_str().to_owned())
}
