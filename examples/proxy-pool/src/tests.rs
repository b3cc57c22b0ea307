use std::net::SocketAddr;

use comity::fetch::SystemClock;
use comity::policy::WallTime;
use comity_testweb::{Answer, ExitNet, Site, Web};

use super::*;

const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

#[tokio::test(start_paused = true)]
async fn everything_leaves_by_the_exit_of_the_country() {
    let site = Site::new()
        .name("a.test")
        .robots("User-agent: *\nCrawl-delay: 2\nDisallow: /private/\n")
        .page("/", Answer::page(["/1", "/private/x"]))
        .page("/1", Answer::text("one"));
    let (net, observer) = Web::builder(1).epoch(START).site(site).build().unwrap().in_memory();
    let at = |n: u8| SocketAddr::from(([172, 16, 0, n], 3128));
    let net = ExitNet::new(Arc::new(net)).exit(at(1), None).exit(at(2), None);
    let exits = || vec![exit("DE=http://172.16.0.1:3128").unwrap(), exit("US=socks5h://172.16.0.2:3128").unwrap()];
    let out = Arc::new(Mutex::new(Vec::new()));
    let crawler = through("DE", exits(), out.clone())
        .seed("http://a.test/")
        .allow_addresses("10.0.0.0/8")
        .net(Arc::new(net.clone()))
        .clock(Arc::new(SystemClock::paused_at(START)));
    let summary = crawler.build().unwrap().run().await.unwrap();
    let expected = "\
200 http://a.test/  from DE by http://172.16.0.1:3128
200 http://a.test/1  from DE by http://172.16.0.1:3128
";
    assert_eq!(String::from_utf8(out.lock().unwrap().clone()).unwrap(), expected, "{summary}");
    assert!(include_str!("../README.md").contains(expected));
    let asked: Vec<String> = net.asked(at(1)).into_iter().map(|asked| asked.what).collect();
    assert_eq!(asked, ["GET http://a.test/robots.txt", "GET http://a.test/", "GET http://a.test/1"]);
    assert!(net.asked(at(2)).is_empty() && net.around().is_empty(), "nothing leaves elsewhere");
    assert!(observer.audit().is_clean(), "{}", observer.audit());

    let nobody = through("FR", exits(), Arc::new(Mutex::new(Vec::new()))).seed("http://a.test/").build();
    assert!(nobody.is_err(), "no exit of that country, no crawl");
}
