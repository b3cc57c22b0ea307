//! Guards against URL spaces without end.

use std::fmt;

use crate::CrawlUrl;
use crate::canonical::normal_escapes;

/// The longest run of segments that is looked for when it repeats. Our choice: it bounds the work to
/// 32 passes over the path, and loops of links are shorter.
const LONGEST_RUN: usize = 32;

/// Bounds on the shape of a URL, checked before it is queued (design §7, traps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrapLimits {
    /// The most path segments; an empty segment counts, the end after a last `/` does not.
    /// `/` has 0, `/a/` 1, `/a//b` 3. Default 20, as Heritrix (`TooManyPathSegmentsDecideRule`).
    pub max_path_segments: usize,
    /// The most bytes of the whole URL. Default 2,083: the longest that Internet Explorer took, which
    /// Scrapy and others keep as their bound.
    pub max_url_bytes: usize,
    /// How often one run of 1 to 32 segments may stand in a row; 0 turns the guard off. Default 2: the third
    /// time is a loop, as in Heritrix (`PathologicalPathDecideRule`). `/2020/01/01/` passes,
    /// `/a/b/a/b/a/b` does not. Segments are compared in canonical form.
    pub max_repeated_segments: usize,
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self { max_path_segments: 20, max_url_bytes: 2083, max_repeated_segments: 2 }
    }
}

impl TrapLimits {
    /// Checks length, then segments, then repetition. Linear in the length of the URL.
    ///
    /// # Errors
    /// The first bound the URL goes beyond.
    pub fn check(&self, url: &CrawlUrl) -> Result<(), Trap> {
        let len = url.as_str().len();
        if len > self.max_url_bytes {
            return Err(Trap::Length { len, max: self.max_url_bytes });
        }
        let count = count_segments(url.path());
        if count > self.max_path_segments {
            return Err(Trap::Segments { count, max: self.max_path_segments });
        }
        // The common case: too few segments for one of them to stand too often in a row.
        if count <= self.max_repeated_segments {
            return Ok(());
        }
        let path = normal_escapes(url.path());
        match repeated_run(&segments(&path), self.max_repeated_segments) {
            None => Ok(()),
            Some(run) => Err(Trap::Repeated { run: run.join("/"), max: self.max_repeated_segments }),
        }
    }
}

/// Why a URL looks like part of an endless space: a refusal with its evidence, not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trap {
    /// Longer than a page's URL is.
    Length {
        /// Length, in bytes.
        len: usize,
        /// The bound, in bytes.
        max: usize,
    },
    /// Deeper than a page's path is.
    Segments {
        /// Segments found.
        count: usize,
        /// The bound.
        max: usize,
    },
    /// One run of segments stands too often in a row.
    Repeated {
        /// The run, joined by `/`, in canonical form; the shortest one that repeats.
        run: String,
        /// How often it may stand in a row.
        max: usize,
    },
}

impl Trap {
    /// The reason code that records carry: `url.length`, `url.trap.segments` or `url.trap.repeated`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "url.length",
            Self::Segments { .. } => "url.trap.segments",
            Self::Repeated { .. } => "url.trap.repeated",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len, max } => write!(f, "URL: {len} bytes, at most {max} are crawled"),
            Self::Segments { count, max } => write!(f, "path: {count} segments, at most {max} are crawled"),
            Self::Repeated { run, max } => {
                write!(f, "path: \"/{run}\" stands more than {max} times in a row")
            }
        }
    }
}

/// How many [`segments`] a path has. Escapes change nothing: a `/` is never made of one.
fn count_segments(path: &str) -> usize {
    path.bytes().filter(|byte| *byte == b'/').count() - usize::from(path.ends_with('/'))
}

/// `path` begins with `/`. The end after a last `/` is no segment.
fn segments(path: &str) -> Vec<&str> {
    let mut segments: Vec<&str> = path.split('/').skip(1).collect();
    segments.pop_if(|last| last.is_empty());
    segments
}

/// The shortest run of segments that stands more than `max` times in a row.
fn repeated_run<'a, 's>(segments: &'s [&'a str], max: usize) -> Option<&'s [&'a str]> {
    let times = max.checked_add(1).filter(|_| max > 0)?;
    let longest = LONGEST_RUN.min(segments.len() / times);
    (1..=longest).find_map(|run| repeated_run_of(segments, run, run * max))
}

/// A run of `run` segments stands too often once `needed` segments in a row equal the one `run` further on.
fn repeated_run_of<'a, 's>(segments: &'s [&'a str], run: usize, needed: usize) -> Option<&'s [&'a str]> {
    let mut equal = 0;
    for (end, (segment, next)) in (1..).zip(segments.iter().zip(segments.iter().skip(run))) {
        equal = if segment == next { equal + 1 } else { 0 };
        if equal == needed {
            let start = end - needed;
            return segments.get(start..start + run);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_counted_as_they_are_listed() {
        for path in ["/", "//", "///", "/a", "/a/", "/a//b", "/a/%2F/b/", "/%2f%7e", "/a/b/c/d/e", "/%"] {
            assert_eq!(count_segments(path), segments(&normal_escapes(path)).len(), "{path}");
        }
    }
}
