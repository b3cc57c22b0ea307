use crate::{Purpose, Statement, Verdict};

/// The preferences of one resource: a verdict per purpose, and the statements they rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    verdicts: [Verdict; 4],
    statements: Vec<Statement>,
}

impl Preferences {
    /// Combines the results of all carriers: any denial denies, else any permission permits, else silence.
    ///
    /// Inside one family the family's own rule has to be applied first (signals reference §1.5): what comes
    /// here is already the family's result.
    #[must_use]
    pub fn combine(statements: &[Statement]) -> Self {
        Self::none().with(statements.iter().cloned())
    }

    /// The same with the results of more carriers, by the same rule: what a robots.txt says with what the header and
    /// head of the page add. In whatever order carriers are added, the verdicts are the same.
    ///
    /// Source: draft-ietf-aipref-vocab-08 within AIPREF; across families our choice (signals reference §1.5).
    #[must_use]
    pub fn with(mut self, statements: impl IntoIterator<Item = Statement>) -> Self {
        for statement in statements {
            if let Some(slot) = self.verdicts.get_mut(statement.purpose.index()) {
                *slot = slot.strictest(statement.verdict);
            }
            self.statements.push(statement);
        }
        self
    }

    /// The same without the statements that `out` names, the verdicts taken anew: for a family whose later carrier
    /// supersedes an earlier one.
    #[must_use]
    pub(crate) fn without(self, out: impl Fn(&Statement) -> bool) -> Self {
        if !self.statements.iter().any(&out) {
            return self;
        }
        Self::none().with(self.statements.into_iter().filter(|statement| !out(statement)))
    }

    /// Nothing was said, anywhere.
    #[must_use]
    pub const fn none() -> Self {
        Self { verdicts: [Verdict::Unspecified; 4], statements: Vec::new() }
    }

    /// The verdict on one purpose.
    #[must_use]
    pub fn verdict(&self, purpose: Purpose) -> Verdict {
        self.verdicts.get(purpose.index()).copied().unwrap_or_default()
    }

    /// Every statement that took part, in the order it was read.
    #[must_use]
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The first statement that denies `purpose`: the evidence of a refusal. One of a mere proposal
    /// ([`Source::is_proposal`](crate::Source::is_proposal)) stands back behind any other.
    #[must_use]
    pub fn denial(&self, purpose: Purpose) -> Option<&Statement> {
        let denials = || self.statements.iter().filter(|s| s.purpose == purpose && s.verdict == Verdict::Denied);
        denials().find(|s| !s.source.is_proposal()).or_else(|| denials().next())
    }

    /// True when nothing but proposals denies `purpose`: a refusal all the same, but no count of denials may rest on it.
    #[must_use]
    pub fn is_denied_by_proposals_alone(&self, purpose: Purpose) -> bool {
        self.denial(purpose).is_some_and(|denial| denial.source.is_proposal())
    }

    /// True when nothing was said about any purpose.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.verdicts.iter().all(|v| *v == Verdict::Unspecified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn a_denial_of_any_carrier_wins_in_either_order() {
        let no = Statement::new(Source::RobotsContentSignal, Purpose::AiTrain, Verdict::Denied, "ai-train=no");
        let yes = Statement::new(Source::HeaderContentSignal, Purpose::AiTrain, Verdict::Allowed, "ai-train=yes");
        for pair in [[no.clone(), yes.clone()], [yes, no]] {
            let preferences = Preferences::combine(&pair);
            assert_eq!(preferences.verdict(Purpose::AiTrain), Verdict::Denied);
            assert_eq!(preferences.denial(Purpose::AiTrain).map(|s| s.source), Some(Source::RobotsContentSignal));
        }
        assert!(Preferences::default().is_silent());
    }
}
