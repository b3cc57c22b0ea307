//! One link of a page.

use comity_url::{CrawlUrl, SuspiciousReference};

use crate::Rel;

/// One reference of a page to another resource, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// Where it leads: http or https, fragment off.
    pub url: CrawlUrl,
    /// The reference as the page has it, entities decoded, white space kept; never resolved twice.
    pub reference: Box<str>,
    /// The element it stands on.
    pub tag: LinkTag,
    /// The link types of the element; empty where the element has none.
    pub rel: Rel,
    /// The language of the target, as the element says it (`hreflang`), at most 128 bytes: of `a`, `area`, `link`, and
    /// `Link` fields.
    pub hreflang: Option<Box<str>>,
    /// The media type of the target, as the element says it (`type`), at most 128 bytes; of the same elements.
    pub media_type: Option<Box<str>>,
    /// Why the reference looks like a slip of the author; such links are not followed by default.
    pub suspicious: Option<SuspiciousReference>,
}

impl Link {
    /// Whether a crawler follows it by default: it leads to a document (`a`, `area`, `iframe`, `frame`,
    /// meta refresh, a form or a URL in text where they are read, `link` and `Link` fields with a type that makes a hyperlink) and is not suspicious.
    ///
    /// `rel=nofollow` is not counted here, as operators may choose to follow such links: see
    /// [`Link::is_nofollow`].
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.suspicious.is_none() && self.tag.leads_to_document(self.rel)
    }

    /// What kind of terms it leads to, where its link type says so: `terms-of-service` or `license`. What is marked as RSL is no
    /// prose, and none of these.
    #[must_use]
    pub fn terms(&self) -> Option<&'static str> {
        if !matches!(self.tag, LinkTag::A | LinkTag::Area | LinkTag::Link | LinkTag::Header) {
            None
        } else if self.rel.contains(Rel::TERMS_OF_SERVICE) {
            Some("terms-of-service")
        } else if self.rel.contains(Rel::LICENSE) && self.media_type.as_deref() != Some("application/rsl+xml") {
            Some("license")
        } else {
            None
        }
    }

    /// Whether the element says `rel=nofollow`.
    #[must_use]
    pub fn is_nofollow(&self) -> bool {
        self.rel.contains(Rel::NOFOLLOW)
    }
}

/// The element a link stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkTag {
    /// `a[href]`, in HTML and SVG (there also `xlink:href`).
    A,
    /// `area[href]`.
    Area,
    /// `link[href]`; its [`Rel`] says what it is.
    Link,
    /// `meta[http-equiv=refresh]`.
    Meta {
        /// Seconds before a browser goes there. 0 is a redirect in all but name; long ones are links.
        delay: u32,
    },
    /// `iframe[src]`.
    Iframe,
    /// `frame[src]`.
    Frame,
    /// `img[src]`, each candidate of `img[srcset]`.
    Img,
    /// `source[src]`, each candidate of `source[srcset]`.
    Source,
    /// `video[src]` and `video[poster]`.
    Video,
    /// `audio[src]`.
    Audio,
    /// `track[src]`.
    Track,
    /// `embed[src]`.
    Embed,
    /// `object[data]`.
    Object,
    /// A `Link` field of the response (RFC 8288); its [`Rel`] says what it is.
    Header,
    /// SVG `image`.
    SvgImage,
    /// SVG `use` of another document.
    SvgUse,
    /// A form that is sent with GET: `form[action]`, `formaction` of its buttons. Off by default:
    /// [`PageOptions::with_forms`](crate::PageOptions::with_forms).
    Form,
    /// A URL in running text. Off by default: [`PageOptions::with_text_urls`](crate::PageOptions::with_text_urls).
    Text,
}

impl LinkTag {
    /// The element's name; `header` for a `Link` field, `form` for its buttons too, `text` for running text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::Area => "area",
            Self::Link => "link",
            Self::Meta { .. } => "meta",
            Self::Iframe => "iframe",
            Self::Frame => "frame",
            Self::Img => "img",
            Self::Source => "source",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Track => "track",
            Self::Embed => "embed",
            Self::Object => "object",
            Self::Header => "header",
            Self::SvgImage => "image",
            Self::SvgUse => "use",
            Self::Form => "form",
            Self::Text => "text",
        }
    }

    pub(crate) fn leads_to_document(self, rel: Rel) -> bool {
        match self {
            Self::A | Self::Area | Self::Meta { .. } | Self::Iframe | Self::Frame | Self::Form | Self::Text => true,
            Self::Link | Self::Header => rel.is_document(),
            _ => false,
        }
    }
}
