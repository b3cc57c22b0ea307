//! The gateway as an operator meets it: what does not start, and a whole life from the first request to SIGTERM.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use comity_testweb::{Answer, Site, Web};
use serde_json::{Value, json};
use tempfile::TempDir;

const WHO: &str = "[agent]\nname = \"ExampleNet/1.0\"\ncontact = \"https://example.com/net\"\n";
/// Of `p:w:x` and `key`.
const PASSWORD: &str = "0dde60b3e972abd12fa2543a5f5d95ebde94ca18ff5717fb92e9875cf463fe12";
const KEY: &str = "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683";
const CUSTOMER: &str = "[gateway.customer]\nid = \"c1\"\ntokens = [\"custbot\"]\n";

fn start(home: &Path, config: &str) -> Child {
    command(home, config).spawn().unwrap()
}

fn command(home: &Path, config: &str) -> Command {
    let file = home.join("gateway.toml");
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
    command
        .args(["gateway", "--config", file.to_str().unwrap()])
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("COMITY_LOG")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// How it ends, and what it says. Only for one that is to end by itself.
fn ends(home: &Path, config: &str) -> (i32, String) {
    let output = start(home, config).wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn what_must_not_start_says_why_and_what_to_do() {
    let home = TempDir::new().unwrap();
    let good = format!("{CUSTOMER}password_sha256 = \"{PASSWORD}\"\n");
    let rows: [(String, &str, &str); 11] = [
        (format!("[gateway]\nproxy = \"0.0.0.0:3128\"\nauth = \"none\"\n{CUSTOMER}"), "open proxy", "loopback"),
        ("[gateway]\nauth = \"none\"\n".to_owned(), "[gateway.customer]: it is missing", "tokens"),
        (CUSTOMER.to_owned(), "password_sha256: it is missing", "sha256sum"),
        (format!("{CUSTOMER}password_sha256 = \"in clear\"\n"), "64 lower-case hex digits", "sha256sum"),
        (format!("[gateway]\napi = \"127.0.0.1:0\"\n{good}"), "api_key_sha256: it is missing", "sha256sum"),
        (format!("[gateway]\nauth = \"digest\"\n{good}"), "unknown value \"digest\"", "basic"),
        (format!("[gateway]\nprxy = \"x\"\n{good}"), "[gateway] prxy: unknown key", "proxy"),
        (format!("[gateway]\nproxy = \"here\"\n{good}"), "[gateway] proxy: \"here\"", ""),
        (format!("[gateway]\nmax_held = 0\n{good}"), "max_held: 0 would serve nobody", "1 or more"),
        (good.replace("custbot", "Googlebot"), "impersonates", ""),
        (good.replace("tokens = [\"custbot\"]\n", ""), "no product token", ""),
    ];
    for (config, says, hint) in rows {
        let (code, said) = ends(home.path(), &format!("{WHO}{config}"));
        assert_eq!(code, 2, "{config}: {said}");
        assert!(said.contains(says) && said.contains(hint), "{config}: {said}");
        assert!(!said.contains("in clear"), "what was typed may be the secret: {said}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("[gateway]\nproxy = \"{}\"\n{good}", taken.local_addr().unwrap());
    let (code, said) = ends(home.path(), &format!("{WHO}{listen}"));
    assert_eq!(code, 6, "{said}");
    assert!(said.contains(&taken.local_addr().unwrap().to_string()), "{said}");
}

#[test]
fn the_example_configuration_starts() {
    let home = TempDir::new().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/gateway.toml");
    let config = fs::read_to_string(example).unwrap().replace(":3128", ":0");
    let mut up = Up::new(start(home.path(), &config), false);
    assert!(up.proxy.starts_with("127.0.0.1:"));
    up.terminate();
    assert_eq!(up.child.wait().unwrap().code(), Some(0));
}

/// A reader of the log breaks at the first line that is none.
#[test]
fn every_line_of_a_json_log_is_json_from_the_first_to_the_last() {
    let home = TempDir::new().unwrap();
    let config = format!(
        "{WHO}[gateway]\nproxy = \"127.0.0.1:0\"\napi = \"127.0.0.1:0\"\napi_key_sha256 = \"{KEY}\"\n\
         {CUSTOMER}password_sha256 = \"{PASSWORD}\"\n[telemetry]\nlog_format = \"json\"\n"
    );
    let mut child = command(home.path(), &config).env("COMITY_FOO", "x").spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut said = Vec::new();
    while !said.iter().any(|text: &String| text.starts_with("decisions on ")) {
        said.push(message(&lines.next().expect("it ended early")));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    said.extend(lines.map(|line| message(&line)));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    for begin in ["note: COMITY_FOO", "proxy on ", "decisions on ", "draining", "stopped"] {
        assert_eq!(said.iter().filter(|text| text.starts_with(begin)).count(), 1, "{begin}: {said:?}");
    }
}

fn message(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    line["fields"]["message"].as_str().unwrap().to_owned()
}

/// A gateway that listens.
struct Up {
    child: Child,
    said: BufReader<ChildStderr>,
    proxy: String,
    api: String,
}

impl Up {
    fn new(mut child: Child, api: bool) -> Self {
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut up = Self { child, said, proxy: String::new(), api: String::new() };
        up.proxy = up.announced("proxy on ");
        if api {
            up.api = up.announced("decisions on ");
        }
        up
    }

    /// The address behind these words.
    fn announced(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "it ended early");
            if let Some(address) = line.strip_prefix(words) {
                return address.trim().to_owned();
            }
        }
    }

    /// Everything that it says until it ends.
    fn rest(&mut self) -> String {
        let mut text = String::new();
        self.said.read_to_string(&mut text).unwrap();
        text
    }

    fn terminate(&self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
    }
}

fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(url: &str) -> String {
    let authority = url.split("://").nth(1).unwrap().split('/').next().unwrap();
    // c1:p:w:x
    format!(
        "GET {url} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nProxy-Authorization: Basic YzE6cDp3Ong=\r\n\r\n"
    )
}

fn decide(api: &str, url: &str) -> Value {
    let body = json!({"url": url}).to_string();
    let length = body.len();
    let head = "POST /v1/decide HTTP/1.1\r\nHost: api\r\nConnection: close\r\nAuthorization: Bearer key\r\n";
    let answer = ask(api, &format!("{head}Content-Length: {length}\r\n\r\n{body}"));
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

/// A gateway before sites on loopback, with an override for one and opt-outs for another.
fn whole_config(port: u16) -> String {
    format!(
        "{WHO}
        [gateway]
        name = \"gw-1\"
        proxy = \"127.0.0.1:0\"
        api = \"127.0.0.1:0\"
        api_key_sha256 = \"{KEY}\"
        ports = [{port}]
        [gateway.customer]
        id = \"c1\"
        password_sha256 = \"{PASSWORD}\"
        tokens = [\"custbot\"]
        [fetch]
        allow_addresses = [\"127.0.0.0/8\"]
        resolve = {{ \"a.test\" = \"127.0.0.1\", \"own.test\" = \"127.0.0.1\", \"no.test\" = \"127.0.0.1\" }}
        [politeness]
        delay = \"100ms\"
        [optout]
        files = [\"optout.jsonl\"]
        [[override]]
        origins = [\"http://own.test:{port}\"]
        scope = [\"robots\"]
        basis = \"own_site\"
        justification = \"this site is run by the customer itself\"
        approved_by = \"ops\"
        {period}",
        period = period(),
    )
}

#[test]
fn it_serves_decides_tells_and_drains() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let rules = "User-agent: custbot\nDisallow: /private/\n";
    let page = |host: &str| Site::new().name(host).robots(rules).otherwise(|_| Answer::text("page"));
    let web = Web::builder(1).site(page("a.test")).site(page("own.test")).site(page("no.test")).build().unwrap();
    let web = runtime.block_on(web.serve_names()).unwrap();
    let port = web.port();
    let home = TempDir::new().unwrap();
    let line = "{\"at\": \"2026-01-01T00:00:00Z\", \"action\": \"add\", \"target\": \"no.test\", \"requested_by\": \"owner@no.test\", \"reason\": \"letter\"}\n";
    fs::write(home.path().join("optout.jsonl"), line).unwrap();
    let config = whole_config(port);
    let mut up = Up::new(start(home.path(), &config), true);
    let url = |host: &str, path: &str| format!("http://{host}:{port}{path}");
    let allowed = ask(&up.proxy, &get(&url("a.test", "/x")));
    assert!(allowed.starts_with("HTTP/1.1 200") && allowed.ends_with("page"), "{allowed}");
    let refused = ask(&up.proxy, &get(&url("a.test", "/private/x")));
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("gw-1; error=http_request_denied"), "{refused}");
    assert!(ask(&up.proxy, &get(&url("own.test", "/private/x"))).starts_with("HTTP/1.1 200"), "an override");
    let out = ask(&up.proxy, &get(&url("no.test", "/robots.txt")));
    assert!(out.starts_with("HTTP/1.1 403") && out.contains("comity-reason: optout"), "{out}");
    let record = decide(&up.api, &url("own.test", "/private/x"));
    assert_eq!((&record["override"]["basis"], &record["rule"]["line"]), (&json!("own_site"), &json!(2)), "{record}");
    let record = decide(&up.api, &url("no.test", "/"));
    assert_eq!((&record["reason"], &record["optout"]["target"]), (&json!("optout"), &json!("no.test")), "{record}");
    assert!(ask(&up.api, "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200"));
    let nobody = get(&url("a.test", "/")).replace("YzE6cDp3Ong=", "YzE6eA==");
    assert!(ask(&up.proxy, &nobody).starts_with("HTTP/1.1 407"));
    up.terminate();
    let said = up.rest();
    assert_eq!(up.child.wait().unwrap().code(), Some(0), "{said}");
    let told = |reason: &str, path: &str| said.lines().any(|line| line.contains(reason) && line.contains(path));
    assert!(
        told("robots.disallow", "/private/x") && told("ok.override", "/private/x") && told("optout", "no.test"),
        "{said}"
    );
    assert!(said.contains("draining") && said.ends_with("stopped\n"), "{said}");
    assert!(!said.contains("p:w:x") && !said.contains("YzE6cDp3Ong="), "{said}");
    let log: Vec<_> = web.log().iter().map(|seen| (seen.site, seen.request.target_text().into_owned())).collect();
    assert!(!log.iter().any(|(site, path)| *site == Some(2) || (*site == Some(0) && path == "/private/x")), "{log:?}");
}

/// From yesterday to tomorrow, as an override wants it.
fn period() -> String {
    let day = |by: i64| {
        let now = comity_policy::WallTime::from_unix_millis(
            i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap() + by * 86_400_000,
        );
        now.to_string()[..10].to_owned()
    };
    format!("created = {}\n        expires = {}", day(-1), day(2))
}
