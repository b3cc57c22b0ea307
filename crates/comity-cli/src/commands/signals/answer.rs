use comity_fetch::signature::Verified;
use comity_signals::{Place, Purpose, Statement, UseCeiling, Verdict};
use serde_json::{Map, Value, json};

use super::case::Case;
use super::read::{Found, Pacing};

/// The members of docs/cli.md; `id` as it was given.
pub(super) fn json(case: &Case, found: &Found) -> Value {
    let signals = &found.signals;
    let verdicts: Map<String, Value> = Purpose::ALL
        .into_iter()
        .map(|purpose| (purpose.to_string(), signals.preferences.verdict(purpose).as_str().into()))
        .collect();
    let tokens: Map<String, Value> = signals
        .others
        .iter()
        .map(|class| (class.agent_use.as_str().to_owned(), json!({"named": class.named, "denied": class.denied})))
        .collect();
    let mut answer = json!({
        "access": if signals.access { "allowed" } else { "denied" },
        "verdicts": verdicts,
        "statements": signals.preferences.statements().iter().map(statement).collect::<Vec<_>>(),
        "constraints": constraints(found),
        "tokens": tokens,
        "diagnostics": codes(found),
    });
    let Value::Object(members) = &mut answer else { return answer };
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            members.insert(name.to_owned(), value);
        }
    };
    add("id", case.id.as_ref().map(|id| json!(id)));
    add("pacing", found.pacing.as_ref().map(pacing));
    add(
        "price",
        found.demand.as_ref().map(|demand| {
            let price = demand.price.as_ref();
            json!({
                "kind": demand.kind.as_str(),
                "action": demand.action.as_str(),
                "currency": price.map(|price| price.currency.as_str()),
                "amount": price.map(|price| price.amount.as_str()),
            })
        }),
    );
    add("signature", found.identity.verified.as_ref().map(signature));
    add("value", found.identity.value.as_ref().map(|value| json!(value)));
    let terms = found.terms.iter().map(|(rel, url)| json!({"rel": rel, "url": url})).collect::<Vec<_>>();
    add("terms", (!terms.is_empty()).then(|| terms.into()));
    add("links", found.page.is_some().then(|| links(found)));
    answer
}

/// Each code once, in the order met.
pub(super) fn codes(found: &Found) -> Vec<&'static str> {
    let read = found.signals.diagnostics.iter().flat_map(|kept| kept.as_slice()).map(|kept| kept.code);
    let mut codes: Vec<&str> = Vec::new();
    for code in read.chain(found.more.iter().copied()) {
        if !codes.contains(&code.as_str()) {
            codes.push(code.as_str());
        }
    }
    codes
}

fn statement(statement: &Statement) -> Value {
    let mut value = json!({
        "source": statement.source.as_str(),
        "spec": statement.source.spec(),
        "purpose": statement.purpose.as_str(),
        "verdict": statement.verdict.as_str(),
        "raw": statement.raw,
        "path": statement.path,
        "derived": statement.derived,
        "conditional": statement.conditional,
        "reservation": statement.reservation,
    });
    let (name, number) = match statement.place {
        Place::Whole => return value,
        Place::Line(n) => ("line", n),
        Place::Header(n) => ("field", n),
        Place::Rule(n) => ("rule", n),
        Place::Element(n) => ("element", n),
    };
    if let Value::Object(members) = &mut value {
        members.insert(name.to_owned(), number.into());
    }
    value
}

/// What binds: members that nobody spoke about are left out.
pub(super) fn constraints(found: &Found) -> Map<String, Value> {
    let held = &found.signals.constraints;
    let denied = |wish: bool| (!wish).then_some(Value::Bool(false));
    let price = found.demand.as_ref().and_then(|demand| demand.price.as_ref());
    let members = [
        ("follow", denied(held.follow)),
        ("snippet_max", held.snippet_max.map(Value::from)),
        ("cache", denied(held.cache)),
        ("image_index", denied(held.image_index)),
        ("image_ai_train", (held.image_ai_train == Verdict::Denied).then(|| json!("denied"))),
        ("unavailable_after", held.unavailable_after.map(|date| date.to_string().into())),
        ("translate", denied(held.translate)),
        ("use_ceiling", held.use_ceiling.map(UseCeiling::as_str).map(Value::from)),
        ("tdm_policy", held.tdm_policy.as_deref().map(Value::from)),
        ("license_urls", (!held.license_urls.is_empty()).then(|| json!(held.license_urls))),
        ("license_required", held.license_required.then_some(Value::Bool(true))),
        ("price", price.map(|price| json!({"currency": price.currency, "amount": price.amount}))),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn pacing(pacing: &Pacing) -> Value {
    // Never sooner than asked.
    let seconds = |wait: std::time::Duration| wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let mut value = json!({"not_before_s": pacing.wait.map(seconds), "source": pacing.source});
    if let (Value::Object(members), Some(asked)) = (&mut value, pacing.asked) {
        members.insert("asked_s".to_owned(), seconds(asked).into());
    }
    value
}

fn signature(verified: &Verified) -> Value {
    let agent = match verified {
        Verified::Verified { agent } => Some(agent),
        _ => None,
    };
    let mut value = json!({"outcome": verified.outcome()});
    if let Value::Object(members) = &mut value {
        members.extend(verified.reason().map(|reason| ("reason".to_owned(), reason.into())));
        members.extend(agent.map(|agent| ("agent".to_owned(), agent.as_str().into())));
    }
    value
}

/// The links that lead to pages, as written.
fn links(found: &Found) -> Value {
    let follow = found.signals.constraints.follow;
    let links = found.page.iter().flat_map(|page| &page.links).filter(|link| link.is_page());
    links.map(|link| json!({"href": &*link.reference, "enqueue": follow && !link.is_nofollow()})).collect()
}
