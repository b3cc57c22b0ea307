use std::error::Error as _;
use std::path::Path;
use std::process::ExitCode;

/// The exit codes of design §8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Finished with findings.
    Findings,
    /// Stopped by a limit.
    Limit,
    /// Interrupted, or something waits.
    Waiting,
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Exit {
    /// clap's own words, and its exit code: help goes to stdout with 0, errors to stderr with 2.
    pub(crate) fn of_clap(error: &clap::Error) -> ExitCode {
        // A closed pipe is no reason to fail differently.
        drop(error.print());
        if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
    }

    /// From a crawl's own exit code.
    pub(crate) const fn of_crawl(code: u8) -> Self {
        match code {
            0 => Self::Done,
            3 => Self::Limit,
            _ => Self::Waiting,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Findings => 1,
            Exit::Limit => 3,
            Exit::Waiting => 4,
        })
    }
}

impl Failure {
    /// A folder that is no crawl's.
    pub(crate) fn no_crawl(dir: &Path) -> Self {
        Self::usage(format!("{} holds no crawl", dir.display())).hint("give the folder that `comity crawl --dir` wrote")
    }

    /// Usage or configuration: exit 2.
    pub(crate) fn usage(cause: impl Into<String>) -> Self {
        Self { code: 2, causes: vec![cause.into()], hint: None }
    }

    /// Storage: exit 5.
    pub(crate) fn storage(cause: impl Into<String>) -> Self {
        Self { code: 5, causes: vec![cause.into()], hint: None }
    }

    /// Network, site or engine unavailable: exit 6.
    pub(crate) fn unavailable(cause: impl Into<String>) -> Self {
        Self { code: 6, causes: vec![cause.into()], hint: None }
    }

    /// All that is wrong with a configuration file: exit 2.
    pub(crate) fn problems(file: &Path, mut causes: Vec<String>) -> Self {
        if causes.len() > 1 {
            causes.insert(0, format!("{}: {} problems", file.display(), causes.len()));
        }
        Self { code: 2, causes, hint: Some("`comity config keys` lists every key with its kind and range".to_owned()) }
    }

    /// What to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What went wrong, in one line.
    pub(crate) fn what(&self) -> &str {
        self.causes.first().map_or("", String::as_str)
    }

    /// One line per cause, then the hint.
    pub(crate) fn show(&self) -> ExitCode {
        if crate::log::is_json() {
            tracing::error!(target: "said", causes = self.causes.join("; "), hint = self.hint.as_deref(), "{}", self.what());
            return ExitCode::from(self.code);
        }
        for (depth, cause) in self.causes.iter().enumerate() {
            eprintln!("{} {cause}", if depth == 0 { "error:" } else { "  because:" });
        }
        if let Some(hint) = &self.hint {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(self.code)
    }
}

impl From<comity::Error> for Failure {
    fn from(error: comity::Error) -> Self {
        let code = match (error.is_config(), error.is_storage()) {
            (true, _) => 2,
            (_, true) => 5,
            _ => 6,
        };
        let mut causes = vec![error.to_string()];
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self { code, causes, hint: error.advice().map(ToOwned::to_owned) }
    }
}

impl From<comity::config::ConfigError> for Failure {
    fn from(error: comity::config::ConfigError) -> Self {
        comity::Error::from(error).into()
    }
}
