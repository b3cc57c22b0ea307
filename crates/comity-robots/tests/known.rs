//! Chains of known agents.

use comity_robots::{AgentUse, Chain, Dialect, KnownAgent, Oddity, Robots, Selected};

fn agent(token: &str) -> KnownAgent {
    KnownAgent::find(token).unwrap_or_else(|| panic!("{token} is not in the table"))
}

#[test]
fn chains() {
    let rows: [(&str, &[&str], bool); 6] = [
        ("googlebot-image", &["Googlebot-Image", "Googlebot"], true),
        ("Googlebot", &["Googlebot"], true),
        ("AdsBot-Google", &["AdsBot-Google"], false),
        ("Applebot", &["Applebot", "Googlebot"], true),
        ("YandexBot", &["YandexBot", "Yandex"], true),
        ("GPTBot", &["GPTBot"], true),
    ];
    for (token, wanted, global) in rows {
        let chain = Chain::of(agent(token));
        assert_eq!((chain.tokens(), chain.takes_global()), (wanted, global), "{token}");
    }
    assert_eq!(KnownAgent::find("ComityBot"), None);
}

#[test]
fn an_agent_that_ignores_the_global_group() {
    let chain = Chain::of(agent("AdsBot-Google"));
    let everybody = Robots::parse(b"User-agent: *\nDisallow: /\nCrawl-delay: 9\n");
    let rules = chain.rules(&everybody, Dialect::Google);
    assert!(rules.allows(b"/") && rules.crawl_delay().is_none());
    assert_eq!(rules.selected(), &Selected::None);
    let named = Robots::parse(b"User-agent: *\nAllow: /\nUser-agent: adsbot-google\nDisallow: /\n");
    assert!(!chain.rules(&named, Dialect::Google).allows(b"/"));
}

#[test]
fn what_the_table_says() {
    let control = ["Google-Extended", "Applebot-Extended", "Webzio-Extended"];
    assert!(control.iter().all(|token| agent(token).is(Oddity::ControlOnly)));
    let users = ["ChatGPT-User", "Claude-User", "Perplexity-User", "Google-Agent"];
    assert!(users.iter().all(|token| agent(token).is(Oddity::UserTriggered)));
    assert_eq!(agent("Google-Extended").uses().collect::<Vec<_>>(), [AgentUse::AiTrain, AgentUse::AiUser]);
    assert_eq!(agent("GPTBot").operator(), "OpenAI");
}
