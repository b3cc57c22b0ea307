//! What the command is like to use: plans, exit codes, colours, files that others run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use comity_testweb::{Answer, Auditor, Observer, Site, Web};
use serde_json::Value;
use tempfile::TempDir;

use super::{WHO, comity, stderr};

fn in_house(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn stdout(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_asks_for_robots_txt_and_tdmrep_json_alone_and_tells_days_and_verdicts() {
    let home = TempDir::new().unwrap();
    let tdmrep = Answer::text(r#"[{"location":"/","tdm-reservation":0}]"#);
    let slow = Site::new()
        .robots("User-agent: *\nCrawl-delay: 4\nDisallow: /private/\nSitemap: https://a.test/s.xml\n")
        .page("/", Answer::page(["/a"]))
        .page("/.well-known/tdmrep.json", tdmrep);
    let closed = Site::new().robots("User-agent: *\nDisallow: /\n");
    let served = Web::builder(3).site(slow).site(closed).build().unwrap().serve_loopback().await.unwrap();
    let origins = served.origins();
    let private = format!("{}/private/x", origins[0]);
    let mut args: Vec<String> =
        ["crawl", "--plan", "--json", "--max-pages", "21600", "--purpose", "tdm"].map(str::to_owned).into();
    args.extend(WHO.map(str::to_owned));
    args.extend(
        ["--allow-address", "127.0.0.0/8", "--dir", home.path().join("d").to_str().unwrap()].map(str::to_owned),
    );
    args.extend([format!("{}/", origins[0]), private.clone(), format!("{}/", origins[1])]);
    let (at, given) = (home.path().to_owned(), args.clone());
    let ran = tokio::task::spawn_blocking(move || {
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        comity(&at, &given)
    });
    let ran = ran.await.unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let plan: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let verdicts: Vec<bool> =
        plan["seeds"].as_array().unwrap().iter().map(|seed| seed["allowed"].as_bool().unwrap()).collect();
    assert_eq!(verdicts, [true, false, false], "{plan}");
    assert!(plan["seeds"][1]["why"].as_str().unwrap().contains("line 3 says Disallow: /private/"), "{plan}");
    let slow = plan["origins"].as_array().unwrap().iter().find(|one| one["origin"] == origins[0]).unwrap();
    assert_eq!((slow["asked_delay_s"].as_f64(), slow["delay_s"].as_f64()), (Some(4.0), Some(4.0)), "{plan}");
    assert_eq!(slow["sitemaps"].as_array().unwrap().len(), 1, "{plan}");
    // 21,600 pages at one each four seconds.
    assert!((plan["days"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{plan}");
    assert!(!home.path().join("d").exists(), "a plan writes nothing");
    let mut asked: BTreeMap<String, u64> = BTreeMap::new();
    let observer: Observer = served.observer();
    for seen in observer.log() {
        *asked.entry(seen.request.target_text().into_owned()).or_default() += 1;
    }
    assert!(asked.keys().all(|target| target == "/robots.txt" || target == "/.well-known/tdmrep.json"), "{asked:?}");
    assert!(asked.contains_key("/.well-known/tdmrep.json"), "{asked:?}");
    let audit = Auditor::new().examine(&observer);
    assert!(audit.is_clean(), "{audit}");
    served.shutdown().await;
}

#[test]
fn every_kind_of_failure_has_its_exit_code_and_a_hint() {
    let home = TempDir::new().unwrap();
    let nothing = home.path().join("nothing");
    let nothing = nothing.to_str().unwrap();
    let occupied = home.path().join("occupied");
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("thesis.txt"), "not a crawl").unwrap();
    let occupied = occupied.to_str().unwrap();
    let rows: [(&[&str], i32); 17] = [
        (&[], 2),
        (&["no-such-command"], 2),
        (&["crawl", "--no-such-flag"], 2),
        (&["robots", "check", "--robots", "/no/such/file", "--agent", "a", "/"], 2),
        (&["config", "check", "/no/such/file"], 2),
        (&["report", nothing], 2),
        (&["export", nothing], 2),
        (&["erase", nothing], 2),
        (&["new", "Not a name"], 2),
        (&["completions", "tcsh"], 2),
        (&["records", nothing], 2),
        (&["verify", nothing], 2),
        (&["audit", nothing], 2),
        (&["explain", "https://a.test/", "--dir", nothing], 2),
        (&["frontier", "stats", nothing], 2),
        (&["crawl", "http://a.test/", "--agent", "MyBot/1", "--contact", "a@b.c", "--dir", occupied], 5),
        (&["robots", "fetch", "http://127.0.0.1:1", "--agent", "MyBot/1", "--contact", "a@b.c", "--once"], 6),
    ];
    for (args, code) in rows {
        let output = comity(home.path(), args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}{}", stdout(&output), stderr(&output));
        assert!(!output.stderr.is_empty(), "{args:?} says nothing");
    }
    for args in [&["--help"][..], &["--version"], &["help", "crawl"], &["crawl", "--help"]] {
        let output = comity(home.path(), args);
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_limit_ends_with_3_and_quiet_is_quiet() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("d");
    let mut args = vec!["crawl", "http://127.0.0.1:1/", "--dir", dir.to_str().unwrap(), "--quiet", "--max-pages", "0"];
    args.extend(WHO);
    let output = comity(home.path(), &args);
    assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    assert!(
        output.stderr.is_empty() && stdout(&output).contains("max_pages"),
        "{}{}",
        stderr(&output),
        stdout(&output)
    );
}

#[test]
fn nothing_is_coloured_where_no_terminal_is() {
    let home = TempDir::new().unwrap();
    let mut args = vec!["crawl", "http://127.0.0.1:1/", "--store", "memory"];
    args.extend(WHO);
    let dir = home.path().join("d");
    args.extend(["--dir", dir.to_str().unwrap()]);
    for (name, value) in [("COMITY_LOG", "debug"), ("NO_COLOR", "1")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
        let output =
            command.args(&args).env("HOME", home.path()).env("COMITY_LOG", "debug").env(name, value).output().unwrap();
        assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b), "{}", stderr(&output));
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn manual_pages_of_all_commands_are_written() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("man");
    let output = comity(home.path(), &["man", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    for page in ["comity.1", "comity-crawl.1", "comity-robots-lint.1", "comity-config-show.1"] {
        let text = fs::read_to_string(out.join(page)).unwrap_or_else(|e| panic!("{page}: {e}"));
        let taught = text.contains("Example") || text.contains("First steps");
        assert!(text.contains(".TH ") && taught, "{page}");
    }
    let page = comity(home.path(), &["man"]);
    assert!(stdout(&page).contains(".SH NAME"));
}

/// The kept crate of `examples/starter`, which the workspace builds and tests, is what `comity new` writes.
#[test]
fn a_new_crate_is_the_kept_one() {
    let home = TempDir::new().unwrap();
    // Where it lies in a checkout, a member of its workspace.
    let (package, examples) = (home.path().join("crates/comity"), home.path().join("examples"));
    fs::create_dir_all(&package).and_then(|()| fs::create_dir_all(&examples)).unwrap();
    fs::write(package.join("Cargo.toml"), "").unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(["new", "starter", "--contact", "https://example.com/bot", "--comity", ".."])
        .current_dir(&examples)
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let made = examples.join("starter");
    let page = fs::read_to_string(made.join("web/index.html")).unwrap();
    assert!(page.contains("Starter") && page.contains("robots.txt"), "{page}");
    let files = [
        "Cargo.toml",
        "README.md",
        ".gitignore",
        ".github/workflows/ci.yml",
        "crawl.toml",
        "src/lib.rs",
        "src/main.rs",
        "tests/polite.rs",
    ];
    for file in files {
        let (written, kept) = (fs::read_to_string(made.join(file)).unwrap(), in_house("examples/starter").join(file));
        if std::env::var_os("COMITY_BLESS").is_some() {
            fs::create_dir_all(kept.parent().unwrap()).unwrap();
            fs::write(&kept, &written).unwrap();
        }
        assert!(
            fs::read_to_string(&kept).unwrap_or_default() == written,
            "examples/starter/{file} is another; COMITY_BLESS=1 rewrites it"
        );
    }
    let checked = comity(home.path(), &["config", "check", made.join("crawl.toml").to_str().unwrap()]);
    assert!(checked.status.success(), "{}", stdout(&checked));
    let again =
        Command::new(env!("CARGO_BIN_EXE_comity")).args(["new", "starter"]).current_dir(&examples).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "nothing is written over");
    // Without a checkout there is nothing that it could depend on: nothing is written, and it is said what to do.
    let alone = Command::new(env!("CARGO_BIN_EXE_comity"))
        .args(["new", "my-bot"])
        .current_dir(home.path())
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(alone.status.code(), Some(2));
    assert!(stderr(&alone).contains("git clone") && stderr(&alone).contains("--comity"), "{}", stderr(&alone));
    assert!(!home.path().join("my-bot").exists());
}

/// Beside a checkout, inside of one, and where there is none: the path is seen from where it was typed.
#[test]
fn a_new_crate_finds_the_checkout() {
    let home = TempDir::new().unwrap();
    let package = home.path().join("clone/crates/comity");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("Cargo.toml"), "").unwrap();
    let new = |folder: &str, name: &str, checkout: &str| {
        fs::create_dir_all(home.path().join(folder)).unwrap();
        Command::new(env!("CARGO_BIN_EXE_comity"))
            .args(["new", name, "--contact", "https://example.com/bot", "--comity", checkout])
            .current_dir(home.path().join(folder))
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap()
    };
    let whole = home.path().join("clone").display().to_string();
    for (folder, checkout, inside) in
        [("work", "../clone", false), (".", "clone", false), ("clone", ".", true), ("clone/mine", whole.as_str(), true)]
    {
        let made = new(folder, "my-bot", checkout);
        assert!(made.status.success(), "{}", stderr(&made));
        let dir = home.path().join(folder).join("my-bot");
        let manifest: toml::Table = fs::read_to_string(dir.join("Cargo.toml")).unwrap().parse().unwrap();
        let path = manifest["dependencies"]["comity"]["path"].as_str().unwrap();
        assert!(dir.join(path).join("Cargo.toml").is_file(), "{folder} {checkout}: {path}");
        assert_eq!(manifest.contains_key("workspace"), inside, "{folder} {checkout}");
    }
    // Whoever has said who they are is not called by the crate's name; the flag is heard before both.
    let init = ["init", "--agent", "HouseBot/3.1", "--contact", "https://example.com/house"];
    assert!(comity(home.path(), &init).status.success());
    assert!(new("work", "named", "../clone").status.success());
    let settings = fs::read_to_string(home.path().join("work/named/crawl.toml")).unwrap();
    assert!(settings.contains("name = \"HouseBot/3.1\"") && settings.contains("https://example.com/bot"), "{settings}");
    let wrong = new("work", "other", "nowhere");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("no checkout") && !home.path().join("work/other").exists(), "{}", stderr(&wrong));
}

#[test]
fn service_and_container_name_what_there_is() {
    let service = fs::read_to_string(in_house("configs/comity.service")).unwrap();
    let line = |key: &str| service.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("{key}"));
    // The command line of the service is one that the command takes: it fails for want of the file alone.
    let home = TempDir::new().unwrap();
    let words: Vec<&str> = line("ExecStart=/usr/bin/comity ").split(' ').collect();
    let output = comity(home.path(), &words);
    assert!(stderr(&output).contains("/etc/comity/crawl.toml"), "{}", stderr(&output));
    let words: Vec<&str> = line("ExecReload=/usr/bin/comity ").split(' ').collect();
    assert!(!stderr(&comity(home.path(), &words)).contains("Usage:"));
    for key in ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "KillSignal=SIGINT"] {
        assert!(service.contains(key), "{key}");
    }
    let file = fs::read_to_string(in_house("configs/Containerfile")).unwrap();
    let words = |instruction: &str| -> Vec<Vec<String>> {
        let rows = file.lines().filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
        rows.map(|row| row.split_whitespace().map(ToOwned::to_owned).collect()).collect()
    };
    let (mut copied, mut from_build) = (Vec::new(), Vec::new());
    for row in words("COPY") {
        match row.first().is_some_and(|first| first == "--from=build") {
            true => from_build.extend(row.iter().find(|word| !word.starts_with("--")).cloned()),
            false => copied.extend(row[..row.len() - 1].iter().cloned()),
        }
    }
    for path in &copied {
        assert!(in_house(path).exists(), "{path} is copied and not there");
    }
    // Whatever the sources include at build time has to be copied, too.
    for needed in ["crates", "examples", "configs", "docs", "Cargo.toml", "Cargo.lock"] {
        assert!(copied.iter().any(|path| path == needed), "{needed} is not copied");
    }
    assert_eq!(from_build, ["/src/target/dist/comity", "/crawls"]);
    // Who runs it owns where it writes: as a new volume, and as a folder of the host.
    assert!(file.contains("--chown=65532:65532 /crawls /crawls\n") && file.contains("-v ./crawls:/crawls:U "));
    assert!(
        file.contains("--profile dist -p comity-cli")
            && fs::read_to_string(in_house("Cargo.toml")).unwrap().contains("[profile.dist]")
    );
    assert_eq!(words("USER"), [["65532:65532"]], "not root");
    assert_eq!(words("ENTRYPOINT"), [["[\"/usr/bin/comity\"]"]]);
}

#[test]
fn the_service_is_well_formed_and_closed() {
    let Ok(analysed) = Command::new("systemd-analyze").arg("--version").output() else {
        return eprintln!("no systemd here");
    };
    assert!(analysed.status.success());
    let home = TempDir::new().unwrap();
    let unit = home.path().join("comity.service");
    let text = fs::read_to_string(in_house("configs/comity.service")).unwrap();
    fs::write(&unit, text.replace("/usr/bin/comity", env!("CARGO_BIN_EXE_comity"))).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(&unit).output().unwrap();
    assert!(verified.status.success() && verified.stderr.is_empty(), "{}", stderr(&verified));
}
