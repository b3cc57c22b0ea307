//! The two readings of a file.

/// Which reading of robots.txt decides.
///
/// Both dialects parse a file alike, with every leniency of Google's parser, and both know its index.html rule. They
/// differ in how paths are compared and in whether `/robots.txt` can be forbidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// RFC 9309 with the leniencies of Google's parser. Rule and target are both brought to one normal form: bytes from
    /// 0x80 on escaped, hex digits raised, escaped unreserved characters decoded (RFC 9309 §2.2.2). `/robots.txt` is
    /// always allowed (RFC 9309 §2.2.2).
    #[default]
    Standard,
    /// Byte for byte what Google's open-source parser answers: rules are escaped, the target is compared as written,
    /// and `/robots.txt` is a path like any other.
    Google,
}
