//! What else is read as a link.

/// What a page is read for beside its links. All off by default; what is off costs nothing.
///
/// ```
/// use comity_extract::{LinkTag, PageLimits, PageOptions, PageReader};
/// use comity_url::CrawlUrl;
///
/// let url = CrawlUrl::parse("https://example.com/")?;
/// let options = PageOptions::default().with_forms(true).with_text_urls(true);
/// let mut reader = PageReader::with_options(&url, Some("text/html"), PageLimits::default(), options);
/// reader.push(b"<form action=/find><input name=q></form> or see https://example.com/all.");
/// let links = reader.finish().links;
///
/// assert_eq!((links[0].tag, links[0].url.as_str()), (LinkTag::Form, "https://example.com/find"));
/// assert_eq!((links[1].tag, links[1].url.as_str()), (LinkTag::Text, "https://example.com/all"));
/// # Ok::<(), comity_url::UrlError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageOptions {
    forms: bool,
    text_urls: bool,
}

impl PageOptions {
    /// Whether forms are links ([`LinkTag::Form`](crate::LinkTag::Form)): those sent with GET, to the `action` as it is
    /// written, and `formaction` of their buttons.
    ///
    /// Our choice: without a field. A crawler that fills in a form makes up questions that nobody asked; the bare action is
    /// an address that the page names. `post` and `dialog` are never taken, and neither is an empty action: it is the page
    /// itself.
    #[must_use]
    pub const fn with_forms(self, on: bool) -> Self {
        Self { forms: on, ..self }
    }

    /// Whether absolute http and https URLs in running text are links ([`LinkTag::Text`](crate::LinkTag::Text)).
    ///
    /// Text of scripts, styles, comments, templates, titles and text areas is not running text; that of `noscript` is. A
    /// URL ends at white space, quotes, angle brackets and any tag; punctuation at its end is not its, brackets only where
    /// they have no partner in it. What says that it is cut short (`…`, `...`) is left out. Its bound is
    /// [`PageLimits::reference_bytes`](crate::PageLimits::reference_bytes), character references not decoded.
    #[must_use]
    pub const fn with_text_urls(self, on: bool) -> Self {
        Self { text_urls: on, ..self }
    }

    /// Whether forms are links.
    #[must_use]
    pub const fn forms(self) -> bool {
        self.forms
    }

    /// Whether URLs in running text are links.
    #[must_use]
    pub const fn text_urls(self) -> bool {
        self.text_urls
    }
}
