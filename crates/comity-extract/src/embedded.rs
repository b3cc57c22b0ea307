//! Words about use that are embedded in what is no page: known at its end only.

use comity_signals::EmbeddedFacts;

use crate::epub::EpubScan;
use crate::xmp::XmpScan;

/// Looks for them in bytes that come in pieces.
#[derive(Debug)]
pub(crate) enum Embedded {
    /// Packets of XMP, in PDF and images.
    Xmp(XmpScan),
    /// The package document of an EPUB.
    Epub(EpubScan),
}

impl Embedded {
    /// `None` for documents of a type that carries none.
    pub(crate) fn of(content_type: Option<&str>) -> Option<Self> {
        let essence = content_type.unwrap_or_default().split([';', ',']).next().unwrap_or_default().trim();
        let is = |name: &str| essence.eq_ignore_ascii_case(name);
        let is_image = essence.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"));
        if is_image || is("application/pdf") {
            Some(Self::Xmp(XmpScan::default()))
        } else {
            is("application/epub+zip").then(|| Self::Epub(EpubScan::default()))
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Xmp(scan) => scan.push(bytes),
            Self::Epub(scan) => scan.push(bytes),
        }
    }

    pub(crate) fn finish(self) -> EmbeddedFacts {
        match self {
            Self::Xmp(scan) => scan.finish(),
            Self::Epub(scan) => scan.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_carries_words_is_searched() {
        let rows = [
            ("application/pdf", true),
            ("Image/PNG; x=y", true),
            ("application/epub+zip", true),
            ("text/html", false),
            ("application/pdfx", false),
        ];
        for (kind, wanted) in rows {
            assert_eq!(Embedded::of(Some(kind)).is_some(), wanted, "{kind}");
        }
        assert!(Embedded::of(None).is_none());
    }
}
