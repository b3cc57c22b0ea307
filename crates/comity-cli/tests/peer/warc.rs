use std::path::{Path, PathBuf};
use std::process::Command;

/// Holds the WARC files of a crawl against tools of other people; their output is read, not only their exit code.
pub(crate) fn check(dir: &Path, exchanges: usize) {
    let files = files(dir);
    assert!(!files.is_empty());
    for file in &files {
        let tested = Command::new("gzip").arg("-t").arg(file).output().unwrap();
        assert!(tested.status.success(), "gzip -t: {}", String::from_utf8_lossy(&tested.stderr));
    }
    let Some(tools) = tools() else {
        eprintln!("left out: warcio and fastwarc are not installed (cargo xtask test --install)");
        return;
    };
    let mut responses = 0;
    for file in &files {
        // The payload of a revisit lies elsewhere: warcio says so and leaves its digest.
        let said = run(&tools.join("warcio"), &["check", "-v"], file);
        let said = said.replace("digest present but not checked (revisit)", "");
        for bad in ["digest failed", "saw exception", "skipping", "Error", "not checked"] {
            assert!(!said.contains(bad), "warcio check: {bad:?} in {}", first_lines(&said));
        }
        assert!(said.contains("digest pass"), "warcio check looked at digests: {}", first_lines(&said));
        let kinds = run(&tools.join("warcio"), &["index", "-f", "warc-type"], file);
        responses += ["\"response\"", "\"revisit\""].map(|kind| kinds.matches(kind).count()).iter().sum::<usize>();
        let said = run(&tools.join("fastwarc"), &["check", "-q"], file);
        assert!(!said.to_lowercase().contains("fail"), "fastwarc check: {}", first_lines(&said));
    }
    assert_eq!(responses, exchanges, "a response or a revisit for every exchange");
    eprintln!("{responses} responses in {} files: gzip -t, warcio check, fastwarc check pass", files.len());
}

/// All WARC files of a crawl, unpacked.
pub(crate) fn text(dir: &Path) -> String {
    let output = Command::new("gzip").arg("-dc").args(files(dir)).output().unwrap();
    assert!(output.status.success(), "gzip -dc: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("warc")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let all = files.len();
    files.retain(|file| !file.to_string_lossy().ends_with(".cdxj"));
    assert_eq!(all, 2 * files.len(), "an index beside each file");
    assert!(files.iter().all(|file| file.to_string_lossy().ends_with(".warc.gz")), "{files:?}: all are closed");
    files
}

/// Where the Python tools are: the virtual environment that xtask makes.
pub(crate) fn tools() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/venv");
    let venv = std::env::var_os("COMITY_PEERS_VENV").map_or(own, PathBuf::from).join("bin");
    ["warcio", "fastwarc"].iter().all(|tool| venv.join(tool).is_file()).then_some(venv)
}

/// Both streams of a tool that has to succeed.
pub(crate) fn run(tool: &Path, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(tool).args(arguments).arg(file).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {arguments:?}: {}", tool.display(), first_lines(&said));
    said
}

fn first_lines(said: &str) -> String {
    said.lines().take(20).collect::<Vec<_>>().join("\n")
}
