use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use comity::config::ByteSize;
use comity::{End, Summary};
use comity_testweb::{Answer, MemoryNet, Site, Web};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// An object storage that is out of order for its first requests.
#[derive(Clone, Debug, Default)]
struct Storage {
    objects: Arc<Mutex<BTreeMap<String, (String, String)>>>,
    refuses: Arc<AtomicUsize>,
}

impl Storage {
    async fn serve(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let storage = self.clone();
            tokio::spawn(async move { storage.answer(stream).await });
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            let head = String::from_utf8(head).unwrap();
            let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
            let mut body = vec![0; field("content-length: ").parse().unwrap()];
            stream.read_exact(&mut body).await?;
            let refuses = self.refuses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
            let status = if refuses { "503 Service Unavailable" } else { "200 OK" };
            if !refuses {
                let target = head.split(' ').nth(1).unwrap().to_owned();
                let object = (target, String::from_utf8(body).unwrap());
                let before = self.objects.lock().unwrap().insert(field("x-amz-meta-url: "), object.clone());
                assert!(before.is_none_or(|before| before == object), "a URL has one key");
            }
            stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await?;
        }
    }
}

async fn run(dir: &Path, bucket: Bucket, net: &MemoryNet) -> Result<Summary, comity::Error> {
    let crawler = storing(dir, bucket)
        .seed("http://a.test/")
        .delay(Duration::from_millis(5))
        .configure(|file| file.archive.min_free = Some(ByteSize(0)))
        .allow_addresses("10.0.0.0/8")
        .net(Arc::new(net.clone()));
    crawler.build().unwrap().run().await
}

/// Real sockets, and so real time: a storage on loopback.
#[tokio::test]
async fn what_the_storage_did_not_take_stays_in_the_queue() {
    let site = Site::new()
        .name("a.test")
        .robots("User-agent: *\nDisallow: /private/\n")
        .page("/", Answer::page(["/1", "/2", "/private/x", "/gone"]))
        .page("/1", Answer::text("one"))
        .page("/2", Answer::text("two"));
    let (net, observer) = Web::builder(1).site(site).build().unwrap().in_memory();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut bucket = Bucket::at(&format!("http://{}/bucket/", listener.local_addr().unwrap())).unwrap();
    bucket.waits = [Duration::from_millis(1); 3];
    let storage = Storage::default();
    tokio::spawn(storage.clone().serve(listener));
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let dir = dir.path().join("crawl");

    // Three faults in a row end the crawl, and the page stays in the queue.
    storage.refuses.store(3, Ordering::SeqCst);
    let first = run(&dir, bucket.clone(), &net).await.unwrap_err();
    assert!(first.is_storage(), "{first}");
    assert!(storage.objects.lock().unwrap().is_empty());

    // Two are outlasted.
    storage.refuses.store(2, Ordering::SeqCst);
    let second = run(&dir, bucket, &net).await.unwrap();
    assert_eq!((second.end, second.left, second.refusals()), (End::Finished, 0, 1), "{second}");
    let objects = storage.objects.lock().unwrap();
    let stored: Vec<&str> = objects.keys().map(String::as_str).collect();
    assert_eq!(stored, ["http://a.test/", "http://a.test/1", "http://a.test/2"]);
    assert_eq!(objects["http://a.test/2"].1, "two");
    assert!(objects.values().all(|(key, _)| key.len() == "/bucket/".len() + 64));
    assert!(!observer.log().iter().any(|seen| seen.request.path().starts_with("/private")));
}
