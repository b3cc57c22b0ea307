//! Who we are, as a real server sees it: a signed crawl over TLS, and the key directory with the fields that we wrote for
//! it. The signatures are checked from nginx's own log and answer, by RFC 9421 written out once more.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::nginx::{self, Nginx};
use crate::warc;

const AUTHORITY: &str = "bot.example.com";

#[test]
fn nginx_gets_signed_requests_and_serves_the_directory_that_proves_them() {
    let Some(program) = nginx::installed() else {
        eprintln!("left out: nginx is not installed (cargo xtask test --install)");
        return;
    };
    let home = TempDir::new().unwrap();
    let (tls, plain) = (nginx::free_port(), nginx::free_port());
    prepare(home.path(), tls);
    comity(home.path(), &["identity", "key", "new", "bot.pem"]);
    comity(home.path(), &["identity", "page", "--config", "c.toml", "--dir", "out"]);

    let folder = home.path().join("nginx");
    fs::create_dir(&folder).unwrap();
    let (site, files) = (
        home.path().display(),
        "$request_method|$http_host|$request_uri|$http_signature_agent|$http_signature_input|$http_signature|$http_from",
    );
    let server = format!(
        "server {{\n listen 127.0.0.1:{tls} ssl;\n listen 127.0.0.1:{plain};\n ssl_certificate {site}/cert.pem;\n \
         ssl_certificate_key {site}/cert.key;\n gzip on; gzip_types *;\n root {site}/out/web;\n include {site}/out/server/nginx.conf;\n}}\n"
    );
    let nginx = Nginx::run(program, &folder, plain, &nginx::whole(&folder, files, &server));
    let public = directory(plain);
    comity(home.path(), &["crawl", "--config", "c.toml", "--dir", "crawl"]);
    let lines = nginx.lines();

    let signed: Vec<&String> = lines.iter().filter(|line| line.contains("a.test")).collect();
    let targets: Vec<&str> = signed.iter().map(|line| line.split('|').nth(2).unwrap()).collect();
    assert_eq!(targets, ["/robots.txt", "/index.html?a=%C3%A9", "/ranges.json"], "{lines:#?}");
    let archived = warc::text(&home.path().join("crawl"));
    for line in signed {
        check_request(line, &public, &archived);
    }
    assert!(archived.contains("http-header-from: bot@example.com\r\n"));
}

/// A certificate, and a configuration that trusts it.
fn prepare(home: &Path, port: u16) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["a.test".into()]).unwrap().self_signed(&key).unwrap();
    fs::write(home.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(home.join("cert.key"), key.serialize_pem()).unwrap();
    let config = format!(
        "[agent]\nname = \"PeerBot/1.0\"\ncontact = \"bot@example.com\"\nfrom = \"bot@example.com\"\n\
         signing_key = \"bot.pem\"\nsignature_agent = \"https://{AUTHORITY}\"\nranges = [\"5.9.0.0/24\"]\n\
         [crawl]\nseeds = [\"https://a.test:{port}/index.html?a=\u{e9}\", \"https://a.test:{port}/ranges.json\"]\n\
         [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\nresolve = {{ \"a.test\" = \"127.0.0.1\" }}\nroots = [\"{}\"]\n\
         [politeness]\ndelay = \"0s\"\nadaptive = false\n[archive]\nmin_free = \"10MB\"\n",
        home.join("cert.pem").display()
    );
    fs::write(home.join("c.toml"), config).unwrap();
}

fn comity(home: &Path, args: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(args)
        .current_dir(home)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Fetches the key directory from nginx and checks its proof; the public key by its thumbprint.
fn directory(port: u16) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let path = "/.well-known/http-message-signatures-directory";
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {AUTHORITY}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let field = |name: &str| {
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        fields.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next().unwrap()
    };
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(field("Content-Type"), "application/http-message-signatures-directory+json");
    let digest = field("Content-Digest");
    assert_eq!(digest, format!("sha-256=:{}:", BASE64.encode(&Sha256::digest(body))), "the bytes as served");
    let keys: Value = serde_json::from_str(body).unwrap();
    let (kid, x) = (keys["keys"][0]["kid"].as_str().unwrap(), keys["keys"][0]["x"].as_str().unwrap());
    let public = BASE64URL_NOPAD.decode(x.as_bytes()).unwrap();
    let input = field("Signature-Input").strip_prefix("binding=").unwrap();
    assert!(input.contains(&format!("keyid=\"{kid}\"")));
    let base = format!("\"@authority\";req: {AUTHORITY}\n\"content-digest\": {digest}\n\"@signature-params\": {input}");
    check(&public, &base, field("Signature").strip_prefix("binding=").unwrap());
    (kid.to_owned(), public)
}

/// Checks a request from a line of the log, and that the archive holds it as it was sent.
fn check_request(line: &str, (kid, public): &(String, Vec<u8>), archived: &str) {
    let parts: Vec<&str> = line.split('|').collect();
    let [method, host, target, agent, input, signature, from] = parts.try_into().unwrap();
    assert_eq!((method, from), ("GET", "bot@example.com"), "{line}");
    let fields = format!("Signature-Agent: {agent}\r\nSignature-Input: {input}\r\nSignature: {signature}\r\n");
    assert!(archived.contains(&format!("GET {target} HTTP/1.1\r\n")) && archived.contains(&fields), "{fields}");
    let (agent, input) = (agent.strip_prefix("sig1=").unwrap(), input.strip_prefix("sig1=").unwrap());
    assert_eq!(agent, format!("\"https://{AUTHORITY}\""));
    assert!(input.contains(&format!("keyid=\"{kid}\"")), "{input}");
    let base = format!(
        "\"@method\": {method}\n\"@authority\": {host}\n\"@target-uri\": https://{host}{target}\n\
         \"signature-agent\";key=\"sig1\": {agent}\n\"@signature-params\": {input}"
    );
    check(public, &base, signature.strip_prefix("sig1=").unwrap());
}

fn check(public: &[u8], base: &str, signature: &str) {
    let signature = BASE64.decode(signature.trim_matches(':').as_bytes()).unwrap();
    assert!(UnparsedPublicKey::new(&ED25519, public).verify(base.as_bytes(), &signature).is_ok(), "{base}");
}
