//! Settings from environment variables: `COMITY_POLITENESS_DELAY=2s` is `[politeness] delay = "2s"`.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::keys::{self, Form, Key, Kind, SECTIONS, Section};
use super::near::nearest;
use super::{ConfigError, ConfigFile};

/// What the environment says: a layer over the files, below the flags.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    layer: ConfigFile,
    set: BTreeMap<String, String>,
    ignored: Vec<String>,
}

/// What is logged, by target and level: no setting, and a whole name, so that `COMITY_LOG_FORMAT` is not taken for one of its kind.
const LOG: &str = "COMITY_LOG";

/// First words of variables that are no settings: what tests and benchmarks take, and what Kubernetes sets in every pod beside a
/// service of the name `comity`.
const OTHERS: [&str; 8] = ["TEST", "BENCH", "SIM", "PEERS", "BLESS", "WRITE", "SERVICE", "PORT"];

impl Environment {
    /// Reads the variables that begin with `COMITY_`; `below` is what the files said, whose `credentials_env` names are no settings.
    ///
    /// Lists are separated by commas, or written as TOML (`["a", "b"]`); tables of names as `a.test=127.0.0.1,b.test=…`, or as TOML;
    /// everything else is the value without quotes.
    ///
    /// # Errors
    /// A value that is not of its key's kind, and a name of the form `COMITY_SECTION_KEY`, or near to one, that is no key: our choice,
    /// since a delay that is set under a wrong name would not hold, and nobody would know.
    pub fn read(
        variables: impl IntoIterator<Item = (String, String)>,
        below: &ConfigFile,
    ) -> Result<Self, ConfigError> {
        Self::of(variables, below, Strange::Refused)
    }

    /// The same for whoever does not know all files: a variable that one of them may name as `credentials_env` is among
    /// [`Self::ignored`] instead of refused, unless it is near a setting.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_apart(
        variables: impl IntoIterator<Item = (String, String)>,
        below: &ConfigFile,
    ) -> Result<Self, ConfigError> {
        Self::of(variables, below, Strange::Told)
    }

    fn of(
        variables: impl IntoIterator<Item = (String, String)>,
        below: &ConfigFile,
        strange: Strange,
    ) -> Result<Self, ConfigError> {
        let known: BTreeMap<String, (&Section, &Key)> =
            keys::all().filter_map(|(section, key)| Some((section.variable(key)?, (section, key)))).collect();
        let mut environment = Self::default();
        let mut table = Table::new();
        let variables: BTreeMap<String, String> =
            variables.into_iter().filter(|(name, _)| name.starts_with("COMITY_")).collect();
        for (name, text) in variables {
            let Some((section, key)) = known.get(&name) else {
                if is_unknown(&name, &text, below, strange)? {
                    environment.ignored.push(name);
                }
                continue;
            };
            let value = value(key, &text).map_err(|error| error.at(&name))?;
            let one = nested(section.name, key.name, value.clone());
            // Each alone, so that an error has its name.
            ConfigFile::of_table(&one).map_err(|error| error.at(&name))?;
            insert(&mut table, section.name, key.name, value);
            environment.set.insert(section.path(key), name);
        }
        environment.layer = ConfigFile::of_table(&table)?;
        environment.layer.optout.anchor(std::path::Path::new(""));
        Ok(environment)
    }

    /// Lays what the environment says over the files. Keys of `[gateway.customer]` are laid over one by one, since a secret is what an
    /// environment is used for.
    pub fn lay_over(&self, file: &mut ConfigFile) {
        let mut layer = self.layer.clone();
        let customer = layer.gateway.customer.take();
        file.overlay(layer);
        if let Some(customer) = customer {
            file.gateway.customer.get_or_insert_default().join(customer);
        }
    }

    /// What it says, alone.
    #[must_use]
    pub const fn layer(&self) -> &ConfigFile {
        &self.layer
    }

    /// The keys that it sets, `section.key`, each with its variable.
    #[must_use]
    pub const fn set(&self) -> &BTreeMap<String, String> {
        &self.set
    }

    /// Variables that begin with `COMITY_` and are near no setting.
    #[must_use]
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }
}

/// What becomes of a name that looks like a setting, and is near none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strange {
    Refused,
    Told,
}

/// False for names that are known to be no settings, true for those that are near none.
fn is_unknown(name: &str, text: &str, below: &ConfigFile, strange: Strange) -> Result<bool, ConfigError> {
    let rest = name.trim_start_matches("COMITY_");
    let first = rest.split('_').next().unwrap_or_default();
    let named = below.fetch.proxy.iter().flatten().any(|proxy| proxy.credentials_env.as_deref() == Some(name));
    if named || name == LOG || OTHERS.contains(&first) || is_of_a_service(name, text) {
        return Ok(false);
    }
    if let Some(section) =
        SECTIONS.iter().find(|section| section.form == Form::Many && keys::variable(section.name) == name)
    {
        return Err(ConfigError::new(format!("{} stands in a file", section.head()))
            .at(name)
            .hint("write it there, and give --config"));
    }
    let variables: Vec<String> = keys::all().filter_map(|(section, key)| section.variable(key)).collect();
    let wrong = ConfigError::new("no setting has this name").at(name);
    if let Some(near) = nearest(name, variables.iter().map(String::as_str), 0.94) {
        return Err(wrong.hint(format!("did you mean {near}?")));
    }
    // `COMITY_DELAY`: the section is missing.
    let word = rest.to_ascii_lowercase();
    if let Some((section, key)) = keys::all().find(|(section, key)| key.name == word && section.form == Form::Once) {
        return Err(wrong.hint(format!("did you mean {}?", keys::variable(&section.path(key)))));
    }
    if strange == Strange::Refused && rest.contains('_') {
        return Err(wrong.hint("`comity config keys` lists them all; unset it, or spell it as there"));
    }
    Ok(true)
}

/// Whether Kubernetes sets this in every pod beside a service whose name begins with `comity-`: `COMITY_GATEWAY_SERVICE_HOST`,
/// `COMITY_GATEWAY_PORT_3128_TCP_ADDR`, and `COMITY_GATEWAY_PORT`, which is told from a setting by the URL that it holds
/// (kubernetes.io, Service, environment variables).
fn is_of_a_service(name: &str, text: &str) -> bool {
    let is_link = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| text.starts_with(scheme));
    let of_port = |rest: &str| {
        let mut words = rest.split('_');
        let is_number = words.next().is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()));
        let is_protocol = words.next().is_some_and(|word| ["TCP", "UDP", "SCTP"].contains(&word));
        let is_part = words.next().is_none_or(|word| ["PROTO", "PORT", "ADDR"].contains(&word));
        is_number && is_protocol && is_part && words.next().is_none()
    };
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || name.ends_with("_PORT") && is_link
        || name.match_indices("_PORT_").any(|(at, found)| name.get(at + found.len()..).is_some_and(of_port))
}

/// The text of a variable as a value of its key's kind.
fn value(key: &Key, text: &str) -> Result<Value, ConfigError> {
    let text = text.trim();
    let wrong = |what: &str, example: &str| Err(ConfigError::new(format!("{text:?} is {what}")).hint(example));
    match key.kind {
        Kind::Switch => text.parse().map(Value::Boolean).or_else(|_| wrong("neither true nor false", "true or false")),
        Kind::Number => text.parse().map(Value::Integer).or_else(|_| wrong("no whole number", "for instance 10")),
        Kind::Map if !text.starts_with('{') => map(text),
        kind if kind.is_list() && !text.starts_with('[') => list(kind, text),
        Kind::Map => toml(text),
        kind if kind.is_list() => toml(text),
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn toml(text: &str) -> Result<Value, ConfigError> {
    let parsed: Result<Table, _> = toml::from_str(&format!("value = {text}"));
    parsed.ok().and_then(|mut table| table.remove("value")).ok_or_else(|| {
        ConfigError::new("it begins like TOML, and is none").hint("write [\"a\", \"b\"], or a,b without brackets")
    })
}

fn list(kind: Kind, text: &str) -> Result<Value, ConfigError> {
    let mut values = Vec::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        values.push(match kind {
            Kind::Numbers => Value::Integer(item.parse().map_err(|_| {
                ConfigError::new(format!("{item:?} is no whole number")).hint("numbers, separated by commas")
            })?),
            _ => Value::String(item.to_owned()),
        });
    }
    Ok(Value::Array(values))
}

fn map(text: &str) -> Result<Value, ConfigError> {
    let mut table = Table::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            ConfigError::new(format!("{pair:?} is no NAME=VALUE")).hint("a.test=127.0.0.1,b.test=127.0.0.2")
        })?;
        table.insert(name.trim().to_owned(), Value::String(value.trim().to_owned()));
    }
    Ok(Value::Table(table))
}

/// A table with this one key in it.
pub(super) fn nested(section: &str, key: &str, value: Value) -> Table {
    let mut table = Table::new();
    insert(&mut table, section, key, value);
    table
}

/// Sets a key of a section, whose name may have points.
pub(super) fn insert(table: &mut Table, section: &str, key: &str, value: Value) {
    let (name, rest) = section.split_once('.').map_or((section, None), |(name, rest)| (name, Some(rest)));
    let below = table.entry(name).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(below) = below {
        match rest {
            Some(rest) => insert(below, rest, key, value),
            None => drop(below.insert(key.to_owned(), value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Environment, ConfigError> {
        let below = ConfigFile::parse("[[fetch.proxy]]\ncredentials_env = \"COMITY_MY_LOGIN\"\n", None).unwrap();
        Environment::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())), &below)
    }

    /// Whoever does not know all files cannot tell a login from a mistake; what is near a setting is a mistake all the same.
    #[test]
    fn a_login_that_another_file_may_name_is_told_and_not_refused() {
        let pairs = |name: &str| [(name.to_owned(), "user:password".to_owned())];
        let nothing = ConfigFile::default();
        for (name, told) in
            [("COMITY_DC_LOGIN", true), ("COMITY_MY_OWN_PROXY_LOGIN", true), ("COMITY_POLITENESS_DELAI", false)]
        {
            let apart = Environment::read_apart(pairs(name), &nothing);
            assert_eq!(
                apart.map(|found| found.ignored().to_vec()).unwrap_or_default(),
                if told { vec![name.to_owned()] } else { Vec::new() }
            );
            assert!(Environment::read(pairs(name), &nothing).is_err(), "{name}");
        }
        assert!(Environment::read_apart(pairs("COMITY_POLITENESS_DELAI"), &nothing).is_err());
    }

    #[test]
    fn a_variable_is_the_key_that_a_file_would_hold() {
        let rows = [
            ("COMITY_POLITENESS_DELAY", "2s", "[politeness]\ndelay = \"2s\""),
            ("COMITY_CRAWL_MAX_PAGES", "10", "[crawl]\nmax_pages = 10"),
            ("COMITY_CRAWL_MAX_BYTES", "1GB", "[crawl]\nmax_bytes = \"1GB\""),
            (
                "COMITY_CRAWL_SEEDS",
                "https://a.test/, https://b.test/",
                "[crawl]\nseeds = [\"https://a.test/\", \"https://b.test/\"]",
            ),
            ("COMITY_CRAWL_SEEDS", "[\"https://a.test/,b\"]", "[crawl]\nseeds = [\"https://a.test/,b\"]"),
            ("COMITY_CRAWL_EXCLUDE", "", "[crawl]\nexclude = []"),
            ("COMITY_ROBOTS_STRICT_4XX", "401,403", "[robots]\nstrict_4xx = [401, 403]"),
            ("COMITY_ARCHIVE_WARC", "false", "[archive]\nwarc = false"),
            ("COMITY_STATE_DIR", "/var/lib/comity", "[state]\ndir = \"/var/lib/comity\""),
            ("COMITY_FETCH_HTTP", "1.1", "[fetch]\nhttp = \"1.1\""),
            ("COMITY_FETCH_RESOLVE", "a.test=127.0.0.1", "[fetch]\nresolve = { \"a.test\" = \"127.0.0.1\" }"),
            ("COMITY_FETCH_RESOLVE", "{ \"a.test\" = \"::1\" }", "[fetch]\nresolve = { \"a.test\" = \"::1\" }"),
            ("COMITY_TELEMETRY_METRICS", "127.0.0.1:9464", "[telemetry]\nmetrics = \"127.0.0.1:9464\""),
            ("COMITY_GATEWAY_CUSTOMER_ID", "c1", "[gateway.customer]\nid = \"c1\""),
        ];
        for (name, text, file) in rows {
            let environment = read(&[(name, text)]).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(environment.layer(), &ConfigFile::parse(file, None).unwrap(), "{name}={text}");
            assert_eq!(environment.set().values().collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn every_key_has_a_variable_of_its_own_which_is_read() {
        let mut seen = std::collections::BTreeSet::new();
        for (section, key) in keys::all().filter(|(section, _)| section.form == Form::Once) {
            let name = section.variable(key).unwrap();
            assert!(seen.insert(name.clone()), "{name} is two keys");
            let text = match key.kind {
                Kind::Span => "1s",
                Kind::Size => "1B",
                Kind::Switch => "true",
                Kind::Number | Kind::Numbers => "7",
                Kind::Map => "a=b",
                _ => "x",
            };
            let environment = read(&[(&name, text)]).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(environment.set().get(&section.path(key)), Some(&name));
        }
    }

    #[test]
    fn a_name_that_is_meant_as_a_setting_and_is_none_is_refused_with_the_nearest() {
        let rows = [
            ("COMITY_POLITENESS_DEALY", "COMITY_POLITENESS_DELAY"),
            ("COMITY_POLITNESS_DELAY", "COMITY_POLITENESS_DELAY"),
            ("COMITY_DELAY", "COMITY_POLITENESS_DELAY"),
            ("COMITY_MAX_PAGES", "COMITY_CRAWL_MAX_PAGES"),
            ("COMITY_LOG_FORMAT", "COMITY_TELEMETRY_LOG_FORMAT"),
            ("COMITY_METRICS", "COMITY_TELEMETRY_METRICS"),
            ("COMITY_NO_SUCH_THING", "comity config keys"),
            ("COMITY_OVERRIDE", "--config"),
        ];
        for (name, hint) in rows {
            let error = read(&[(name, "1s")]).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{name}: ")), "{error}");
            assert!(error.advice().is_some_and(|said| said.contains(hint)), "{name}: {:?}", error.advice());
        }
        let others = ["COMITY_LOG", "COMITY_TEST_SIZE", "COMITY_MY_LOGIN", "COMITY_PORT_80_TCP_ADDR", "HOME"];
        let environment = read(&others.map(|name| (name, "x"))).unwrap();
        assert_eq!(environment, Environment::default());
        assert_eq!(read(&[("COMITY_FOO", "x")]).unwrap().ignored(), ["COMITY_FOO"]);
    }

    #[test]
    fn what_kubernetes_sets_for_a_service_of_our_name_is_passed_over_and_no_setting_is() {
        let names = [
            "SERVICE_HOST",
            "SERVICE_PORT",
            "SERVICE_PORT_PROXY",
            "PORT",
            "PORT_3128_TCP",
            "PORT_3128_TCP_PROTO",
            "PORT_3128_TCP_PORT",
            "PORT_3128_TCP_ADDR",
            "PORT_53_UDP_ADDR",
        ];
        for service in ["", "GATEWAY_", "METRICS_", "CRAWL_", "MY_OWN_CRAWLER_", "PORT_"] {
            for name in names {
                let name = format!("COMITY_{service}{name}");
                assert_eq!(read(&[(&name, "tcp://10.0.0.1:3128")]).unwrap(), Environment::default(), "{name}");
            }
        }
        for name in
            ["GATEWAY_PORT", "GATEWAY_PORT_3128", "GATEWAY_PORT_X_TCP", "GATEWAY_PORT_80_TCP_HOST", "FETCH_HOST"]
        {
            assert!(read(&[(&format!("COMITY_{name}"), "3128")]).is_err(), "{name}");
        }
        assert!(
            keys::all()
                .filter_map(|(section, key)| section.variable(key))
                .all(|name| !is_of_a_service(&name, "tcp://a"))
        );
    }

    #[test]
    fn a_value_of_another_kind_is_refused_at_its_variable() {
        let rows = [
            ("COMITY_POLITENESS_DELAY", "2", "no span of time"),
            ("COMITY_POLITENESS_TOTAL", "many", "no whole number"),
            ("COMITY_POLITENESS_TOTAL", "-1", "-1"),
            ("COMITY_ARCHIVE_WARC", "no", "neither true nor false"),
            ("COMITY_ROBOTS_STRICT_4XX", "401,x", "no whole number"),
            ("COMITY_CRAWL_SEEDS", "[https://a.test/]", "TOML"),
            ("COMITY_FETCH_RESOLVE", "a.test", "NAME=VALUE"),
        ];
        for (name, text, says) in rows {
            let error = read(&[(name, text)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: ")) && error.contains(says), "{name}={text}: {error}");
        }
    }

    #[test]
    fn the_environment_wins_over_files_key_by_key() {
        let mut file = ConfigFile::parse(
            "[politeness]\ndelay = \"1s\"\ntotal = 5\n[gateway.customer]\nid = \"c1\"\ntokens = [\"a\"]\n[optout]\nfiles = [\"/a\"]\n",
            None,
        )
        .unwrap();
        let set = [
            ("COMITY_POLITENESS_DELAY", "3s"),
            ("COMITY_GATEWAY_CUSTOMER_PASSWORD_SHA256", "00"),
            ("COMITY_OPTOUT_FILES", "/b"),
        ];
        read(&set).unwrap().lay_over(&mut file);
        let text = "[politeness]\ndelay = \"3s\"\ntotal = 5\n[gateway.customer]\nid = \"c1\"\ntokens = [\"a\"]\n\
                    password_sha256 = \"00\"\n[optout]\nfiles = [\"/a\", \"/b\"]\n";
        assert_eq!(file, ConfigFile::parse(text, None).unwrap());
    }
}
