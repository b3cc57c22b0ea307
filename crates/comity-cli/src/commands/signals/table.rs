use std::fmt::Write as _;

use comity_signals::{Place, Purpose, Statement};

use super::answer::constraints;
use super::case::{Case, ProfileName};
use super::read::Found;

/// Characters of a statement's text that fit.
const MOST_TEXT: usize = 60;

/// Verdicts, statements, constraints and oddities, for people.
pub(super) fn table(case: &Case, found: &Found) -> String {
    let profile = if case.profile == ProfileName::Literal { "literal" } else { "cautious" };
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "{}\nread for {}, {profile} profile", case.url, case.agent());
    if case.input.robots_txt.is_some() {
        let _ = writeln!(out, "robots.txt: crawling {}", if found.signals.access { "allowed" } else { "disallowed" });
    }
    out.push_str("\nverdicts\n");
    out.push_str(&rows(Purpose::ALL.into_iter().map(|purpose| verdict(found, purpose))));
    let statements = found.signals.preferences.statements();
    out.push_str(match (statements.is_empty(), found.signals.access) {
        (false, _) => "\nstatements\n",
        (true, true) => "\nnobody said anything about a use\n",
        // draft-ietf-aipref-attach: what may not be crawled has no preference of the file that says so.
        (true, false) => "\nno statement on a use holds here: those of robots.txt are for what may be crawled\n",
    });
    out.push_str(&rows(statements.iter().map(statement)));
    section(&mut out, "superseded", superseded(found));
    section(
        &mut out,
        "constraints",
        constraints(found).iter().map(|(name, value)| vec![name.clone(), value.to_string()]),
    );
    section(&mut out, "links to terms", found.terms.iter().map(|(rel, url)| vec![(*rel).to_owned(), url.clone()]));
    section(
        &mut out,
        "agents of others",
        found.signals.others.iter().map(|class| {
            let denied = if class.denied.is_empty() { "none".to_owned() } else { class.denied.join(", ") };
            vec![
                class.agent_use.as_str().to_owned(),
                format!("named: {}", class.named.join(", ")),
                format!("denied: {denied}"),
            ]
        }),
    );
    section(&mut out, "answer", answer(found).into_iter());
    section(&mut out, "notes", notes(found).into_iter());
    out.truncate(out.trim_end().len());
    out
}

fn verdict(found: &Found, purpose: Purpose) -> Vec<String> {
    let preferences = &found.signals.preferences;
    let deciding = preferences.denial(purpose).or_else(|| {
        let verdict = preferences.verdict(purpose);
        preferences.statements().iter().find(|statement| statement.purpose == purpose && statement.verdict == verdict)
    });
    let mut because = deciding.map(place).unwrap_or_default();
    if preferences.is_denied_by_proposals_alone(purpose) {
        because.push_str(", a mere proposal: no count of denials rests on it");
    }
    vec![purpose.to_string(), preferences.verdict(purpose).to_string(), because]
}

fn statement(statement: &Statement) -> Vec<String> {
    let marks = [
        (statement.derived, "derived"),
        (statement.conditional, "condition not met"),
        (statement.reservation, "reservation under Art. 4(3)"),
    ];
    let marks: Vec<&str> = marks.into_iter().filter(|(set, _)| *set).map(|(_, mark)| mark).collect();
    let path = statement.path.as_deref().map(|path| format!("{} ", short(path))).unwrap_or_default();
    vec![
        statement.purpose.to_string(),
        statement.verdict.to_string(),
        place(statement),
        format!("{path}{}", short(&statement.raw)),
        marks.join(", "),
    ]
}

fn place(statement: &Statement) -> String {
    let source = statement.source;
    match statement.place {
        Place::Whole => source.to_string(),
        Place::Line(n) => format!("{source} line {n}"),
        Place::Header(n) => format!("{source} field {}", n + 1),
        Place::Rule(n) => format!("{source} rule {}", n + 1),
        Place::Element(n) => format!("{source} element {}", n + 1),
    }
}

/// Layers of TDMRep that a later one took the place of.
fn superseded(found: &Found) -> impl Iterator<Item = Vec<String>> {
    let tdm = &found.signals.tdm;
    let deciding = tdm.deciding().map(|layer| layer.source);
    let earlier = tdm.layers.iter().filter(move |layer| layer.reservation.is_some() && Some(layer.source) != deciding);
    earlier.map(|layer| {
        let value = layer.reservation.map(|value| value.as_str()).unwrap_or_default();
        vec!["tdm".to_owned(), value.to_owned(), layer.source.to_string(), short(&layer.raw)]
    })
}

fn answer(found: &Found) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let Some(pacing) = &found.pacing {
        let wait = pacing.wait.map_or("own back-off".to_owned(), |wait| format!("wait {} s", wait.as_secs_f64()));
        rows.push(vec!["pace".to_owned(), wait, pacing.source.to_owned()]);
    }
    if let Some(demand) = &found.demand {
        let price =
            demand.price.as_ref().map(|price| format!("{} {}", price.currency, price.amount)).unwrap_or_default();
        rows.push(vec![
            "payment".to_owned(),
            demand.action.as_str().to_owned(),
            demand.kind.as_str().to_owned(),
            price,
        ]);
    }
    if let Some(verified) = &found.identity.verified {
        let reason = verified.reason().unwrap_or_default().to_owned();
        rows.push(vec!["signature".to_owned(), verified.outcome().to_owned(), reason]);
    }
    rows
}

fn notes(found: &Found) -> Vec<Vec<String>> {
    let read = found.signals.diagnostics.iter().flat_map(|kept| kept.as_slice());
    let mut rows: Vec<Vec<String>> = read.map(|kept| vec![kept.code.to_string(), short(&kept.to_string())]).collect();
    rows.extend(found.more.iter().map(|code| vec![code.to_string()]));
    let omitted: u64 = found.signals.diagnostics.iter().map(|kept| u64::from(kept.omitted())).sum();
    if omitted > 0 {
        rows.push(vec![format!("and {omitted} more")]);
    }
    rows
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = Vec<String>>) {
    let text = rows(lines);
    if !text.is_empty() {
        let _ = write!(out, "\n{title}\n{text}");
    }
}

/// Columns as wide as their widest cell.
fn rows(lines: impl Iterator<Item = Vec<String>>) -> String {
    let lines: Vec<Vec<String>> = lines.collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
    }
    out
}

/// On one line, without control characters, cut.
fn short(text: &str) -> String {
    let plain: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect();
    if plain.chars().count() <= MOST_TEXT { plain } else { plain.chars().take(MOST_TEXT - 1).chain(['…']).collect() }
}
