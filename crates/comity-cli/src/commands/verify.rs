use std::path::Path;
use std::time::Duration;

use comity::policy::Clock as _;
use comity_archive::verify::{Checked, Verification, VerifyOptions, verify};
use comity_fetch::SystemClock;
use comity_fetch::signature::SigningKey;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::visible::visible;
use super::{many, print};
use crate::args::VerifyArgs;
use crate::exit::{Exit, Failure};

/// `comity verify D`: does the directory still hold what was written?
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    if !dir.join("records").is_dir() && !dir.join("crawl.toml").is_file() {
        return Err(Failure::no_crawl(dir));
    }
    let key = args.key.as_deref().map(public_key).transpose()?;
    let clock = SystemClock::new();
    let began = clock.now();
    let found = verify(dir, &VerifyOptions { threads: args.threads, key });
    let found = found.map_err(|e| Failure::storage(e.to_string()))?;
    let took = clock.now().since(began);
    if args.json {
        print(&object(&found, took).to_string())?
    } else {
        print(text(&found, took).trim_end())?
    }
    Ok(if found.holds() { Exit::Done } else { Exit::Findings })
}

/// A public key in base64url, or a key file whose public half is meant.
fn public_key(given: &str) -> Result<String, Failure> {
    if BASE64URL_NOPAD.decode(given.as_bytes()).is_ok_and(|bytes| bytes.len() == 32) {
        return Ok(given.to_owned());
    }
    let key = SigningKey::read(Path::new(given)).map_err(|error| {
        Failure::usage(format!("--key {given}: neither 32 bytes in base64url nor a key file: {error}"))
            .hint(error.hint())
    })?;
    Ok(key.public().to_owned())
}

fn object(found: &Verification, took: Duration) -> Value {
    let totals: serde_json::Map<String, Value> =
        found.totals.iter().map(|(kind, count)| (kind.as_str().to_owned(), json!(count))).collect();
    json!({
        "holds": found.holds(),
        "sealed": found.sealed,
        "checked": found.checked,
        "head": found.head.map(|head| json!({"seq": head.seq, "link": head.link.to_string()})),
        "keys": found.keys,
        "faults": found.faults,
        "totals": totals,
        "notes": found.notes,
        "elapsed_s": took.as_secs_f64(),
    })
}

/// How much of each kind was read.
fn counts(checked: &Checked, say: &mut dyn FnMut(&str, String)) {
    say(
        "records",
        format!(
            "{} in {}, {} bytes",
            many(checked.lines, "line"),
            many(checked.records_files, "file"),
            checked.records_bytes
        ),
    );
    if checked.erased > 0 {
        let kept = match checked.amended {
            0 => String::new(),
            n => format!("; {n} of them keep a record without the page that led to it"),
        };
        say("erased", format!("{} of the lines: their links hold, their content is gone{kept}", checked.erased));
    }
    if checked.payloads_erased > 0 {
        say("erased", format!("{} bodies of lines that stay", checked.payloads_erased));
    }
    if checked.erasures > 0 {
        say("erasures", format!("{} records say what was erased, and why", checked.erasures));
    }
    say(
        "WARC",
        format!(
            "{} in {}, {} bytes",
            many(checked.warc_records, "record"),
            many(checked.warc_files, "file"),
            checked.warc_bytes
        ),
    );
    say(
        "evidence",
        format!(
            "{}, {} bytes, {}",
            many(checked.copies, "copy"),
            checked.copy_bytes,
            many(checked.sightings, "sighting")
        ),
    );
    say("checkpoints", format!("{}, over {}", checked.checkpoints, many(checked.summed_files, "file")));
}

fn text(found: &Verification, took: Duration) -> String {
    let checked = &found.checked;
    let mut lines = Vec::new();
    // Names of files and texts of sites come from outside.
    let mut say = |label: &str, value: String| lines.push(format!("{label:12} {}", visible(&value)));
    counts(checked, &mut say);
    match found.keys.as_slice() {
        [] => say("signatures", "none".to_owned()),
        keys => say(
            "signatures",
            format!("{} of {} checkpoints, by {}", checked.signed, checked.checkpoints, keys.join(", ")),
        ),
    }
    if let Some(head) = found.head {
        say("head", format!("line {}, {}", head.seq, head.link));
    }
    let inflated = checked.line_bytes + checked.block_bytes + checked.copy_bytes;
    let rate = inflated as f64 / 1e6 / took.as_secs_f64().max(1e-6);
    say("took", format!("{:.1} s, {rate:.0} MB/s of what was inflated", took.as_secs_f64()));
    found.notes.iter().for_each(|note| say("note", note.clone()));
    for fault in &found.faults {
        let more = found.totals.get(&fault.kind).copied().unwrap_or(1).saturating_sub(1);
        let more = if more > 0 { format!(" (and {more} more of the kind)") } else { String::new() };
        say("FAULT", format!("{fault}{more}"));
    }
    let verdict = match (found.holds(), found.sealed) {
        (true, true) => "everything holds",
        (true, false) => {
            "what is there fits together, and no checkpoint covers all of it: the notes say what anybody could have appended"
        }
        (false, _) => "it does not hold: each line above is the first fault of its kind",
    };
    lines.push(verdict.to_owned());
    lines.join("\n")
}
