//! `[fetch] proxies` and `[[fetch.proxy]]`: exits that everything leaves through.

use comity_fetch::FetchConfig;
use comity_fetch::proxy::{Credentials, NoCredentials, NoProxy, PlainHttp, Proxy, Shown};
use comity_policy::Vantage;

use super::file::FetchSection;
use super::{ConfigError, ProxySection};

/// Lets everything leave through those that are named, if any are.
pub(super) fn put(fetch: &FetchSection, config: &mut FetchConfig) -> Result<(), ConfigError> {
    config.proxies = proxies(fetch)?;
    Ok(())
}

/// The exits that are used: all that are listed, or those of one country or pool. Reads the credentials.
fn proxies(fetch: &FetchSection) -> Result<Vec<Proxy>, ConfigError> {
    let plain =
        fetch.proxies.iter().flatten().map(|url| ProxySection { url: Some(url.clone()), ..ProxySection::default() });
    let listed: Vec<ProxySection> = plain.chain(fetch.proxy.iter().flatten().cloned()).collect();
    let country = fetch.proxy_country.as_deref().map(|code| country("[fetch] proxy_country", code)).transpose()?;
    let mut used = Vec::new();
    for section in &listed {
        let proxy = read(section)?;
        let of_country = country.is_none_or(|country| proxy.vantage == country);
        let of_pool = fetch.proxy_pool.as_deref().is_none_or(|pool| proxy.pool.as_deref() == Some(pool));
        if of_country && of_pool {
            used.push(proxy);
        }
    }
    let narrowed = country.is_some() || fetch.proxy_pool.is_some();
    if used.is_empty() && (narrowed || !listed.is_empty()) {
        let key = if country.is_some() { "[fetch] proxy_country" } else { "[fetch] proxy_pool" };
        return Err(ConfigError::new("no proxy is left that is of this country and pool")
            .at(key)
            .hint("nothing leaves directly instead: list one in [[fetch.proxy]], or take the key out"));
    }
    // What the fetcher would refuse is said here, with its place.
    let place = "[[fetch.proxy]]";
    if used.len() > Proxy::MOST {
        return Err(ConfigError::new(format!("{} proxies, {} at most", used.len(), Proxy::MOST)).at(place));
    }
    for (at, proxy) in used.iter().enumerate() {
        let same =
            |other: &&Proxy| (other.url(), other.vantage, &other.pool) == (proxy.url(), proxy.vantage, &proxy.pool);
        if used.iter().take(at).any(|other| same(&other)) {
            return Err(ConfigError::new(format!("{} is listed twice", proxy.url()))
                .at(place)
                .hint("give each its own country or pool, or list it once with the weight of both"));
        }
    }
    Ok(used)
}

/// What stands in the notes of a crawl.
pub(super) fn note(fetch: &FetchConfig) -> Option<String> {
    said_of(&fetch.proxies)
}

fn said_of(proxies: &[Proxy]) -> Option<String> {
    let mut vantages: Vec<String> = proxies.iter().map(|proxy| proxy.vantage.to_string()).collect();
    vantages.sort();
    vantages.dedup();
    let many = if proxies.len() == 1 { "proxy" } else { "proxies" };
    (!proxies.is_empty())
        .then(|| format!("everything leaves through {} {many}: {}", proxies.len(), vantages.join(", ")))
}

fn read(section: &ProxySection) -> Result<Proxy, ConfigError> {
    let text = section.url.as_deref().ok_or_else(|| {
        ConfigError::new("a proxy without url").at("[[fetch.proxy]] url").hint(NoProxy::Scheme.hint())
    })?;
    // The text may hold a password: neither the error nor its place repeats it.
    let mut proxy: Proxy =
        text.parse().map_err(|error: NoProxy| ConfigError::new(error).at("[[fetch.proxy]] url").hint(error.hint()))?;
    if let Some(code) = &section.country {
        proxy.vantage = country("[[fetch.proxy]] country", code)?;
    }
    if let Some(pool) = &section.pool {
        if pool.is_empty() || pool.len() > LONGEST_NAME || pool.chars().any(char::is_control) {
            return Err(ConfigError::new(format!("{pool:?} is no name of a pool"))
                .at("[[fetch.proxy]] pool")
                .hint("1 to 100 bytes of text"));
        }
        proxy.pool = Some(pool.as_str().into());
    }
    proxy.asn = section.asn;
    proxy.weight = section.weight.unwrap_or(1);
    if !(1..=Proxy::MOST_WEIGHT).contains(&proxy.weight) {
        return Err(ConfigError::new(format!("a weight of {}", proxy.weight))
            .at("[[fetch.proxy]] weight")
            .hint("1 to 1000; leave the proxy out to give it no share"));
    }
    proxy.shown = if section.residential.unwrap_or(false) { Shown::PoolOnly } else { Shown::Address };
    proxy.plain_http = if section.tunnel.unwrap_or(false) { PlainHttp::Tunnel } else { PlainHttp::Forward };
    proxy.credentials = credentials(section)?;
    Ok(proxy)
}

/// Our choice: pools have names, not descriptions.
const LONGEST_NAME: usize = 100;

fn country(place: &str, code: &str) -> Result<Vantage, ConfigError> {
    Vantage::country(code).ok_or_else(|| {
        ConfigError::new(format!("{code:?} is no country")).at(place).hint("two letters of ISO 3166-1: \"DE\"")
    })
}

fn credentials(section: &ProxySection) -> Result<Option<Credentials>, ConfigError> {
    match (&section.credentials_file, &section.credentials_env) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(ConfigError::new("credentials from a file and from the environment")
            .at("[[fetch.proxy]] credentials_file")
            .hint("take one of the two keys out")),
        (Some(file), None) => {
            let wrong = |error: NoCredentials| {
                ConfigError::new(format!("{}: {error}", file.display()))
                    .at("[[fetch.proxy]] credentials_file")
                    .hint(error.hint())
            };
            Credentials::read(file).map(Some).map_err(wrong)
        }
        (None, Some(name)) => {
            let wrong = |what: &dyn std::fmt::Display, hint: &str| {
                // The login itself, where the name of a variable is wanted, is not told.
                let named = if name.contains(':') { "(withheld)" } else { name };
                ConfigError::new(format!("{named}: {what}")).at("[[fetch.proxy]] credentials_env").hint(hint)
            };
            let text = std::env::var(name).map_err(|_| wrong(&"not set, or no text", "export it as user:password"))?;
            text.parse().map(Some).map_err(|error: NoCredentials| wrong(&error, error.hint()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigFile;

    fn parsed(text: &str) -> Result<Vec<Proxy>, ConfigError> {
        proxies(&ConfigFile::parse(text, None)?.fetch)
    }

    const TWO: &str = "[[fetch.proxy]]\nurl = \"http://10.1.1.1:3128\"\ncountry = \"de\"\npool = \"dc\"\nweight = 3\n\
                       [[fetch.proxy]]\nurl = \"socks5h://10.1.1.2:1080\"\ncountry = \"US\"\npool = \"home\"\nresidential = true\n";

    #[test]
    fn exits_are_read_and_narrowed_by_country_and_pool() {
        let all = parsed(TWO).unwrap();
        assert_eq!(all.iter().map(Proxy::url).collect::<Vec<_>>(), ["http://10.1.1.1:3128", "socks5h://10.1.1.2:1080"]);
        assert_eq!((all[0].vantage, all[0].weight, all[0].shown), (Vantage::Country(*b"DE"), 3, Shown::Address));
        assert_eq!(
            (all[1].shown, said_of(&all).unwrap().as_str()),
            (Shown::PoolOnly, "everything leaves through 2 proxies: DE, US")
        );
        for (narrow, url) in
            [("proxy_country = \"us\"", "socks5h://10.1.1.2:1080"), ("proxy_pool = \"dc\"", "http://10.1.1.1:3128")]
        {
            let left = parsed(&format!("[fetch]\n{narrow}\n{TWO}")).unwrap();
            assert_eq!(left.iter().map(Proxy::url).collect::<Vec<_>>(), [url]);
        }
        let short = parsed("[fetch]\nproxies = [\"http://10.1.1.1:3128\"]\n").unwrap();
        assert_eq!((short.len(), short[0].vantage), (1, Vantage::Exit));
        assert!(parsed("").unwrap().is_empty() && said_of(&[]).is_none());
    }

    #[test]
    fn what_cannot_be_used_is_refused_at_its_key_and_repeats_no_secret() {
        let rows = [
            ("[[fetch.proxy]]\ncountry = \"DE\"", "[[fetch.proxy]] url"),
            ("[[fetch.proxy]]\nurl = \"http://us3r:s3cret@10.1.1.1:3128\"", "[[fetch.proxy]] url"),
            ("[fetch]\nproxies = [\"http://us3r:s3cret@10.1.1.1:3128\"]", "[[fetch.proxy]] url"),
            ("[fetch]\nproxies = [\"10.1.1.1:3128\"]", "[[fetch.proxy]] url"),
            ("[fetch]\nproxies = [\"http://10.1.1.1\"]", "[[fetch.proxy]] url"),
            ("[fetch]\nproxies = [\"http://10.1.1.1:1\", \"http://10.1.1.1:1\"]", "[[fetch.proxy]]:"),
            ("[[fetch.proxy]]\nurl = \"http://a:1\"\ncountry = \"DEU\"", "[[fetch.proxy]] country"),
            ("[[fetch.proxy]]\nurl = \"http://a:1\"\npool = \"\"", "[[fetch.proxy]] pool"),
            ("[[fetch.proxy]]\nurl = \"http://a:1\"\nweight = 0", "[[fetch.proxy]] weight"),
            (
                "[[fetch.proxy]]\nurl = \"http://a:1\"\ncredentials_file = \"/no/such/file\"",
                "[[fetch.proxy]] credentials_file",
            ),
            (
                "[[fetch.proxy]]\nurl = \"http://a:1\"\ncredentials_env = \"COMITY_NO_SUCH_VARIABLE\"",
                "[[fetch.proxy]] credentials_env",
            ),
            (
                "[[fetch.proxy]]\nurl = \"http://a:1\"\ncredentials_env = \"A\"\ncredentials_file = \"b\"",
                "[[fetch.proxy]] credentials_file",
            ),
            ("[fetch]\nproxy_country = \"DE\"", "[fetch] proxy_country"),
            ("[fetch]\nproxy_pool = \"dc\"\nproxies = [\"http://a:1\"]", "[fetch] proxy_pool"),
            ("[[fetch.proxy]]\nurl = \"http://a:1\"\npassword = \"s3cret\"", "line 3"),
        ];
        for (text, place) in rows {
            let error = parsed(text).unwrap_err();
            assert!(error.to_string().starts_with(place), "{text}: {error}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{text}: {error}");
            assert!(error.advice().is_some() || place.starts_with("line"), "{text}");
        }
    }
}
