//! As much of a tree as tells what a tag is: which foreign elements, templates and framesets are open.
//!
//! No tree is built, and so what a tree builder moves about is not: whether an element is open around a link, or is
//! opened again behind it, does not change the link.

use super::tokenizer::Content;
use super::{Attribute, Name, StartTag};
use crate::collect::Collector;

/// Elements kept open at once. Our choice, where browsers take 512 in all: only foreign ones and those within are kept.
/// It bounds what an end tag can cost.
const MOST_OPEN: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Of HTML, within foreign content.
    Html,
    Template,
    Svg,
    /// `foreignObject`, `desc`, `title`: what they hold is HTML.
    SvgPoint,
    Math,
    /// `annotation-xml` of HTML.
    MathPoint,
    /// `annotation-xml` of anything else.
    MathAnnotation,
    /// `mi`, `mo`, `mn`, `ms`, `mtext`: what they hold is HTML, but for two names.
    MathText,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    name: Name,
    kind: Kind,
}

/// Whether the page has a frameset in place of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frames {
    /// It may come.
    Possible,
    /// It cannot any more.
    No,
    /// So many are open; none when all are closed.
    Yes(u32),
}

/// What is open, and what was found.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) collector: Collector,
    open: Vec<Open>,
    /// Those of `open` that are templates, that are foreign, and that are integration points.
    templates: usize,
    foreign: usize,
    points: usize,
    /// Those of `open` by drawers of their names: a stray end tag is known without a search.
    kept: [u8; 256],
    /// How many elements of a name are open outside foreign content, by drawers: does an end tag have a start? Of two
    /// names in one drawer the later counts.
    outside: Box<[(Name, u32); 256]>,
    frames: Frames,
}

impl Tree {
    pub(crate) fn new(collector: Collector) -> Self {
        Self {
            collector,
            open: Vec::new(),
            templates: 0,
            foreign: 0,
            points: 0,
            kept: [0; 256],
            outside: Box::new([(Name::default(), 0); 256]),
            frames: Frames::Possible,
        }
    }

    /// Whether a CDATA section may stand here.
    pub(crate) fn is_foreign(&self) -> bool {
        self.top().is_some_and(Kind::is_foreign)
    }

    pub(crate) fn tag_cut(&mut self) {
        self.collector.tag_cut();
    }

    /// Text between tags.
    pub(crate) fn text(&mut self, text: &[u8]) {
        let may_decide = self.frames == Frames::Possible || !self.collector.past_head;
        if may_decide && self.templates == 0 && !text.trim_ascii_start().is_empty() {
            if self.frames == Frames::Possible {
                self.frames = Frames::No;
            }
            self.collector.past_head = true;
        }
        if self.collector.reads_text() && self.is_shown() {
            self.collector.text(text);
        }
    }

    /// What may be a tag: text does not go on behind it.
    pub(crate) fn text_end(&mut self) {
        if self.collector.reads_text() {
            self.collector.text_end();
        }
    }

    /// Whether text that stands here is of the page, and no code.
    fn is_shown(&self) -> bool {
        let is_code = |open: &Open| open.kind.is_foreign() && matches!(open.name, Name::SCRIPT | Name::STYLE);
        self.templates == 0 && !matches!(self.frames, Frames::Yes(_)) && !self.open.last().is_some_and(is_code)
    }

    /// Text of an element that holds nothing else.
    pub(crate) fn raw_text(&mut self, text: &[u8]) {
        self.collector.title_text(text);
    }

    /// Text of a script, and whether it ends there.
    pub(crate) fn script_text(&mut self, text: &[u8], ends: bool) {
        self.collector.script_text(text, ends);
    }

    pub(crate) fn start_tag(&mut self, tag: &StartTag<'_>) -> Content {
        if let Some(top) = self.top().filter(|top| top.is_foreign() && !top.takes_html(tag.name)) {
            let has_font = || [Attribute::Color, Attribute::Face, Attribute::Size].iter().any(|name| tag.has(*name));
            let breaks_out = tag.name.breaks_out() || (tag.name == Name::FONT && has_font());
            if !breaks_out {
                return self.foreign_start(top, tag);
            }
            self.break_out();
        }
        self.html_start(tag)
    }

    fn foreign_start(&mut self, top: Kind, tag: &StartTag<'_>) -> Content {
        let kind = if top.is_svg() { Kind::of_svg(tag.name) } else { Kind::of_math(tag) };
        if kind.is_svg() && self.templates == 0 {
            self.collector.svg_element(tag);
        }
        if !tag.is_self_closing {
            self.push(tag.name, kind);
        }
        Content::Markup
    }

    fn html_start(&mut self, tag: &StartTag<'_>) -> Content {
        let name = tag.name;
        if self.templates == 0 && !self.is_in_document(name) {
            return Content::Markup;
        }
        match name {
            Name::SVG | Name::MATH => {
                self.collector.past_head |= self.templates == 0;
                if !tag.is_self_closing {
                    self.push(name, if name == Name::SVG { Kind::Svg } else { Kind::Math });
                }
                return Content::Markup;
            }
            Name::TEMPLATE => {
                self.push(name, Kind::Template);
                return Content::Markup;
            }
            _ => {}
        }
        if self.templates == 0 {
            self.collector.html_element(tag);
        }
        if !name.is_void() {
            self.open_html(name);
        }
        content(name)
    }

    /// Whether an element of that name is part of the document, as far as framesets decide.
    fn is_in_document(&mut self, name: Name) -> bool {
        match (self.frames, name) {
            (Frames::No, Name::FRAME | Name::FRAMESET) | (Frames::Possible, Name::FRAME) => false,
            (Frames::No, _) => true,
            (Frames::Possible, Name::FRAMESET) => {
                self.frames = Frames::Yes(1);
                true
            }
            (Frames::Possible, _) => {
                if name.forbids_frameset() {
                    self.frames = Frames::No;
                }
                true
            }
            (Frames::Yes(open), Name::FRAMESET) if open > 0 => {
                self.frames = Frames::Yes(open.saturating_add(1));
                true
            }
            (Frames::Yes(open), Name::FRAME) => open > 0,
            (Frames::Yes(_), _) => matches!(name, Name::NOFRAMES | Name::HTML),
        }
    }

    fn open_html(&mut self, name: Name) {
        if self.foreign == 0 {
            let (last, open) = &mut self.outside[name.drawer()];
            *open = if *last == name { open.saturating_add(1) } else { 1 };
            *last = name;
            return;
        }
        if let Some(Open { name: top, kind: Kind::Html }) = self.open.last() {
            let is_closed = match *top {
                Name::P => name.closes_p(),
                Name::LI | Name::OPTION | Name::TR => *top == name,
                Name::DD | Name::DT => matches!(name, Name::DD | Name::DT),
                Name::TD | Name::TH => matches!(name, Name::TD | Name::TH | Name::TR),
                _ => false,
            };
            if is_closed {
                self.pop();
            }
        }
        self.push(name, Kind::Html);
    }

    pub(crate) fn end_tag(&mut self, name: Name) {
        if name == Name::TITLE {
            self.collector.title_end();
        }
        if self.top().is_some_and(Kind::is_foreign) {
            if matches!(name, Name::P | Name::BR) {
                self.break_out();
            } else if let Some(len) = self.foreign_end(name) {
                self.close_to(len);
                return;
            }
        }
        self.html_end(name);
    }

    /// How many stay open when a foreign element of that name ends; `None` when none is open above the next of HTML.
    fn foreign_end(&self, name: Name) -> Option<usize> {
        if self.kept[name.drawer()] == 0 {
            return None;
        }
        let foreign = self.open.iter().enumerate().rev().take_while(|(_, open)| open.kind.is_foreign());
        foreign.filter(|(_, open)| open.name == name).map(|(place, _)| place).next()
    }

    fn html_end(&mut self, name: Name) {
        // HTML standard, "in head" and "after head": of all end tags these begin a body.
        self.collector.past_head |= self.templates == 0 && matches!(name, Name::BODY | Name::HTML | Name::BR);
        if name == Name::TEMPLATE {
            if let Some(place) = self.open.iter().rposition(|open| open.kind == Kind::Template) {
                self.close_to(place);
            }
            return;
        }
        if name == Name::FORM && self.templates == 0 {
            self.collector.form_end();
        }
        if let (Frames::Yes(open), Name::FRAMESET) = (self.frames, name) {
            self.frames = Frames::Yes(open.saturating_sub(1));
        }
        if let Some(place) = self.kept_html(name) {
            self.close_to(place);
        } else if self.open.len() == self.foreign && self.points == 0 {
            // Right below the foreign elements is the page: its end tags close them, where they have a start.
            let (last, open) = &mut self.outside[name.drawer()];
            if *last == name && *open > 0 {
                *open -= 1;
                self.close_to(0);
            }
        }
    }

    /// Where an element of that name is kept that is of HTML, in the innermost run of those.
    fn kept_html(&self, name: Name) -> Option<usize> {
        if self.kept[name.drawer()] == 0 {
            return None;
        }
        let html = self.open.iter().enumerate().rev().skip_while(|(_, open)| open.kind.is_foreign());
        let mut html = html.take_while(|(_, open)| open.kind == Kind::Html);
        html.find(|(_, open)| open.name == name).map(|(place, _)| place)
    }

    /// Foreign elements end, up to one that may hold HTML.
    fn break_out(&mut self) {
        while self.top().is_some_and(|top| top.is_foreign() && !top.is_point()) {
            self.pop();
        }
    }

    fn top(&self) -> Option<Kind> {
        self.open.last().map(|open| open.kind)
    }

    fn push(&mut self, name: Name, kind: Kind) {
        if self.open.len() < MOST_OPEN {
            self.open.push(Open { name, kind });
            self.templates += usize::from(kind == Kind::Template);
            self.foreign += usize::from(kind.is_foreign());
            self.points += usize::from(kind.is_point());
            // At most MOST_OPEN, which a byte holds.
            self.kept[name.drawer()] += 1;
        }
    }

    fn pop(&mut self) {
        if let Some(Open { name, kind }) = self.open.pop() {
            self.templates -= usize::from(kind == Kind::Template);
            self.foreign -= usize::from(kind.is_foreign());
            self.points -= usize::from(kind.is_point());
            self.kept[name.drawer()] -= 1;
        }
    }

    fn close_to(&mut self, len: usize) {
        while self.open.len() > len {
            self.pop();
        }
    }
}

impl Kind {
    fn of_svg(name: Name) -> Self {
        match name {
            Name::FOREIGN_OBJECT | Name::DESC | Name::TITLE => Self::SvgPoint,
            _ => Self::Svg,
        }
    }

    fn of_math(tag: &StartTag<'_>) -> Self {
        let is_html = |encoding: &str| {
            encoding.eq_ignore_ascii_case("text/html") || encoding.eq_ignore_ascii_case("application/xhtml+xml")
        };
        match tag.name {
            Name::MI | Name::MO | Name::MN | Name::MS | Name::MTEXT => Self::MathText,
            Name::ANNOTATION_XML if tag.value(Attribute::Encoding).is_some_and(|value| is_html(&value)) => {
                Self::MathPoint
            }
            Name::ANNOTATION_XML => Self::MathAnnotation,
            _ => Self::Math,
        }
    }

    fn is_svg(self) -> bool {
        matches!(self, Self::Svg | Self::SvgPoint)
    }

    fn is_foreign(self) -> bool {
        !matches!(self, Self::Html | Self::Template)
    }

    /// Integration points.
    fn is_point(self) -> bool {
        matches!(self, Self::SvgPoint | Self::MathPoint | Self::MathText)
    }

    /// Whether a start tag within is of HTML, or begins what is.
    fn takes_html(self, name: Name) -> bool {
        match self {
            Self::SvgPoint | Self::MathPoint => true,
            Self::MathText => !matches!(name, Name::MGLYPH | Name::MALIGNMARK),
            Self::MathAnnotation => name == Name::SVG,
            _ => false,
        }
    }
}

/// What a tokeniser reads behind the start tag of an HTML element.
fn content(name: Name) -> Content {
    match name {
        Name::SCRIPT => Content::Script,
        Name::STYLE => Content::Raw("style"),
        Name::TEXTAREA => Content::Raw("textarea"),
        Name::TITLE => Content::Raw("title"),
        Name::IFRAME => Content::Raw("iframe"),
        Name::XMP => Content::Raw("xmp"),
        Name::NOEMBED => Content::Raw("noembed"),
        Name::NOFRAMES => Content::Raw("noframes"),
        Name::PLAINTEXT => Content::Plain,
        _ => Content::Markup,
    }
}
