use sfv::{BareItem, Dictionary, FieldType as _, InnerList, Item, ListEntry, Parser, StringRef};

/// Bytes of one field, its lines joined, that are read; a longer one is unreadable (our choice).
const MOST_BYTES: usize = 16 * 1024;
/// Components that a signature may cover (our choice).
const MOST_COMPONENTS: usize = 64;

/// Reads the lines of a field as one dictionary (RFC 9651 §4.2): `Ok(None)` when there is none.
pub(super) fn dictionary<N: AsRef<str>, V: AsRef<[u8]>>(
    fields: &[(N, V)],
    name: &str,
) -> Result<Option<Dictionary>, ()> {
    let Some(value) = joined(fields, name) else { return Ok(None) };
    if value.len() > MOST_BYTES {
        return Err(());
    }
    Parser::new(&value).parse().map(Some).map_err(|_| ())
}

/// The lines of a field, trimmed and joined (RFC 9421 §2.1).
pub(super) fn joined<N: AsRef<str>, V: AsRef<[u8]>>(fields: &[(N, V)], name: &str) -> Option<Vec<u8>> {
    let mut lines =
        fields.iter().filter(|(field, _)| field.as_ref().eq_ignore_ascii_case(name)).map(|(_, v)| v.as_ref());
    let mut value = lines.next()?.trim_ascii().to_vec();
    for line in lines {
        if value.len() > MOST_BYTES {
            break;
        }
        value.extend(b", ");
        value.extend(line.trim_ascii());
    }
    Some(value)
}

/// The signature base of RFC 9421 §2.5; `None` when a component is named twice, is no name, or has no value.
pub(super) fn base(covered: &InnerList, value_of: impl Fn(&Item) -> Option<String>) -> Option<String> {
    if covered.items.len() > MOST_COMPONENTS {
        return None;
    }
    let mut text = String::new();
    for (place, item) in covered.items.iter().enumerate() {
        let repeated = covered.items.iter().take(place).any(|earlier| earlier == item);
        let value = value_of(item).filter(|value| !repeated && !value.contains(['\n', '\r']))?;
        text.push_str(&item.serialize());
        text.push_str(": ");
        text.push_str(&value);
        text.push('\n');
    }
    text.push_str("\"@signature-params\": ");
    text.push_str(&member(ListEntry::InnerList(covered.clone()))?);
    Some(text)
}

/// A member of a dictionary as it is serialised by itself (RFC 9421 §2.1.2).
pub(super) fn member(entry: ListEntry) -> Option<String> {
    let mut dictionary = Dictionary::new();
    dictionary.insert(sfv::Key::from_string("k".to_owned()).ok()?, entry);
    let text = dictionary.serialize()?;
    let value = text.strip_prefix('k')?;
    // Boolean true is written as nothing.
    Some(value.strip_prefix('=').map_or_else(|| format!("?1{value}"), str::to_owned))
}

/// The name of a component.
pub(super) fn name(item: &Item) -> Option<&str> {
    item.bare_item.as_string().map(StringRef::as_str)
}

/// A parameter that is a string.
pub(super) fn text<'a>(parameters: &'a sfv::Parameters, key: &str) -> Option<&'a str> {
    parameters.get(key).and_then(BareItem::as_string).map(StringRef::as_str)
}

/// A parameter that is an integer.
pub(super) fn integer(parameters: &sfv::Parameters, key: &str) -> Option<i64> {
    parameters.get(key).and_then(BareItem::as_integer).map(i64::from)
}
