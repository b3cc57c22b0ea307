//! RSL 1.0 (RSL-SPEC-1.0, 10 December 2025): licences in XML, named by robots.txt, `Link` fields and pages (signals reference §8).
//!
//! | file | what it holds |
//! |---|---|
//! | `pointer` | [`RslPointers`]: where a site and a page name their licences |
//! | `document` | [`RslDocument`]: one licence document, compiled |
//! | `xml` | from its bytes to elements, within bounds |
//! | `usage` | the usage tokens |
//! | `terms` | what a document says of one resource; [`RslConditions`]: the conditions that the operator meets |

mod document;
mod pointer;
mod terms;
mod usage;
mod xml;

pub use document::RslDocument;
pub use pointer::{RslCarrier, RslPointer, RslPointers};
pub use terms::{RslConditions, RslReading};
