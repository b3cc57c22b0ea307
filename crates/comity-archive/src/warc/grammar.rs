use super::text::{is_plain, target_uri};

/// The record types that comity writes (archive reference §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarcType {
    Warcinfo,
    Request,
    Response,
    Revisit,
    Metadata,
}

impl WarcType {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Warcinfo => "warcinfo",
            Self::Request => "request",
            Self::Response => "response",
            Self::Revisit => "revisit",
            Self::Metadata => "metadata",
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Warcinfo | Self::Metadata => "application/warc-fields",
            Self::Request => "application/http; msgtype=request",
            Self::Response | Self::Revisit => "application/http; msgtype=response",
        }
    }

    /// warcinfo and metadata have no payload by definition, so no payload digest either.
    pub(crate) const fn has_payload(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Revisit)
    }
}

/// The header of one record while it is put together. Values are made safe here, and only here.
#[derive(Clone, Debug)]
pub(crate) struct RecordHeader {
    text: String,
}

impl RecordHeader {
    /// Version line and the mandatory fields but `Content-Length`.
    pub(crate) fn new(kind: WarcType, id: &str, date: &str) -> Self {
        let mut header = Self { text: String::with_capacity(768) };
        header.text.push_str("WARC/1.1\r\n");
        header.push("WARC-Type", kind.as_str());
        header.push("WARC-Record-ID", id);
        header.push("WARC-Date", date);
        header
    }

    /// Adds a field. CR, LF and other controls of the value become spaces: no value can start a field of its own.
    pub(crate) fn push(&mut self, name: &'static str, value: &str) {
        self.text.push_str(name);
        self.text.push_str(": ");
        if is_plain(value) {
            self.text.push_str(value);
        } else {
            self.text.extend(value.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
        self.text.push_str("\r\n");
    }

    /// Adds a field if there is a value.
    pub(crate) fn push_some(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// Adds `WARC-Target-URI` as RFC 3986 wants it.
    pub(crate) fn push_target(&mut self, url: &str) {
        self.push("WARC-Target-URI", &target_uri(url));
    }

    /// Closes the header: `Content-Type`, `Content-Length`, the empty line.
    pub(crate) fn finish(mut self, kind: WarcType, len: u64) -> String {
        self.push("Content-Type", kind.content_type());
        self.push("Content-Length", &len.to_string());
        self.text.push_str("\r\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_starts_a_field_of_its_own() {
        let mut header = RecordHeader::new(WarcType::Metadata, "<urn:uuid:0>", "2026-11-30T00:00:00.000Z");
        header.push("WARC-Filename", "a\r\nWARC-Type: evil\0\n");
        let text = header.finish(WarcType::Metadata, 7);
        assert_eq!(text.matches("\r\n").count(), 8, "{text}");
        assert!(text.contains("WARC-Filename: a  WARC-Type: evil  \r\n"));
        assert!(text.ends_with("Content-Type: application/warc-fields\r\nContent-Length: 7\r\n\r\n"));
    }
}
