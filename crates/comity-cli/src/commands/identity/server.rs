//! What the web server of the key directory has to say beside the file itself.

use std::fmt::Write as _;

/// The fields as lines, for any server.
pub(super) fn lines(fields: &[(&str, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// A location block for nginx. The digest is that of the bytes as served, so they may not be compressed on the way.
pub(super) fn nginx(path: &str, fields: &[(&str, String)], until: &str) -> String {
    let mut text = format!("# Into the server block of the signature agent. The signatures hold until {until}.\n");
    // Writing to a String does not fail.
    let _ = write!(text, "location = {path} {{\n    gzip off;\n    types {{ }}\n");
    for (name, value) in fields {
        let _ = match *name {
            "Content-Type" => writeln!(text, "    default_type {value};"),
            // The values are base64, names of our own and an authority: no quote, no variable.
            _ => writeln!(text, "    add_header {name} '{value}';"),
        };
    }
    text.push_str("}\n");
    text
}
