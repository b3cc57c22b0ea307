use std::fs;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use toml::Table;

use super::chain::Broken;
use super::crawl::{Crawl, Under};
use super::facts::Fact;
use super::terms::TermsSeen;

/// Longest configuration that is read: that of the crawl directory.
const LONGEST: u64 = 64 << 20;

/// A configuration of the crawl.
pub(super) struct Config<'a> {
    pub(super) digest: String,
    /// The records under it; `None` for one that no record names.
    pub(super) under: Option<&'a Under>,
    /// What it says; a text tells why that cannot be said.
    pub(super) text: Result<Table, String>,
    /// Whether it is what `crawl.toml` holds.
    pub(super) stands: bool,
    /// Its reviews of terms whose text is another by now.
    pub(super) outdated: Vec<Fact>,
}

impl<'a> Config<'a> {
    fn new(
        digest: String,
        under: Option<&'a Under>,
        stands: bool,
        text: Result<Table, String>,
        seen: &TermsSeen,
    ) -> Self {
        let outdated = text.as_ref().map(|text| seen.outdated(text)).unwrap_or_default();
        Self { digest, under, text, stands, outdated }
    }
}

/// Every configuration that a record names, in the order of their first records, then those that none names.
///
/// # Errors
/// When a file is not what its name says, or `crawl.toml` not what the crawl ran under.
pub(super) fn configs<'a>(dir: &Path, crawl: &'a Crawl) -> Result<Vec<Config<'a>>, Broken> {
    let mark = dir.join("crawl.toml").is_file().then(|| read(&dir.join("crawl.toml"))).transpose()?;
    let now = mark.as_ref().map(|(digest, _)| digest.clone());
    let last = crawl.under.iter().max_by_key(|under| under.last.0).map(|under| under.digest.clone());
    let sealed = crawl.places.config.map(|digest| digest.to_string());
    if let Some(now) = &now
        && (last.is_some() || sealed.is_some())
        && ![&last, &sealed].contains(&&Some(now.clone()))
    {
        return Err(format!(
            "crawl.toml has the digest {now}: neither the last checkpoint nor the last record names it"
        ));
    }
    let of = |digest: &str| -> Result<Result<Table, String>, Broken> {
        let kept = dir.join("configs").join(format!("{digest}.toml"));
        let text = match &mark {
            Some((now, text)) if now == digest => text.clone(),
            _ if !kept.is_file() => return Ok(Err(gone(crawl, digest))),
            _ => read(&kept).and_then(|(found, text)| {
                let problem = || format!("configs/{digest}.toml is not what its name says: its digest is {found}");
                if found == digest { Ok(text) } else { Err(problem()) }
            })?,
        };
        Ok(text.parse::<Table>().map_err(|e| format!("It is no TOML: {}.", e.message())))
    };
    let (seen, mut all) = (TermsSeen::read(dir), Vec::new());
    for under in &crawl.under {
        let digest = under.digest.clone();
        let stands = now.as_ref() == Some(&digest);
        let text = of(&digest)?;
        all.push(Config::new(digest, Some(under), stands, text, &seen));
    }
    let mut others: Vec<String> = kept(dir)?.into_iter().chain(now.clone()).collect();
    others.retain(|digest| crawl.under.iter().all(|under| under.digest != *digest));
    others.sort();
    others.dedup();
    for digest in others {
        let stands = now.as_ref() == Some(&digest);
        let text = of(&digest)?;
        all.push(Config::new(digest, None, stands, text, &seen));
    }
    Ok(all)
}

fn gone(crawl: &Crawl, digest: &str) -> String {
    crawl.lost.get(digest).map_or_else(
        || "What it said is not recorded: the crawl does not hold it.".to_owned(),
        |erasure| format!("What it said is gone: it was erased by {erasure}."),
    )
}

/// Digest and text.
pub(super) fn read(path: &Path) -> Result<(String, String), Broken> {
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut text = String::new();
    fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)).map_err(wrong)?;
    Ok((digest(&text), text))
}

/// The name of a configuration.
pub(super) fn digest(text: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

/// Digests of the configurations that are kept.
fn kept(dir: &Path) -> Result<Vec<String>, Broken> {
    let folder = dir.join("configs");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut digests = Vec::new();
    for entry in fs::read_dir(&folder).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name().to_string_lossy().into_owned();
        digests.extend(name.strip_suffix(".toml").map(ToOwned::to_owned));
    }
    Ok(digests)
}
