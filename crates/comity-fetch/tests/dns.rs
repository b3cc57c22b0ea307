//! Names through a real resolver, asked of a small name server on loopback.

#![expect(clippy::unwrap_used, reason = "a test may end here")]

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use comity_fetch::{Net, ResolveError, Resolved, SystemNet};
use hickory_resolver::proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

/// Every question that arrived: name, type, and whether over TCP.
type Asked = Arc<Mutex<Vec<(String, RecordType, bool)>>>;

/// A name server on UDP and TCP of one port of loopback; it lives as long as the test's runtime.
async fn name_server() -> (SystemNet, Asked) {
    let (udp, tcp) = loop {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
            break (udp, tcp);
        }
    };
    let address = udp.local_addr().unwrap();
    let asked = Asked::default();
    tokio::spawn(over_udp(udp, Arc::clone(&asked)));
    tokio::spawn(over_tcp(tcp, Arc::clone(&asked)));
    (SystemNet::asking(&[address]), asked)
}

async fn over_udp(socket: UdpSocket, asked: Asked) {
    let mut buffer = [0; 2048];
    while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
        if let Some(answer) = answer(&buffer[..length], &asked, false) {
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

async fn over_tcp(listener: TcpListener, asked: Asked) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let asked = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok(length) = stream.read_u16().await {
                let mut question = vec![0; length.into()];
                stream.read_exact(&mut question).await.unwrap();
                if let Some(answer) = answer(&question, &asked, true) {
                    stream.write_u16(u16::try_from(answer.len()).unwrap()).await.unwrap();
                    stream.write_all(&answer).await.unwrap();
                }
            }
        });
    }
}

fn answer(question: &[u8], asked: &Asked, tcp: bool) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).unwrap();
    let query = question.queries[0].clone();
    let name = query.name().to_ascii();
    asked.lock().unwrap().push((name.clone(), query.query_type(), tcp));
    let mut answer = Message::new(question.id, MessageType::Response, OpCode::Query);
    answer.metadata.recursion_desired = true;
    answer.metadata.recursion_available = true;
    answer.add_query(query.clone());
    let (v4, v6) = (query.query_type() == RecordType::A, query.query_type() == RecordType::AAAA);
    let a = |text: &str| RData::A(A(text.parse().unwrap()));
    let aaaa = |text: &str| RData::AAAA(AAAA(text.parse().unwrap()));
    let cname = |target: &str| RData::CNAME(CNAME(Name::from_ascii(target).unwrap()));
    let mut put = |owner: &str, ttl, data| {
        answer.add_answer(Record::from_rdata(Name::from_ascii(owner).unwrap(), ttl, data));
    };
    match name.as_str() {
        "both.com." if v4 => put(&name, 300, a("192.0.2.1")),
        "both.com." if v6 => put(&name, 200, aaaa("2001:db8::1")),
        "four.com." if v4 => put(&name, 0, a("192.0.2.4")),
        "six.com." if v6 => put(&name, 315_360_000, aaaa("2001:db8::6")),
        // A server that never answers for AAAA, as broken load balancers do not.
        "half.com." if v4 => put(&name, 60, a("192.0.2.5")),
        "half.com." => return None,
        "cut.com." if v4 && tcp => (1..=9).for_each(|n| put(&name, 60, a(&format!("192.0.2.{n}")))),
        "cut.com." if v4 => answer.metadata.truncation = true,
        "alias.com." if v4 => {
            put(&name, 30, cname("target.com."));
            put("target.com.", 90, a("192.0.2.7"));
        }
        // A chain that the server leaves to the resolver, and one without an end.
        "chain1.com." => put(&name, 60, cname("both.com.")),
        "loop1.com." => put(&name, 60, cname("loop2.com.")),
        "loop2.com." => put(&name, 60, cname("loop1.com.")),
        "broken.com." => answer.metadata.response_code = ResponseCode::ServFail,
        "refused.com." => answer.metadata.response_code = ResponseCode::Refused,
        "mixed.com." if v4 => answer.metadata.response_code = ResponseCode::ServFail,
        "silent.com." => return None,
        "both.com." | "four.com." | "six.com." | "cut.com." | "empty.com." | "alias.com." | "mixed.com." => {}
        _ => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    Some(answer.to_vec().unwrap())
}

fn found(addresses: &[&str], seconds: u64) -> Result<Resolved, ResolveError> {
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    Ok(Resolved { addresses, life: Some(Duration::from_secs(seconds)) })
}

#[tokio::test]
async fn every_kind_of_answer_is_read() {
    let (net, asked) = name_server().await;
    let nine: Vec<String> = (1..=9).map(|n| format!("192.0.2.{n}")).collect();
    let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
    let long = "x".repeat(64) + ".com";
    let rows = [
        ("both.com", found(&["2001:db8::1", "192.0.2.1"], 200)),
        ("four.com", found(&["192.0.2.4"], 0)),
        // Ten years: the resolver cuts them to a day, the cache above to an hour.
        ("six.com", found(&["2001:db8::6"], 86_400)),
        ("cut.com", found(&nine, 60)),
        ("alias.com", found(&["192.0.2.7"], 30)),
        ("chain1.com", found(&["2001:db8::1", "192.0.2.1"], 60)),
        ("nowhere.com", Err(ResolveError::NoSuchName)),
        ("empty.com", Err(ResolveError::NoAddress)),
        (&long, Err(ResolveError::NoSuchName)),
        ("site.onion", Err(ResolveError::NoSuchName)),
    ];
    for (name, expected) in rows {
        let mut answer = net.resolve(name).await;
        if let Ok(found) = &mut answer {
            found.addresses.sort_by_key(|address| (address.is_ipv4(), *address));
        }
        assert_eq!(answer, expected, "{name}");
    }
    let asked = asked.lock().unwrap();
    assert!(!asked.iter().any(|(name, ..)| name.ends_with("onion.")), "never asked for");
    assert!(asked.iter().any(|(name, family, tcp)| name == "cut.com." && *family == RecordType::A && *tcp));
    assert!(asked.iter().all(|(_, family, _)| [RecordType::A, RecordType::AAAA].contains(family)));
}

#[tokio::test]
async fn what_cannot_be_said_now_is_no_final_answer() {
    let (net, asked) = name_server().await;
    for name in ["broken.com", "refused.com", "mixed.com"] {
        let answer = net.resolve(name).await;
        assert!(matches!(answer, Err(ResolveError::Temporary(_))), "{name}: {answer:?}");
    }
    // A chain without an end gives no address, after a bounded number of questions.
    let answer = net.resolve("loop1.com").await;
    assert!(answer.is_err(), "{answer:?}");
    let count = asked.lock().unwrap().iter().filter(|(name, ..)| name.starts_with("loop")).count();
    assert!(count <= 40, "{count} questions for a loop");
}

#[tokio::test]
async fn silence_ends_in_time_and_one_silent_family_does_not_hold_up_the_other() {
    let (net, _) = name_server().await;
    let begun = tokio::time::timeout(Duration::from_secs(3), net.resolve("half.com")).await;
    assert_eq!(begun, Ok(found(&["192.0.2.5"], 60)), "the family that answers is not held up");
    let answer = tokio::time::timeout(Duration::from_secs(10), net.resolve("silent.com")).await.unwrap();
    assert!(matches!(answer, Err(ResolveError::Timeout | ResolveError::Temporary(_))), "{answer:?}");
    // Reserved names may be answered by such a server, or by none: silence is final for them.
    let answer = tokio::time::timeout(Duration::from_secs(10), net.resolve("gone.test")).await.unwrap();
    assert_eq!(answer, Err(ResolveError::NoSuchName));
}

#[tokio::test]
async fn a_hundred_look_ups_at_once_are_answered() {
    let (net, _) = name_server().await;
    let all = (0..100).map(|n| {
        let net = net.clone();
        tokio::spawn(async move { net.resolve(if n % 2 == 0 { "both.com" } else { "nowhere.com" }).await.is_ok() })
    });
    let mut good = 0;
    for task in all.collect::<Vec<_>>() {
        good += usize::from(task.await.unwrap());
    }
    assert_eq!(good, 50);
}
