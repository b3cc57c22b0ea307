//! All carriers of one resource, read and combined.

use crate::agents::AgentClass;
use crate::rsl::{RslCarrier, RslDocument, RslPointers};
use crate::{
    AiTxt, Constraints, Diagnostics, HeadFacts, PageReader, Preferences, Remarks, RobotsSignals, RslConditions,
    SignalOptions, TdmReading, Tdmrep, TrustTxt, UnixSeconds,
};

/// Everything that is at hand about one resource. What was not asked for stays `None`, and says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Carriers<'a, N, V> {
    /// The origin, as in `https://example.com`.
    pub origin: &'a str,
    /// Path and query in bytes, as they are sent.
    pub target: &'a [u8],
    /// robots.txt, compiled once per file.
    pub robots: Option<&'a RobotsSignals>,
    /// `tdmrep.json`, compiled once per origin.
    pub tdmrep: Option<&'a Tdmrep>,
    /// `ai.txt`, compiled once per origin.
    pub ai_txt: Option<&'a AiTxt>,
    /// What `trust.txt` says.
    pub trust_txt: Option<&'a TrustTxt>,
    /// Header fields of the response in wire order, repeated fields not folded.
    pub fields: &'a [(N, V)],
    /// The head of the page; licences that stand within it are read from here.
    pub head: &'a HeadFacts,
    /// Licence documents with the way in which they were named.
    pub licences: &'a [(RslCarrier, &'a RslDocument)],
}

/// What holds for one resource: the verdict per purpose, and the constraints that bind a polite client whatever its purpose
/// (signals reference §1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSignals {
    /// The verdict per purpose, with every statement that took part. Statements of TDMRep's layers that a later one
    /// superseded are in [`Self::tdm`].
    pub preferences: Preferences,
    /// Whether robots.txt lets us crawl it; true without one.
    pub access: bool,
    /// Constraints.
    pub constraints: Constraints,
    /// What agents of others meet.
    pub others: Vec<AgentClass>,
    /// The licences that were named.
    pub licences: RslPointers,
    /// TDMRep's layers.
    pub tdm: TdmReading,
    /// What was odd, by carrier.
    pub diagnostics: Vec<Diagnostics>,
}

/// Reads all carriers of a resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceReader<'a> {
    /// Our product token.
    pub token: &'a str,
    /// Whether the response is an image (`image/*`).
    pub image: bool,
    /// Profile and knobs.
    pub options: SignalOptions,
    /// Conditions of licences.
    pub conditions: &'a RslConditions,
}

impl ResourceReader<'_> {
    /// What holds for the resource as of `now`. Each family is settled by its own rule first; then any denial denies, else
    /// any permission permits, else nothing was said (signals reference §1.5).
    #[must_use]
    pub fn read<N: AsRef<str>, V: AsRef<[u8]>>(
        &self,
        carriers: &Carriers<'_, N, V>,
        now: UnixSeconds,
    ) -> ResourceSignals {
        let Carriers { origin, target, fields, head, .. } = *carriers;
        let robots = carriers.robots.map(|robots| robots.read(target, self.options)).unwrap_or_default();
        let page = PageReader { token: self.token, image: self.image, options: self.options }.read(fields, head);
        let tdm = TdmReading::read(carriers.tdmrep, target, fields, head, self.options);
        let pointers = RslPointers::read(carriers.robots.map(RobotsSignals::rules), fields, head);
        let read = |(carrier, document): &(RslCarrier, &RslDocument)| {
            document.read(origin, target, *carrier, self.conditions, self.options)
        };
        let inline: Vec<RslDocument> = head.inline_rsl.iter().map(|text| RslDocument::parse(text.as_bytes())).collect();
        let inline = inline.iter().map(|document| read(&(RslCarrier::Inline, document)));
        let licences: Vec<_> = carriers.licences.iter().map(read).chain(inline).collect();
        let of_licences = licences.iter().fold(Remarks::NONE, |all, licence| all.with(licence));
        let read = [Remarks::from(&robots), Remarks::from(&page), Remarks::from(&tdm), Remarks::from(&pointers)];
        let constraints = read.into_iter().fold(of_licences, Remarks::with).constraints;
        let own = page.preferences(robots.preferences, now);
        let own = tdm.preferences(own).with(licences.iter().flat_map(|licence| licence.statements.iter().cloned()));
        let files = carriers.ai_txt.and_then(|file| file.statement(target)).into_iter();
        let preferences = own.with(files.chain(carriers.trust_txt.and_then(TrustTxt::statement).cloned()));
        let mut diagnostics = vec![robots.diagnostics, page.diagnostics, tdm.diagnostics.clone()];
        diagnostics.push(pointers.diagnostics.clone());
        diagnostics.extend(carriers.trust_txt.map(|file| file.diagnostics().clone()));
        diagnostics.extend(licences.into_iter().map(|licence| licence.diagnostics));
        ResourceSignals {
            preferences,
            access: carriers.robots.is_none_or(|robots| robots.rules().allows(target)),
            constraints,
            others: robots.others,
            licences: pointers,
            tdm,
            diagnostics,
        }
    }
}
