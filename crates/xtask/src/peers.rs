use std::path::PathBuf;
use std::process::Command;

use crate::test::Size;
use crate::{print, step};

/// A program or package of somebody else's that our output is held against.
struct Peer {
    name: &'static str,
    /// What it is for.
    proves: &'static str,
    here: fn() -> bool,
    install: Install,
}

enum Install {
    Debian(&'static [&'static str]),
    /// Large, and asked by the long suites only.
    DebianForAll(&'static [&'static str]),
    Python(&'static [&'static str]),
    /// The same, asked by the long suites only.
    PythonForAll(&'static [&'static str]),
    /// Packages of npm, where Node is.
    Node(&'static [&'static str]),
}

const PEERS: [Peer; 15] = [
    Peer {
        name: "nginx",
        proves: "real server and log",
        here: || step::answers("nginx", "-v"),
        install: Install::Debian(&["nginx-light"]),
    },
    Peer {
        name: "squid",
        proves: "real HTTP proxy, with login",
        here: || std::path::Path::new("/usr/lib/squid/basic_ncsa_auth").is_file(),
        install: Install::Debian(&["squid"]),
    },
    Peer {
        name: "microsocks",
        proves: "real SOCKS5 proxy, with login",
        here: || std::path::Path::new("/usr/bin/microsocks").is_file(),
        install: Install::Debian(&["microsocks"]),
    },
    Peer {
        name: "python3-doc",
        proves: "pages that nobody here wrote",
        here: || documentation("python3", "html/library/index.html"),
        install: Install::Debian(&["python3-doc"]),
    },
    Peer {
        name: "postgresql-doc",
        proves: "more than a thousand of them",
        here: || documentation("postgresql-doc", "html/sql-select.html"),
        install: Install::Debian(&["postgresql-doc"]),
    },
    Peer {
        name: "sqlite3-doc",
        proves: "and another generator's",
        here: || documentation("sqlite3", "lang_select.html"),
        install: Install::Debian(&["sqlite3-doc"]),
    },
    Peer {
        name: "chromium",
        proves: "links of pages",
        here: || step::answers("chromium", "--version"),
        install: Install::DebianForAll(&["chromium"]),
    },
    Peer {
        name: "warcio",
        proves: "WARC grammar and digests",
        here: || python_has("warcio"),
        install: Install::Python(&["warcio", "setuptools<66"]),
    },
    Peer {
        name: "fastwarc",
        proves: "second WARC reader",
        here: || python_has("fastwarc"),
        install: Install::Python(&["fastwarc"]),
    },
    Peer {
        name: "cdxj-indexer",
        proves: "WARC indexes, line by line",
        here: || python_has("cdxj_indexer"),
        install: Install::Python(&["cdxj-indexer"]),
    },
    Peer { name: "py-wacz", proves: "WACZ packages", here: || python_has("wacz"), install: Install::Python(&["wacz"]) },
    Peer {
        name: "pywb",
        proves: "replay, revisits too",
        here: || python_has("pywb"),
        // It asks for modules that younger setuptools no longer bring.
        install: Install::Python(&["pywb", "setuptools<66"]),
    },
    Peer {
        name: "pyarrow",
        proves: "Parquet tables",
        here: || python_has("pyarrow"),
        install: Install::PythonForAll(&["pyarrow"]),
    },
    Peer {
        name: "duckdb",
        proves: "and a second reader of them",
        here: || python_has("duckdb"),
        install: Install::PythonForAll(&["duckdb"]),
    },
    Peer {
        name: "warcio.js",
        proves: "the reader of ReplayWeb.page",
        here: || !step::answers("npm", "--version") || node().join("node_modules/.bin/warcio").exists(),
        install: Install::Node(&["warcio@2"]),
    },
];

/// Where Python peers live: a virtual environment of our own, so that nothing of the system changes.
pub(crate) fn venv() -> PathBuf {
    step::root().join("target/peers/venv")
}

/// Where peers of Node's live.
pub(crate) fn node() -> PathBuf {
    step::root().join("target/peers/node")
}

/// True when a folder of `/usr/share/doc` whose name begins so holds the file.
fn documentation(prefix: &str, mark: &str) -> bool {
    let folders = std::fs::read_dir("/usr/share/doc").into_iter().flatten().filter_map(Result::ok);
    let mut ours = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    ours.any(|entry| entry.path().join(mark).is_file())
}

/// `cargo xtask peers [--install]`.
pub(crate) fn command(flags: &[&str]) -> Result<(), String> {
    match flags {
        [] => {}
        ["--install"] => install_missing(Size::All)?,
        _ => return Err(format!("unknown flags {:?}", flags.join(" "))),
    }
    for peer in &PEERS {
        print(&format!("{:12} {:8} {}", peer.name, if (peer.here)() { "here" } else { "missing" }, peer.proves));
    }
    Ok(())
}

/// The names of the peers of a suite that are not here.
pub(crate) fn missing(size: Size) -> Vec<&'static str> {
    missing_peers(size).map(|peer| peer.name).collect()
}

fn missing_peers(size: Size) -> impl Iterator<Item = &'static Peer> {
    let is_asked = move |peer: &&Peer| {
        size == Size::All || !matches!(peer.install, Install::DebianForAll(_) | Install::PythonForAll(_))
    };
    PEERS.iter().filter(is_asked).filter(|peer| !(peer.here)())
}

/// Installs what is missing with the ordinary clients of Debian, `PyPI` and npm.
pub(crate) fn install_missing(size: Size) -> Result<(), String> {
    let missing: Vec<&Peer> = missing_peers(size).collect();
    let debian: Vec<&str> = packages(&missing, |install| match install {
        Install::Debian(names) | Install::DebianForAll(names) => Some(names),
        Install::Python(_) | Install::PythonForAll(_) | Install::Node(_) => None,
    });
    let npm: Vec<&str> = packages(&missing, |i| if let Install::Node(names) = i { Some(names) } else { None });
    let python: Vec<&str> = packages(&missing, |install| match install {
        Install::Python(names) | Install::PythonForAll(names) => Some(names),
        Install::Debian(_) | Install::DebianForAll(_) | Install::Node(_) => None,
    });
    if !debian.is_empty() {
        // A list that is not up to date still installs what it knows: only the installation decides.
        drop(step::run("apt-get update", Command::new("apt-get").args(["update", "-qq"])));
        let mut install = Command::new("apt-get");
        install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(&debian);
        step::run("apt-get install", install.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    if !python.is_empty() {
        if !venv().join("bin/python").exists() {
            step::run("python venv", Command::new("python3").args(["-m", "venv"]).arg(venv()))?;
        }
        let pip = venv().join("bin/pip");
        step::run("pip install", Command::new(pip).args(["install", "-q"]).args(&python))?;
    }
    if !npm.is_empty() {
        std::fs::create_dir_all(node()).map_err(|e| format!("{}: {e}", node().display()))?;
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(node()).args(&npm);
        step::run("npm install", &mut install)?;
    }
    Ok(())
}

fn packages(peers: &[&Peer], pick: fn(&Install) -> Option<&'static [&'static str]>) -> Vec<&'static str> {
    peers.iter().filter_map(|peer| pick(&peer.install)).flatten().copied().collect()
}

/// Whether the virtual environment has this module.
pub(crate) fn python_has(module: &str) -> bool {
    let python = venv().join("bin/python");
    let check = format!("import {module}");
    Command::new(python).args(["-c", &check]).output().is_ok_and(|out| out.status.success())
}
