//! Reaches a crawl: through its socket while it runs, through its queue when it is stopped.

use std::path::Path;

use comity::control::{Answer, Control, ControlError, ControlFault, Op};
use tokio::runtime::Runtime;

use crate::commands::runtime;
use crate::exit::Failure;

/// A crawl that can be asked.
#[derive(Debug)]
pub(crate) enum Crawl {
    /// It runs in another process.
    #[cfg(unix)]
    Running(line::Line),
    /// Nobody runs it: it is this process's, until this is dropped.
    Stopped(Runtime, Control),
}

impl Crawl {
    /// Finds the crawl in `dir`.
    ///
    /// # Errors
    /// Exit 2 when there is none, 5 when its queue cannot be opened, 6 when it runs and does not answer.
    pub(crate) fn reach(dir: &Path) -> Result<Self, Failure> {
        let shown = dir.display();
        if !dir.join("crawl.toml").is_file() {
            return Err(Failure::usage(format!("{shown} holds no crawl")).hint("give the folder of the crawl"));
        }
        if let Some(running) = Self::running(dir)? {
            return Ok(running);
        }
        let control = Control::stopped(dir).map_err(|error| {
            let silent = format!("a crawl runs in {shown} and cannot be reached: there is no control socket");
            let hint = "it said why when it started; stop it (Ctrl-C), and ask again";
            if error.is_held() { Failure::unavailable(silent).hint(hint) } else { Failure::from(error) }
        })?;
        Ok(Self::Stopped(runtime()?, control))
    }

    /// The crawl that runs in `dir`, if one does.
    ///
    /// # Errors
    /// Exit 6 when it does not answer.
    pub(crate) fn running(dir: &Path) -> Result<Option<Self>, Failure> {
        #[cfg(unix)]
        if let Some(stream) = comity::control::socket::connect(dir)? {
            return line::Line::new(stream).map(|line| Some(Self::Running(line)));
        }
        #[cfg(not(unix))]
        let _ = dir;
        Ok(None)
    }

    /// True for a crawl that runs.
    pub(crate) const fn is_running(&self) -> bool {
        !matches!(self, Self::Stopped(..))
    }

    /// Asks one thing.
    ///
    /// # Errors
    /// Exit 2, 5 or 6, by whose fault it is.
    pub(crate) fn ask(&mut self, op: Op) -> Result<Answer, Failure> {
        match self {
            #[cfg(unix)]
            Self::Running(line) => line.ask(op),
            Self::Stopped(runtime, control) => Ok(runtime.block_on(control.ask(op))?),
        }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let failure = match error.fault {
            ControlFault::Usage => Self::usage(error.what),
            ControlFault::Storage => Self::storage(error.what),
            ControlFault::Engine => Self::unavailable(error.what),
        };
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

#[cfg(unix)]
mod line {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use comity::control::socket::MOST_LINE;
    use comity::control::{Answer, ControlError, Op, Request, VERSION};
    use serde::Deserialize;
    use serde_json::Value;

    use crate::exit::Failure;

    /// A connection to a crawl that runs.
    #[derive(Debug)]
    pub(crate) struct Line(BufReader<UnixStream>);

    /// One line of an answer.
    #[derive(Debug, Deserialize)]
    struct Part {
        row: Option<Value>,
        ok: Option<Value>,
        error: Option<ControlError>,
    }

    /// The longest answer to wait for: a park waits for what is open, some 35 s.
    const PATIENCE: Duration = Duration::from_secs(120);

    impl Line {
        pub(super) fn new(stream: UnixStream) -> Result<Self, Failure> {
            let set = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            set.map_err(|e| Failure::unavailable(format!("the control socket: {e}")))?;
            Ok(Self(BufReader::new(stream)))
        }

        pub(super) fn ask(&mut self, op: Op) -> Result<Answer, Failure> {
            let mut request = serde_json::to_string(&Request { v: VERSION, op })
                .map_err(|e| Failure::usage(format!("the request cannot be written: {e}")))?;
            request.push('\n');
            self.0.get_mut().write_all(request.as_bytes()).map_err(|e| gone(&e.to_string()))?;
            let mut rows = Vec::new();
            loop {
                let part: Part = serde_json::from_str(&self.line()?)
                    .map_err(|e| gone(&format!("its answer cannot be read: {e}")))?;
                match part {
                    Part { row: Some(row), .. } => rows.push(row),
                    Part { ok: Some(about), .. } => return Ok(Answer { rows, about }),
                    Part { error: Some(error), .. } => return Err(error.into()),
                    Part { .. } => return Err(gone("its answer says neither ok nor error")),
                }
            }
        }

        fn line(&mut self) -> Result<String, Failure> {
            let mut line = String::new();
            let read = self.0.by_ref().take(MOST_LINE as u64 + 1).read_line(&mut line);
            read.map_err(|e| gone(&e.to_string()))?;
            if line.ends_with('\n') { Ok(line) } else { Err(gone("it ended before it had answered")) }
        }
    }

    fn gone(why: &str) -> Failure {
        Failure::unavailable(format!("the running crawl: {why}"))
            .hint("ask again: when it is over, its queue is opened")
    }
}
