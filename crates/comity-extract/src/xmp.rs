//! Rights that are embedded in documents and images: XMP packets, found by their marks wherever they stand (ISO 16684-1, 7.3.2).
//!
//! Read of them: TDMRep (`tdm:reservation`, `tdm:policy`) and the PLUS property `DataMining`. One pass over the bytes; every packet is
//! read, since each image within a PDF may have its own before that of the document. Not found: packets that are compressed, as a PDF
//! may have them, or not in UTF-8.

use comity_signals::EmbeddedFacts;
use quick_xml::NsReader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use crate::held::Held;

const BEGIN: &[u8] = b"<?xpacket begin";
const END: &[u8] = b"<?xpacket end";
/// Bytes of a packet that are read (our choice: those of cameras and layout programs take a tenth of it).
const MAX_PACKET: usize = 256 * 1024;
const MAX_VALUE: usize = EmbeddedFacts::MAX_VALUE_BYTES;
const MAX_DEPTH: usize = 64;
/// Namespaces that are in force at once: one element beyond ends the reading (our choice: programs write some fifty).
const MAX_NAMESPACES: usize = 512;

/// Both spellings occur (signals reference §6.2).
const TDM: [&str; 2] = ["http://www.w3.org/ns/tdmrep/", "http://www.w3.org/ns/tdmrep#"];
const PLUS: &str = "http://ns.useplus.org/ldf/xmp/1.0/";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// Looks for packets in bytes that come in pieces.
#[derive(Debug, Default)]
pub(crate) struct XmpScan {
    /// The end of what came, in which a mark may begin; within a packet all of it.
    pub(crate) held: Held,
    /// Bytes of `held` that were searched for the end of the packet.
    searched: usize,
    within: bool,
    facts: EmbeddedFacts,
}

impl XmpScan {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.held.take(bytes);
        while self.step() {}
    }

    /// What was found. A packet that the end cut off is read as far as it goes.
    pub(crate) fn finish(mut self) -> EmbeddedFacts {
        if self.within {
            self.read(self.held.rest().len());
        }
        self.facts
    }

    /// True when there may be more to find in what is held.
    fn step(&mut self) -> bool {
        if !self.within {
            let found = self.held.find(0, BEGIN);
            self.within = found.is_some();
            self.held.pass(found.unwrap_or_else(|| self.held.rest().len().saturating_sub(BEGIN.len() - 1)));
            self.searched = 0;
            return self.within;
        }
        let from = self.searched.saturating_sub(END.len() - 1);
        let found = self.held.find(from, END);
        self.searched = self.held.rest().len();
        // One that is too long is read as far as it fits: what it denies counts.
        let end = found.filter(|at| *at <= MAX_PACKET).or_else(|| (self.searched > MAX_PACKET).then_some(MAX_PACKET));
        let Some(end) = end else { return false };
        self.read(end);
        self.held.pass(end);
        (self.within, self.searched) = (false, 0);
        true
    }

    fn read(&mut self, end: usize) {
        let rest = self.held.rest();
        let packet = rest.get(..end.min(MAX_PACKET)).unwrap_or(rest);
        let text = String::from_utf8_lossy(packet);
        properties(&text, &mut self.facts);
    }
}

/// What an element stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Property {
    Reservation,
    Policy,
    DataMining,
}

impl Property {
    fn of(namespace: &ResolveResult<'_>, name: &str) -> Option<Self> {
        let ResolveResult::Bound(namespace) = namespace else { return None };
        let namespace: &str = namespace.into_inner();
        match name {
            "reservation" if TDM.contains(&namespace) => Some(Self::Reservation),
            "policy" if TDM.contains(&namespace) => Some(Self::Policy),
            "DataMining" if namespace == PLUS => Some(Self::DataMining),
            _ => None,
        }
    }

    fn add(self, facts: &mut EmbeddedFacts, value: &str) {
        match self {
            Self::Reservation => facts.add_reservation(value),
            Self::Policy => facts.add_policy(value),
            Self::DataMining => facts.add_data_mining(value),
        }
    }
}

/// Reads until the end or the first fault: what stands before it is kept. A property is an attribute of a description, or an element
/// with its value as text, within a list, or as `rdf:resource`.
fn properties(text: &str, facts: &mut EmbeddedFacts) {
    let mut reader = NsReader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    reader.resolver_mut().set_max_namespace_bindings(MAX_NAMESPACES);
    // How deep, and which property is open since what depth, with its text so far.
    let (mut depth, mut open): (usize, Option<(usize, Property, String)>) = (0, None);
    while let Ok((namespace, event)) = reader.read_resolved_event() {
        match event {
            Event::Start(start) => {
                depth += 1;
                let found = Property::of(&namespace, start.local_name().into_inner());
                if let (None, Some(property)) = (&open, found) {
                    open = Some((depth, property, String::new()));
                }
                if depth > MAX_DEPTH {
                    return;
                }
                attributes(&reader, &start, open.as_ref().map(|(_, property, _)| *property), facts);
            }
            Event::Text(text) => add_text(&mut open, &text.xml10_content()),
            Event::CData(text) => add_text(&mut open, &text.xml10_content()),
            Event::GeneralRef(named) => add_text(&mut open, character(&named).encode_utf8(&mut [0; 4])),
            Event::End(_) => {
                // Each item of a list is a value of its own.
                if let Some((_, property, words)) = &mut open {
                    property.add(facts, words);
                    words.clear();
                }
                open = open.filter(|(since, ..)| *since != depth);
                depth = depth.saturating_sub(1);
            }
            // No packet has one; entities are resolved nowhere.
            Event::DocType(_) | Event::Eof => return,
            _ => {}
        }
    }
}

/// The character that is meant: by its number, or by one of the five names of XML. Any other name stands for none that counts.
pub(crate) fn character(named: &BytesRef<'_>) -> char {
    let of_xml = || resolve_predefined_entity(&named.xml10_content()).and_then(|text| text.chars().next());
    named.resolve_char_ref().ok().flatten().or_else(of_xml).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn add_text(open: &mut Option<(usize, Property, String)>, text: &str) {
    if let Some((_, _, words)) = open {
        let room = MAX_VALUE.saturating_sub(words.len());
        words.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    }
}

fn attributes(reader: &NsReader<&[u8]>, start: &BytesStart<'_>, within: Option<Property>, facts: &mut EmbeddedFacts) {
    // All of them: a description may have hundreds, and the packet is bounded. Only what may count is resolved.
    let may_count = |name: &str| matches!(name, "reservation" | "policy" | "DataMining" | "resource");
    for attribute in start.attributes().with_checks(false).flatten() {
        if !may_count(attribute.key.local_name().into_inner()) {
            continue;
        }
        let (namespace, name) = reader.resolver().resolve_attribute(attribute.key);
        let name = name.into_inner();
        let is_resource = name == "resource"
            && matches!(&namespace, ResolveResult::Bound(bound) if { let name: &str = bound.into_inner(); name == RDF });
        let property = Property::of(&namespace, name).or_else(|| within.filter(|_| is_resource));
        if let Some(property) = property
            && let Ok(value) = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0)
        {
            property.add(facts, &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(body: &str) -> String {
        format!(
            "<?xpacket begin=\"\u{feff}\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?><x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF \
             xmlns:rdf=\"{RDF}\"><rdf:Description xmlns:tdm=\"{}\" xmlns:p=\"{PLUS}\" xmlns:o=\"http://other.test/\" {body}\
             </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>",
            TDM[0]
        )
    }

    fn scanned(bytes: &[u8], len: usize) -> EmbeddedFacts {
        let mut scan = XmpScan::default();
        bytes.chunks(len).for_each(|piece| scan.push(piece));
        scan.finish()
    }

    type Row<'a> = (&'a str, String, [&'a [&'a str]; 3]);

    #[test]
    fn properties_are_read_in_each_of_their_forms() {
        let dmi = "http://ns.useplus.org/ldf/vocab/DMI-PROHIBITED";
        let many = |name: &str| (0..200).map(|n| format!("{name}{n}='x' ")).collect::<String>();
        let rows: [Row<'_>; 13] = [
            ("an attribute", packet("tdm:reservation=\"1\" tdm:policy='/p'>"), [&["1"], &["/p"], &[]]),
            ("an element", packet("><tdm:reservation> 1 </tdm:reservation>"), [&["1"], &[], &[]]),
            (
                "a list",
                packet("><p:DataMining><rdf:Bag><rdf:li>DMI-PROHIBITED</rdf:li></rdf:Bag></p:DataMining>"),
                [&[], &[], &["DMI-PROHIBITED"]],
            ),
            ("a resource", packet(&format!("><p:DataMining rdf:resource=\"{dmi}\"/>")), [&[], &[], &[dmi]]),
            ("another namespace", packet("o:reservation=\"1\"><o:DataMining>x</o:DataMining>"), [&[], &[], &[]]),
            ("the other spelling", packet("tdm:reservation=\"1\">").replace(TDM[0], TDM[1]), [&["1"], &[], &[]]),
            (
                "two packets",
                format!("{}\0\0{}", packet("tdm:reservation=\"0\">"), packet("tdm:reservation=\"1\">")),
                [&["0", "1"], &[], &[]],
            ),
            ("behind many", packet(&format!("{}tdm:reservation=\"1\">", many("o:a"))), [&["1"], &[], &[]]),
            ("behind many namespaces", packet(&format!("{}p:DataMining=\"x\">", many("xmlns:n"))), [&[], &[], &["x"]]),
            ("a number", packet("><tdm:reservation>&#x31;</tdm:reservation>"), [&["1"], &[], &[]]),
            ("CDATA", packet("><tdm:reservation><![CDATA[1]]></tdm:reservation>"), [&["1"], &[], &[]]),
            ("no end", packet("tdm:reservation=\"1\">").replace("<?xpacket end=\"w\"?>", ""), [&["1"], &[], &[]]),
            ("a broken one", packet("tdm:reservation=\"1\"><a></b><tdm:policy>/p</tdm:policy>"), [&["1"], &[], &[]]),
        ];
        for (name, text, [reservation, policy, mining]) in rows {
            let bytes = [b"%PDF-1.7\n\x80\xff<?xpacket be", text.as_bytes(), b"\xff\xd9 trailer"].concat();
            let wanted = EmbeddedFacts {
                tdm_reservation: reservation.iter().map(ToString::to_string).collect(),
                tdm_policy: policy.iter().map(ToString::to_string).collect(),
                data_mining: mining.iter().map(ToString::to_string).collect(),
            };
            for len in [1, 2, 13, 14, 15, 64, 100_000] {
                assert_eq!(scanned(&bytes, len), wanted, "{name}, in pieces of {len}");
            }
        }
    }

    #[test]
    fn no_denial_is_crowded_out() {
        let (zero, one) = (packet("tdm:reservation=\"0\">"), packet("tdm:reservation=\"1\">"));
        let allowed = |n: usize| packet(&format!("p:DataMining=\"DMI-ALLOWED-{n}\">"));
        let items = |terms: &[&str]| {
            let items: String = terms.iter().map(|term| format!("<rdf:li>http://p.test/{term}</rdf:li>")).collect();
            packet(&format!("><p:DataMining><rdf:Bag>{items}</rdf:Bag></p:DataMining>"))
        };
        let prohibited = packet("p:DataMining=\"DMI-PROHIBITED\">");
        let rows = [
            ("the document's own packet behind those of its images", format!("{}{one}", packet(">").repeat(200)), true),
            ("behind zeros", format!("{}{one}", zero.repeat(200)), true),
            ("before zeros", format!("{one}{}", zero.repeat(200)), true),
            ("behind terms that allow", format!("{}{prohibited}", (0..200).map(allowed).collect::<String>()), false),
            ("the first of a list", items(&["DMI-PROHIBITED", "DMI-ALLOWED"]), false),
            ("the last of a list", items(&["DMI-ALLOWED", "DMI-PROHIBITED"]), false),
        ];
        for (name, text, is_tdm) in rows {
            let found = scanned(text.as_bytes(), 4096);
            let denies = |value: &String| if is_tdm { value == "1" } else { value.ends_with("DMI-PROHIBITED") };
            let values = if is_tdm { found.tdm_reservation } else { found.data_mining };
            assert!(values.iter().any(denies), "{name}: {values:?}");
        }
    }

    #[test]
    fn what_is_hostile_is_bounded() {
        let begin = "<?xpacket begin?>";
        let open = packet("tdm:reservation=\"1\">");
        let rows = [
            ("no end and no end", format!("{}{}", open.replace("<?xpacket end", " "), "x".repeat(3 * MAX_PACKET)), 1),
            ("marks and nothing else", begin.repeat(100_000), 0),
            ("one value, often", open.repeat(1000), 1),
            (
                "many values",
                (0..1000).map(|n| open.replace("\"1\"", &format!("\"{n}\""))).collect(),
                EmbeddedFacts::MAX_VALUES,
            ),
            ("deep", format!("{begin}{}", "<a>".repeat(20_000)), 0),
            ("an entity", open.replace("?><x:", "?><!DOCTYPE x [<!ENTITY a \"b\">]><x:"), 0),
        ];
        for (name, text, wanted) in rows {
            let mut scan = XmpScan::default();
            for piece in text.as_bytes().chunks(16 * 1024) {
                scan.push(piece);
                let held = scan.held.rest().len();
                assert!(held <= MAX_PACKET + 2 * 16 * 1024, "{name}: {held}");
            }
            assert_eq!(scan.finish().tdm_reservation.len(), wanted, "{name}");
        }
    }
}
