use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An nginx of our own on a port of loopback, in a folder of its own; ended when dropped.
pub(crate) struct Nginx {
    pub(crate) port: u16,
    child: Child,
    log: PathBuf,
}

/// The nginx program, where it is installed.
pub(crate) fn installed() -> Option<PathBuf> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&places).collect();
    folders.push("/usr/sbin".into());
    folders.into_iter().map(|folder| folder.join("nginx")).find(|program| program.is_file())
}

impl Nginx {
    /// Serves `docs` with this robots.txt in front of it; every request line goes to a log as received.
    pub(crate) fn start(program: PathBuf, home: &Path, docs: &Path, robots: &str) -> Self {
        let folder = home.join("nginx");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("robots.txt"), robots).unwrap();
        let port = free_port();
        Self::run(program, &folder, port, &configuration(&folder, docs, port))
    }

    /// The same over TLS, with HTTP/2: `certificate.pem` and `key.pem` lie in the folder `nginx` of `home`.
    pub(crate) fn start_tls(program: PathBuf, home: &Path, docs: &Path, robots: &str) -> Self {
        let folder = home.join("nginx");
        fs::write(folder.join("robots.txt"), robots).unwrap();
        let port = free_port();
        let (own, docs) = (folder.display(), docs.display());
        let servers = format!(
            "server {{\n    listen 127.0.0.1:{port} ssl http2; ssl_protocols TLSv1.2 TLSv1.3;\n\
             ssl_certificate {own}/certificate.pem; ssl_certificate_key {own}/key.pem;\n\
             root {docs};\n    location = /robots.txt {{ root {own}; }}\n  }}\n"
        );
        Self::run(program, &folder, port, &whole(&folder, "$request", &servers))
    }

    /// Runs nginx by this configuration, which logs to `access.log` in `folder` and listens on `port` of loopback.
    pub(crate) fn run(program: PathBuf, folder: &Path, port: u16, configuration: &str) -> Self {
        let config = folder.join("nginx.conf");
        fs::write(&config, configuration).unwrap();
        let child = Command::new(program)
            .arg("-e")
            .arg(folder.join("error.log"))
            .arg("-p")
            .arg(folder)
            .arg("-c")
            .arg(&config)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { port, child, log: folder.join("access.log") };
        server.await_ready();
        server
    }

    /// Ends the server and gives the targets of its log, in order.
    pub(crate) fn stop(self) -> Vec<String> {
        self.lines().iter().map(|line| target(line)).collect()
    }

    /// The same for another version than HTTP/1.1, as nginx writes it.
    pub(crate) fn stop_all(self, version: &str) -> Vec<String> {
        self.lines().iter().map(|line| target_of(line, version)).collect()
    }

    /// Ends the server and gives the lines of its log, in order.
    pub(crate) fn lines(mut self) -> Vec<String> {
        self.end();
        BufReader::new(fs::File::open(&self.log).unwrap()).lines().map(Result::unwrap).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "a foreign process is waited for in real time, bounded")]
    fn await_ready(&self) {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(10), "nginx did not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(&mut self) {
        // SIGTERM by its master's own command would need its pid file; the child is the master, run in the foreground.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.end();
    }
}

/// The target of a log line, which is the request line as received: `GET /x HTTP/1.1`.
fn target(line: &str) -> String {
    target_of(line, "HTTP/1.1")
}

fn target_of(line: &str, version: &str) -> String {
    let target = line.strip_prefix("GET ").and_then(|rest| rest.strip_suffix(version)?.strip_suffix(' '));
    target.unwrap_or_else(|| panic!("an odd request line: {line:?}")).to_owned()
}

/// A port of loopback that nobody listens on just now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn configuration(folder: &Path, docs: &Path, port: u16) -> String {
    let docs = docs.display();
    whole(
        folder,
        "$request",
        &format!(
            "gzip on; gzip_types text/css;\n\
             server {{\n    listen 127.0.0.1:{port};\n    root {docs};\n\
             location = /robots.txt {{ root {}; }}\n  }}\n",
            folder.display()
        ),
    )
}

/// A configuration in the foreground, with all its files in `folder` and lines of this form in its log.
pub(crate) fn whole(folder: &Path, line: &str, servers: &str) -> String {
    let folder = folder.display();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nevents {{ worker_connections 256; }}\n\
         http {{\n  types {{ text/html html; text/plain txt; text/css css; application/javascript js; }}\n\
         log_format line escape=none '{line}';\n  access_log {folder}/access.log line;\n\
         client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;\n\
         uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n  {servers}}}\n"
    )
}
