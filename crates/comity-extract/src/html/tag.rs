//! One tag: where it ends, and those of its attributes that matter.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::Name;
use crate::attribute;

/// Attributes that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Action,
    Color,
    Content,
    Data,
    Encoding,
    Face,
    Form,
    Formaction,
    Formmethod,
    Href,
    Hreflang,
    HttpEquiv,
    Lang,
    Method,
    Name,
    Poster,
    Rel,
    Size,
    Src,
    Srcset,
    Type,
    XlinkHref,
    XmlLang,
}

const COUNT: usize = Attribute::XmlLang as usize + 1;

impl Attribute {
    fn of(name: &[u8]) -> Option<Self> {
        let one = |known: &str, attribute| name.eq_ignore_ascii_case(known.as_bytes()).then_some(attribute);
        match name.len() {
            3 => one("src", Self::Src).or_else(|| one("rel", Self::Rel)),
            4 => one("href", Self::Href)
                .or_else(|| one("name", Self::Name))
                .or_else(|| one("data", Self::Data))
                .or_else(|| one("lang", Self::Lang))
                .or_else(|| one("type", Self::Type))
                .or_else(|| one("face", Self::Face))
                .or_else(|| one("size", Self::Size))
                .or_else(|| one("form", Self::Form)),
            5 => one("color", Self::Color),
            6 => one("srcset", Self::Srcset)
                .or_else(|| one("poster", Self::Poster))
                .or_else(|| one("action", Self::Action))
                .or_else(|| one("method", Self::Method)),
            7 => one("content", Self::Content),
            8 => one("xml:lang", Self::XmlLang)
                .or_else(|| one("encoding", Self::Encoding))
                .or_else(|| one("hreflang", Self::Hreflang)),
            10 => one("http-equiv", Self::HttpEquiv)
                .or_else(|| one("xlink:href", Self::XlinkHref))
                .or_else(|| one("formaction", Self::Formaction))
                .or_else(|| one("formmethod", Self::Formmethod)),
            _ => None,
        }
    }
}

/// A start tag, its attributes raw.
pub(crate) struct StartTag<'a> {
    pub(crate) name: Name,
    pub(crate) is_self_closing: bool,
    bytes: &'a [u8],
    /// `None` when none was looked for.
    values: Option<&'a Values>,
}

/// Where the values of a tag begin and end.
#[derive(Debug, Default)]
pub(crate) struct Values([Option<(u32, u32)>; COUNT]);

impl StartTag<'_> {
    pub(crate) fn without_attributes(name: Name) -> Self {
        Self { name, is_self_closing: false, bytes: &[], values: None }
    }

    /// The first attribute of that name, decoded. Source: the HTML standard, "duplicate-attribute".
    pub(crate) fn value(&self, attribute: Attribute) -> Option<Cow<'_, str>> {
        let (start, end) = (*self.values?.0.get(attribute as usize)?)?;
        // Values begin and end beside ASCII, so that no character is cut.
        let raw = std::str::from_utf8(self.bytes.get(start as usize..end as usize)?).unwrap_or_default();
        Some(attribute::attribute_value(raw))
    }

    pub(crate) fn has(&self, attribute: Attribute) -> bool {
        self.values.and_then(|values| values.0.get(attribute as usize)).is_some_and(Option::is_some)
    }
}

/// A whole tag.
pub(crate) struct Tag<'a> {
    pub(crate) start: StartTag<'a>,
    /// Bytes from the `<` to behind the `>`.
    pub(crate) len: usize,
}

/// Reads the tag at the start of `bytes`, whose name begins at `name_start`; `None` when it does not end in them. Of a
/// tag that is longer than `limit` only the name is kept; of `form` and its buttons too, unless `forms`. `room` is for its
/// attributes.
///
/// Source: the HTML standard, tokenization from "tag name state" to "after attribute value (quoted) state". Linear.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    name_start: usize,
    limit: usize,
    forms: bool,
    room: &'a mut Values,
) -> Option<Tag<'a>> {
    let name_end = name_start + position(bytes.get(name_start..)?, ends_tag_name)?;
    let name = Name::new(cut(bytes.get(name_start..name_end)?));
    if name_start != 1 || !(name.has_attributes_that_matter() || forms && name.is_of_forms()) {
        let (len, is_self_closing) = attributes(bytes, name_end, |_, _| {})?;
        let is_self_closing = is_self_closing && len <= limit;
        return Some(Tag { start: StartTag { name, is_self_closing, bytes, values: None }, len });
    }
    *room = Values::default();
    let (len, is_self_closing) = attributes(bytes, name_end, |name, value| {
        if let Some(slot) = Attribute::of(name).and_then(|attribute| room.0.get_mut(attribute as usize))
            && slot.is_none()
            && let (Ok(start), Ok(end)) = (u32::try_from(value.start), u32::try_from(value.end))
        {
            *slot = Some((start, end));
        }
    })?;
    if len > limit {
        return Some(Tag { start: StartTag::without_attributes(name), len });
    }
    Some(Tag { start: StartTag { name, is_self_closing, bytes, values: Some(room) }, len })
}

/// The name of a tag that does not end in `bytes`.
pub(crate) fn name(bytes: &[u8], name_start: usize) -> Name {
    let name = bytes.get(name_start..).unwrap_or_default();
    let end = position(name, ends_tag_name).unwrap_or(name.len());
    Name::new(cut(name.get(..end).unwrap_or_default()))
}

/// No name that is known here is as long; a name of megabytes is not hashed whole.
fn cut(name: &[u8]) -> &[u8] {
    name.get(..64).unwrap_or(name)
}

/// Where the tag ends, and whether it closes itself.
fn attributes<'a>(
    bytes: &'a [u8],
    mut place: usize,
    mut each: impl FnMut(&'a [u8], Range<usize>),
) -> Option<(usize, bool)> {
    loop {
        match *bytes.get(place)? {
            b'>' => return Some((place + 1, false)),
            b'/' if *bytes.get(place + 1)? == b'>' => return Some((place + 2, true)),
            b'/' => place += 1,
            byte if is_space(byte) => place += 1,
            _ => {
                // The first character is part of the name, whatever it is.
                let name_end = place + 1 + position(bytes.get(place + 1..)?, ends_attribute_name)?;
                let name = bytes.get(place..name_end)?;
                let (value, end) = value(bytes, name_end)?;
                each(name, value);
                place = end;
            }
        }
    }
}

/// The value behind an attribute's name, and where what follows it starts.
fn value(bytes: &[u8], name_end: usize) -> Option<(Range<usize>, usize)> {
    let equals = skip_space(bytes, name_end)?;
    if *bytes.get(equals)? != b'=' {
        return Some((equals..equals, equals));
    }
    let start = skip_space(bytes, equals + 1)?;
    match *bytes.get(start)? {
        quote @ (b'"' | b'\'') => {
            let end = start + 1 + memchr(quote, bytes.get(start + 1..)?)?;
            Some((start + 1..end, end + 1))
        }
        _ => {
            let end = start + position(bytes.get(start..)?, |byte| is_space(byte) || byte == b'>')?;
            Some((start..end, end))
        }
    }
}

fn position(bytes: &[u8], ends: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.iter().position(|byte| ends(*byte))
}

fn skip_space(bytes: &[u8], place: usize) -> Option<usize> {
    Some(place + position(bytes.get(place..)?, |byte| !is_space(byte))?)
}

fn ends_tag_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

fn ends_attribute_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>' | b'=')
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

/// Where within a tag that is too long to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    TagName,
    BeforeName,
    /// Behind a `/`.
    Slash,
    Name,
    AfterName,
    BeforeValue,
    Quoted(u8),
    Bare,
}

/// How a part of a tag ended.
pub(crate) enum Passed {
    /// The tag goes on.
    Within(Within),
    /// The tag ended: so many bytes were its.
    End(usize),
}

/// Passes over more of a tag, keeping nothing: the states of [`read`], byte by byte.
pub(crate) fn pass(mut within: Within, bytes: &[u8]) -> Passed {
    for (place, &byte) in bytes.iter().enumerate() {
        within = match (within, byte) {
            (Within::Quoted(quote), _) if byte != quote => continue,
            (Within::Quoted(_), _) => Within::BeforeName,
            (_, b'>') => return Passed::End(place + 1),
            (Within::BeforeValue, b'"' | b'\'') => Within::Quoted(byte),
            (Within::BeforeValue, _) if is_space(byte) => continue,
            (Within::BeforeValue, _) => Within::Bare,
            (Within::Bare, _) if is_space(byte) => Within::BeforeName,
            (Within::Bare, _) => continue,
            (_, b'/') => Within::Slash,
            (Within::Name | Within::AfterName, b'=') => Within::BeforeValue,
            (Within::Name, _) if is_space(byte) => Within::AfterName,
            (Within::TagName | Within::Slash, _) if is_space(byte) => Within::BeforeName,
            (Within::TagName, _) => continue,
            (_, _) if is_space(byte) => continue,
            (_, _) => Within::Name,
        };
    }
    Passed::Within(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tag of up to five bytes that matter, behind `<a `: both readers find one end.
    #[test]
    fn passing_over_ends_where_reading_ends() {
        let bytes = b" /=>'\"xy";
        for number in 0..8_usize.pow(6) {
            let mut tag = b"<a".to_vec();
            tag.extend((0..6).map(|place| bytes[number / 8_usize.pow(place) % 8]));
            let read = read(&tag, 1, 100, false, &mut Values::default()).map(|tag| tag.len);
            let passed = match pass(Within::TagName, &tag[1..]) {
                Passed::End(len) => Some(len + 1),
                Passed::Within(_) => None,
            };
            assert_eq!(read, passed, "{}", tag.escape_ascii());
        }
    }
}
