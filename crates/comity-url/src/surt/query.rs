//! The query part of a SURT.

use super::escapes::{escaped_lower, unescaped};

/// Name, and how many letters and digits its value must have, in the order in which they are cut.
const SESSION_IDS: [(&str, usize); 3] = [("jsessionid=", 32), ("phpsessid=", 32), ("sid=", 32)];

/// Unescaped, escaped, lower case, without session ids, arguments sorted; `None` when nothing is left.
pub(super) fn query_key(query: &str) -> Option<String> {
    let mut query = escaped_lower(&unescaped(query));
    for (name, length) in SESSION_IDS {
        cut_last(&mut query, |text| {
            let value = text.strip_prefix(name)?.get(..length)?;
            value.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(name.len() + length)
        });
    }
    cut_last(&mut query, asp_session);
    cut_cold_fusion(&mut query);
    (!query.is_empty()).then(|| sorted(&query))
}

/// Cuts the last stretch that `session` knows the length of, if the query or an argument ends there, with
/// the `&` behind it. What stands before it stays, also a `&` that is last then, as the tools leave it.
fn cut_last(query: &mut String, session: impl Fn(&str) -> Option<usize>) {
    let found = (0..query.len()).rev().find_map(|from| {
        let end = from + session(query.get(from..)?)?;
        matches!(query.as_bytes().get(end), None | Some(b'&')).then_some((from, end))
    });
    if let Some((from, end)) = found {
        cut(query, from, end);
    }
}

/// `aspsessionid`, 8 letters, `=`, 24 letters.
fn asp_session(text: &str) -> Option<usize> {
    let (name, value) = text.strip_prefix("aspsessionid")?.get(..33)?.split_once('=')?;
    let letters = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    (letters(name, 8) && letters(value, 24)).then_some(12 + 33)
}

/// Cuts the last `cfid=…&cftoken=…`, both with a value; the `cfid` may stand behind other text, the
/// `cftoken` begins its argument.
fn cut_cold_fusion(query: &mut String) {
    let mut end = query.len();
    let mut next = "";
    let mut found = None;
    for argument in query.rsplit('&') {
        let start = end - argument.len();
        if next.len() > "cftoken=".len() && next.starts_with("cftoken=") {
            // The value must have a byte, so the name may not be what the argument ends in.
            let name = argument.get(..argument.len().saturating_sub(1)).and_then(|text| text.rfind("cfid="));
            found = name.map(|at| (start + at, end + 1 + next.len()));
        }
        if found.is_some() || start == 0 {
            break;
        }
        (next, end) = (argument, start - 1);
    }
    if let Some((from, end)) = found {
        cut(query, from, end);
    }
}

fn cut(query: &mut String, from: usize, end: usize) {
    let end = if query.len() > end { end + 1 } else { end };
    query.replace_range(from..end, "");
}

/// Arguments in the order of their names, then of their values, one without `=` first.
fn sorted(query: &str) -> String {
    let mut arguments: Vec<(&str, Option<&str>)> = query.split('&').map(name_and_value).collect();
    arguments.sort_unstable();
    let arguments = arguments.into_iter().map(|(name, value)| match value {
        None => name.to_owned(),
        Some(value) => format!("{name}={value}"),
    });
    arguments.collect::<Vec<_>>().join("&")
}

fn name_and_value(argument: &str) -> (&str, Option<&str>) {
    argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)))
}
