use std::collections::BTreeMap;

/// Why a field is null: the words of `absent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The operator gave none.
    NotConfigured,
    /// It plays no part in this errand or outcome.
    NotApplicable,
    /// Nothing was sent.
    NotSent,
    /// No response head came.
    NoResponse,
    /// The site did not say.
    NotStated,
    /// It did not happen or was not measured.
    NotMeasured,
    /// No rule matched.
    NoRule,
    /// No group of robots.txt applies.
    NoGroup,
    /// There is no robots.txt to speak of.
    NoRobots,
    /// The site has no such file, or none that could be read.
    NoFile,
    /// Everything went well.
    NoFault,
    /// A seed, or given by the operator.
    NoVia,
    /// Behind a proxy the peer is not seen.
    NotSeen,
    /// It left from here, through no proxy.
    Direct,
    /// An exit at somebody's home is not named.
    Residential,
    /// Plain HTTP.
    NoTls,
    /// The body is whole.
    Whole,
    /// WARC files are switched off, or none is written for this outcome.
    NoWarc,
    /// The response lies in a file of an earlier run, or too far back to be remembered.
    NotRemembered,
    /// The outcome is final.
    Final,
    /// It holds for every path.
    EveryPath,
    /// Nothing was lifted.
    NoOverride,
    /// Nobody opted out.
    NoOptout,
    /// It holds its own content.
    NoRepeat,
    /// It named what was erased.
    Erased,
}

impl Why {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NotConfigured => "not_configured",
            Self::NotApplicable => "not_applicable",
            Self::NotSent => "not_sent",
            Self::NoResponse => "no_response",
            Self::NotStated => "not_stated",
            Self::NotMeasured => "not_measured",
            Self::NoRule => "no_rule",
            Self::NoGroup => "no_group",
            Self::NoRobots => "no_robots",
            Self::NoFile => "no_file",
            Self::NoFault => "no_fault",
            Self::NoVia => "no_via",
            Self::NotSeen => "not_seen",
            Self::Direct => "direct",
            Self::Residential => "residential",
            Self::NoTls => "no_tls",
            Self::Whole => "whole",
            Self::NoWarc => "no_warc",
            Self::NotRemembered => "not_remembered",
            Self::Final => "final",
            Self::EveryPath => "every_path",
            Self::NoOverride => "no_override",
            Self::NoOptout => "no_optout",
            Self::NoRepeat => "no_repeat",
            Self::Erased => "erased",
        }
    }
}

/// Collects the path of each null while a record is built.
#[derive(Debug, Default)]
pub(crate) struct Absent(BTreeMap<String, String>);

impl Absent {
    /// Passes a value on; notes `path` when there is none.
    pub(crate) fn note<T>(&mut self, path: impl Into<String>, value: Option<T>, why: Why) -> Option<T> {
        if value.is_none() {
            self.0.insert(path.into(), why.as_str().to_owned());
        }
        value
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }
}
