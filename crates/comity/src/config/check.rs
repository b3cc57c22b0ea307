//! Everything that is wrong with a configuration file, at once: `comity config check`.

mod blame;
mod walk;

use std::fmt;
use std::path::Path;

use comity_policy::WallTime;
use toml::de::DeTable;

use super::{ConfigError, ConfigFile};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; `None` where nothing in the file is to blame.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// `[section] key`, where it is of one.
    pub key: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    /// What is not in the file and has to come from elsewhere before a crawl can start: `[agent] name`.
    pub missing: Vec<&'static str>,
    /// How many keys it sets.
    pub keys: usize,
}

/// Line, column, key and why, then what to do, on one line: `3:9: [crawl] scope: unknown value "orgins"; did you mean "origins"?`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column}: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// A section that the crate above acts on, such as `[gateway]`: what is wrong with it.
pub type Further<'a> = &'a dyn Fn(&ConfigFile) -> Result<(), ConfigError>;

impl ConfigFile {
    /// Checks a text as a whole: syntax, names, kinds, ranges, and what does not fit together. `folder` is where the files that it
    /// names are looked for, `below` the layers that it would lie over, `further` checks what this crate does not act on.
    ///
    /// Where one key is wrong, what depends on it (`signature_agent` on `signing_key`) is not judged.
    #[must_use]
    pub fn check(text: &str, folder: &Path, below: &Self, now: WallTime, further: Further<'_>) -> Checked {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let problem = |error: &toml::de::Error| {
                let (line, column) = place(text, error.span().map_or(0, |span| span.start));
                let what = error.message().lines().next().unwrap_or("broken TOML").to_owned();
                Problem { line: Some(line), column: Some(column), key: None, what, hint: None }
            };
            return Checked { problems: errors.iter().map(problem).collect(), ..Checked::default() };
        }
        let mut walk = walk::Walk::new(text);
        walk.document(table.get_ref());
        blame::resolve(&mut walk, folder, below, now, further);
        let mut problems = walk.problems;
        problems.sort_by_key(|problem| (problem.line.is_none(), problem.line, problem.column));
        Checked { problems, missing: walk.missing, keys: walk.keys }
    }
}

/// Line and column of a byte, both from 1; columns count characters.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before.get(start..).map_or(0, |line| line.chars().count()) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

    fn check(text: &str) -> Vec<String> {
        let checked = ConfigFile::check(text, Path::new("/nowhere"), &ConfigFile::default(), NOW, &|_| Ok(()));
        checked.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_file_has_no_problem_and_says_what_it_lacks() {
        let text = include_str!("../../../../configs/crawl.toml");
        assert_eq!(check(text), Vec::<String>::new());
        let part = "[politeness]\ndelay = \"2s\"\n";
        let checked = ConfigFile::check(part, Path::new("/"), &ConfigFile::default(), NOW, &|_| Ok(()));
        assert_eq!((checked.problems.len(), checked.keys), (0, 1));
        assert_eq!(checked.missing, ["[agent] name", "[agent] contact", "[crawl] seeds"]);
    }

    #[test]
    fn every_problem_of_a_file_is_told_at_once_with_its_place_and_what_to_do() {
        let text = "[agent]\nname = \"Googlebot/2.1\"\ncontact = \"here\"\n\n[crawl]\nseeds = [\"https://a.test/\", \"a.test\"]\n\
                    scope = \"orgins\"\nmax_pages = \"ten\"\nretries = 11\n\n[politness]\ndelay = \"1s\"\n\n[politeness]\ndealy = \"1s\"\n\
                    delay = 5\nmax_head = \"1MiB\"\n\n[fetch]\nallow_addresses = [\"8.8.8.8\"]\nspool_dir = \"/no/such/folder\"\n";
        let told = check(text);
        let expected = [
            ("2:8: [agent] name: ", "impersonates nobody"),
            ("3:11: [agent] contact: ", ""),
            ("6:29: [crawl] seeds: ", "https://"),
            ("7:9: [crawl] scope: unknown value \"orgins\"", "did you mean \"origins\"?"),
            ("8:13: [crawl] max_pages: ", "number"),
            ("9:11: [crawl] retries: 11 is out of range", "0 to 10"),
            ("11:2: [politness]: ", "did you mean [politeness]?"),
            ("15:1: [politeness] dealy: unknown key", "did you mean delay?"),
            ("16:9: [politeness] delay: ", "500ms"),
            ("17:1: [politeness] max_head: unknown key", "it stands in [fetch]"),
            ("20:20: [fetch] allow_addresses: ", "loopback"),
            ("21:13: [fetch] spool_dir: ", "make it first"),
        ];
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (told, (begins, contains)) in told.iter().zip(expected) {
            assert!(told.starts_with(begins) && told.contains(contains), "{told}: {begins}…{contains}");
            assert!(!told.contains('\n'), "{told}");
        }
    }

    #[test]
    fn entries_of_lists_are_told_apart() {
        let good = "origins = [\"https://a.test\"]\nscope = [\"robots\"]\nbasis = \"own_site\"\njustification = \"Our own shop, before release\"\n\
                    approved_by = \"Ann\"\ncreated = 2026-11-01\nexpires = 2027-01-01\n";
        let second = good.replace("a.test", "b.test").replace("own_site", "habit");
        let past =
            good.replace("a.test", "c.test").replace("2026-11-01", "2026-01-01").replace("2027-01-01", "2026-02-01");
        let text = format!(
            "[[override]]\n{good}[[override]]\n{second}[[override]]\n{past}[[override]]\norigin = [\"https://d.test\"]\n\
             [[grant]]\norigins = [\"https://a.test\"]\n[[fetch.proxy]]\nurl = \"127.0.0.1:1\"\nweight = \"x\"\n"
        );
        let told = check(&text);
        let rows = [
            "12:9: [[override]] basis: ",
            "24:11: [[override]] expires: ",
            "26:1: [[override]] origin: unknown key; did you mean origins?",
        ];
        for row in rows {
            assert!(told.iter().any(|told| told.starts_with(row)), "{row}: {told:#?}");
        }
        for of in ["[[grant]] ", "[[fetch.proxy]] weight: ", "a grant needs purposes"] {
            assert!(told.iter().any(|told| told.contains(of)), "{of}: {told:#?}");
        }
    }

    #[test]
    fn what_depends_on_a_wrong_key_is_not_told_and_secrets_never_are() {
        let told = check("[agent]\nsigning_key = \"no.pem\"\nsignature_agent = \"https://b.test\"\n");
        assert!(told.len() == 1 && told[0].starts_with("2:15: [agent] signing_key: "), "{told:?}");
        let told = check("[fetch]\nproxies = \"http://u:s3cret@h:1\"\nproxy_country = \"DE\"\n");
        assert!(told.len() == 1 && !told[0].contains("s3cret"), "{told:?}");
        let told = check("[gateway]\napi_key_sha256 = [\"s3cret\"]\n");
        assert!(told.len() == 1 && !told[0].contains("s3cret"), "{told:?}");
    }

    #[test]
    fn any_text_gets_an_answer() {
        for text in [
            "",
            "[",
            "a = ",
            "crawl = 1\n",
            "[[crawl]]\n",
            "[override]\n",
            "delay = \"1s\"\n",
            "[fetch]\nproxy = 1\n",
            "[crawl]\nseeds = {}\n",
            "é = 1\n",
        ] {
            let told = check(text);
            assert_eq!(told.is_empty(), text.is_empty(), "{text:?}: {told:?}");
        }
        assert_eq!(check("delay = \"1s\"\n"), ["1:1: delay: no section has been named yet; it stands in [politeness]"]);
    }
}
