//! `comity new NAME`: a crate of one's own, with its settings, the page about it, and a test on the synthetic web.

use std::path::{Component, Path, PathBuf};

use comity::config::{ConfigFile, CrawlConfig};
use comity::policy::Clock as _;

use super::{identity, print};
use crate::args::NewArgs;
use crate::exit::{Exit, Failure};
use crate::settings;

/// Path in the crate, and what stands there.
const FILES: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("README.md", include_str!("template/README.md.in")),
    (".gitignore", include_str!("template/gitignore.in")),
    (".github/workflows/ci.yml", include_str!("template/ci.yml.in")),
    ("crawl.toml", include_str!("template/crawl.toml.in")),
    ("src/lib.rs", include_str!("template/src/lib.rs.in")),
    ("src/main.rs", include_str!("template/src/main.rs.in")),
    ("tests/polite.rs", include_str!("template/tests/polite.rs.in")),
];

/// The page about the crawler.
const PAGE: &str = "web/index.html";
/// Where nothing is known of the operator yet.
const TO_FILL_IN: &str = "https://example.com/bot";

/// `comity new`.
pub(crate) fn run(args: &NewArgs) -> Result<Exit, Failure> {
    check_name(&args.name)?;
    let dir = PathBuf::from(&args.name);
    if dir.exists() {
        return Err(
            Failure::usage(format!("{} exists already", dir.display())).hint("choose another name, or move it away")
        );
    }
    let checkout = Checkout::find(args.comity.as_deref(), &args.name)?;
    let own = settings::of_user()?.agent;
    let agent = args.agent.clone().or(own.name).unwrap_or_else(|| agent_of(&args.name));
    let contact = args.contact.clone().or(own.contact).unwrap_or_else(|| TO_FILL_IN.to_owned());
    let filled = |text: &str| {
        text.replace("{{name}}", &args.name)
            .replace("{{crate}}", &args.name.replace('-', "_"))
            .replace("{{agent}}", &agent)
            .replace("{{contact}}", &contact)
            .replace("{{comity}}", &checkout.dependency("comity"))
            .replace("{{testweb}}", &checkout.dependency("comity-testweb"))
            .replace("{{workspace}}", checkout.workspace())
    };
    let files: Vec<(&str, String)> = FILES.iter().map(|(path, text)| (*path, filled(text))).collect();
    // The settings are checked before anything is written, with the words of the crawl itself.
    let settings =
        files.iter().find(|(path, _)| *path == "crawl.toml").map(|(_, text)| text.as_str()).unwrap_or_default();
    let config = CrawlConfig::resolve(ConfigFile::parse(settings, None)?)?;
    let page = identity::page_of(&config, &contact, comity_fetch::SystemClock::new().wall());
    for (path, text) in files.iter().map(|(path, text)| (*path, text)).chain([(PAGE, &page)]) {
        write(&dir.join(path), text)?;
    }
    let to_fill = if contact == TO_FILL_IN { "\nfirst: put your own contact into crawl.toml" } else { "" };
    // Sites know it by this name, which the one of the crate need not be.
    let calls = format!("it calls itself {agent}, and says {contact} (--agent, --contact, or crawl.toml)");
    print(&format!("wrote {}\n{calls}{to_fill}\nnext: cd {} && cargo test", dir.display(), dir.display()))?;
    Ok(Exit::Done)
}

/// What cargo takes as a name, and what a product token can be made of.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_taken = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    if starts_well && name.len() <= 64 && name.bytes().all(is_taken) && !name.ends_with('-') {
        return Ok(());
    }
    Err(Failure::usage(format!("{name:?} is no name of a crate"))
        .hint("lower-case letters, digits and -, as my-crawler"))
}

/// `my-crawler`: `MyCrawler/0.1.0`. Digits are left out, since a product token has none (RFC 9309 §2.2.1).
fn agent_of(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars().filter(|letter| !letter.is_ascii_digit());
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect::<String>())
    };
    format!("{}/0.1.0", name.split('-').map(capital).collect::<String>())
}

/// The checkout of comity that the crate depends on. Nothing of ours is on crates.io: a version there would be nobody's, or
/// whoever took the name.
struct Checkout {
    /// As seen from the new crate, or whole.
    path: PathBuf,
    /// Whether the new crate lies in it without being one of its members.
    surrounds: bool,
}

impl Checkout {
    /// `given` is seen from where it was typed.
    fn find(given: Option<&Path>, name: &str) -> Result<Self, Failure> {
        let Some(given) = given else {
            let how = format!("git clone {} and then: comity new {name} --comity comity", env!("CARGO_PKG_REPOSITORY"));
            return Err(Failure::usage("the crate needs a checkout of comity, which is not on crates.io").hint(how));
        };
        let shown = given.display();
        if !given.join("crates/comity/Cargo.toml").is_file() {
            return Err(Failure::usage(format!("{shown} is no checkout of comity: it has no crates/comity"))
                .hint("give the folder that `git clone` made, as seen from here or whole"));
        }
        let whole =
            |path: &Path| path.canonicalize().map_err(|error| Failure::usage(format!("{}: {error}", path.display())));
        let (checkout, here) = (whole(given)?, whole(Path::new("."))?);
        let is_member = MEMBERS.iter().any(|folder| here == checkout.join(folder));
        let path = if given.is_absolute() { given.to_owned() } else { from_within(given) };
        Ok(Self { path, surrounds: here.starts_with(&checkout) && !is_member })
    }

    fn dependency(&self, package: &str) -> String {
        format!("{{ path = {:?} }}", self.path.join("crates").join(package).display().to_string())
    }

    /// A crate inside of somebody else's workspace says that it is its own.
    const fn workspace(&self) -> &'static str {
        if self.surrounds { "\n[workspace]\n" } else { "" }
    }
}

/// Folders of the checkout whose crates are members of its workspace.
const MEMBERS: [&str; 2] = ["crates", "examples"];

/// A path from here, as seen from a folder in here.
fn from_within(path: &Path) -> PathBuf {
    let named = path.components().filter(|part| *part != Component::CurDir);
    Path::new("..").components().chain(named).collect()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| Failure::storage(format!("{} cannot be written: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_crate() {
        for (typed, written) in
            [(".", ".."), ("./", ".."), ("comity", "../comity"), ("../..", "../../.."), ("./a/b", "../a/b")]
        {
            assert_eq!(from_within(Path::new(typed)), Path::new(written), "{typed}");
        }
    }

    #[test]
    fn names_are_crates_and_make_user_agents() {
        for (name, agent) in [("my-crawler", "MyCrawler/0.1.0"), ("bot2", "Bot/0.1.0"), ("a", "A/0.1.0")] {
            assert!(check_name(name).is_ok());
            assert_eq!(agent_of(name), agent);
        }
        for name in ["", "My", "2bot", "a_b", "a/b", "..", "a-", "-a", "ä"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
