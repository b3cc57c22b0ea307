//! JSON Feed (jsonfeed.org, versions 1 and 1.1), read item by item: what stands before a fault counts.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::entries::{Draft, Entries};
use super::entry::EntryKind;
use super::notes::BrokenFile;

/// What of an item counts. Fields of another type than the format says are nothing.
#[derive(Debug, Default)]
struct Item {
    url: Option<String>,
    id: Option<String>,
    modified: Option<String>,
    published: Option<String>,
}

/// Reads a feed. True when it is one: it says so, or has a list of items.
pub(super) fn read(text: &str, out: &mut Entries) -> bool {
    let mut is_feed = false;
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Feed { out, is_feed: &mut is_feed }.deserialize(&mut reader).and_then(|()| reader.end());
    if is_feed && read.is_err() {
        out.notes.broken.get_or_insert(BrokenFile::Json);
    }
    is_feed
}

struct Feed<'a> {
    out: &'a mut Entries,
    is_feed: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Feed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Feed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => *self.is_feed |= map.next_value::<Text>()?.0.is_some_and(|v| v.contains("jsonfeed.org")),
                "items" => map.next_value_seed(Items { out: self.out, is_feed: self.is_feed })?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Items<'a> {
    out: &'a mut Entries,
    is_feed: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        *self.is_feed = true;
        while let Some(item) = items.next_element::<Item>()? {
            let Item { url, id, modified, published } = item;
            // An id that is a URL is the item's location (JSON Feed 1.1, "id").
            let loc = url.or_else(|| id.filter(|id| comity_url::CrawlUrl::parse(id).is_ok()));
            if loc.as_ref().is_some_and(|loc| loc.len() > self.out.limits.value_bytes) {
                self.out.too_long();
                continue;
            }
            let lastmod = modified.or(published);
            self.out.add(Draft { locs: loc.into_iter().collect(), lastmod, ..Draft::new(EntryKind::Url) });
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut item = Item::default();
        while let Some(key) = map.next_key::<String>()? {
            let slot = match key.as_str() {
                "url" => &mut item.url,
                "id" => &mut item.id,
                "date_modified" => &mut item.modified,
                "date_published" => &mut item.published,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = map.next_value::<Text>()?.0;
        }
        Ok(item)
    }
}

/// A string; anything else is nothing.
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(match value {
            serde_json::Value::String(text) => Some(text),
            _ => None,
        }))
    }
}
