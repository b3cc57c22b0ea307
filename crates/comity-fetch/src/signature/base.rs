use std::fmt::Write as _;

/// A signature before it is made: which components it covers, with their values, and its parameters (RFC 9421 §2).
///
/// Names, values and texts are ASCII without line ends: a `CrawlUrl`, base64, names of our own.
pub(crate) struct Draft<'a> {
    /// Identifiers as listed (`"@authority"`, `"signature-agent";key="sig1"`) with their values, in order.
    pub(crate) components: &'a [(&'a str, &'a str)],
    /// In the order in which they are written.
    pub(crate) parameters: &'a [(&'a str, Parameter<'a>)],
}

/// The value of a signature parameter.
#[derive(Clone, Copy)]
pub(crate) enum Parameter<'a> {
    Integer(i64),
    Text(&'a str),
}

impl Draft<'_> {
    /// The covered components and the parameters: a member of `Signature-Input`, and the last line of the base.
    pub(crate) fn input(&self) -> String {
        let covered: Vec<&str> = self.components.iter().map(|(identifier, _)| *identifier).collect();
        let mut text = format!("({})", covered.join(" "));
        for (name, value) in self.parameters {
            // Writing to a String does not fail.
            let _ = match value {
                Parameter::Integer(number) => write!(text, ";{name}={number}"),
                Parameter::Text(value) => write!(text, ";{name}={}", quoted(value)),
            };
        }
        text
    }

    /// The bytes that are signed (RFC 9421 §2.5): a line per component, no line end after the last.
    pub(crate) fn base(&self) -> String {
        let mut text = String::new();
        for (identifier, value) in self.components {
            let _ = writeln!(text, "{identifier}: {value}");
        }
        let _ = write!(text, "\"@signature-params\": {}", self.input());
        text
    }
}

/// A String of structured fields (RFC 9651 §4.1.6).
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
