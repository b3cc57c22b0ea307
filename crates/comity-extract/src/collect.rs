//! What the elements of a page say, gathered in document order.

use std::borrow::Cow;

use comity_signals::{HeadFacts, LicenceLink, RobotsMeta, link_field};

use crate::form::Forms;
use crate::html::{Attribute, Name, StartTag};
use crate::notes::bump;
use crate::text_urls::{self, Run, TextUrls};
use crate::{LinkTag, Notes, PageLimits, PageOptions, Rel, attribute, refresh, srcset};

/// Licences within a page that are kept, and bytes of each.
const LICENCES: usize = 4;
const LICENCE_BYTES: usize = 64 * 1024;

/// Bytes of a title or a meta's content that are kept.
const FACT_BYTES: usize = 4096;
/// Room made for links once there is one: growing to what most pages have would copy them several times.
const USUAL_LINKS: usize = 64;
/// A base element may be longer than a reference: without it all relative links would be wrong.
const BASE_BYTES: usize = comity_url::MAX_CRAWL_URL_BYTES;

/// A reference, not yet resolved.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) tag: LinkTag,
    pub(crate) rel: Rel,
    pub(crate) reference: Box<str>,
    pub(crate) hreflang: Option<Box<str>>,
    pub(crate) media_type: Option<Box<str>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Title {
    #[default]
    Awaited,
    Reading,
    Read,
}

/// Everything found so far.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    limits: PageLimits,
    pub(crate) found: Vec<Found>,
    /// Those of `Link` fields, which no base element moves.
    pub(crate) of_fields: Vec<Found>,
    pub(crate) base: Option<String>,
    pub(crate) head: HeadFacts,
    pub(crate) notes: Notes,
    title: Title,
    title_text: String,
    /// Within a script that holds a licence.
    in_licence: bool,
    /// Where forms are wanted.
    forms: Option<Forms>,
    /// Where URLs in running text are wanted.
    text_urls: Option<Box<TextUrls>>,
    pages: usize,
    resources: usize,
    bytes: usize,
    /// An element or text came that belongs to no head: the head is over, said or not (HTML standard, "after head").
    pub(crate) past_head: bool,
}

impl Collector {
    pub(crate) fn new(limits: PageLimits, options: PageOptions) -> Self {
        Self {
            limits,
            forms: options.forms().then(Forms::default),
            text_urls: options.text_urls().then(|| Box::new(TextUrls::new(limits.reference_bytes))),
            ..Self::default()
        }
    }

    pub(crate) fn reads_forms(&self) -> bool {
        self.forms.is_some()
    }

    pub(crate) fn reads_text(&self) -> bool {
        self.text_urls.is_some()
    }

    /// Takes the value of a `Link` field. Those with an anchor are links of other documents (RFC 8288 §3.2).
    pub(crate) fn link_field(&mut self, value: &str) {
        for link in link_field::links(value).filter(|link| !link.has_anchor) {
            if let Some(mut found) = self.admit(LinkTag::Header, Rel::parse(&link.rel), link.target) {
                found.hreflang = link.hreflang.as_deref().and_then(short);
                found.media_type = link.media_type.as_deref().and_then(short);
                self.of_fields.push(found);
            }
        }
    }

    pub(crate) fn tag_cut(&mut self) {
        bump(&mut self.notes.tags_cut);
    }

    /// Takes text of an element that holds text only.
    pub(crate) fn title_text(&mut self, text: &[u8]) {
        let room = FACT_BYTES.saturating_sub(self.title_text.len());
        if self.title != Title::Reading || text.is_empty() {
            return;
        }
        let text = whole_characters(text);
        let kept = prefix(text, room);
        self.title_text.push_str(kept);
        if kept.len() < text.len() {
            bump(&mut self.notes.heads_cut);
            // Nothing more is taken, or a later short piece would close the gap.
            self.title = Title::Read;
        }
    }

    /// Takes running text. Out of the way of those who want none.
    #[inline(never)]
    pub(crate) fn text(&mut self, text: &[u8]) {
        if let Some(mut urls) = self.text_urls.take() {
            urls.read(whole_characters(text), &mut |run| self.text_run(run));
            self.text_urls = Some(urls);
        }
    }

    /// Running text is interrupted, or over: what stands behind is another URL.
    #[inline(never)]
    pub(crate) fn text_end(&mut self) {
        if let Some(mut urls) = self.text_urls.take() {
            urls.end(&mut |run| self.text_run(run));
            self.text_urls = Some(urls);
        }
    }

    fn text_run(&mut self, run: Run<'_>) {
        match run {
            Run::Whole(run) => text_urls::urls(run, &mut |url| self.add(LinkTag::Text, Rel::default(), url)),
            Run::TooLong => bump(&mut self.notes.too_long),
        }
    }

    pub(crate) fn form_end(&mut self) {
        if let Some(forms) = &mut self.forms {
            forms.end();
        }
    }

    /// The text of a script: kept only of licences.
    pub(crate) fn script_text(&mut self, text: &[u8], ends: bool) {
        if !self.in_licence {
            return;
        }
        if let Some(kept) = self.head.inline_rsl.last_mut() {
            let text = whole_characters(text);
            let part = prefix(text, LICENCE_BYTES.saturating_sub(kept.len()));
            kept.push_str(part);
            if part.len() < text.len() {
                bump(&mut self.notes.heads_cut);
                // Nothing more is taken, as of titles.
                self.in_licence = false;
            }
        }
        self.in_licence &= !ends;
    }

    /// A script with the media type of RSL holds a licence of the page.
    fn script(&mut self, tag: &StartTag<'_>) {
        let media_type = tag.value(Attribute::Type);
        let is_rsl = media_type.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case("application/rsl+xml"));
        self.in_licence = is_rsl && self.head.inline_rsl.len() < LICENCES;
        if self.in_licence {
            self.head.inline_rsl.push(String::new());
        } else if is_rsl {
            bump(&mut self.notes.heads_cut);
        }
    }

    pub(crate) fn title_end(&mut self) {
        if self.title == Title::Reading {
            self.title = Title::Read;
        }
    }

    /// Puts the title together; nothing comes after.
    pub(crate) fn finish(&mut self) {
        self.text_end();
        let text = attribute::text(&self.title_text);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        self.head.title = Some(words.join(" ")).filter(|title| !title.is_empty());
    }

    /// Takes an element of HTML.
    pub(crate) fn html_element(&mut self, tag: &StartTag<'_>) {
        self.past_head |= !tag.name.is_of_head();
        match tag.name {
            Name::A => self.hyperlink(LinkTag::A, tag),
            Name::AREA => self.hyperlink(LinkTag::Area, tag),
            Name::LINK => self.link(tag),
            Name::META => self.meta(tag),
            Name::BASE => self.base(tag),
            Name::HTML => self.html(tag),
            Name::TITLE if self.title == Title::Awaited => self.title = Title::Reading,
            Name::SCRIPT => self.script(tag),
            Name::IFRAME => self.resource(LinkTag::Iframe, tag, Attribute::Src),
            Name::FRAME => self.resource(LinkTag::Frame, tag, Attribute::Src),
            Name::IMG | Name::IMAGE => self.image(LinkTag::Img, tag),
            Name::SOURCE => self.image(LinkTag::Source, tag),
            Name::VIDEO => {
                self.resource(LinkTag::Video, tag, Attribute::Src);
                self.resource(LinkTag::Video, tag, Attribute::Poster);
            }
            Name::AUDIO => self.resource(LinkTag::Audio, tag, Attribute::Src),
            Name::TRACK => self.resource(LinkTag::Track, tag, Attribute::Src),
            Name::EMBED => self.resource(LinkTag::Embed, tag, Attribute::Src),
            Name::OBJECT => self.resource(LinkTag::Object, tag, Attribute::Data),
            name if self.reads_forms() && name.is_of_forms() => self.form_element(tag),
            _ => {}
        }
    }

    /// Takes an element of SVG, which has `href`, and `xlink:href` where that is missing. Source: SVG 2 §16.1.6.
    pub(crate) fn svg_element(&mut self, tag: &StartTag<'_>) {
        let kind = match tag.name {
            Name::A => LinkTag::A,
            Name::IMAGE => LinkTag::SvgImage,
            Name::USE => LinkTag::SvgUse,
            _ => return,
        };
        let Some(reference) = tag.value(Attribute::Href).or_else(|| tag.value(Attribute::XlinkHref)) else { return };
        // A part of this very document is no other resource.
        if kind == LinkTag::A || !reference.trim_start().starts_with('#') {
            self.add(kind, rel(tag), &reference);
        }
    }

    #[inline(never)]
    fn form_element(&mut self, tag: &StartTag<'_>) {
        if let Some((rel, action)) = self.forms.as_mut().and_then(|forms| forms.element(tag)) {
            self.add(LinkTag::Form, rel, &action);
        }
    }

    fn hyperlink(&mut self, kind: LinkTag, tag: &StartTag<'_>) {
        let Some(reference) = tag.value(Attribute::Href) else { return };
        let rel = rel(tag);
        if rel.contains(Rel::LICENSE) {
            self.licence(&reference, tag);
        }
        if let Some(mut found) = self.admit(kind, rel, &reference) {
            found.hreflang = tag.value(Attribute::Hreflang).as_deref().and_then(short);
            found.media_type = tag.value(Attribute::Type).as_deref().and_then(short);
            self.keep(found);
        }
    }

    fn link(&mut self, tag: &StartTag<'_>) {
        let Some(reference) = tag.value(Attribute::Href).filter(|reference| !reference.is_empty()) else { return };
        if rel(tag).contains(Rel::CANONICAL) && self.head.canonical.is_none() && reference.len() <= FACT_BYTES {
            self.head.canonical = Some(reference.into_owned());
        }
        self.hyperlink(LinkTag::Link, tag);
    }

    fn licence(&mut self, reference: &str, tag: &StartTag<'_>) {
        if self.head.licences.len() >= self.limits.metas || reference.len() > FACT_BYTES {
            return bump(&mut self.notes.heads_cut);
        }
        let media_type = tag.value(Attribute::Type).as_deref().and_then(short).map(String::from);
        self.head.licences.push(LicenceLink { href: reference.to_owned(), media_type });
    }

    fn image(&mut self, kind: LinkTag, tag: &StartTag<'_>) {
        self.resource(kind, tag, Attribute::Src);
        let Some(value) = tag.value(Attribute::Srcset) else { return };
        for candidate in srcset::candidates(&value) {
            self.add(kind, Rel::default(), candidate);
        }
    }

    /// An empty `src` loads nothing, other than an empty `href`.
    fn resource(&mut self, kind: LinkTag, tag: &StartTag<'_>, name: Attribute) {
        if let Some(reference) = tag.value(name).filter(|reference| !reference.trim_ascii().is_empty()) {
            self.add(kind, Rel::default(), &reference);
        }
    }

    /// The first base with an href counts. Source: the HTML standard, "the base element".
    fn base(&mut self, tag: &StartTag<'_>) {
        if self.base.is_some() {
            return;
        }
        match tag.value(Attribute::Href) {
            Some(href) if href.len() > BASE_BYTES => bump(&mut self.notes.too_long),
            href => self.base = href.map(Cow::into_owned),
        }
    }

    /// Attributes of later `html` tags fill in what the first one lacks, as the tree builder does.
    fn html(&mut self, tag: &StartTag<'_>) {
        if self.head.language.is_none() {
            let language = tag.value(Attribute::Lang).or_else(|| tag.value(Attribute::XmlLang));
            self.head.language = language.map(|tag| prefix(tag.trim_ascii(), 64).to_owned()).filter(|l| !l.is_empty());
        }
    }

    fn meta(&mut self, tag: &StartTag<'_>) {
        let Some(content) = tag.value(Attribute::Content) else { return };
        if tag.value(Attribute::HttpEquiv).is_some_and(|value| value.eq_ignore_ascii_case("refresh")) {
            self.refresh(&content);
        }
        if let Some(name) = tag.value(Attribute::Name) {
            self.named_meta(&name.trim_ascii().to_ascii_lowercase(), &content);
        }
    }

    fn refresh(&mut self, content: &str) {
        if let Some(refresh) = refresh::parse(content).filter(|refresh| !refresh.reference.is_empty()) {
            self.add(LinkTag::Meta { delay: refresh.delay }, Rel::default(), refresh.reference);
        }
    }

    fn named_meta(&mut self, name: &str, content: &str) {
        let kept = match name {
            // Behind the head a 0 would undo what a head of any length has said already: there only a 1 counts (our choice).
            "tdm-reservation" if self.past_head && content.trim() != "1" => return,
            "tdm-reservation" => self.head.tdm_reservation.len(),
            "tdm-policy" => self.head.tdm_policy.len(),
            _ if speaks_to_robots(name, content) => self.head.robots.len(),
            _ => return,
        };
        let content_kept = if kept < self.limits.metas { prefix(content, FACT_BYTES) } else { "" };
        if content_kept.len() < content.len() || kept >= self.limits.metas {
            bump(&mut self.notes.heads_cut);
            self.beyond(name, content, content_kept);
        }
        if kept >= self.limits.metas {
            return;
        }
        let content = content_kept.to_owned();
        match name {
            "tdm-reservation" => self.head.tdm_reservation.push(content),
            "tdm-policy" => self.head.tdm_policy.push(content),
            _ => self.head.robots.push(RobotsMeta { name: name.to_owned(), content }),
        }
    }

    /// What has no room may still deny: each directive is kept once for each name, a reservation once in all. That is bounded
    /// by the directives; for names other than `robots`, of which there may be any number, by the limit once more.
    #[cold]
    fn beyond(&mut self, name: &str, content: &str, kept: &str) {
        match name {
            "tdm-reservation" => {
                let reservations = &mut self.head.tdm_reservation;
                if content.trim() == "1" && reservations.iter().all(|known| known.trim() != "1") {
                    reservations.push("1".to_owned());
                }
            }
            "tdm-policy" => {}
            _ => {
                // The last word that was kept may have been cut.
                let read = kept.rfind(',').unwrap_or_default();
                for word in content.get(read..).unwrap_or(content).split(',') {
                    self.directive_beyond(name, word.trim_ascii());
                }
            }
        }
    }

    fn directive_beyond(&mut self, name: &str, word: &str) {
        let Some(word) = DIRECTIVES.iter().find(|known| known.eq_ignore_ascii_case(word)) else { return };
        let most = self.limits.metas.saturating_mul(2);
        if (name == "robots" || self.head.robots.len() < most)
            && self.head.robots.iter().all(|meta| meta.name != name || meta.content != *word)
        {
            self.head.robots.push(RobotsMeta { name: name.to_owned(), content: (*word).to_owned() });
        }
    }

    fn add(&mut self, tag: LinkTag, rel: Rel, reference: &str) {
        if let Some(found) = self.admit(tag, rel, reference) {
            self.keep(found);
        }
    }

    fn keep(&mut self, found: Found) {
        if self.found.is_empty() {
            self.found.reserve(USUAL_LINKS);
        }
        self.found.push(found);
    }

    /// Counts a reference, or what it was left out for.
    fn admit(&mut self, tag: LinkTag, rel: Rel, reference: &str) -> Option<Found> {
        let left_out = if is_never_http(reference) {
            &mut self.notes.other_schemes
        } else if reference.len() > self.limits.reference_bytes {
            &mut self.notes.too_long
        } else {
            let count = if tag.leads_to_document(rel) { &mut self.pages } else { &mut self.resources };
            let bytes = self.bytes.saturating_add(reference.len());
            if *count < self.limits.links && bytes <= self.limits.references_bytes {
                *count += 1;
                self.bytes = bytes;
                return Some(Found { tag, rel, reference: reference.into(), hreflang: None, media_type: None });
            }
            &mut self.notes.links_cut
        };
        bump(left_out);
        None
    }
}

/// A word that says what a target is; one that is long says nothing.
fn short(text: &str) -> Option<Box<str>> {
    let text = text.trim_ascii();
    (!text.is_empty() && text.len() <= 128).then(|| text.into())
}

fn rel(tag: &StartTag<'_>) -> Rel {
    tag.value(Attribute::Rel).map_or_else(Rel::default, |value| Rel::parse(&value))
}

/// Text as the tokeniser gives it, in whole characters. What is not would be lost.
fn whole_characters(text: &[u8]) -> &str {
    let text = std::str::from_utf8(text);
    debug_assert!(text.is_ok(), "text is cut within a character: {text:?}");
    text.unwrap_or_default()
}

/// The longest prefix of at most `len` bytes.
fn prefix(text: &str, len: usize) -> &str {
    text.get(..text.floor_char_boundary(len)).unwrap_or(text)
}

/// Schemes that would only waste memory until they are refused.
fn is_never_http(reference: &str) -> bool {
    // Most begin so, and no scheme does.
    if reference.starts_with(['/', 'h', '.', '#', '?']) {
        return false;
    }
    let start = reference.trim_start_matches(|c: char| c <= ' ');
    ["data:", "javascript:", "mailto:", "tel:", "blob:"]
        .iter()
        .any(|scheme| start.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)))
}

/// Directives of robots metas that have no value.
///
/// Source: Google's robots meta documentation; `noai` and `noimageai` by DeviantArt; `noml` as comity-signals reads it.
const DIRECTIVES: [&str; 19] = [
    "all",
    "none",
    "index",
    "noindex",
    "follow",
    "nofollow",
    "archive",
    "noarchive",
    "nocache",
    "snippet",
    "nosnippet",
    "noimageindex",
    "notranslate",
    "indexifembedded",
    "noai",
    "noimageai",
    "noml",
    "noodp",
    "noydir",
];

/// Whether a meta is a robots meta: named `robots`, or named like a crawler and holding at least one known
/// directive, as which crawler reads the page is not known here.
fn speaks_to_robots(name: &str, content: &str) -> bool {
    const VALUED: [&str; 4] = ["max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"];
    let is_directive = |word: &str| {
        let key = word.split(':').next().unwrap_or(word).trim_ascii_end();
        let known = |table: &[&str], word: &str| table.iter().any(|known| known.eq_ignore_ascii_case(word));
        known(&DIRECTIVES, word) || known(&VALUED, key)
    };
    let is_token =
        !name.is_empty() && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    name == "robots" || (is_token && content.split(',').any(|word| is_directive(word.trim_ascii())))
}
