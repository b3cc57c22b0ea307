use comity_policy::{OptOutAction, OptOutLine};
use serde::{Deserialize, Serialize};

/// One line as it is written: these members in this order, nothing else.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    action: Action,
    target: String,
    requested_by: String,
    reason: String,
    at: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Add,
    Remove,
}

/// The line without its end.
pub(super) fn text(line: &OptOutLine) -> String {
    let written = Written {
        action: match line.action {
            OptOutAction::Add => Action::Add,
            OptOutAction::Remove => Action::Remove,
        },
        target: line.target.to_string(),
        requested_by: line.requested_by.clone(),
        reason: line.reason.clone(),
        at: line.at.to_string(),
    };
    serde_json::to_string(&written).unwrap_or_default()
}

/// Reads a line without its end.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(text: &str) -> Result<OptOutLine, String> {
    if !text.starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    let written: Written = serde_json::from_str(text).map_err(|error| {
        // serde_json counts lines and columns within this line: the caller names the place.
        let message = error.to_string();
        message.split(" at line ").next().unwrap_or_default().to_owned()
    })?;
    let action = match written.action {
        Action::Add => OptOutAction::Add,
        Action::Remove => OptOutAction::Remove,
    };
    let target = written.target.parse().map_err(|error| format!("target {error}"))?;
    let at = written.at.parse().map_err(|error| format!("at {:?}: {error}", written.at))?;
    OptOutLine::new(action, target, &written.requested_by, &written.reason, at)
        .map_err(|(field, what)| format!("{field}: {what}"))
}
