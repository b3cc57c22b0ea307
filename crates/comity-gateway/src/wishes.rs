use comity_gate::Gate;
use comity_policy::{Judge, Judgement, Reason};
use comity_robots::ProductToken;
use comity_signals::{Declared, Purpose};
use comity_url::CrawlUrl;

use crate::config::Customer;
use crate::ruling::Objection;

/// As whom and for what a customer asks.
#[derive(Clone, Debug)]
pub(crate) struct Wishes {
    /// The token in records.
    pub(crate) token: ProductToken,
    /// Declared purposes; empty where the customer has none.
    pub(crate) purposes: Vec<Declared>,
}

impl Wishes {
    /// What a request names, held against what the customer was granted.
    ///
    /// # Errors
    /// `auth.token`, `auth.purpose`.
    pub(crate) fn new<'a>(
        customer: &Customer,
        token: Option<&str>,
        purposes: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Objection> {
        let unknown = || Objection::new(Reason::AuthToken, "this token was not granted");
        let token = match token {
            Some(name) => customer.token(name.trim()),
            None => customer.tokens.first(),
        };
        let named: Result<Vec<Declared>, Objection> =
            purposes.into_iter().map(|name| granted(customer, name)).collect();
        let named = named?;
        let purposes = if named.is_empty() { customer.purposes.clone() } else { named };
        Ok(Self { token: token.cloned().ok_or_else(unknown)?, purposes })
    }

    /// These wishes as a judge of URLs.
    pub(crate) const fn judge<'a>(&'a self, gate: &'a Gate) -> Judging<'a> {
        Judging { gate, purposes: self.purposes.as_slice() }
    }
}

fn granted(customer: &Customer, name: &str) -> Result<Declared, Objection> {
    let known = name.trim().parse::<Declared>();
    known.ok().filter(|purpose| customer.purposes.contains(purpose)).ok_or_else(|| {
        // Shown as it came, so bounded and escaped.
        let name: String = name.chars().take(40).collect();
        Objection::new(Reason::AuthPurpose, format!("purpose {name:?} was not granted"))
    })
}

/// The gate's judgement for a customer's purposes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judging<'a> {
    gate: &'a Gate,
    purposes: &'a [Declared],
}

impl Judge for Judging<'_> {
    fn judge(&self, url: &CrawlUrl) -> Judgement {
        if !self.purposes.is_empty() {
            return self.gate.judge_for(url, self.purposes);
        }
        // Nothing declared: it may be anything, so what any purpose is denied is denied.
        let [first, others @ ..] = Purpose::ALL;
        let mut judgement = self.gate.judge_for(url, &[Declared::Judged(first)]);
        for purpose in others {
            if !matches!(judgement, Judgement::Allow(_)) {
                break;
            }
            judgement = self.gate.judge_for(url, &[Declared::Judged(purpose)]);
        }
        judgement
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::UserAgentRule;

    #[test]
    fn only_what_was_granted_can_be_asked_for() {
        let token = |name| ProductToken::new(name).unwrap();
        let customer = Customer {
            id: "c1".to_owned(),
            tokens: vec![token("custbot"), token("newsbot")],
            purposes: vec![Declared::Judged(Purpose::Search), Declared::Judged(Purpose::AiTrain)],
            user_agent: UserAgentRule::Any,
        };
        let ask = |token, purposes: &[&'static str]| Wishes::new(&customer, token, purposes.iter().copied());
        let plain = ask(None, &[]).unwrap();
        assert_eq!((plain.token.as_str(), plain.purposes.len()), ("custbot", 2));
        let chosen = ask(Some(" NewsBot"), &["ai-train"]).unwrap();
        assert_eq!((chosen.token.as_str(), chosen.purposes), ("newsbot", vec![Declared::Judged(Purpose::AiTrain)]));
        assert_eq!(ask(Some("Googlebot"), &[]).unwrap_err().reason, Reason::AuthToken);
        assert_eq!(ask(None, &["search", "tdm"]).unwrap_err().reason, Reason::AuthPurpose);
        assert_eq!(ask(None, &["nonsense"]).unwrap_err().reason, Reason::AuthPurpose);
    }
}
