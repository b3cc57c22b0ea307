//! `comity config`, and settings from the environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{comity, stderr};

fn with_env(home: &Path, set: &[(&str, &str)], args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(args)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .envs(set.iter().copied())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn in_house(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares what a command prints with a kept file; `COMITY_BLESS=1` writes it anew.
fn is_kept(args: &[&str], path: &str) {
    let home = TempDir::new().unwrap();
    let printed = stdout(&comity(home.path(), args));
    let file = in_house(path);
    if std::env::var_os("COMITY_BLESS").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap_or_default() == printed,
        "{path} is not what `comity {args:?}` prints; COMITY_BLESS=1 rewrites it"
    );
}

#[test]
fn schema_and_page_of_keys_are_kept_as_they_are_printed() {
    is_kept(&["config", "schema"], "configs/comity.schema.json");
    is_kept(&["config", "keys"], "docs/reference/config.md");
}

/// TOML as the editors' language servers hold it against a schema: moments are text.
fn as_json(text: &str) -> Value {
    fn plain(value: &toml::Value) -> Value {
        match value {
            toml::Value::Datetime(moment) => json!(moment.to_string()),
            toml::Value::Array(items) => items.iter().map(plain).collect(),
            toml::Value::Table(table) => {
                table.iter().map(|(key, value)| (key.clone(), plain(value))).collect::<serde_json::Map<_, _>>().into()
            }
            other => serde_json::to_value(other).unwrap(),
        }
    }
    plain(&toml::Value::Table(toml::from_str(text).unwrap()))
}

#[test]
fn the_example_files_name_the_schema_and_keep_to_it_and_wrong_ones_do_not() {
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(in_house("configs/comity.schema.json")).unwrap()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut files = 0;
    for file in fs::read_dir(in_house("configs")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|end| end == "toml") {
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("#:schema ./comity.schema.json\n"), "{}", file.display());
            // What is commented out is an example, too.
            let shown: Vec<&str> =
                text.lines().map(|line| line.strip_prefix("# ").filter(|rest| is_toml(rest)).unwrap_or(line)).collect();
            for text in [text.clone(), shown.join("\n")] {
                let errors: Vec<String> = validator
                    .iter_errors(&as_json(&text))
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect();
                assert_eq!(errors, Vec::<String>::new(), "{}", file.display());
            }
            files += 1;
        }
    }
    assert!(files >= 3);
    for wrong in [
        "[politness]\n",
        "[politeness]\ndealy = \"1s\"\n",
        "[politeness]\ndelay = 1\n",
        "[politeness]\ndelay = \"1 week\"\n",
        "[fetch]\nmax_body = \"10\"\n",
        "[crawl]\nscope = \"orgins\"\n",
        "[crawl]\nretries = 11\n",
        "[crawl]\nretries = -1\n",
        "[agent]\npurposes = [\"training\"]\n",
        "[override]\norigins = []\n",
        "[[override]]\ncreated = \"yesterday\"\n",
        "[fetch]\nresolve = { a = 1 }\n",
    ] {
        assert!(!validator.is_valid(&as_json(wrong)), "{wrong}");
    }
}

/// A key, a list of tables: not prose.
fn is_toml(line: &str) -> bool {
    line.starts_with("[[")
        || line.split_once(" = ").is_some_and(|(key, _)| {
            key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit())
        })
}

fn setting<'a>(shown: &'a Value, key: &str) -> &'a Value {
    shown["settings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["key"] == key)
        .unwrap_or_else(|| panic!("{key}: {shown}"))
}

#[test]
fn every_setting_is_shown_with_the_layer_that_it_comes_from() {
    let home = TempDir::new().unwrap();
    let own = home.path().join(".config/comity/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(
        &own,
        "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[politeness]\ntotal = 4\ndelay = \"9s\"\n",
    )
    .unwrap();
    let file = home.path().join("f.toml");
    fs::write(&file, "[politeness]\ndelay = \"8s\"\nmax_crawl_delay = \"100s\"\naddress_gap = \"1s\"\n[gateway]\napi_key_sha256 = \"abc\"\n").unwrap();
    let set = [
        ("COMITY_POLITENESS_DELAY", "7s"),
        ("COMITY_POLITENESS_ADDRESS_GAP", "2s"),
        ("COMITY_GATEWAY_CUSTOMER_PASSWORD_SHA256", "s3cret"),
    ];
    let args = ["config", "show", "--config", file.to_str().unwrap(), "--delay", "6s", "https://a.test/"];
    let table = [
        ("politeness.delay", json!("6s"), "flag", "--delay"),
        ("politeness.address_gap", json!("2s"), "environment", "COMITY_POLITENESS_ADDRESS_GAP"),
        ("politeness.max_crawl_delay", json!("100s"), "file", file.to_str().unwrap()),
        ("politeness.total", json!(4), "file", own.to_str().unwrap()),
        ("politeness.per_origin", json!(1), "default", ""),
        ("agent.tokens", json!(["MyBot"]), "default", ""),
        ("crawl.seeds", json!(["https://a.test/"]), "flag", "--seeds"),
        ("crawl.max_pages", json!(null), "default", ""),
        ("gateway.api_key_sha256", json!("(secret)"), "file", file.to_str().unwrap()),
        (
            "gateway.customer.password_sha256",
            json!("(secret)"),
            "environment",
            "COMITY_GATEWAY_CUSTOMER_PASSWORD_SHA256",
        ),
    ];
    let shown: Value =
        serde_json::from_slice(&with_env(home.path(), &set, &[&args[..], &["--json"]].concat()).stdout).unwrap();
    for (key, value, source, from) in table {
        let one = setting(&shown, key);
        assert_eq!(
            (&one["value"], one["source"].as_str().unwrap(), one["from"].as_str().unwrap_or("")),
            (&value, source, from),
            "{key}"
        );
    }
    assert_eq!(setting(&shown, "politeness.delay")["default"], "1s");
    assert_eq!(setting(&shown, "politeness.total")["unit"], "requests");
    let keys: Value = serde_json::from_slice(&comity(home.path(), &["config", "keys", "--json"]).stdout).unwrap();
    let once = keys["keys"].as_array().unwrap().iter().filter(|key| !key["variable"].is_null()).count();
    assert_eq!(shown["settings"].as_array().unwrap().len(), once, "every key is shown, and lists where there are any");
    let output = with_env(home.path(), &set, &args);
    let text = stdout(&output);
    assert!(!text.contains("s3cret") && !text.contains("\"abc\"") && !stderr(&output).contains("s3cret"), "{text}");
    assert!(text.contains("delay = \"6s\"") && text.contains("# time; flag --delay; default \"1s\""), "{text}");
    // What is shown is a configuration, and the one that is in force.
    let again = home.path().join("again.toml");
    fs::write(&again, &text).unwrap();
    let checked = comity(home.path(), &["config", "check", again.to_str().unwrap()]);
    assert!(checked.status.success(), "{}{}", stdout(&checked), text);
}

/// What people paste when a crawl does not start.
#[test]
fn a_login_in_a_url_is_not_shown_wherever_it_was_written() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("f.toml");
    let url = "http://u:s3cret@h.test:1";
    let files = [
        String::new(),
        format!("[fetch]\nproxies = [\"http://h.test:1\", \"{url}\"]\n"),
        format!("[[fetch.proxy]]\nurl = \"{url}\"\n"),
        format!("[crawl]\nseeds = [\"{url}/\"]\n"),
    ];
    for text in files {
        fs::write(&file, &text).unwrap();
        let set: &[(&str, &str)] = if text.is_empty() { &[("COMITY_FETCH_PROXIES", url)] } else { &[] };
        for form in [&[][..], &["--json"][..]] {
            let args = [&["config", "show", "--config", file.to_str().unwrap()][..], form].concat();
            let output = with_env(home.path(), set, &args);
            let said = stdout(&output) + &stderr(&output);
            assert!(!said.contains("s3cret") && said.contains("not shown"), "{text}{form:?}: {said}");
        }
    }
    fs::write(&file, "[agent]\ncontact = \"https://a.test/@us\"\n").unwrap();
    let said = stdout(&comity(home.path(), &["config", "show", "--config", file.to_str().unwrap()]));
    assert!(said.contains("https://a.test/@us"), "{said}");
}

#[test]
fn a_variable_that_is_no_setting_stops_the_crawl_before_it_begins() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let args = [
        "crawl",
        "http://a.test/",
        "--agent",
        "MyBot/1.0",
        "--contact",
        "a@example.com",
        "--dir",
        dir.to_str().unwrap(),
    ];
    let rows = [
        ("COMITY_POLITENESS_DEALY", "10s", "did you mean COMITY_POLITENESS_DELAY?"),
        ("COMITY_DELAY", "10s", "did you mean COMITY_POLITENESS_DELAY?"),
        ("COMITY_POLITENESS_DELAY", "10", "no span of time"),
        ("COMITY_CRAWL_SCOPE", "orgins", "origins"),
    ];
    for (name, value, says) in rows {
        let output = with_env(home.path(), &[(name, value)], &args);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains(says), "{name}: {}", stderr(&output));
        assert!(!dir.exists(), "{name}");
    }
}

#[test]
fn a_crawl_runs_under_its_variables_and_remembers_them() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let args = [
        "crawl",
        "http://127.0.0.1:1/",
        "--agent",
        "MyBot/1.0",
        "--contact",
        "a@example.com",
        "--dir",
        dir.to_str().unwrap(),
    ];
    let set = [
        ("COMITY_POLITENESS_DELAY", "7s"),
        ("COMITY_AGENT_PURPOSES", "search,tdm"),
        ("COMITY_GATEWAY_API_KEY_SHA256", "s3cret"),
        ("COMITY_GATEWAY_CUSTOMER_PASSWORD_SHA256", "s3cret"),
    ];
    let output = with_env(home.path(), &set, &[&args[..], &["--delay", "6s"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = fs::read_to_string(dir.join("crawl.toml")).unwrap();
    assert!(written.contains("delay = \"6s\"") && written.contains("\"tdm\""), "{written}");
    let source = fs::read_to_string(dir.join("state/source.toml")).unwrap();
    assert!(source.contains("[environment.agent]") && source.contains("delay = \"7s\""), "{source}");
    for text in [&written, &source] {
        assert!(!text.contains("s3cret"), "a crawl's directory holds no secret of a gateway: {text}");
    }
    let shown: Value = serde_json::from_slice(
        &comity(home.path(), &["config", "show", "--dir", dir.to_str().unwrap(), "--json"]).stdout,
    )
    .unwrap();
    let delay = setting(&shown, "politeness.delay");
    assert_eq!((delay["value"].as_str(), delay["source"].as_str()), (Some("6s"), Some("flag")), "{delay}");
    assert_eq!(setting(&shown, "politeness.total")["source"], "default");
    assert_eq!(setting(&shown, "agent.purposes")["source"], "file");
}

#[test]
fn check_tells_everything_at_once_and_exits_2() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("c.toml");
    let path = file.to_str().unwrap();
    fs::write(&file, "[agent]\nname = \"MyBot/1.0\"\ncontact = \"a@example.com\"\n[politeness]\ndealy = \"1s\"\ntotal = 0\n[gateway]\nauth = \"digest\"\nmax_held = 0\n").unwrap();
    let output = comity(home.path(), &["config", "check", path]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let begins = [
        "5:1: [politeness] dealy: ",
        "6:9: [politeness] total: ",
        "8:8: [gateway] auth: ",
        "9:12: [gateway] max_held: ",
    ];
    let expected: Vec<String> = begins.iter().map(|begin| format!("{path}:{begin}")).collect();
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, expected) in lines.iter().zip(&expected) {
        assert!(line.starts_with(expected), "{expected}: {said}");
    }
    assert!(stderr(&output).contains("problems") && stderr(&output).contains("hint: "), "{}", stderr(&output));
    let output = comity(home.path(), &["config", "check", path, "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["problems"][0]["line"], &found["problems"][0]["column"]), (&json!(5), &json!(1)), "{found}");
    assert_eq!(found["problems"][0]["hint"], "did you mean delay?");
    fs::write(&file, "[gateway]\napi = \"127.0.0.1:0\"\n").unwrap();
    let output = comity(home.path(), &["config", "check", path, "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let missing: Vec<&str> = found["missing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        output.status.success() && missing.contains(&"[gateway] api_key_sha256"),
        "it may come from a variable: {found}"
    );
    for example in ["crawl.toml", "demo.toml", "gateway.toml"] {
        let output = comity(home.path(), &["config", "check", in_house("configs").join(example).to_str().unwrap()]);
        assert!(
            output.status.success() && stdout(&output).contains("nothing is wrong"),
            "{example}: {}{}",
            stdout(&output),
            stderr(&output)
        );
    }
    assert_eq!(comity(home.path(), &["config", "check", "/no/such/file"]).status.code(), Some(2));
}
