//! Usage preferences that stand in robots.txt.

use comity_robots::RuleSet;

use crate::Preferences;

/// What the selected group of a robots.txt says about uses of the resource at `target` (path and query).
#[must_use]
pub fn robots_preferences(_rules: &RuleSet, _target: &[u8]) -> Preferences {
    Preferences::none()
}
