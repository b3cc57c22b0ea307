//! What the elements of sitemaps and feeds mean. Names are compared without their prefix and whatever their namespace:
//! files of the years 0.84 to 0.9, and with prefixes of their own, are read alike.

use comity_url::CrawlUrl;
use quick_xml::events::BytesStart;

use super::SitemapFormat;
use super::entries::{Draft, Entries};
use super::entry::{EntryKind, MediaKind};
use super::reference;
use crate::notes::bump;

/// Elements nested deeper are not looked into. Our choice: a sitemap has six levels, feeds embed a little markup.
const DEEPEST: usize = 256;

/// Reads elements into entries.
#[derive(Debug, Default)]
pub(super) struct Elements {
    format: Option<SitemapFormat>,
    open: Vec<Open>,
    /// Elements open beyond the deepest that is looked into.
    beyond: usize,
    entry: Option<Entry>,
    value: Option<Value>,
    base: Option<CrawlUrl>,
    closed: bool,
}

/// An open element.
#[derive(Debug)]
struct Open {
    name: Box<str>,
    tag: Tag,
}

/// An entry under way, and how deep it stands.
#[derive(Debug)]
struct Entry {
    draft: Draft,
    depth: usize,
    base: Option<CrawlUrl>,
    /// A feed's second choice for a location: a permanent `guid`, `rdf:about`.
    spare: Option<String>,
    /// An Atom link in an item of RSS, where that has no link of its own.
    linked: Option<String>,
    /// A feed's second choice for a date.
    spare_date: Option<String>,
}

/// The text of an element under way.
#[derive(Debug)]
struct Value {
    slot: Slot,
    depth: usize,
    text: String,
    /// Longer than a bound, or with broken markup inside: it counts for nothing.
    spoilt: bool,
}

/// Where the text of an element goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Loc,
    Guid,
    Date,
    SpareDate,
    Priority,
    ChangeFreq,
    Media(MediaKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Entry,
    Image,
    Video,
    Other,
}

impl Elements {
    /// What the file is, by its first element.
    pub(super) const fn format(&self) -> Option<SitemapFormat> {
        self.format
    }

    /// Whether the first element shows that the file is none of ours.
    pub(super) const fn is_foreign(&self) -> bool {
        matches!(self.format, Some(SitemapFormat::Html | SitemapFormat::Unknown))
    }

    /// Broken markup stands here: the value around it is not what it says.
    pub(super) fn spoil(&mut self) {
        if let Some(value) = &mut self.value {
            value.spoilt = true;
        }
    }

    pub(super) fn open(&mut self, tag: &BytesStart<'_>, out: &mut Entries) {
        if self.beyond > 0 || self.open.len() >= DEEPEST {
            self.beyond += 1;
            return bump(&mut out.notes.too_deep);
        }
        let name = tag.name();
        let name: &str = name.as_ref();
        let local = local(name);
        let kind = self.tag(local);
        match self.format {
            None => self.begin(local, tag, out),
            Some(_) if kind == Tag::Entry => self.begin_entry(local, tag, out),
            Some(format) => self.begin_part(format, local, tag, out),
        }
        self.open.push(Open { name: name.into(), tag: kind });
    }

    /// The root element says what the file is.
    fn begin(&mut self, local: &str, tag: &BytesStart<'_>, out: &mut Entries) {
        let format = SitemapFormat::of_root(local);
        self.format = Some(format);
        if format == SitemapFormat::Atom {
            self.base = based(tag, &out.base, &mut out.notes.odd_references);
        }
    }

    fn tag(&self, local: &str) -> Tag {
        use SitemapFormat::{Atom, Index, Rdf, Rss, UrlSet};
        match (self.format, local) {
            (Some(UrlSet | Index), "url" | "sitemap") | (Some(Rss | Rdf), "item") | (Some(Atom), "entry") => Tag::Entry,
            (Some(UrlSet | Index), "image") => Tag::Image,
            (Some(UrlSet | Index), "video") => Tag::Video,
            _ => Tag::Other,
        }
    }

    fn begin_entry(&mut self, local: &str, tag: &BytesStart<'_>, out: &mut Entries) {
        if self.entry.is_some() {
            // The one before was never closed.
            bump(&mut out.notes.mismatched_tags);
            self.end_value(out);
            self.end_entry(out);
        }
        let kind = if local == "sitemap" { EntryKind::Sitemap } else { EntryKind::Url };
        let base = self.base.as_ref().unwrap_or(&out.base);
        let odd = &mut out.notes.odd_references;
        let own = if self.format == Some(SitemapFormat::Atom) { based(tag, base, odd) } else { None };
        let spare = if self.format == Some(SitemapFormat::Rdf) { attribute(tag, "about", odd) } else { None };
        let base = own.or_else(|| self.base.clone());
        let depth = self.open.len();
        self.entry = Some(Entry { draft: Draft::new(kind), depth, base, spare, linked: None, spare_date: None });
    }

    fn begin_part(&mut self, format: SitemapFormat, local: &str, tag: &BytesStart<'_>, out: &mut Entries) {
        let depth = self.open.len();
        let parent = self.open.last().map(|open| open.tag);
        let Some(entry) = &mut self.entry else { return };
        let is_direct = depth == entry.depth + 1;
        if is_direct && local == "link" && format != SitemapFormat::Rdf {
            let odd = &mut out.notes.odd_references;
            if let Some(href) = attribute(tag, "href", odd) {
                return entry.link(format, href, tag, out);
            }
        }
        let slot = match (format, local, parent) {
            (SitemapFormat::UrlSet | SitemapFormat::Index, "loc", Some(Tag::Image)) => Slot::Media(MediaKind::Image),
            (SitemapFormat::UrlSet | SitemapFormat::Index, "content_loc" | "player_loc", Some(Tag::Video)) => {
                Slot::Media(MediaKind::Video)
            }
            _ if !is_direct => return,
            (SitemapFormat::UrlSet | SitemapFormat::Index, "loc", _) => Slot::Loc,
            (SitemapFormat::UrlSet | SitemapFormat::Index, "lastmod", _) => Slot::Date,
            (SitemapFormat::UrlSet | SitemapFormat::Index, "priority", _) => Slot::Priority,
            (SitemapFormat::UrlSet | SitemapFormat::Index, "changefreq", _) => Slot::ChangeFreq,
            (SitemapFormat::Rss | SitemapFormat::Rdf, "link", _) => Slot::Loc,
            (SitemapFormat::Rss, "guid", _) => {
                let odd = &mut out.notes.odd_references;
                if attribute(tag, "isPermaLink", odd).is_some_and(|is| is.eq_ignore_ascii_case("false")) {
                    return;
                }
                Slot::Guid
            }
            (SitemapFormat::Rss | SitemapFormat::Rdf, "pubDate", _) | (SitemapFormat::Atom, "updated", _) => Slot::Date,
            (SitemapFormat::Rss | SitemapFormat::Rdf, "date" | "modified", _)
            | (SitemapFormat::Atom, "published" | "modified" | "issued", _) => Slot::SpareDate,
            _ => return,
        };
        self.end_value(out);
        self.value = Some(Value { slot, depth, text: String::new(), spoilt: false });
    }

    pub(super) fn text(&mut self, text: &str, out: &Entries) {
        let Some(value) = &mut self.value else { return };
        // Text of an element within is none of the value's.
        if self.beyond > 0 || self.open.len() != value.depth + 1 || value.spoilt {
            return;
        }
        value.text.push_str(text);
        if value.text.trim_start().len() > out.limits.value_bytes {
            value.text.clear();
            value.spoilt = true;
        } else if value.text.len() > out.limits.value_bytes {
            // White space in front, however much.
            value.text.drain(..value.text.len() - value.text.trim_start().len());
        }
    }

    pub(super) fn close(&mut self, name: &str, out: &mut Entries) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let name = name.trim_end();
        let Some(at) = self.open.iter().rposition(|open| *open.name == *name) else {
            return bump(&mut out.notes.mismatched_tags);
        };
        if at + 1 != self.open.len() {
            bump(&mut out.notes.mismatched_tags);
        }
        self.shut(at, out);
        self.closed |= self.open.is_empty();
    }

    /// Ends every element from the one at `at` on.
    fn shut(&mut self, at: usize, out: &mut Entries) {
        self.open.truncate(at);
        if self.value.as_ref().is_some_and(|value| value.depth >= at) {
            self.end_value(out);
        }
        if self.entry.as_ref().is_some_and(|entry| entry.depth >= at) {
            self.end_entry(out);
        }
    }

    fn end_value(&mut self, out: &mut Entries) {
        let Some(Value { slot, text, spoilt, .. }) = self.value.take() else { return };
        let Some(entry) = &mut self.entry else { return };
        if spoilt {
            return out.too_long();
        }
        let text = text.trim().to_owned();
        let draft = &mut entry.draft;
        match slot {
            Slot::Loc => draft.locs.push(text),
            Slot::Guid => entry.spare = Some(text),
            Slot::Date => draft.lastmod = draft.lastmod.take().or(Some(text)),
            Slot::SpareDate => entry.spare_date = Some(text),
            Slot::Priority => draft.priority = draft.priority.take().or(Some(text)),
            Slot::ChangeFreq => draft.changefreq = draft.changefreq.take().or(Some(text)),
            Slot::Media(kind) if draft.media.len() < out.limits.extensions => draft.media.push((kind, text)),
            Slot::Media(_) => bump(&mut out.notes.extensions_cut),
        }
    }

    fn end_entry(&mut self, out: &mut Entries) {
        let Some(Entry { mut draft, base, spare, linked, spare_date, .. }) = self.entry.take() else { return };
        if draft.locs.iter().all(String::is_empty) {
            // A guid is a location only where it looks like one.
            let is_loc = |text: &String| CrawlUrl::parse(text).is_ok();
            draft.locs = linked.or_else(|| spare.filter(is_loc)).into_iter().collect();
        }
        draft.lastmod = draft.lastmod.or(spare_date);
        out.add_at(draft, base.as_ref());
    }

    /// The end of the file: what is complete of an entry that was cut counts.
    pub(super) fn finish(&mut self, out: &mut Entries) {
        if self.format.is_some() && !self.closed {
            out.notes.truncated = true;
            // A value that was cut is none: half a location is another one.
            self.value = None;
            if self.entry.as_ref().is_some_and(|entry| !entry.draft.locs.is_empty()) {
                self.end_entry(out);
            }
        }
    }
}

impl Entry {
    /// A `link` with an `href`: a page of an Atom feed, an alternate of a sitemap.
    fn link(&mut self, format: SitemapFormat, href: String, tag: &BytesStart<'_>, out: &mut Entries) {
        let odd = &mut out.notes.odd_references;
        let rel = attribute(tag, "rel", odd);
        let is_alternate = rel.as_deref().is_none_or(|rel| rel.trim().eq_ignore_ascii_case("alternate"));
        if !is_alternate {
            return;
        }
        let draft = &mut self.draft;
        match format {
            SitemapFormat::UrlSet | SitemapFormat::Index => {
                let language = attribute(tag, "hreflang", odd).unwrap_or_default();
                if draft.alternates.len() < out.limits.extensions {
                    draft.alternates.push((language, href));
                } else {
                    bump(&mut out.notes.extensions_cut);
                }
            }
            // The first is the entry's page; further ones are its other forms.
            SitemapFormat::Atom if draft.locs.is_empty() => draft.locs.push(href.trim().to_owned()),
            SitemapFormat::Rss => self.linked = self.linked.take().or(Some(href)),
            _ => {}
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The value of an attribute by its local name, references resolved; a broken one is none.
fn attribute(tag: &BytesStart<'_>, name: &str, odd: &mut u32) -> Option<String> {
    let mut attributes = tag.attributes();
    let attributes = attributes.with_checks(false);
    let found = attributes.filter_map(Result::ok).find(|found| local(found.key.as_ref()) == name)?;
    Some(reference::unescape(&found.value, odd).into_owned())
}

/// `xml:base`, resolved.
fn based(tag: &BytesStart<'_>, base: &CrawlUrl, odd: &mut u32) -> Option<CrawlUrl> {
    base.join(&attribute(tag, "base", odd)?).ok()
}
