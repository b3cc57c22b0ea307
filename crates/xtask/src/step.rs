use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The workspace root.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map_or(here.clone(), ToOwned::to_owned)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs one step with its output shown; says how long it took.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<(), String> {
    eprintln!("\n=== {what}");
    #[expect(clippy::disallowed_methods, reason = "a build tool tells how long its steps took")]
    let start = Instant::now();
    let status = command.status().map_err(|e| format!("{what}: {e}"))?;
    eprintln!(
        "=== {what}: {} in {:.1} s",
        if status.success() { "ok" } else { "failed" },
        start.elapsed().as_secs_f64()
    );
    if status.success() { Ok(()) } else { Err(format!("{what} failed ({status})")) }
}

/// True when the program can be run with `--version` (or another harmless argument).
pub(crate) fn answers(program: &str, argument: &str) -> bool {
    let quiet =
        Command::new(program).arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
