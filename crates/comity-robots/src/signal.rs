//! Records that speak about the use of pages, as lines: what they mean is for comity-signals.

use alloc::string::String;

use crate::bytes::{is_blank, split_while, trim};
use crate::record::ExtensionKind;

/// Signal lines that a rule set keeps at most; how many more there were, [`crate::RuleSet::signals_omitted`] tells.
pub const MAX_SIGNALS: usize = 1000;

/// One signal line (`Content-Signal`, `Content-Usage`, `License`, …), uninterpreted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signal {
    /// Which key; [`ExtensionKind::as_str`] gives it in lower case.
    pub kind: ExtensionKind,
    /// The value as written, trimmed, comment off, without the path in front; bytes that are not UTF-8 replaced.
    pub value: String,
    /// The path pattern in front of the value, for `Content-Signal` and `Content-Usage` lines whose value starts with `/`
    /// (draft-ietf-aipref-attach-05: it ends before the first space or tab).
    pub path: Option<String>,
    /// Line in the file, from 1.
    pub line: u32,
}

impl Signal {
    pub(crate) fn read(kind: ExtensionKind, value: &[u8], line: u32) -> Self {
        let takes_path = matches!(kind, ExtensionKind::ContentSignal | ExtensionKind::ContentUsage);
        let (path, value) = match value {
            [b'/', ..] if takes_path => split_while(value, |byte| !is_blank(byte)),
            _ => (&[][..], value),
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let path = (!path.is_empty()).then(|| text(path));
        Self { kind, value: text(trim(value)), path, line }
    }

    /// The key in lower case.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.kind.as_str()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.value.capacity() + self.path.as_ref().map_or(0, String::capacity)
    }
}
