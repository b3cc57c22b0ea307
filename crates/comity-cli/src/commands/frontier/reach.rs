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
            return line::Line::new(dir, stream).map(|line| Some(Self::Running(line)));
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
    use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use comity::control::socket::{IDLE, MOST_LINE, connect};
    use comity::control::{Answer, ControlError, Op, Request, VERSION};
    use comity::policy::{Clock as _, Instant};
    use comity_fetch::SystemClock;
    use serde::Deserialize;
    use serde_json::Value;

    use crate::exit::Failure;

    /// A connection to a crawl that runs. One that was idle for long is made anew: the crawl closes it.
    #[derive(Debug)]
    pub(crate) struct Line {
        dir: PathBuf,
        stream: BufReader<UnixStream>,
        clock: SystemClock,
        /// When it was used last.
        used: Instant,
    }

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
        pub(super) fn new(dir: &Path, stream: UnixStream) -> Result<Self, Failure> {
            let set = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            set.map_err(|e| Failure::unavailable(format!("the control socket: {e}")))?;
            let clock = SystemClock::new();
            let used = clock.now();
            Ok(Self { dir: dir.to_owned(), stream: BufReader::new(stream), clock, used })
        }

        pub(super) fn ask(&mut self, op: Op) -> Result<Answer, Failure> {
            let mut request = serde_json::to_string(&Request { v: VERSION, op })
                .map_err(|e| Failure::usage(format!("the request cannot be written: {e}")))?;
            request.push('\n');
            // Half of it, so that no request is on its way when the crawl closes: whether it was taken in could not be told.
            if self.clock.now().since(self.used) > IDLE / 2 {
                self.connect_again()?;
            }
            let mut sent = self.send(&request);
            // The other side had closed before: nobody read this.
            if sent.as_ref().is_err_and(|e| e.kind() == ErrorKind::BrokenPipe) {
                self.connect_again()?;
                sent = self.send(&request);
            }
            sent.map_err(|e| gone(&e.to_string()))?;
            let answer = self.answer();
            self.used = self.clock.now();
            answer
        }

        fn send(&mut self, request: &str) -> std::io::Result<()> {
            self.stream.get_mut().write_all(request.as_bytes())
        }

        fn connect_again(&mut self) -> Result<(), Failure> {
            let stream = connect(&self.dir)?.ok_or_else(|| gone("it is over"))?;
            *self = Self::new(&self.dir, stream)?;
            Ok(())
        }

        fn answer(&mut self) -> Result<Answer, Failure> {
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
            let read = self.stream.by_ref().take(MOST_LINE as u64 + 1).read_line(&mut line);
            read.map_err(|e| gone(&e.to_string()))?;
            if line.ends_with('\n') { Ok(line) } else { Err(gone("it ended before it had answered")) }
        }
    }

    fn gone(why: &str) -> Failure {
        Failure::unavailable(format!("the running crawl: {why}"))
            .hint("ask again: when it is over, its queue is opened")
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::net::UnixListener;

        use super::*;

        /// Answers one request of each of the first `n` connections, and closes it.
        fn closing(listener: UnixListener, n: usize) -> std::thread::JoinHandle<()> {
            std::thread::spawn(move || {
                for stream in listener.incoming().take(n) {
                    let mut stream = BufReader::new(stream.unwrap());
                    stream.read_line(&mut String::new()).unwrap();
                    stream.get_mut().write_all(b"{\"v\":1,\"ok\":{}}\n").unwrap();
                }
            })
        }

        #[test]
        fn a_connection_that_was_closed_while_idle_is_made_anew() {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("state")).unwrap();
            let socket = comity::control::socket::path(dir.path());
            let crawl = closing(UnixListener::bind(&socket).unwrap(), 2);
            let mut line = Line::new(dir.path(), connect(dir.path()).unwrap().unwrap()).unwrap();
            line.ask(Op::Stats).unwrap();
            // Closed by now, as far as this side can tell: the next byte says so.
            assert_eq!(line.stream.read(&mut [0]).unwrap(), 0);
            line.ask(Op::Stats).unwrap();
            crawl.join().unwrap();
            assert_eq!(line.stream.read(&mut [0]).unwrap(), 0);
            line.ask(Op::Stats).expect_err("nobody is there any more");
        }
    }
}
