//! Where forms lead that are sent with GET.
//!
//! Source: the HTML standard, "form submission algorithm", and "the form element pointer" of its parser. What a button
//! belongs to by its `form` attribute is not looked for: such a button counts by its own method only.

use std::borrow::Cow;

use crate::Rel;
use crate::html::{Attribute, Name, StartTag};

/// The form that is open, as far as its buttons need it.
#[derive(Debug)]
struct OpenForm {
    is_get: bool,
    rel: Rel,
    /// Of a form that is sent otherwise: a button may send it with GET.
    withheld: Option<Box<str>>,
}

/// The forms of a page.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    open: Option<OpenForm>,
}

/// A URL that may be asked for, and what the form says of it.
pub(crate) type Action<'a> = (Rel, Cow<'a, str>);

/// Bytes of an action that is withheld: no longer one is ever asked for.
const WITHHELD_BYTES: usize = comity_url::MAX_CRAWL_URL_BYTES;

impl Forms {
    /// Takes a `form`, `button` or `input`.
    pub(crate) fn element<'a>(&mut self, tag: &'a StartTag<'_>) -> Option<Action<'a>> {
        match tag.name {
            Name::FORM => self.start(tag),
            _ if is_submit(tag) => self.button(tag),
            _ => None,
        }
    }

    pub(crate) fn end(&mut self) {
        self.open = None;
    }

    /// A form within a form is none.
    fn start<'a>(&mut self, tag: &'a StartTag<'_>) -> Option<Action<'a>> {
        if self.open.is_some() {
            return None;
        }
        let rel = tag.value(Attribute::Rel).map_or_else(Rel::default, |value| Rel::parse(&value));
        let is_get = tag.value(Attribute::Method).is_none_or(|method| is_get(&method));
        let action = address(tag, Attribute::Action);
        let withheld = action.as_deref().filter(|action| !is_get && action.len() <= WITHHELD_BYTES).map(Box::from);
        self.open = Some(OpenForm { is_get, rel, withheld });
        action.filter(|_| is_get).map(|action| (rel, action))
    }

    fn button<'a>(&mut self, tag: &'a StartTag<'_>) -> Option<Action<'a>> {
        let own = tag.value(Attribute::Formmethod).map(|method| is_get(&method));
        if tag.has(Attribute::Form) {
            let action = address(tag, Attribute::Formaction).filter(|_| own == Some(true))?;
            return Some((Rel::default(), action));
        }
        let form = self.open.as_mut()?;
        if !own.unwrap_or(form.is_get) {
            return None;
        }
        let action = if tag.has(Attribute::Formaction) {
            address(tag, Attribute::Formaction)
        } else {
            form.withheld.take().map(|action| Cow::Owned(action.into()))
        };
        action.map(|action| (form.rel, action))
    }
}

/// What is missing or empty is the page itself.
fn address<'a>(tag: &'a StartTag<'_>, name: Attribute) -> Option<Cow<'a, str>> {
    tag.value(name).filter(|reference| !reference.trim_ascii().is_empty())
}

/// Unknown methods are GET ("invalid value default").
fn is_get(method: &str) -> bool {
    !method.eq_ignore_ascii_case("post") && !method.eq_ignore_ascii_case("dialog")
}

fn is_submit(tag: &StartTag<'_>) -> bool {
    let kind = tag.value(Attribute::Type);
    let is = |known: &[&str]| known.iter().any(|known| kind.as_deref().is_some_and(|k| k.eq_ignore_ascii_case(known)));
    match tag.name {
        Name::BUTTON => !is(&["reset", "button"]),
        Name::INPUT => is(&["submit", "image"]),
        _ => false,
    }
}
