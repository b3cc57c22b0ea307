use comity_policy::Identity;

use super::text::one_line;
use crate::CrawlFacts;

/// What writes the files: name and version.
pub(crate) const SOFTWARE: &str = concat!("comity/", env!("CARGO_PKG_VERSION"));

/// The specification that the files follow.
pub(crate) const CONFORMS_TO: &str = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";

/// The block of a warcinfo record (archive reference §1).
pub(crate) fn warcinfo(crawl: &CrawlFacts) -> String {
    let mut fields = Fields::default();
    // First of all: who reads the files has to know what was bent.
    for one in crawl.overrides.all() {
        fields.push("comity-override", &one.to_string());
    }
    fields.push("software", SOFTWARE);
    fields.push("format", "WARC File Format 1.1");
    fields.push("conformsTo", CONFORMS_TO);
    fields.push("robots", &crawl.robots);
    fields.push("http-header-user-agent", &crawl.identity.user_agent());
    fields.push_some("http-header-from", crawl.from.as_deref());
    fields.push_some("operator", crawl.operator.as_deref());
    fields.push("comity-contact", crawl.identity.contact());
    fields.push("isPartOf", &crawl.id);
    fields.push_some("description", crawl.description.as_deref());
    push_identity(&mut fields, &crawl.identity);
    fields.push("comity-digests", "sha1 in base32, sha256 in hex");
    fields.push_some("comity-policy-digest", crawl.config_digest.map(|d| format!("sha256:{d}")).as_deref());
    fields.text
}

fn push_identity(fields: &mut Fields, identity: &Identity) {
    for token in identity.tokens() {
        fields.push("comity-agent-token", token.as_str());
    }
    for purpose in identity.purposes() {
        fields.push("comity-purpose", purpose.as_str());
    }
}

/// A block of `application/warc-fields`: one `name: value` a line, repeats allowed.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) text: String,
}

impl Fields {
    /// With room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
    }

    /// Adds a field; the value is kept on its line.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        self.text.push_str(": ");
        self.text.push_str(&one_line(value));
        self.text.push_str("\r\n");
    }

    /// Adds a field if there is a value.
    pub(crate) fn push_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }
}
