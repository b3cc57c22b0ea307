//! Words about use that are embedded in what is no page: known at its end only.

use comity_signals::EmbeddedFacts;

use crate::epub::EpubScan;
use crate::xmp::XmpScan;

/// Bytes that are looked at in one go: a piece may be a whole document, and is neither copied nor searched as one.
const BLOCK: usize = 16 * 1024;

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
        for block in bytes.chunks(BLOCK) {
            match self {
                Self::Xmp(scan) => scan.push(block),
                Self::Epub(scan) => scan.push(block),
            }
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

    /// Counted, not timed: bytes that are moved or searched grow with the document, and not with its square, whether it comes as one
    /// piece or in many.
    #[test]
    fn what_is_hostile_takes_work_in_proportion() {
        let local = |name: &[u8], extra: u16| {
            let name_bytes = u16::try_from(name.len()).unwrap().to_le_bytes();
            [b"PK\x03\x04", &[0; 4][..], &[8], &[0; 17], &name_bytes, &extra.to_le_bytes(), name].concat()
        };
        let most = 1 << 20;
        let repeated = |bytes: &[u8]| bytes.repeat(most / bytes.len());
        let heads = repeated(b"PK\x03\x04");
        let rows = [
            ("heads and nothing else", "application/epub+zip", heads.clone()),
            ("heads with long extra fields", "application/epub+zip", repeated(&local(b"a", u16::MAX))),
            (
                "documents, and heads behind each",
                "application/epub+zip",
                repeated(&[local(b".opf", 0), heads[..4096].to_vec()].concat()),
            ),
            ("a document that is nothing but heads", "application/epub+zip", [local(b".opf", 0), heads].concat()),
            ("packets that begin", "application/pdf", repeated(b"<?xpacket begin")),
            ("packets that begin and end", "image/png", repeated(b"<?xpacket begin?><?xpacket end?>")),
            (
                "ends, and one begin",
                "application/pdf",
                repeated(&[b"<?xpacket begin".to_vec(), b"<?xpacket en".repeat(30_000)].concat()),
            ),
        ];
        for (name, kind, bytes) in rows {
            for len in [bytes.len(), 128 * 1024, 1000] {
                let mut scan = Embedded::of(Some(kind)).unwrap();
                bytes.chunks(len).for_each(|piece| scan.push(piece));
                let (Embedded::Xmp(XmpScan { held, .. }) | Embedded::Epub(EpubScan { held, .. })) = &scan;
                let work = held.work.get();
                assert!(work <= 4 * bytes.len(), "{name}, in pieces of {len}: {work} for {}", bytes.len());
                assert!(held.rest().len() <= 600 * 1024, "{name}, in pieces of {len}: {}", held.rest().len());
            }
        }
    }
}
