use std::time::Duration;

use comity_gate::policy::Reason;
use comity_gate::{NoPermit, PoliteError};
use comity_testweb::{Answer, Auditor, Site, Target, Web};

use super::*;

const RULES: &str = "User-agent: PoliteHyper\nCrawl-delay: 0.3\nDisallow: /private\n";

#[tokio::test]
async fn what_arrives_is_polite() {
    let away = Answer::redirect(302, Target::here("/private/x"));
    let site = Site::new().name("a.test").robots(RULES).page("/away", away).otherwise(|_| Answer::text("page"));
    let web = Web::builder(1).site(site).build().unwrap().serve_names().await.unwrap();
    let identity = Identity::new("PoliteHyper/0.1", "https://example.com/bot", &[], Vec::new()).unwrap();
    let mut fetch = FetchConfig::new(identity.user_agent());
    fetch.allow_addresses.push("127.0.0.0/8".parse().unwrap());
    fetch.resolve.clone_from(web.names());
    let user_agent = identity.user_agent();
    let gate = Gate::system(GateConfig::new(identity), fetch).unwrap();
    let (mut client, user_agent) = (client(&gate), HeaderValue::from_str(&user_agent).unwrap());
    let origin = web.origins().remove(0);
    for path in ["/", "/away"] {
        let response = ask(&mut client, &user_agent, &format!("{origin}{path}")).await.unwrap();
        assert_eq!(response.status(), if path == "/" { 200 } else { 302 });
    }
    let refused = ask(&mut client, &user_agent, &format!("{origin}/private/x")).await.unwrap_err();
    let refused = refused.downcast::<PoliteError<hyper_util::client::legacy::Error>>().unwrap();
    assert_eq!(refused.reason(), Some(Reason::RobotsDisallow));
    let rule = refused.no_permit().and_then(NoPermit::decision).and_then(|decision| decision.rule.clone()).unwrap();
    assert_eq!((rule.pattern.as_str(), rule.line), ("/private", 3));
    let told = format!("robots.disallow: Disallow: {}, line {}\n", rule.pattern, rule.line);
    assert!(include_str!("../README.md").contains(&told));
    let audit = Auditor::new().floor(Duration::from_secs(1)).examine(&web);
    assert!(audit.is_clean(), "{audit}");
    assert_eq!((audit.robots_requests, audit.page_requests), (1, 2));
}
