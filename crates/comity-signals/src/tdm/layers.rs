use comity_robots::Pattern;

use super::file::Tdmrep;
use super::rule::Value;
use crate::diagnostic::DiagnosticCode;
use crate::found::{Carried, Found, Ground, cut};
use crate::page::named;
use crate::{Diagnostics, HeadFacts, Place, Preferences, Profile, Purpose, SignalOptions, Source, Statement, Verdict};

/// Bytes kept of a layer's texts.
const MAX_TEXT_BYTES: usize = 2048;

/// What `tdm-reservation` says once it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reservation {
    /// 1: rights of text and data mining are reserved (Article 4(3) CDSM).
    Reserved,
    /// 0: they are not.
    NotReserved,
}

impl Reservation {
    /// The value as TDMRep writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "1",
            Self::NotReserved => "0",
        }
    }
}

/// What one layer says of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TdmLayer {
    /// `tdmrep.file`, `header.tdm`, `meta.tdm` or `embedded.tdm`.
    pub source: Source,
    /// The value, `None` when the layer is there and says nothing that can be read.
    pub reservation: Option<Reservation>,
    /// `tdm-policy` as written.
    pub policy: Option<String>,
    /// Where it stood: rule, header field or element.
    pub place: Place,
    /// `location` of the rule of a file.
    pub path: Option<String>,
    /// The rule or the value as written, at most 2 KiB of it.
    pub raw: String,
}

/// TDMRep of one resource: its layers, and what they come to.
///
/// File, then header, then meta, then what is embedded: a later layer supersedes an earlier one, property by property, and one that is absent or
/// cannot be read resets nothing (TDMRep, 10 May 2024; signals reference §6.3); what is embedded may reserve, and never lifts what another
/// layer reserves. That is the opposite of the other families,
/// where a permission never undoes a denial, and the reason why this family is settled before it joins them:
/// [`Self::preferences`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TdmReading {
    /// The layers that were found, in their order: the last readable reservation counts.
    pub layers: Vec<TdmLayer>,
    /// The family's result: at most one statement on `tdm`, and in the cautious profile the denial of `ai_train` that is
    /// derived from a reservation.
    pub statements: Vec<Statement>,
    /// The policy in force: only next to a reservation.
    pub policy: Option<String>,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

impl TdmReading {
    /// What the file alone says of a resource: what is known before it is fetched.
    #[must_use]
    pub fn of_file(file: &Tdmrep, target: &[u8], options: SignalOptions) -> Self {
        Self::read::<&str, &str>(Some(file), target, &[], &HeadFacts::default(), options)
    }

    /// What file, header fields and head say of the resource at `target` (path and query in bytes, as they are sent).
    ///
    /// `fields` are names and values in wire order, repeated fields not folded: a repeated `tdm-reservation` is neither 0 nor
    /// 1, hence unset. Of several metas, or packets, any 1 reserves (our choice: the report does not say). Cost: a match per rule of the
    /// file until one fits, at most [`Tdmrep::MAX_RULES`].
    #[must_use]
    pub fn read<N: AsRef<str>, V: AsRef<[u8]>>(
        file: Option<&Tdmrep>,
        target: &[u8],
        fields: &[(N, V)],
        head: &HeadFacts,
        options: SignalOptions,
    ) -> Self {
        let mut reading = Self::default();
        let mut notes = Found::default();
        reading.layers.extend(file.and_then(|file| of_file(file, target, &mut notes)));
        reading.layers.extend(of_fields(fields, &mut notes));
        let embedded = &head.embedded;
        let within: [(Source, &[String], &[String]); 2] = [
            (Source::MetaTdm, &head.tdm_reservation, &head.tdm_policy),
            (Source::EmbeddedTdm, &embedded.tdm_reservation, &embedded.tdm_policy),
        ];
        reading.layers.extend(within.into_iter().filter_map(|layer| of_values(layer, &mut notes)));
        reading.settle(options, notes)
    }

    /// The value in force; `None` when no layer has one.
    #[must_use]
    pub fn effective(&self) -> Option<Reservation> {
        self.deciding().and_then(|layer| layer.reservation)
    }

    /// The layer whose value is in force.
    ///
    /// What is embedded reserves over all others, and lifts nothing: it is found by a scan of bytes that a third party may have
    /// put there, and leniency may only ever produce a denial (signals reference §1.4; our choice: decision 45).
    #[must_use]
    pub fn deciding(&self) -> Option<&TdmLayer> {
        let last = |embedded: bool| {
            let readable = |layer: &&TdmLayer| layer.reservation.is_some();
            self.layers.iter().filter(|layer| (layer.source == Source::EmbeddedTdm) == embedded).rfind(readable)
        };
        let said = last(false);
        last(true).filter(|layer| said.is_none() || layer.reservation == Some(Reservation::Reserved)).or(said)
    }

    /// What is known of a resource, with this reading in the place of an earlier one of the same family.
    ///
    /// A crawl reads twice: the file before the fetch, all layers after it. `known` may hold the first reading; its
    /// statements do not count any more.
    #[must_use]
    pub fn preferences(&self, known: Preferences) -> Preferences {
        known.without(|statement| statement.source.is_tdm()).with(self.statements.iter().cloned())
    }

    fn settle(mut self, options: SignalOptions, mut found: Found) -> Self {
        if let Some(layer) = self.deciding() {
            let at = Carried { source: layer.source, place: layer.place, raw: &layer.raw, path: layer.path.as_deref() };
            if layer.reservation == Some(Reservation::Reserved) {
                found.state(at, Purpose::Tdm, Verdict::Denied, Ground::Reserved);
                if options.profile == Profile::Cautious {
                    let derived = Carried { source: Source::DerivedTdm, ..at };
                    found.state(derived, Purpose::AiTrain, Verdict::Denied, Ground::Derived);
                }
                self.policy = self.layers.iter().rev().find_map(|layer| layer.policy.clone());
            } else {
                found.state(at, Purpose::Tdm, Verdict::Allowed, Ground::Said);
            }
        }
        Self { statements: found.statements, diagnostics: found.diagnostics, ..self }
    }
}

impl Source {
    pub(crate) const fn is_tdm(self) -> bool {
        matches!(self, Self::TdmrepFile | Self::HeaderTdm | Self::MetaTdm | Self::EmbeddedTdm | Self::DerivedTdm)
    }
}

fn of_file(file: &Tdmrep, target: &[u8], notes: &mut Found) -> Option<TdmLayer> {
    let whole = Carried { source: Source::TdmrepFile, place: Place::Whole, raw: "", path: None };
    if let Some(oddity) = file.oddity {
        notes.note(oddity, whole, "");
    }
    let first = Pattern::first_match(file.rules.iter().map(|rule| &rule.pattern), target)?;
    let rule = file.rules.get(first)?;
    let place = Place::Rule(rule.index);
    let reservation = match rule.value {
        Value::Reserved | Value::Lenient => Some(Reservation::Reserved),
        Value::NotReserved => Some(Reservation::NotReserved),
        Value::Bad | Value::Unproven => None,
    };
    match rule.value {
        Value::Bad => notes.note(DiagnosticCode::TdmBadValue, Carried { place, ..whole }, &rule.raw),
        Value::Lenient => notes.note(DiagnosticCode::TdmLenientValue, Carried { place, ..whole }, &rule.raw),
        _ => {}
    }
    Some(TdmLayer {
        source: Source::TdmrepFile,
        reservation,
        policy: rule.policy.as_deref().map(str::to_owned),
        place,
        path: Some(rule.location.to_string()),
        raw: rule.raw.to_string(),
    })
}

fn of_fields<N: AsRef<str>, V: AsRef<[u8]>>(fields: &[(N, V)], notes: &mut Found) -> Option<TdmLayer> {
    let mut values = named(fields, "tdm-reservation").map(|(_, value)| value);
    let first = values.next();
    let raw = values.fold(first.map(|value| value.into_owned()), |known, value| {
        // A flood is unset already, and need not be kept.
        known.map(|known| if known.len() > MAX_TEXT_BYTES { known } else { format!("{known}, {value}") })
    });
    let policy = named(fields, "tdm-policy").map(|(_, value)| value).find_map(|value| policy(&value));
    if raw.is_none() && policy.is_none() {
        return None;
    }
    let at = |raw| Carried { source: Source::HeaderTdm, place: Place::Header(0), raw, path: None };
    let reservation = raw.as_deref().and_then(|raw| {
        let value = read_value(raw);
        if value.is_none() {
            notes.note(DiagnosticCode::TdmBadValue, at(raw), raw);
        }
        value
    });
    let raw = cut(raw.as_deref().unwrap_or_default(), MAX_TEXT_BYTES).to_owned();
    Some(TdmLayer { source: Source::HeaderTdm, reservation, policy, place: Place::Header(0), path: None, raw })
}

/// A layer whose values stand beside each other: metas, packets of XMP.
fn of_values((source, reservations, policies): (Source, &[String], &[String]), notes: &mut Found) -> Option<TdmLayer> {
    let policy = policies.iter().find_map(|content| policy(content));
    if reservations.is_empty() && policy.is_none() {
        return None;
    }
    let mut kept: Option<(u32, Option<Reservation>, &str)> = None;
    for (index, content) in (0..).zip(reservations) {
        let value = read_value(content);
        if value.is_none() {
            let at = Carried { source, place: Place::Element(index), raw: content, path: None };
            notes.note(DiagnosticCode::TdmBadValue, at, content);
        }
        let stricter = match kept {
            None => true,
            Some((_, known, _)) => strictness(value) > strictness(known),
        };
        if stricter {
            kept = Some((index, value, content));
        }
    }
    let (index, reservation, raw) = kept.unwrap_or((0, None, ""));
    let raw = cut(raw, MAX_TEXT_BYTES).to_owned();
    Some(TdmLayer { source, reservation, policy, place: Place::Element(index), path: None, raw })
}

/// One that cannot be read is unset, and beside one that can be read says nothing.
const fn strictness(value: Option<Reservation>) -> u8 {
    match value {
        None => 0,
        Some(Reservation::NotReserved) => 1,
        Some(Reservation::Reserved) => 2,
    }
}

fn read_value(text: &str) -> Option<Reservation> {
    match text.trim() {
        "1" => Some(Reservation::Reserved),
        "0" => Some(Reservation::NotReserved),
        _ => None,
    }
}

fn policy(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| cut(text, MAX_TEXT_BYTES).to_owned())
}
