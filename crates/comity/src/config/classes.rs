//! `[frontier] first_class`, `third_class`, `fourth_class`: whose pages come first when more is due than can be fetched.

use comity_frontier::{Class, Classes};
use comity_url::Origin;

use super::{ConfigError, ConfigFile};

/// The classes of origins; whoever is not named is of the second.
pub(super) fn classes(file: &ConfigFile) -> Result<Classes, ConfigError> {
    let frontier = &file.frontier;
    let lists = [
        ("[frontier] first_class", &frontier.first_class, Class::First),
        ("[frontier] third_class", &frontier.third_class, Class::Third),
        ("[frontier] fourth_class", &frontier.fourth_class, Class::Fourth),
    ];
    let (mut classes, mut named) = (Classes::default(), Vec::new());
    for (place, list, class) in lists {
        for text in list.iter().flatten() {
            let name = name(text, place)?;
            if named.contains(&name) {
                return Err(ConfigError::new(format!("{text:?} is named twice")).at(place).hint("one class for each"));
            }
            classes.set(&name, class);
            named.push(name);
        }
    }
    Ok(classes)
}

/// An origin, or a host or domain, as origins write it.
fn name(text: &str, place: &str) -> Result<String, ConfigError> {
    let is_origin = text.contains("://");
    let parsed = if is_origin { Origin::parse(text) } else { Origin::parse(&format!("https://{text}")) };
    match parsed {
        Ok(origin) if is_origin => Ok(origin.as_str().to_owned()),
        Ok(origin) if origin.authority() == origin.host() => Ok(origin.host().to_owned()),
        _ => Err(ConfigError::new(format!("{text:?} is neither an origin nor a host or domain"))
            .at(place)
            .hint("as https://www.example.org, or example.org for all its hosts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &str) -> Result<Classes, ConfigError> {
        classes(&ConfigFile::parse(&format!("[frontier]\n{keys}"), None)?)
    }

    #[test]
    fn origins_hosts_and_domains_have_a_class_each() {
        let keys = "first_class = [\"Example.org\", \"HTTPS://b.test:443/\"]\nthird_class = [\"127.0.0.1\"]\nfourth_class = [\"bücher.test\"]";
        let classes = read(keys).unwrap();
        for (origin, class) in [
            ("https://a.example.org", Class::First),
            ("https://b.test", Class::First),
            ("http://b.test", Class::Second),
            ("http://127.0.0.1:8080", Class::Third),
            ("https://xn--bcher-kva.test", Class::Fourth),
        ] {
            assert_eq!(classes.of(&Origin::parse(origin).unwrap()), class, "{origin}");
        }
    }

    #[test]
    fn what_names_nothing_or_twice_is_refused_with_its_place() {
        for (keys, place) in [
            ("first_class = [\"a.test/page\"]", "[frontier] first_class"),
            ("third_class = [\"a.test:80\"]", "[frontier] third_class"),
            ("fourth_class = [\"\"]", "[frontier] fourth_class"),
            ("first_class = [\"a.test\"]\nfourth_class = [\"A.test\"]", "[frontier] fourth_class"),
        ] {
            let error = read(keys).unwrap_err().to_string();
            assert!(error.contains(place), "{keys}: {error}");
        }
    }

    #[test]
    fn the_reference_says_how_classes_share() {
        let reference = include_str!("../../../../docs/configuration.md");
        for key in ["first_class", "third_class", "fourth_class"] {
            assert!(reference.contains(&format!("| `{key}` |")), "{key}");
        }
        assert!(reference.contains(&Class::ALL.map(|class| class.share().to_string()).join(":")), "8:4:2:1");
    }
}
