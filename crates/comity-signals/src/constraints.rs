//! Wishes that are no purposes, and what was odd: what stands beside the verdicts of one resource.

use crate::{
    DiagnosticCode, Diagnostics, PageSignals, PaymentDemand, Place, Price, RobotsReading, RslPointers, RslReading,
    Source, TdmReading, UnixSeconds, UseCeiling, Verdict,
};

/// URLs of licences that are kept of one resource (our choice: as many as robots.txt and the page name at most).
const MAX_LICENSE_URLS: usize = 32;

/// Wishes that are no purposes (signals reference §1.3). The default is that nobody has any.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent wishes, each named as the records name it")]
pub struct Constraints {
    /// False: no link of this page may be followed.
    pub follow: bool,
    /// The longest excerpt to be shown, in characters; `None` that no limit was named.
    pub snippet_max: Option<u32>,
    /// False: no cached copy is to be shown.
    pub cache: bool,
    /// False: images of this page are not to be indexed.
    pub image_index: bool,
    /// Denied: images of this page are not for training.
    pub image_ai_train: Verdict,
    /// From then on `search` is denied.
    pub unavailable_after: Option<UnixSeconds>,
    /// False: no translation is to be offered.
    pub translate: bool,
    /// The most that may be done with the content.
    pub use_ceiling: Option<UseCeiling>,
    /// The policy next to a TDMRep reservation.
    pub tdm_policy: Option<String>,
    /// Licences that were named, RSL or not, each once, at most 32.
    pub license_urls: Vec<String>,
    /// A permission depends on a condition that is not met.
    pub license_required: bool,
    /// What is asked for the content.
    pub price: Option<Price>,
}

/// What stands beside the verdicts of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// What binds whatever the purpose.
    pub constraints: Constraints,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

impl Constraints {
    /// Nobody wishes anything.
    pub const NONE: Self = Self {
        follow: true,
        snippet_max: None,
        cache: true,
        image_index: true,
        image_ai_train: Verdict::Unspecified,
        unavailable_after: None,
        translate: true,
        use_ceiling: None,
        tdm_policy: None,
        license_urls: Vec::new(),
        license_required: false,
        price: None,
    };

    /// Both hold: of each the narrower. Of two policies or prices, which nobody can compare, the later stands.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        // Most wish nothing.
        if other == Self::NONE {
            return self;
        }
        let lower = |one: Option<u32>, other| one.into_iter().chain(other).min();
        for url in other.license_urls {
            if self.license_urls.len() < MAX_LICENSE_URLS && !self.license_urls.contains(&url) {
                self.license_urls.push(url);
            }
        }
        Self {
            follow: self.follow && other.follow,
            snippet_max: lower(self.snippet_max, other.snippet_max),
            cache: self.cache && other.cache,
            image_index: self.image_index && other.image_index,
            image_ai_train: self.image_ai_train.strictest(other.image_ai_train),
            unavailable_after: self.unavailable_after.into_iter().chain(other.unavailable_after).min(),
            translate: self.translate && other.translate,
            use_ceiling: UseCeiling::lower(self.use_ceiling, other.use_ceiling),
            tdm_policy: other.tdm_policy.or(self.tdm_policy),
            license_urls: self.license_urls,
            license_required: self.license_required || other.license_required,
            price: other.price.or(self.price),
        }
    }
}

impl Default for Constraints {
    fn default() -> Self {
        Self::NONE
    }
}

impl Remarks {
    /// Nothing to remark.
    pub const NONE: Self = Self { constraints: Constraints::NONE, diagnostics: Diagnostics::NONE };

    /// Both hold.
    #[must_use]
    pub fn with(mut self, other: impl Into<Self>) -> Self {
        let Self { constraints, diagnostics } = other.into();
        self.constraints = self.constraints.with(constraints);
        self.diagnostics.append(diagnostics);
        self
    }

    /// The same without what TDMRep's earlier layers gave: for whoever reads all of its layers anew.
    #[must_use]
    pub fn without_tdm(mut self) -> Self {
        self.constraints.tdm_policy = None;
        self.diagnostics.retain(|kept| !kept.source.is_tdm());
        self
    }

    /// The same with an oddity of a field that speaks of no use: a price, a pace.
    #[must_use]
    pub fn noting(mut self, code: DiagnosticCode, source: Source) -> Self {
        self.diagnostics.add(code, source, Place::Whole, "");
        self
    }
}

impl From<&RobotsReading> for Remarks {
    fn from(said: &RobotsReading) -> Self {
        let constraints = Constraints { use_ceiling: said.use_ceiling, ..Constraints::NONE };
        Self { constraints, diagnostics: said.diagnostics.clone() }
    }
}

impl From<&PageSignals> for Remarks {
    fn from(said: &PageSignals) -> Self {
        let constraints = Constraints {
            follow: said.follow,
            snippet_max: said.snippet_max,
            cache: said.cache,
            image_index: said.image_index,
            image_ai_train: said.image_ai_train,
            unavailable_after: said.unavailable_after,
            translate: said.translate,
            use_ceiling: said.use_ceiling,
            ..Constraints::NONE
        };
        Self { constraints, diagnostics: said.diagnostics.clone() }
    }
}

impl From<&TdmReading> for Remarks {
    fn from(said: &TdmReading) -> Self {
        let constraints = Constraints { tdm_policy: said.policy.clone(), ..Constraints::NONE };
        Self { constraints, diagnostics: said.diagnostics.clone() }
    }
}

impl From<&RslPointers> for Remarks {
    fn from(said: &RslPointers) -> Self {
        let license_urls = said.urls().take(MAX_LICENSE_URLS).map(str::to_owned).collect();
        let constraints = Constraints { license_urls, ..Constraints::NONE };
        Self { constraints, diagnostics: said.diagnostics.clone() }
    }
}

impl From<&RslReading> for Remarks {
    fn from(said: &RslReading) -> Self {
        let constraints = Constraints { license_required: said.license_required, ..Constraints::NONE };
        Self { constraints, diagnostics: said.diagnostics.clone() }
    }
}

impl From<&PaymentDemand> for Remarks {
    fn from(asked: &PaymentDemand) -> Self {
        let constraints = Constraints { price: asked.price.clone(), ..Constraints::NONE };
        let remarks = Self { constraints, diagnostics: Diagnostics::NONE };
        if asked.unparsable { remarks.noting(DiagnosticCode::PriceUnparsable, Source::HeaderPrice) } else { remarks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(fields: &[(&str, &str)]) -> Remarks {
        (&crate::page_signals(fields, &crate::HeadFacts::default(), "ComityBot", false)).into()
    }

    #[test]
    fn of_each_wish_the_narrower_holds_in_either_order() {
        let one = page(&[("X-Robots-Tag", "max-snippet:50, noarchive"), ("Content-Signal", "use=full")]);
        let other = page(&[("X-Robots-Tag", "max-snippet:20, notranslate"), ("Content-Signal", "use=reference")]);
        for both in [one.clone().with(other.clone()), other.clone().with(one.clone())] {
            let held = both.constraints;
            assert_eq!((held.snippet_max, held.use_ceiling), (Some(20), Some(UseCeiling::Reference)));
            assert!(!held.cache && !held.translate && held.follow && held.image_index);
        }
        assert_eq!(Remarks::NONE.with(one.clone()), one, "who wishes nothing changes nothing");
    }

    #[test]
    fn urls_of_licences_are_kept_once_and_not_without_end() {
        let of = |from: usize| {
            let license_urls = (from..from + 20).map(|n| format!("https://l.test/{n}")).collect();
            Constraints { license_urls, ..Constraints::NONE }
        };
        assert_eq!(of(0).with(of(0)).license_urls.len(), 20);
        assert_eq!(of(0).with(of(20)).license_urls.len(), MAX_LICENSE_URLS);
    }

    #[test]
    fn what_tdmrep_said_before_goes_and_nothing_else() {
        let tdm = TdmReading::of_file(&crate::Tdmrep::parse(b"{", "https://a.test"), b"/", Default::default());
        let page = page(&[("Content-Signal", "use=none")]);
        let said = page.clone().with(&tdm);
        assert!(said.diagnostics.contains(DiagnosticCode::TdmUnparsable));
        assert_eq!(said.without_tdm(), page);
    }
}
