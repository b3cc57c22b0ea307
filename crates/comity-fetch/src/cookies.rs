mod kept;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use comity_policy::WallTime;
use comity_url::{CrawlUrl, Origin, Scheme};

use kept::Kept;

/// The cookies of one fetcher, in memory: taken and sent by RFC 6265bis, as a browser does that is told each URL by hand,
/// so that `SameSite` never holds one back. Bounded; what is least lately used goes first. No value ever leaves it but in
/// the request that it belongs to.
#[derive(Default)]
pub(crate) struct Jar(Mutex<Store>);

#[derive(Default)]
struct Store {
    /// By registrable domain; by host where there is none. No cookie crosses from one to another.
    sites: HashMap<String, Site>,
    /// The sites in the order in which they were last used.
    order: BTreeMap<u64, String>,
    next: u64,
    bytes: usize,
}

#[derive(Default)]
struct Site {
    used: u64,
    cookies: Vec<Kept>,
}

/// Cookies of one registrable domain (RFC 6265bis §6.1: at least 50).
const MOST_OF_A_SITE: usize = 50;
/// Bytes of all cookies, each with what it takes to keep it (our choice).
const MOST_BYTES: usize = 16 << 20;
/// The longest Cookie field (our choice: common servers take 8 KiB); what does not fit is left out.
const LONGEST_FIELD: usize = 8 << 10;

impl Jar {
    /// Takes the cookies that an answer from `url` sets; those that it may not set, and those that could not be sent back,
    /// are passed over.
    pub(crate) fn take<'a>(&self, url: &CrawlUrl, set: impl Iterator<Item = &'a str>, now: WallTime) {
        for cookie in set.take(MOST_OF_A_SITE).filter_map(|text| Kept::read(text, url, now)) {
            self.with(|store| store.keep(cookie, url, now));
        }
    }

    /// The value of the Cookie field of a request for `url`, if any cookie belongs there.
    pub(crate) fn field(&self, url: &CrawlUrl, now: WallTime) -> Option<String> {
        Some(self.with(|store| store.field(url, now))).filter(|field| !field.is_empty())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Store) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store {
    fn keep(&mut self, mut cookie: Kept, url: &CrawlUrl, now: WallTime) {
        let name = site_of(url.origin());
        self.touch(name);
        let Some(site) = self.sites.get_mut(name) else { return };
        // RFC 6265bis §5.7, "leave secure cookies alone": what came over http does not lie over what came over https.
        let plain = url.origin().scheme() == Scheme::Http;
        if plain && site.cookies.iter().any(|kept| kept.secure && cookie.would_hide(kept)) {
            return;
        }
        let before = site.bytes();
        let old = site.cookies.iter().position(|kept| kept.is_same(&cookie)).map(|at| site.cookies.remove(at));
        self.next += 1;
        cookie.created = old.map_or(self.next, |old| old.created);
        if !cookie.is_over(now) {
            site.cookies.push(cookie);
        }
        site.tidy(now);
        self.bytes = self.bytes + site.bytes() - before;
        while self.bytes > MOST_BYTES && self.sites.len() > 1 {
            self.forget_oldest();
        }
    }

    fn field(&mut self, url: &CrawlUrl, now: WallTime) -> String {
        let name = site_of(url.origin());
        let mut field = String::new();
        if !self.sites.contains_key(name) {
            return field;
        }
        self.touch(name);
        let cookies = self.sites.get(name).map(|site| site.cookies.as_slice()).unwrap_or_default();
        let mut sent: Vec<&Kept> =
            cookies.iter().filter(|cookie| !cookie.is_over(now) && cookie.belongs_to(url)).collect();
        // RFC 6265bis §5.8.3: longer paths first, then older ones.
        sent.sort_by_key(|cookie| (usize::MAX - cookie.path.len(), cookie.created));
        for cookie in sent {
            if field.len() + cookie.name.len() + cookie.value.len() + 3 > LONGEST_FIELD {
                continue;
            }
            if !field.is_empty() {
                field.push_str("; ");
            }
            field.extend([&cookie.name, "=", &cookie.value]);
        }
        field
    }

    /// Notes that a site is in use, and makes room for it when it is new.
    fn touch(&mut self, name: &str) {
        self.next += 1;
        if !self.sites.contains_key(name) {
            self.sites.insert(name.to_owned(), Site::default());
            self.bytes += name.len() + OVERHEAD;
        }
        if let Some(site) = self.sites.get_mut(name) {
            self.order.remove(&std::mem::replace(&mut site.used, self.next));
            self.order.insert(self.next, name.to_owned());
        }
    }

    fn forget_oldest(&mut self) {
        let Some((_, name)) = self.order.pop_first() else { return };
        if let Some(site) = self.sites.remove(&name) {
            self.bytes -= site.bytes() + name.len() + OVERHEAD;
        }
    }
}

/// What an entry takes beside its texts, roughly.
const OVERHEAD: usize = 200;

impl Site {
    fn bytes(&self) -> usize {
        self.cookies.iter().map(|cookie| cookie.bytes() + OVERHEAD).sum()
    }

    /// RFC 6265bis §5.7, "remove excess cookies": those that are over, then those that are not secure, then the oldest.
    fn tidy(&mut self, now: WallTime) {
        if self.cookies.len() <= MOST_OF_A_SITE {
            return;
        }
        self.cookies.retain(|cookie| !cookie.is_over(now));
        while self.cookies.len() > MOST_OF_A_SITE {
            let Some((at, _)) = self.cookies.iter().enumerate().min_by_key(|(_, c)| (c.secure, c.created)) else {
                return;
            };
            self.cookies.remove(at);
        }
    }
}

fn site_of(origin: &Origin) -> &str {
    origin.registrable_domain().unwrap_or(origin.host())
}

impl fmt::Debug for Jar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sites = self.with(|store| store.sites.len());
        f.debug_struct("Jar").field("sites", &sites).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
