//! Key files: what is taken, what is refused and as what, what is written.

#![allow(clippy::unwrap_used, reason = "a test may end here")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use comity_fetch::signature::{KeyError, SigningKey};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use tempfile::TempDir;

fn write(dir: &TempDir, name: &str, mode: u32, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// PKCS#8 version 1 around an Ed25519 seed.
fn pem(seed: [u8; 32]) -> String {
    let der = [b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".as_slice(), &seed].concat();
    block("PRIVATE KEY", &BASE64.encode(&der))
}

fn block(kind: &str, body: &str) -> String {
    format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
}

fn jwk(seed: [u8; 32], x: &str) -> String {
    format!(r#"{{"kty":"OKP","crv":"Ed25519","kid":"mine","d":"{}","x":"{x}"}}"#, BASE64URL_NOPAD.encode(&seed))
}

#[test]
fn a_key_is_the_same_from_pem_and_jwk() {
    let dir = TempDir::new().unwrap();
    let key = SigningKey::from_seed(&[5; 32]).unwrap();
    let texts = [pem([5; 32]), jwk([5; 32], key.public()), jwk([5; 32], &format!("{}=", key.public()))];
    for (index, text) in texts.iter().enumerate() {
        let path = write(&dir, &index.to_string(), 0o600, text);
        assert_eq!(SigningKey::read(&path).unwrap().thumbprint(), key.thumbprint(), "{text}");
    }
    assert!(SigningKey::read(&write(&dir, "readonly", 0o400, &texts[0])).is_ok());
}

#[test]
fn what_is_refused_and_as_what() {
    let dir = TempDir::new().unwrap();
    let key = SigningKey::from_seed(&[5; 32]).unwrap();
    let good = pem([5; 32]);
    let rfc9421: [u8; 32] =
        BASE64URL_NOPAD.decode(b"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU").unwrap().try_into().unwrap();
    let secret = "hunter2-hunter2-hunter2";
    // (text, mode, what is said)
    let rows: [(String, u32, &str); 18] = [
        (good.clone(), 0o640, "mode 0640"),
        (good.clone(), 0o604, "mode 0604"),
        (good.clone(), 0o620, "mode 0620"),
        (String::new(), 0o600, "no private key"),
        ("hello".into(), 0o600, "no private key"),
        (block("PUBLIC KEY", "MCowBQYDK2VwAyEA"), 0o600, "no private key"),
        (block("ENCRYPTED PRIVATE KEY", "MIGjMF8GCSqGSIb3"), 0o600, "passphrase"),
        (block("RSA PRIVATE KEY", "MIGjMF8GCSqGSIb3"), 0o600, "(RSA)"),
        (block("EC PRIVATE KEY", "MIGjMF8GCSqGSIb3"), 0o600, "(elliptic curve)"),
        (block("PRIVATE KEY", "MIGjMF8GCSqGSIb3"), 0o600, "broken key"),
        (good.replace("-----END", "====="), 0o600, "broken key"),
        (format!("{good}{}", pem([6; 32])), 0o600, "2 private keys"),
        (pem(rfc9421), 0o600, "RFC publishes"),
        (jwk([5; 32], ""), 0o600, "\"x\" is not 32 bytes"),
        (jwk([6; 32], key.public()), 0o600, "do not belong together"),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, key.public()), 0o600, "public half"),
        (r#"{"kty":"EC","crv":"P-256","d":"AA","x":"AA"}"#.into(), 0o600, "(P-256)"),
        (format!(r#"{{"kty":"OKP","d":"{secret}""#), 0o600, "no JWK, at line 1"),
    ];
    for (index, (text, mode, said)) in rows.iter().enumerate() {
        let path = write(&dir, &index.to_string(), *mode, text);
        let error = SigningKey::read(&path).unwrap_err();
        assert!(error.to_string().contains(said), "{index}: {error}");
        assert!(!error.to_string().contains("hunter2") && !error.hint().is_empty(), "{error}");
    }
    let large = write(&dir, "large", 0o600, &" ".repeat(70_000));
    assert!(matches!(SigningKey::read(&large), Err(KeyError::TooLarge)));
    assert!(matches!(SigningKey::read(dir.path()), Err(KeyError::NoFile)));
    assert!(matches!(SigningKey::read(&dir.path().join("none")), Err(KeyError::File(_))));
}

#[test]
fn a_new_key_is_for_its_owner_alone_and_nothing_is_written_over() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("bot.pem");
    let key = SigningKey::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(SigningKey::read(&path).unwrap(), key);
    let before = fs::read(&path).unwrap();
    assert!(matches!(SigningKey::create(&path), Err(KeyError::Exists)));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_ne!(SigningKey::create(&dir.path().join("other.pem")).unwrap(), key);
    assert!(matches!(SigningKey::create(&dir.path().join("no/such/bot.pem")), Err(KeyError::File(_))));
}

/// OpenSSL, where it is installed, reads our files as we do, and writes files that we read.
#[test]
fn openssl_agrees_about_the_key() {
    let dir = TempDir::new().unwrap();
    let (ours, theirs) = (dir.path().join("ours.pem"), dir.path().join("theirs.pem"));
    let Ok(made) = Command::new("openssl").args(["genpkey", "-algorithm", "ed25519", "-out"]).arg(&theirs).output()
    else {
        eprintln!("left out: openssl is not installed");
        return;
    };
    assert!(made.status.success());
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o600)).unwrap();
    SigningKey::create(&ours).unwrap();
    for path in [&ours, &theirs] {
        assert_eq!(SigningKey::read(path).unwrap().public(), public_by_openssl(path));
    }
}

fn public_by_openssl(path: &Path) -> String {
    let output =
        Command::new("openssl").args(["pkey", "-pubout", "-outform", "DER", "-in"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    BASE64URL_NOPAD.encode(&output.stdout[output.stdout.len() - 32..])
}
