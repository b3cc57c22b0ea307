//! `Clean-param` of robots.txt: parameters that change nothing (Yandex, "Clean-param directive").

use std::collections::BTreeSet;

use crate::glob::Glob;

/// The Clean-param lines of one origin. They say which parameters make no other page; they allow and refuse nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanParams {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    names: BTreeSet<Box<str>>,
    path: Glob,
}

/// Lines kept per origin. Our choice: files have a handful.
const MOST_RULES: usize = 100;
/// Bytes of one line's value (Yandex, "Clean-param directive": 500 characters).
const LONGEST: usize = 500;

impl CleanParams {
    /// Reads the values of the lines: `p0&p1 /path`, the path a prefix in which `*` is any run of characters; without one,
    /// every path. Lines that are longer than 500 bytes or name nothing are left out.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let rules = values.into_iter().filter_map(Rule::parse).take(MOST_RULES).collect();
        Self { rules }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether parameter `name` changes nothing on `path`.
    pub(crate) fn covers(&self, path: &str, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.names.contains(name) && rule.path.matches(path))
    }
}

impl Rule {
    fn parse(value: &str) -> Option<Self> {
        let value = value.trim();
        let mut words = value.split_ascii_whitespace();
        let names: BTreeSet<Box<str>> =
            words.next()?.split('&').filter(|name| !name.is_empty()).map(Into::into).collect();
        let path = words.next().unwrap_or("/");
        let path = if path.starts_with(['/', '*']) { path.to_owned() } else { format!("/{path}") };
        (value.len() <= LONGEST && !names.is_empty()).then(|| Self { names, path: Glob::new(&path, false) })
    }
}
