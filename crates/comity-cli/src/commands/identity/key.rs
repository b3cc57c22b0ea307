use std::path::Path;

use comity_fetch::signature::{KeyError, SigningKey};
use serde_json::json;

use super::super::print;
use crate::args::KeyNewArgs;
use crate::exit::{Exit, Failure};

/// `comity identity key new FILE`.
pub(crate) fn new(args: &KeyNewArgs) -> Result<Exit, Failure> {
    let file = args.file.display();
    let key = SigningKey::create(&args.file).map_err(|error| match error {
        KeyError::File(_) | KeyError::NoEntropy => Failure::storage(format!("{file}: {error}")).hint(error.hint()),
        _ => refused(&args.file, &error),
    })?;
    let whole = std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone());
    print(&if args.json {
        json!({"file": whole, "keyid": key.thumbprint(), "x": key.public()}).to_string()
    } else {
        format!(
            "wrote {file} (Ed25519, mode 0600)\n  keyid {}\nnext: [agent] signing_key = \"{}\", signature_agent = \
             \"https://…\"; then comity identity page --dir DIR",
            key.thumbprint(),
            whole.display()
        )
    })?;
    Ok(Exit::Done)
}

/// A key file that cannot be used.
pub(super) fn refused(file: &Path, error: &KeyError) -> Failure {
    Failure::usage(format!("{}: {error}", file.display())).hint(error.hint())
}
