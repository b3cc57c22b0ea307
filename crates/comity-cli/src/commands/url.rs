use comity_url::{CrawlUrl, Surt, UrlError, canonical};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::lines;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    href: String,
    base: Option<String>,
}

/// `comity url batch`.
pub(crate) fn batch() -> Result<Exit, Failure> {
    lines::answer(answer)?;
    Ok(Exit::Done)
}

fn answer(line: &str) -> Value {
    let question: Question = match serde_json::from_str(line) {
        Ok(question) => question,
        Err(error) => return json!({"error": error.to_string()}),
    };
    match resolve(&question) {
        Err(error) => json!({"error": format!("{}: {error}", error.code())}),
        Ok(url) => json!({
            "url": url.as_str(),
            "key": canonical(&url),
            "origin": url.origin().as_str(),
            "surt": Surt::of(&url).as_str(),
        }),
    }
}

fn resolve(question: &Question) -> Result<CrawlUrl, UrlError> {
    match &question.base {
        None => CrawlUrl::parse(&question.href),
        Some(base) => CrawlUrl::parse(base)?.join(&question.href),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_answered_whatever_it_holds() {
        let good = answer(r#"{"href":"../b?x#f","base":"HTTP://A.test:80/a/c"}"#);
        assert_eq!(good["url"], "http://a.test/b?x");
        assert_eq!(good["origin"], "http://a.test");
        assert_eq!(good["surt"], "test,a)/b?x");
        for bad in ["", "{}", r#"{"href":"mailto:x@y.z"}"#, r#"{"href":"x"}"#, r#"{"href":"/","base":"x"}"#, "[1]"] {
            assert!(answer(bad)["error"].is_string(), "{bad}");
        }
    }
}
