use super::*;

#[tokio::test]
async fn the_auditor_finds_the_faults_of_the_naive_one() {
    let served = web().unwrap().serve_loopback().await.unwrap();
    assert_eq!(naive(&served.origins().concat()).await.unwrap(), 3);
    let audit = served.audit();
    assert_eq!((audit.count("no_contact"), audit.count("refused_target")), (1, 1), "{audit}");
    assert!(audit.count("too_soon") > 0, "{audit}");
    assert_eq!(audit.violation_count(), 2 + audit.count("too_soon"), "and nothing else: {audit}");
    let (text, line) =
        (audit.to_string(), "/private/diary: refused by robots.txt (request 0), line 3: Disallow: /private/");
    assert!(text.contains(line) && include_str!("../README.md").contains(line), "{text}");
}

#[tokio::test]
async fn and_none_of_the_polite_one() {
    let served = web().unwrap().serve_loopback().await.unwrap();
    assert_eq!(polite(&served.origins().concat()).await.unwrap(), 2);
    let audit = served.audit();
    assert!(audit.is_clean(), "{audit}");
    assert!(audit.to_string().contains("clean, no violations"), "{audit}");
    assert_eq!((audit.robots_requests, audit.page_requests), (1, 2));
}
