use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use comity_fetch::{BoxFuture, Io, Net, ResolveError, Resolved};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
use tokio::sync::watch;

/// A network with proxies in it, for clients that leave through exits: HTTP (absolute-form and `CONNECT`) and SOCKS5, each
/// at an address of its own, in front of another network.
///
/// Everything that is asked of an exit is kept in its log, with every byte that it let through to sites. Connections that
/// reach the inner network around the exits are counted: [`ExitNet::around`].
#[derive(Clone, Debug)]
pub struct ExitNet {
    inner: Arc<dyn Net>,
    exits: BTreeMap<SocketAddr, Arc<Exit>>,
    around: Arc<Mutex<Vec<SocketAddr>>>,
}

#[derive(Debug)]
struct Exit {
    login: Option<(String, String)>,
    fault: watch::Sender<Option<ExitFault>>,
    asked: Mutex<Vec<Asked>>,
}

/// One thing that an exit was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `GET http://a.test/`, `CONNECT a.test:443`, `SOCKS5 10.0.0.1:80`.
    pub what: String,
    /// The credentials that came with it, `user:password`.
    pub login: Option<String>,
    /// What it was answered: an HTTP status, or a reply of SOCKS5.
    pub answer: u16,
}

/// How an exit misbehaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitFault {
    /// It takes no connection; those that are open break off.
    Down,
    /// It takes connections and says nothing.
    Mute,
    /// It answers this to everything.
    Says(Vec<u8>),
}

const MOST_HEAD: usize = 64 << 10;

impl ExitNet {
    /// A network without exits, in front of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Net>) -> Self {
        Self { inner, exits: BTreeMap::new(), around: Arc::default() }
    }

    /// Puts an exit up; with a login, whoever does not show it is refused.
    #[must_use]
    pub fn exit(mut self, at: SocketAddr, login: Option<(&str, &str)>) -> Self {
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        let (fault, _) = watch::channel(None);
        self.exits.insert(at, Arc::new(Exit { login, fault, asked: Mutex::default() }));
        self
    }

    /// Sets how an exit misbehaves from now on; `None`: it works.
    pub fn set_fault(&self, at: SocketAddr, fault: Option<ExitFault>) {
        if let Some(exit) = self.exits.get(&at) {
            exit.fault.send_replace(fault);
        }
    }

    /// Everything that an exit was asked for.
    #[must_use]
    pub fn asked(&self, at: SocketAddr) -> Vec<Asked> {
        self.exits.get(&at).map(|exit| exit.asked().clone()).unwrap_or_default()
    }

    /// Addresses that were connected to around all exits.
    #[must_use]
    pub fn around(&self) -> Vec<SocketAddr> {
        self.around.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn serve(self, exit: Arc<Exit>, mut client: Box<dyn Io>) -> io::Result<()> {
        let mut fault = exit.fault.subscribe();
        let work = async {
            let first = client.read_u8().await?;
            let now = exit.fault.borrow().clone();
            match now {
                Some(ExitFault::Says(answer)) => return client.write_all(&answer).await,
                Some(ExitFault::Mute | ExitFault::Down) => std::future::pending::<()>().await,
                None => {}
            }
            if first == 5 { self.socks(&exit, client).await } else { self.http(&exit, first, client).await }
        };
        tokio::select! {
            biased;
            down = async { fault.wait_for(|fault| *fault == Some(ExitFault::Down)).await.map(drop) } => down.map_err(io::Error::other),
            done = work => done,
        }
    }

    /// SOCKS5, the version already read (RFC 1928, RFC 1929).
    async fn socks(&self, exit: &Exit, mut client: Box<dyn Io>) -> io::Result<()> {
        let mut methods = vec![0; client.read_u8().await?.into()];
        client.read_exact(&mut methods).await?;
        let wanted = if exit.login.is_some() { 2 } else { 0 };
        if !methods.contains(&wanted) {
            return client.write_all(&[5, 0xff]).await;
        }
        client.write_all(&[5, wanted]).await?;
        let mut login = None;
        if wanted == 2 {
            client.read_u8().await?;
            let user = counted_text(&mut client).await?;
            let password = counted_text(&mut client).await?;
            let right = exit.lets_in(&user, &password);
            client.write_all(&[1, u8::from(!right)]).await?;
            login = Some(format!("{user}:{password}"));
            if !right {
                exit.note("SOCKS5 login".to_owned(), login, 1);
                return Ok(());
            }
        }
        let mut head = [0; 4];
        client.read_exact(&mut head).await?;
        let host = match head[3] {
            1 => Ipv4Addr::from(client.read_u32().await?).to_string(),
            4 => Ipv6Addr::from(client.read_u128().await?).to_string(),
            _ => counted_text(&mut client).await?,
        };
        let port = client.read_u16().await?;
        let reached = self.reach(&host, port).await;
        let reply = if reached.is_ok() { 0 } else { 5 };
        exit.note(format!("SOCKS5 {host}:{port}"), login, reply.into());
        client.write_all(&[5, reply, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
        copy_bidirectional(&mut client, &mut reached?).await.map(drop)
    }

    /// One request of HTTP, its first byte already read.
    async fn http(&self, exit: &Exit, first: u8, mut client: Box<dyn Io>) -> io::Result<()> {
        let mut head = vec![first];
        while !head.ends_with(b"\r\n\r\n") && head.len() < MOST_HEAD {
            head.push(client.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut words = head.split([' ', '\r']);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let what = format!("{method} {target}");
        let login = head.lines().find_map(|line| line.strip_prefix("Proxy-Authorization: Basic "));
        let login = login.and_then(decode);
        let right = match (&exit.login, &login) {
            (None, _) => true,
            (Some((user, password)), Some(given)) => *given == format!("{user}:{password}"),
            (Some(_), None) => false,
        };
        if !right {
            exit.note(what, login, 407);
            let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"exit\"\r\nContent-Length: 0\r\n\r\n";
            return client.write_all(refusal).await;
        }
        let authority = if method == "CONNECT" { target } else { authority(target) };
        let (host, port) =
            authority.rsplit_once(':').filter(|(host, _)| !host.ends_with(':')).unwrap_or((authority, "80"));
        let reached = self.reach(host.trim_matches(['[', ']']), port.parse().unwrap_or(80)).await;
        let Ok(mut site) = reached else {
            exit.note(what, login, 502);
            return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await;
        };
        exit.note(what, login, 200);
        if method == "CONNECT" {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        } else {
            site.write_all(origin_form(&head, target).as_bytes()).await?;
        }
        copy_bidirectional(&mut client, &mut site).await.map(drop)
    }

    async fn reach(&self, host: &str, port: u16) -> io::Result<Box<dyn Io>> {
        let address = match host.parse::<IpAddr>() {
            Ok(address) => address,
            Err(_) => {
                let found = self.inner.resolve(host).await.map_err(io::Error::other)?;
                *found.addresses.first().ok_or(io::ErrorKind::AddrNotAvailable)?
            }
        };
        self.inner.connect((address, port).into()).await
    }
}

impl Exit {
    fn lets_in(&self, user: &str, password: &str) -> bool {
        self.login.as_ref().is_some_and(|(right, secret)| right == user && secret == password)
    }

    fn note(&self, what: String, login: Option<String>, answer: u16) {
        self.asked().push(Asked { what, login, answer });
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Net for ExitNet {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Resolved, ResolveError>> {
        self.inner.resolve(host)
    }

    fn connect(&self, addr: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let Some(exit) = self.exits.get(&addr).cloned() else {
            self.around.lock().unwrap_or_else(PoisonError::into_inner).push(addr);
            return self.inner.connect(addr);
        };
        let net = self.clone();
        Box::pin(async move {
            if *exit.fault.borrow() == Some(ExitFault::Down) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (near, far) = duplex(MOST_HEAD);
            tokio::spawn(async move { net.serve(exit, Box::new(far)).await });
            Ok(Box::new(near) as Box<dyn Io>)
        })
    }
}

async fn counted_text(client: &mut Box<dyn Io>) -> io::Result<String> {
    let mut bytes = vec![0; client.read_u8().await?.into()];
    client.read_exact(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The authority of an absolute http URL.
fn authority(target: &str) -> &str {
    let rest = target.strip_prefix("http://").unwrap_or(target);
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// The head as a site gets it: origin-form, without the fields of the hop. One exchange a connection.
fn origin_form(head: &str, target: &str) -> String {
    let (start, fields) = head.split_once("\r\n").unwrap_or((head, ""));
    let path = target.strip_prefix("http://").and_then(|rest| rest.get(authority(target).len()..)).unwrap_or("/");
    let mut sent = format!("{}\r\n", start.replacen(target, path, 1));
    for line in fields.lines().filter(|line| !line.is_empty() && !line.to_ascii_lowercase().starts_with("proxy-")) {
        sent.push_str(line);
        sent.push_str("\r\n");
    }
    sent + "Connection: close\r\n\r\n"
}

/// Base64 of text (RFC 4648 §4).
fn decode(text: &str) -> Option<String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    for four in text.trim().trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in four {
            bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|one| one == byte)?).ok()?;
        }
        bits <<= 6 * (4 - four.len());
        bytes.extend_from_slice(bits.to_be_bytes().get(1..four.len())?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_passed_on_without_what_belongs_to_the_hop() {
        assert_eq!(decode("QWxhZGRpbjpvcGVuIHNlc2FtZQ==").as_deref(), Some("Aladdin:open sesame"));
        let head = "GET http://a.test:81/x?y HTTP/1.1\r\nHost: a.test:81\r\nProxy-Authorization: Basic x\r\n\r\n";
        assert_eq!(
            origin_form(head, "http://a.test:81/x?y"),
            "GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nConnection: close\r\n\r\n"
        );
    }
}
