use std::fmt::Write as _;

use super::safe;
use crate::commands::explain::{Copy, Mark};

/// Lines of a robots.txt that are shown; those around the marked ones are shown of a longer one, too.
const MAX_LINES: usize = 5_000;

/// The lines of a robots.txt with their numbers and marks.
pub(crate) fn robots(copy: &Copy, body: &mut String) {
    body.push_str("<pre class=\"robots\">");
    let all = copy.lines.len() <= MAX_LINES;
    let last = u32::try_from(copy.lines.len()).unwrap_or(u32::MAX);
    let shown = if all { (1..=last).collect() } else { copy.around() };
    let mut before = 0;
    for number in shown {
        if number > before + 1 {
            body.push_str("<span class=\"line\">…</span>");
        }
        before = number;
        let (class, note) = match copy.mark(number) {
            Some(Mark::Decided) => (" decided", "decided"),
            Some(Mark::Group) => (" group", "group"),
            Some(Mark::Signal) => (" signal", "signal"),
            None => ("", ""),
        };
        let text = safe(copy.line(number));
        let _ = write!(
            body,
            "<span class=\"line{class}\"><span class=\"note\">{note:>7}</span> <span class=\"number\">{number:>5}</span>  {text}</span>"
        );
    }
    body.push_str("</pre>\n");
}
