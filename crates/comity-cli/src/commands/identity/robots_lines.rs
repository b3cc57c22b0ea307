//! The robots.txt lines that the page shows. A test runs each of them through the matcher that the crawl obeys.

/// Nothing is fetched.
pub(super) fn stop(token: &str) -> String {
    format!("User-agent: {token}\nDisallow: /\n")
}

/// Nothing below a path is fetched.
pub(super) fn stop_part(token: &str) -> String {
    format!("User-agent: {token}\nDisallow: /private/\n")
}

/// At most a request every ten seconds.
pub(super) fn slow(token: &str) -> String {
    format!("User-agent: {token}\nCrawl-delay: 10\nAllow: /\n")
}

/// Pages may be fetched, and used neither to train AI models nor as their input: in the two notations that are in use.
pub(super) fn no_ai(token: &str) -> String {
    format!("User-agent: {token}\nContent-Usage: {USAGE}\nContent-Signal: ai-train=no, ai-input=no\nAllow: /\n")
}

/// The same for a single page, as a response field (`Content-Usage: …`).
pub(super) const USAGE: &str = "train-ai=n, ai-use=n";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use comity_robots::{Dialect, Robots, RuleSet};
    use comity_signals::{HeadFacts, Preferences, Purpose, UnixSeconds, Verdict, page_signals, robots_preferences};

    use super::*;

    const TOKEN: &str = "MyBot";
    const DIALECTS: [Dialect; 2] = [Dialect::Standard, Dialect::Google];

    /// The lines, behind those of a site that lets everybody in, and with what our token is told there.
    fn rules(lines: &str, dialect: Dialect) -> RuleSet {
        let file = format!("User-agent: *\nDisallow: /cart\n\n{lines}");
        Robots::parse(file.as_bytes()).rules(&[TOKEN], dialect)
    }

    #[test]
    fn they_stop_the_token_and_nobody_else() {
        for dialect in DIALECTS {
            let rules = rules(&stop(TOKEN), dialect);
            for path in ["/", "/index.html", "/a?b", "/cart"] {
                assert!(!rules.allows(path.as_bytes()), "{path}");
            }
            let file = format!("User-agent: *\nDisallow: /cart\n\n{}", stop(TOKEN));
            let others = Robots::parse(file.as_bytes()).rules(&["OtherBot"], dialect);
            assert!(others.allows(b"/"));
            let part = super::tests::rules(&stop_part(TOKEN), dialect);
            assert!(!part.allows(b"/private/x") && part.allows(b"/public"));
        }
    }

    #[test]
    fn they_slow_the_token_and_close_nothing() {
        for dialect in DIALECTS {
            let rules = rules(&slow(TOKEN), dialect);
            assert_eq!(rules.crawl_delay(), Some(Duration::from_secs(10)));
            assert!(rules.allows(b"/"));
            assert!(rules.allows(b"/cart"), "the group of * is replaced, as the page says");
        }
    }

    #[test]
    fn they_deny_uses_by_ai_and_no_other_use() {
        let rules = rules(&no_ai(TOKEN), Dialect::Standard);
        assert!(rules.allows(b"/x"));
        denied_for_ai(&robots_preferences(&rules, b"/x"));
        // Each of the two notations alone, and the response field.
        for line in ["Content-Usage", "Content-Signal"] {
            let without: String =
                no_ai(TOKEN).lines().filter(|text| !text.starts_with(line)).map(|text| format!("{text}\n")).collect();
            assert_ne!(without, no_ai(TOKEN));
            denied_for_ai(&robots_preferences(&super::tests::rules(&without, Dialect::Standard), b"/x"));
        }
        let page = page_signals(&[("Content-Usage", USAGE)], &HeadFacts::default(), TOKEN, false);
        denied_for_ai(&page.preferences(Preferences::none(), UnixSeconds(0)));
    }

    fn denied_for_ai(preferences: &Preferences) {
        for purpose in [Purpose::AiTrain, Purpose::AiInput] {
            assert_eq!(preferences.verdict(purpose), Verdict::Denied, "{purpose}");
        }
        assert_eq!(preferences.verdict(Purpose::Search), Verdict::Unspecified);
    }
}
