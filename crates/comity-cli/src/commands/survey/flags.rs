//! What a report counts of a row: each a question that is answered yes or no.

use super::row::Row;

/// One question.
pub(super) struct Flag {
    pub(super) name: &'static str,
    /// Of whom it is asked: the denominator.
    pub(super) of: Base,
    pub(super) holds: fn(&Row) -> bool,
}

/// Whom a share is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Base {
    /// Every origin of the list.
    Listed,
    /// Those that answered for robots.txt, with a file or without.
    Answered,
    /// Those with a robots.txt.
    File,
    /// Those whose tdmrep.json was answered, with a file or without.
    Tdmrep,
    /// Those whose ai.txt was answered.
    AiTxt,
    /// Those whose home page was answered.
    Home,
}

impl Base {
    pub(super) const ALL: [Self; 6] = [Self::Listed, Self::Answered, Self::File, Self::Tdmrep, Self::AiTxt, Self::Home];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Answered => "answered",
            Self::File => "with_file",
            Self::Tdmrep => "tdmrep_answered",
            Self::AiTxt => "ai_txt_answered",
            Self::Home => "home_answered",
        }
    }

    pub(super) fn holds(self, row: &Row) -> bool {
        let answered = |state: &str| matches!(state, "file" | "absent");
        match self {
            Self::Listed => true,
            Self::Answered => row.answered(),
            Self::File => row.says.is_some(),
            Self::Tdmrep => row.tdmrep.as_ref().is_some_and(|copy| answered(&copy.got.state)),
            Self::AiTxt => row.ai_txt.as_ref().is_some_and(|copy| answered(&copy.got.state)),
            Self::Home => row.home.as_ref().is_some_and(|home| answered(&home.got.state)),
        }
    }
}

/// What is counted, in the order of the report.
pub(super) const FLAGS: &[Flag] = &[
    flag("robots_answered", Base::Listed, Row::answered),
    flag("robots_file", Base::Answered, |row| row.says.is_some()),
    flag("opted_out", Base::Listed, |row| row.robots.class == "opted_out"),
    flag("restriction_full", Base::File, |row| says(row, |says| says.restriction == "full")),
    flag("restriction_most", Base::File, |row| says(row, |says| says.restriction == "most")),
    flag("restriction_some", Base::File, |row| says(row, |says| says.restriction == "some")),
    flag("restriction_delay", Base::File, |row| says(row, |says| says.restriction == "delay")),
    flag("restriction_none", Base::File, |row| says(row, |says| says.restriction == "none")),
    flag("ai_train_agents_named", Base::File, |row| named(row, "ai_train")),
    flag("ai_train_agents_denied_at_root", Base::File, |row| denied(row, "ai_train")),
    flag("ai_search_agents_named", Base::File, |row| named(row, "ai_search")),
    flag("ai_search_agents_denied_at_root", Base::File, |row| denied(row, "ai_search")),
    flag("ai_user_agents_named", Base::File, |row| named(row, "ai_user")),
    flag("ai_user_agents_denied_at_root", Base::File, |row| denied(row, "ai_user")),
    flag("search_agents_denied_at_root", Base::File, |row| denied(row, "search")),
    flag("restriction_ai_train_full", Base::File, |row| says(row, |says| says.restriction_ai_train == "full")),
    flag("content_signal", Base::File, |row| says(row, |says| !says.content_signal.is_empty())),
    flag("content_usage", Base::File, |row| says(row, |says| !says.content_usage.is_empty())),
    flag("policy_tokens", Base::File, |row| says(row, |says| !says.policy_tokens.is_empty())),
    flag("rsl_license_line", Base::File, |row| says(row, |says| !says.license.is_empty())),
    flag("robots_says_ai_train_denied", Base::File, |row| says(row, |says| is_denied(&says.verdicts, "ai_train"))),
    flag("robots_says_search_denied", Base::File, |row| says(row, |says| is_denied(&says.verdicts, "search"))),
    flag("crawl_delay", Base::File, |row| says(row, |says| says.crawl_delay.is_some())),
    flag("sitemaps", Base::File, |row| says(row, |says| says.sitemaps > 0)),
    flag("lint_findings", Base::File, |row| says(row, |says| !says.lint.is_empty())),
    flag("robots_truncated", Base::File, |row| row.robots.truncated),
    flag("tdmrep_file", Base::Tdmrep, |row| row.tdmrep.as_ref().is_some_and(|copy| copy.got.state == "file")),
    flag("tdm_reserved_at_root", Base::Tdmrep, |row| {
        row.tdmrep.as_ref().is_some_and(|copy| copy.reservation.as_deref() == Some("1"))
    }),
    flag("ai_txt_file", Base::AiTxt, |row| row.ai_txt.as_ref().is_some_and(|copy| copy.got.state == "file")),
    flag("ai_txt_ai_train_denied", Base::AiTxt, |row| {
        row.ai_txt.as_ref().is_some_and(|copy| copy.ai_train.as_deref() == Some("denied"))
    }),
    flag("home_says_ai_train_denied", Base::Home, |row| {
        row.home.as_ref().is_some_and(|home| is_denied(&home.verdicts, "ai_train"))
    }),
    flag("home_links_terms", Base::Home, |row| row.home.as_ref().is_some_and(|home| !home.terms.is_empty())),
];

const fn flag(name: &'static str, of: Base, holds: fn(&Row) -> bool) -> Flag {
    Flag { name, of, holds }
}

fn says(row: &Row, holds: impl Fn(&super::row::Says) -> bool) -> bool {
    row.says.as_ref().is_some_and(holds)
}

fn named(row: &Row, agent_use: &str) -> bool {
    says(row, |says| says.uses.get(agent_use).is_some_and(|count| count.named > 0))
}

fn denied(row: &Row, agent_use: &str) -> bool {
    says(row, |says| says.uses.get(agent_use).is_some_and(|count| count.denied > 0))
}

fn is_denied(verdicts: &std::collections::BTreeMap<String, String>, purpose: &str) -> bool {
    verdicts.get(purpose).is_some_and(|verdict| verdict == "denied")
}
