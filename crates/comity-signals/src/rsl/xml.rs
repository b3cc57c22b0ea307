//! From the bytes of a document to its elements.

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::document::{Content, Licence, Limits, Payment, RslDocument, UsageList};
use super::usage::UsageSet;
use crate::found::cut;

const MAX_DEPTH: usize = 32;
const MAX_ELEMENTS: usize = 20_000;
/// Bytes of the text of one element, and of an attribute.
const MAX_TEXT_BYTES: usize = 4096;
/// Bytes that are kept of an element as evidence.
const MAX_RAW_BYTES: usize = 512;

/// Elements that RSL 1.0 defines and that say nothing here.
const QUIET: [&str; 9] =
    ["legal", "schema", "copyright", "alternate", "amount", "standard", "accepts", "description", "name"];

pub(super) fn read(body: &[u8]) -> RslDocument {
    let whole = body.len() <= RslDocument::MAX_BYTES;
    let body = body.get(..RslDocument::MAX_BYTES).unwrap_or(body);
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = String::from_utf8_lossy(body);
    let sound = matches!(text, std::borrow::Cow::Borrowed(_));
    let mut reading = Reading::new(&text);
    reading.run();
    let Reading { mut document, broken, ended, .. } = reading;
    let licensed = |content: &Content| !content.licences.is_empty();
    document.conformant = whole && sound && ended && !broken && document.contents.iter().all(licensed);
    document.bounded()
}

/// An open element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Rsl,
    Content,
    Licence,
    Permits(Kind),
    Prohibits(Kind),
    Payment,
    Terms,
    /// Known and of no meaning here, or unknown, or of another namespace.
    Other,
}

/// The `type` of `permits` and `prohibits`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    User,
    Geo,
}

struct Reading<'a> {
    text: &'a str,
    document: RslDocument,
    open: Vec<Open>,
    /// Where the element of usages begins, and its text so far.
    start: usize,
    words: String,
    elements: usize,
    /// Something in it does not conform.
    broken: bool,
    /// The root element was closed.
    ended: bool,
    /// The namespace of the root: elements of it are read, even when it is the wrong one.
    namespace: Option<String>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            document: RslDocument::default(),
            open: Vec::new(),
            start: 0,
            words: String::new(),
            elements: 0,
            broken: false,
            ended: false,
            namespace: None,
        }
    }

    /// Reads until the end or the first fault: what stands before it is kept.
    fn run(&mut self) {
        let mut reader = NsReader::from_str(self.text);
        reader.config_mut().expand_empty_elements = true;
        loop {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let Ok((namespace, event)) = reader.read_resolved_event() else { return self.broken = true };
            match event {
                Event::Start(start) => {
                    let namespace = match namespace {
                        ResolveResult::Bound(name) => Some(name.into_inner()),
                        ResolveResult::Unbound => None,
                        ResolveResult::Unknown(_) => return self.broken = true,
                    };
                    self.elements += 1;
                    if self.open.len() >= MAX_DEPTH || self.elements > MAX_ELEMENTS || self.ended {
                        return self.broken = true;
                    }
                    let open = self.element(namespace, &start, at);
                    self.open.push(open);
                }
                Event::End(_) => {
                    let end = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
                    self.close(end);
                }
                Event::Text(text) => self.add_words(&text.xml10_content()),
                Event::CData(text) => self.add_words(&text.xml10_content()),
                Event::GeneralRef(reference) => self.reference(&reference),
                // A document type may define entities: no such document conforms (signals reference §8.3).
                Event::DocType(_) => self.broken = true,
                Event::Eof => return,
                _ => {}
            }
        }
    }

    fn element(&mut self, namespace: Option<&str>, start: &BytesStart<'_>, at: usize) -> Open {
        let name = start.local_name().into_inner();
        let Some(parent) = self.open.last().copied() else { return self.root(namespace, name, start) };
        if namespace != self.namespace.as_deref() {
            return Open::Other;
        }
        match (parent, name) {
            (Open::Rsl, "content") => self.content(start),
            (Open::Content, "license") => {
                if let Some(content) = self.document.contents.last_mut() {
                    content.licences.push(Licence::default());
                }
                Open::Licence
            }
            (Open::Content, "terms") => self.texts(Open::Terms),
            (Open::Licence, "permits" | "prohibits") => self.list(name, start, at),
            (Open::Licence, "payment") => {
                let kind = attribute(start, "type").unwrap_or_default().trim().to_ascii_lowercase();
                self.licence(|licence| licence.payments.push(Payment { kind }));
                Open::Payment
            }
            (Open::Payment, "custom") => {
                self.licence(|licence| {
                    if let Some(payment) = licence.payments.last_mut().filter(|payment| payment.kind.is_empty()) {
                        "custom".clone_into(&mut payment.kind);
                    }
                });
                Open::Other
            }
            (Open::Licence, "reporting") => {
                self.licence(|licence| licence.reporting = true);
                Open::Other
            }
            (Open::Other, _) => Open::Other,
            (_, "custom") => Open::Other,
            _ => {
                self.broken |= !QUIET.contains(&name);
                Open::Other
            }
        }
    }

    fn root(&mut self, namespace: Option<&str>, name: &str, start: &BytesStart<'_>) -> Open {
        self.broken |= namespace != Some(RslDocument::NAMESPACE);
        if name != "rsl" {
            self.broken = true;
            return Open::Other;
        }
        self.namespace = namespace.map(str::to_owned);
        self.document.set_max_age(attribute(start, "max-age").and_then(|days| days.trim().parse().ok()));
        Open::Rsl
    }

    fn content(&mut self, start: &BytesStart<'_>) -> Open {
        let url = attribute(start, "url").unwrap_or_default();
        let server = attribute(start, "server").is_some_and(|server| !server.trim().is_empty());
        self.document.contents.push(Content::new(url.trim(), server, Vec::new()));
        Open::Content
    }

    fn list(&mut self, name: &str, start: &BytesStart<'_>, at: usize) -> Open {
        let kind = match attribute(start, "type").unwrap_or_default().trim() {
            "usage" => Kind::Usage,
            "user" => Kind::User,
            "geo" => Kind::Geo,
            _ => {
                self.broken = true;
                return Open::Other;
            }
        };
        self.start = at;
        self.texts(if name == "permits" { Open::Permits(kind) } else { Open::Prohibits(kind) })
    }

    fn texts(&mut self, open: Open) -> Open {
        self.words.clear();
        open
    }

    /// Text counts directly within the elements that hold words.
    fn add_words(&mut self, text: &str) {
        self.broken |= self.open.is_empty() && !text.trim().is_empty();
        if matches!(self.open.last(), Some(Open::Permits(_) | Open::Prohibits(_) | Open::Terms)) {
            let room = MAX_TEXT_BYTES.saturating_sub(self.words.len());
            let part = cut(text, room);
            self.broken |= part.len() < text.len();
            self.words.push_str(part);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        if let Ok(Some(character)) = reference.resolve_char_ref() {
            return self.add_words(character.encode_utf8(&mut [0; 4]));
        }
        let name: &str = reference;
        match quick_xml::escape::resolve_predefined_entity(name) {
            Some(text) => self.add_words(text),
            // It is never resolved; what stands around it is not glued together.
            None => {
                self.broken = true;
                self.add_words(" ");
            }
        }
    }

    fn close(&mut self, end: usize) {
        match self.open.pop() {
            Some(Open::Permits(kind)) => self.close_list(kind, true, end),
            Some(Open::Prohibits(kind)) => self.close_list(kind, false, end),
            Some(Open::Terms) => {
                let url = std::mem::take(&mut self.words);
                self.document.add_terms(url.trim());
            }
            _ => {}
        }
        self.ended |= self.open.is_empty();
    }

    fn close_list(&mut self, kind: Kind, permits: bool, end: usize) {
        let words = std::mem::take(&mut self.words);
        let legacy = words.contains(',');
        self.document.legacy_list |= legacy && kind == Kind::Usage;
        self.broken |= legacy;
        let words = words.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        if kind == Kind::Usage {
            let mut set = UsageSet::default();
            words.for_each(|word| set.add(word));
            let raw = cut(self.text.get(self.start..end).unwrap_or_default().trim(), MAX_RAW_BYTES).to_owned();
            let list = UsageList { set, raw };
            let repeated = self.licence(|licence| {
                let lists = if permits { &mut licence.permits } else { &mut licence.prohibits };
                lists.push(list);
                lists.len() > 1
            });
            self.broken |= repeated == Some(true);
            return;
        }
        let found: Vec<String> = words.map(str::to_owned).collect();
        let repeated = self.licence(|licence| {
            let limits: &mut Limits = if kind == Kind::User { &mut licence.users } else { &mut licence.regions };
            let list = if permits { &mut limits.permitted } else { &mut limits.prohibited };
            let repeated = list.is_some();
            list.get_or_insert_default().extend(found);
            repeated
        });
        self.broken |= repeated == Some(true);
    }

    fn licence<T>(&mut self, change: impl FnOnce(&mut Licence) -> T) -> Option<T> {
        self.document.contents.last_mut()?.licences.last_mut().map(change)
    }
}

/// The value of an attribute without a prefix.
fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = start.try_get_attribute(name).ok().flatten()?;
    let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok()?;
    Some(cut(&value, MAX_TEXT_BYTES).to_owned())
}
