use comity_robots::{AgentUse, KnownAgent, Oddity, Robots, Verdict, request_target, token_note};
use serde_json::{Value, json};

use super::{answer, input};
use crate::args::AgentsArgs;
use crate::commands::asker;
use crate::commands::print;
use crate::exit::{Exit, Failure};

/// A known agent, and how the file answers it.
struct Row {
    agent: KnownAgent,
    verdict: Verdict,
    /// The token of its chain that a group names, as the chain has it.
    named_as: Option<&'static str>,
    group: Vec<String>,
}

/// `comity robots agents`: a row for each known search and AI agent.
pub(super) fn run(args: &AgentsArgs) -> Result<Exit, Failure> {
    let site = args.robots.to_str().filter(|text| text.starts_with("http://") || text.starts_with("https://"));
    let robots = match site {
        Some(site) => asker::robots(&args.asker, &asker::parse_site(site)?)?,
        None => input::robots(&args.robots)?,
    };
    let rows: Vec<Row> = KnownAgent::all().filter(listed).map(|agent| row(agent, &robots, args)).collect();
    if args.json {
        let rows: Vec<Value> = rows.iter().map(json_row).collect();
        print(&json!({"url": args.url, "agents": rows}).to_string())?;
    } else {
        print(&table(&rows, &args.url))?;
    }
    Ok(Exit::Done)
}

fn listed(agent: &KnownAgent) -> bool {
    agent.uses().any(|agent_use| agent_use == AgentUse::Search || agent_use.is_ai())
}

fn row(agent: KnownAgent, robots: &Robots, args: &AgentsArgs) -> Row {
    let chain = comity_robots::Chain::of(agent);
    let rules = chain.rules(robots, args.dialect.into());
    Row {
        agent,
        verdict: rules.verdict(&request_target(&args.url)),
        named_as: agent.chain().find(|token| robots.names(token)),
        group: rules.group_tokens().iter().map(ToString::to_string).collect(),
    }
}

fn json_row(row: &Row) -> Value {
    let effect =
        row.agent.effect().map(|claim| json!({"text": claim.value, "source": claim.source, "date": claim.date}));
    json!({
        "token": row.agent.token(),
        "operator": row.agent.operator(),
        "use": row.agent.uses().map(AgentUse::as_str).collect::<Vec<_>>(),
        "chain": row.agent.chain().collect::<Vec<_>>(),
        "oddities": row.agent.oddities().map(Oddity::as_str).collect::<Vec<_>>(),
        "named": row.named_as.is_some(),
        "group": if row.group.is_empty() { Value::Null } else { json!(row.group) },
        "allowed": row.verdict.allowed,
        "rule": answer::rule(row.verdict.rule.as_ref()),
        "line": answer::line(&row.verdict),
        "effect": effect,
        "note": token_note(row.agent.token()).map(|note| note.to_string()),
    })
}

fn table(rows: &[Row], url: &str) -> String {
    // As wide as the longest of a column.
    let operators = rows.iter().map(|row| row.agent.operator().len()).max().unwrap_or_default();
    let most_uses = rows.iter().map(|row| uses(row).len()).max().unwrap_or_default();
    let mut lines = vec![
        format!("verdicts for {url}"),
        format!(
            "  {:29} {:operators$} {:most_uses$} {:22} {:8} {:>5}",
            "agent", "operator", "use", "group", "verdict", "line"
        ),
    ];
    let mut sources: Vec<String> = Vec::new();
    for row in rows {
        let group = match row.named_as {
            Some(token) => token,
            None if row.group.is_empty() => "none",
            None => "*",
        };
        let line = row.verdict.rule.as_ref().map_or_else(|| "-".to_owned(), |rule| rule.line.to_string());
        let (token, operator) = (row.agent.token(), row.agent.operator());
        let verdict = answer::word(row.verdict.allowed);
        lines.push(format!(
            "  {token:29} {operator:operators$} {:most_uses$} {group:22} {verdict:8} {line:>5}",
            uses(row)
        ));
        lines.extend(remarks(row, &mut sources).into_iter().map(|remark| format!("      {remark}")));
    }
    lines.push("\nBlocking AI is not one switch: a refusal binds only the agent that it reaches.".to_owned());
    lines.extend(sources.iter().enumerate().map(|(at, source)| format!("[{}] {source}", at + 1)));
    lines.join("\n")
}

/// What the agent fetches for.
fn uses(row: &Row) -> String {
    row.agent.uses().map(AgentUse::as_str).collect::<Vec<_>>().join(", ")
}

/// What blocking does, and in what the agent departs from a plain crawler.
fn remarks(row: &Row, sources: &mut Vec<String>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(claim) = row.agent.effect() {
        let source = format!("{}, {}", claim.source, claim.date);
        let known = sources.iter().position(|known| *known == source).unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        remarks.push(format!("if refused: {} [{}]", claim.value, known + 1));
    }
    let words = row.agent.oddities().map(|oddity| match oddity {
        Oddity::ControlOnly => "control token, sends no requests",
        Oddity::UserTriggered => "fetches when a user asks",
        Oddity::IgnoresGlobal => "a * group does not apply",
        Oddity::MayIgnoreRobots => "may not apply robots.txt",
        Oddity::Legacy => "no longer documented",
        _ => oddity.as_str(),
    });
    let words: Vec<_> = words.collect();
    if !words.is_empty() {
        remarks.push(words.join("; "));
    }
    remarks.extend(token_note(row.agent.token()).map(|note| note.to_string()));
    remarks
}
