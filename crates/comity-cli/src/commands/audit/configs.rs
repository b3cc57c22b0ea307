//! The configurations that records name: what was granted, what was read in terms, and what silence stood for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use comity::config::{ConfigFile, SignalSettings};
use comity::policy::{Grants, Reviews};
use comity_archive::QueryForm;
use sha2::{Digest as _, Sha256};

/// What of a configuration decides.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    pub(super) grants: Grants,
    pub(super) reviews: Reviews,
    pub(super) signals: SignalSettings,
    /// What is written of queries.
    pub(super) queries: QueryForm,
    /// Whether it says what is made of groups for the agents of others: earlier versions recorded nothing of them.
    pub(super) knows_of_others: bool,
    /// Whether it says what is asked for beside robots.txt: earlier versions asked for nothing.
    pub(super) knows_of_files: bool,
    /// Whether it says that a level of use may be declared: earlier versions recorded no constraints and oddities.
    pub(super) knows_of_remarks: bool,
    pub(super) looked: Looked,
}

/// How far its version looked for what an answer says of its own use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// At fields and metas.
    AtHeads,
    /// Into documents and images, too.
    Within,
}

/// Configurations by digest, each read once.
#[derive(Debug)]
pub(super) struct Configs {
    dir: PathBuf,
    known: HashMap<String, Option<Decided>>,
}

impl Configs {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), known: HashMap::new() }
    }

    /// `D/configs/SHA256.toml`, or `D/crawl.toml` where that is it; `None` when neither is there, or is not what its name says.
    pub(super) fn of(&mut self, digest: &str) -> Option<&Decided> {
        let dir = &self.dir;
        self.known.entry(digest.to_owned()).or_insert_with(|| read(dir, digest)).as_ref()
    }
}

fn read(dir: &Path, digest: &str) -> Option<Decided> {
    // Of outside bytes only a name of this form becomes a path.
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let places = [dir.join("configs").join(format!("{digest}.toml")), dir.join("crawl.toml")];
    let text = places.into_iter().filter(|_| is_digest).find_map(|path| {
        let bytes = std::fs::read(path).ok()?;
        let found = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
        (found == digest).then(|| String::from_utf8(bytes).ok())?
    })?;
    let file = ConfigFile::parse(&text, None).ok()?;
    let (grants, reviews) = (file.read_grants().ok()?, file.read_reviews().ok()?);
    let knows_of_others = file.signals.infer_from_ai_tokens.is_some();
    let knows_of_files = file.signals.tdmrep.is_some();
    let knows_of_remarks = file.signals.content_use_level.is_some();
    let queries = match file.archive.query.as_deref() {
        None | Some("keep") => QueryForm::Keep,
        Some("hash") => QueryForm::Hash,
        Some(_) => QueryForm::Drop,
    };
    // Both came with one version.
    let looked = if file.signals.trust_txt.is_some() { Looked::Within } else { Looked::AtHeads };
    let signals = file.read_signals().ok()?;
    Some(Decided { grants, reviews, signals, queries, knows_of_others, knows_of_files, knows_of_remarks, looked })
}
