use comity::fetch::SystemClock;
use comity::policy::WallTime;
use comity_testweb::{Answer, Site, Web};

use super::*;

const START: WallTime = WallTime::from_unix_millis(1_796_000_000_000);

#[tokio::test(start_paused = true)]
async fn pages_in_lines_out() {
    let html = |body: &str| Answer::status(200).content("text/html; charset=utf-8", body.to_owned());
    let site = Site::new()
        .name("shop.test")
        .robots("User-agent: *\nDisallow: /basket\n")
        .page(
            "/",
            html("<title>Shop</title><a href=/1>1</a><a href=/2>2</a><a href=/basket>b</a><a href=/logo.txt>l</a>"),
        )
        .page("/1", html("<title>Pot</title><h1>A  pot</h1><p class=price>12 €</p><p class=price>10 €</p>"))
        .page("/2", html("<title>Pan</title><h1>A <b>pan</b></h1><p class=price>20 €</p>"))
        .page("/logo.txt", Answer::text("no HTML"));
    let (net, observer) = Web::builder(1).epoch(START).site(site).build().unwrap().in_memory();
    let out = Arc::new(Mutex::new(Vec::new()));
    let fields = vec![field("name=h1").unwrap(), field("price=.price").unwrap()];
    let crawler = extractor("http://shop.test/", fields, out.clone()).allow_addresses("10.0.0.0/8");
    let crawler = crawler.net(Arc::new(net)).clock(Arc::new(SystemClock::paused_at(START)));
    let summary = crawler.build().unwrap().run().await.unwrap();
    assert_eq!((summary.pages(), summary.refusals()), (4, 1), "{summary}");
    let expected = r#"{"name":[],"price":[],"title":"Shop","url":"http://shop.test/"}
{"name":["A pot"],"price":["12 €","10 €"],"title":"Pot","url":"http://shop.test/1"}
{"name":["A pan"],"price":["20 €"],"title":"Pan","url":"http://shop.test/2"}
"#;
    assert_eq!(String::from_utf8(out.lock().await.clone()).unwrap(), expected);
    assert!(include_str!("../README.md").contains(expected));
    assert!(observer.audit().is_clean(), "{}", observer.audit());
}
