//! Which spellings of a URL are one page, beyond what is safe to say of any site: chosen by the operator, for keys only.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use crate::canonical::canonical_form;
use crate::{CleanParams, CrawlUrl, KeyHasher, UrlKey};

/// Version of the rules here and of their table. A stored seen-set that was made with any of them carries it.
pub const REDUCTION_VERSION: u16 = 1;

/// What is left out of a URL before it is compared with others. All off by default: each may take two pages for one.
///
/// They change the [`UrlKey`] and nothing else: the URL that was seen first is judged, sent and recorded as it was written
/// (design, invariant 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRules {
    /// Parameters that advertising and analytics add: `utm_*`, `gclid`, … (`data/tracking-parameters.tsv`).
    pub tracking: bool,
    /// Session identifiers: `;jsessionid=`, `PHPSESSID=`, `sid=` with a long value, …
    pub sessions: bool,
    /// Parameters that the site's robots.txt calls clean.
    pub clean_param: bool,
}

impl KeyRules {
    /// Whether none is on.
    #[must_use]
    pub fn is_off(self) -> bool {
        self == Self::default()
    }

    /// The canonical form of `url` without what these rules leave out; `None` when they leave out nothing.
    ///
    /// `clean`: the Clean-param lines of the URL's own origin.
    #[must_use]
    pub fn reduce(self, url: &CrawlUrl, clean: Option<&CleanParams>) -> Option<String> {
        if self.is_off() {
            return None;
        }
        let canonical = canonical_form(url);
        let (head, query) = canonical.split_once('?').map_or((&*canonical, None), |(head, query)| (head, Some(query)));
        let path_at = url.origin().as_str().len();
        let (authority, path) = head.split_at_checked(path_at)?;
        let reduced_path = if self.sessions { without_sessions(path) } else { Cow::Borrowed(path) };
        let kept = query.map(|query| self.parameters(path, query, clean));
        let is_same = matches!(reduced_path, Cow::Borrowed(_)) && kept.as_deref() == query;
        if is_same {
            return None;
        }
        let query = kept.filter(|kept| !kept.is_empty()).map_or_else(String::new, |kept| format!("?{kept}"));
        Some(format!("{authority}{reduced_path}{query}"))
    }

    fn parameters(self, path: &str, query: &str, clean: Option<&CleanParams>) -> String {
        let is_left_out = |parameter: &str| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (self.tracking && is_tracking(name))
                || (self.sessions && is_session(name, value))
                || (self.clean_param && clean.is_some_and(|clean| clean.covers(path, name)))
        };
        query.split('&').filter(|parameter| !is_left_out(parameter)).collect::<Vec<_>>().join("&")
    }
}

/// The rules that are on, with their version: what stands beside a stored seen-set. `none`, or `1:tracking+sessions`.
impl fmt::Display for KeyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(self.tracking, "tracking"), (self.sessions, "sessions"), (self.clean_param, "clean_param")];
        let on: Vec<&str> = names.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| *name).collect();
        if on.is_empty() {
            return f.write_str("none");
        }
        write!(f, "{REDUCTION_VERSION}:{}", on.join("+"))
    }
}

impl KeyHasher {
    /// The key of a canonical text that [`KeyRules::reduce`] gave.
    #[must_use]
    pub fn reduced_key(&self, reduced: &str) -> UrlKey {
        self.hash(reduced)
    }
}

const TABLE: &str = include_str!("../data/tracking-parameters.tsv");

/// Names in lower case, and whether they are only the beginning of one.
static TRACKING: LazyLock<BTreeMap<&str, bool>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('\t').next());
    rows.filter(|name| !name.is_empty())
        .map(|name| name.strip_suffix('*').map_or((name, false), |start| (start, true)))
        .collect()
});

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A beginning sorts before what it begins, with few names between.
    TRACKING.range(..=&*name).rev().take(8).any(
        |(known, is_start)| {
            if *is_start { name.starts_with(known) } else { name == **known }
        },
    )
}

/// Session parameters whose name says it all.
const SESSIONS: [&str; 8] =
    ["jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "cfid", "cftoken", "asp.net_sessionid"];

/// Whether a parameter, of a query or behind a `;` in a path, is a session: by its name, or by a short name with a value
/// that only a machine writes (our choice: 16 letters and digits or more, a digit among them).
fn is_session(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_token = value.len() >= 16
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && value.bytes().any(|byte| byte.is_ascii_digit());
    SESSIONS.contains(&&*name)
        || (name.starts_with("aspsessionid") && name.len() > "aspsessionid".len())
        || (matches!(&*name, "sid" | "oscsid" | "zenid" | "osid") && is_token)
}

/// Takes session parameters off path segments, and ASP.NET's `(S(…))` segments out.
fn without_sessions(path: &str) -> Cow<'_, str> {
    if !path.contains(';') && !path.contains("/(") {
        return Cow::Borrowed(path);
    }
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    for segment in path.split('/') {
        let mut parts = segment.split(';');
        let head = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts
            .filter(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                !is_session(name, value)
            })
            .collect();
        let whole = [vec![head], rest].concat().join(";");
        // Only now: what stood behind a `;` may have hidden it.
        if !is_cookieless(&whole) {
            kept.push(Cow::Owned(whole));
        }
    }
    let joined = if kept.len() > 1 { kept.join("/") } else { "/".to_owned() };
    if joined == path { Cow::Borrowed(path) } else { Cow::Owned(joined) }
}

/// `(S(24 letters and digits))`, with `A(…)` and `F(…)` beside it (ASP.NET, "cookieless session state").
fn is_cookieless(segment: &str) -> bool {
    let inner = segment.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or_default();
    ["S(", "A(", "F(", "X("].iter().any(|start| inner.starts_with(start)) && inner.ends_with(')') && inner.len() >= 16
}
