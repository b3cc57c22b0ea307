use std::path::{Path, PathBuf};
use std::process::Command;

/// Who crawls.
pub enum Contestant {
    /// A client that is told every URL: what fetching alone costs.
    Bare,
    /// The same with the allocator of the command `comity`.
    BareJemalloc,
    /// The library, with the system's allocator.
    Comity,
    /// With the one of the command.
    ComityJemalloc,
    Spider(String),
    Scrapy {
        python: String,
        script: String,
    },
}

impl Contestant {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::BareJemalloc => "bare, jemalloc",
            Self::Comity => "comity",
            Self::ComityJemalloc => "comity, jemalloc",
            Self::Spider(_) => "spider",
            Self::Scrapy { .. } => "scrapy",
        }
    }

    /// Whether a crawl of the whole web would take minutes.
    pub const fn is_slow(&self) -> bool {
        matches!(self, Self::Scrapy { .. })
    }

    /// Whether it decides by itself what it asks for, and when.
    pub const fn is_crawler(&self) -> bool {
        !matches!(self, Self::Bare | Self::BareJemalloc)
    }

    /// Crawls the web whose seeds are in `dir`, for so many seconds at the most.
    pub fn command(&self, dir: &Path, seconds: u64) -> Command {
        let mut measure = Command::new(beside("crawl-measure"));
        // It ends by itself; if it does not, it is ended.
        measure.arg((seconds + 5).to_string());
        match self {
            Self::Bare => measure.arg(beside("crawl-bare")),
            Self::BareJemalloc => measure.arg(beside("crawl-bare-jemalloc")),
            Self::Comity => measure.arg(beside("crawl-comity")),
            Self::ComityJemalloc => measure.arg(beside("crawl-comity-jemalloc")),
            Self::Spider(program) => measure.arg(program),
            Self::Scrapy { python, script } => measure.args([python, script]),
        };
        measure.arg(dir).arg(seconds.to_string());
        measure
    }
}

/// Another program of this package.
pub fn beside(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program has a path").with_file_name(name)
}
