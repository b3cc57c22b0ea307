//! Names of elements, as numbers.

/// A name in lower case: its bytes up to eight of them, a hash of 63 bits of longer ones. Of two long names that are
/// one number the page's author would lose links; nothing else depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name(u64);

const LONG: u64 = 1 << 63;

impl Name {
    pub(crate) const fn new(bytes: &[u8]) -> Self {
        let mut number = 0;
        let mut place = 0;
        if bytes.len() <= 8 {
            while place < bytes.len() {
                // No byte is NUL, or `a` and `a` with one behind it would be alike.
                let byte = if bytes[place] == 0 { 0xff } else { bytes[place].to_ascii_lowercase() };
                number |= (byte as u64) << (8 * place);
                place += 1;
            }
            // Not LONG: a name of eight bytes that ends beyond ASCII is none of those known here.
            return Self(number & !LONG);
        }
        // FNV-1a.
        number = 0xcbf2_9ce4_8422_2325;
        while place < bytes.len() {
            number = (number ^ bytes[place].to_ascii_lowercase() as u64).wrapping_mul(0x0100_0000_01b3);
            place += 1;
        }
        Self(number | LONG)
    }

    /// One of 256 drawers.
    pub(crate) fn drawer(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }
}

macro_rules! names {
    ($($constant:ident $text:literal),* $(,)?) => {
        impl Name {
            $(pub(crate) const $constant: Self = Self::new($text.as_bytes());)*
        }
        #[cfg(test)]
        const KNOWN: &[(&str, Name)] = &[$(($text, Name::$constant)),*];
    };
}

names! {
    A "a", ANNOTATION_XML "annotation-xml", AREA "area", ARTICLE "article", ASIDE "aside", AUDIO "audio", B "b", BASE "base",
    BASEFONT "basefont", BGSOUND "bgsound", BIG "big", BLOCKQUOTE "blockquote", BODY "body", BR "br", BUTTON "button",
    CENTER "center", CODE "code", COL "col", DD "dd", DESC "desc", DIV "div", DL "dl", DT "dt", EM "em", EMBED "embed",
    FONT "font", FOOTER "footer", FOREIGN_OBJECT "foreignobject", FORM "form", FRAME "frame", FRAMESET "frameset",
    H1 "h1", H2 "h2", H3 "h3", H4 "h4", H5 "h5", H6 "h6", HEAD "head", HEADER "header", HR "hr", HTML "html", I "i",
    IFRAME "iframe", IMAGE "image", IMG "img", INPUT "input", KEYGEN "keygen", LI "li", LINK "link", LISTING "listing",
    MAIN "main", MALIGNMARK "malignmark", MARQUEE "marquee", MATH "math", MENU "menu", META "meta", MGLYPH "mglyph",
    MI "mi", MN "mn", MO "mo", MS "ms", MTEXT "mtext", NAV "nav", NOBR "nobr", NOEMBED "noembed", NOFRAMES "noframes", NOSCRIPT "noscript",
    OBJECT "object", OL "ol", OPTION "option", P "p", PARAM "param", PLAINTEXT "plaintext", PRE "pre", RUBY "ruby", S "s",
    SCRIPT "script", SECTION "section", SELECT "select", SMALL "small", SOURCE "source", SPAN "span", STRIKE "strike",
    STRONG "strong", STYLE "style", SUB "sub", SUP "sup", SVG "svg", TABLE "table", TD "td", TEMPLATE "template",
    TEXTAREA "textarea", TH "th", TITLE "title", TR "tr", TRACK "track", TT "tt", U "u", UL "ul", USE "use", VAR "var",
    VIDEO "video", WBR "wbr", XMP "xmp",
}

impl Name {
    /// Elements that may stand before and in a head. Source: the HTML standard, "in head" and "before head".
    pub(crate) fn is_of_head(self) -> bool {
        matches!(
            self,
            Self::HTML
                | Self::HEAD
                | Self::TITLE
                | Self::META
                | Self::LINK
                | Self::BASE
                | Self::BASEFONT
                | Self::BGSOUND
                | Self::STYLE
                | Self::SCRIPT
                | Self::NOSCRIPT
                | Self::NOFRAMES
                | Self::TEMPLATE
        )
    }

    /// Elements without content. Source: the HTML standard, "void elements", and the obsolete ones its parser knows.
    pub(crate) fn is_void(self) -> bool {
        matches!(
            self,
            Self::AREA
                | Self::BASE
                | Self::BASEFONT
                | Self::BGSOUND
                | Self::BR
                | Self::COL
                | Self::EMBED
                | Self::FRAME
                | Self::HR
                | Self::IMAGE
                | Self::IMG
                | Self::INPUT
                | Self::KEYGEN
                | Self::LINK
                | Self::META
                | Self::PARAM
                | Self::SOURCE
                | Self::TRACK
                | Self::WBR
        )
    }

    /// Start tags that end foreign content. Source: the HTML standard, "parsing main inforeign"; `font` counts with
    /// certain attributes only.
    pub(crate) fn breaks_out(self) -> bool {
        matches!(
            self,
            Self::B
                | Self::BIG
                | Self::BLOCKQUOTE
                | Self::BODY
                | Self::BR
                | Self::CENTER
                | Self::CODE
                | Self::DD
                | Self::DIV
                | Self::DL
                | Self::DT
                | Self::EM
                | Self::EMBED
                | Self::H1
                | Self::H2
                | Self::H3
                | Self::H4
                | Self::H5
                | Self::H6
                | Self::HEAD
                | Self::HR
                | Self::I
                | Self::IMG
                | Self::LI
                | Self::LISTING
                | Self::MENU
                | Self::META
                | Self::NOBR
                | Self::OL
                | Self::P
                | Self::PRE
                | Self::RUBY
                | Self::S
                | Self::SMALL
                | Self::SPAN
                | Self::STRONG
                | Self::STRIKE
                | Self::SUB
                | Self::SUP
                | Self::TABLE
                | Self::TT
                | Self::U
                | Self::UL
                | Self::VAR
        )
    }

    /// Start tags that close an open `p`. Source: "parsing main inbody", the commoner ones.
    pub(crate) fn closes_p(self) -> bool {
        matches!(
            self,
            Self::P
                | Self::DIV
                | Self::UL
                | Self::OL
                | Self::DL
                | Self::BLOCKQUOTE
                | Self::PRE
                | Self::H1
                | Self::H2
                | Self::H3
                | Self::H4
                | Self::H5
                | Self::H6
                | Self::SECTION
                | Self::ARTICLE
                | Self::ASIDE
                | Self::NAV
                | Self::HEADER
                | Self::FOOTER
                | Self::MAIN
                | Self::FORM
                | Self::HR
                | Self::CENTER
                | Self::LI
                | Self::DD
                | Self::DT
                | Self::MENU
                | Self::LISTING
                | Self::PLAINTEXT
                | Self::XMP
        )
    }

    /// Start tags after which a `frameset` is none. Source: "frameset-ok flag".
    pub(crate) fn forbids_frameset(self) -> bool {
        matches!(
            self,
            Self::BODY
                | Self::PRE
                | Self::LISTING
                | Self::LI
                | Self::DD
                | Self::DT
                | Self::BUTTON
                | Self::MARQUEE
                | Self::OBJECT
                | Self::TABLE
                | Self::AREA
                | Self::BR
                | Self::EMBED
                | Self::IMG
                | Self::IMAGE
                | Self::KEYGEN
                | Self::WBR
                | Self::INPUT
                | Self::HR
                | Self::TEXTAREA
                | Self::XMP
                | Self::IFRAME
                | Self::SELECT
                | Self::PLAINTEXT
        )
    }

    /// Elements whose attributes are looked at where forms are wanted.
    pub(crate) fn is_of_forms(self) -> bool {
        matches!(self, Self::FORM | Self::BUTTON | Self::INPUT)
    }

    /// Elements whose attributes are looked at.
    pub(crate) fn has_attributes_that_matter(self) -> bool {
        matches!(
            self,
            Self::A
                | Self::AREA
                | Self::LINK
                | Self::SCRIPT
                | Self::META
                | Self::BASE
                | Self::HTML
                | Self::IFRAME
                | Self::FRAME
                | Self::IMG
                | Self::IMAGE
                | Self::SOURCE
                | Self::VIDEO
                | Self::AUDIO
                | Self::TRACK
                | Self::EMBED
                | Self::OBJECT
                | Self::USE
                | Self::FONT
                | Self::ANNOTATION_XML
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_number_of_its_own() {
        for (place, (text, name)) in KNOWN.iter().enumerate() {
            assert_eq!(Name::new(text.to_ascii_uppercase().as_bytes()), *name, "{text}");
            assert!(KNOWN.iter().skip(place + 1).all(|(_, other)| other != name), "{text}");
        }
        for text in
            ["", "a\0", "\0a", "ab", "hea", "headers", "annotation-xm", "titl\u{e9}", "\u{e9}\u{e9}\u{e9}\u{e9}"]
        {
            assert!(KNOWN.iter().all(|(_, name)| *name != Name::new(text.as_bytes())), "{text}");
        }
    }
}
