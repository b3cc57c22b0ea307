//! Tables and lists that read well on a phone, in print and aloud: each cell carries the name of its column.

use std::fmt::Write as _;

use crate::commands::page::safe;

/// A column: its name, and whether it holds numbers.
pub(super) type Column = (&'static str, bool);

/// A table whose rows begin with a heading. Cells are texts from outside.
pub(super) fn table(caption: &str, columns: &[Column], rows: impl Iterator<Item = Vec<String>>, body: &mut String) {
    let _ = write!(body, "<table class=\"rows\">\n<caption>{}</caption>\n<thead><tr>", safe(caption));
    for (name, number) in columns {
        let _ = write!(body, "<th scope=\"col\"{}>{}</th>", class(*number), safe(name));
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for (n, ((name, number), text)) in columns.iter().zip(&row).enumerate() {
            let _ = match n {
                0 => write!(body, "<th scope=\"row\">{}</th>", safe(text)),
                _ => write!(body, "<td{} data-name=\"{name}\">{}</td>", class(*number), safe(text)),
            };
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table>\n");
}

const fn class(number: bool) -> &'static str {
    if number { " class=\"n\"" } else { "" }
}

/// Names and values; what is empty is left out.
pub(super) fn list(rows: &[(&str, String)], body: &mut String) {
    body.push_str("<dl>\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(body, "<dt>{}</dt><dd>{}</dd>", safe(name), safe(value));
    }
    body.push_str("</dl>\n");
}

pub(super) fn paragraph(text: &str, body: &mut String) {
    let _ = writeln!(body, "<p>{}</p>", safe(text));
}
