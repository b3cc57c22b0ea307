//! The page about the crawler: HTML on its own feet, no script, nothing loaded from elsewhere.

use std::fmt::Write as _;

use comity::config::{CrawlConfig, Span};
use comity::policy::{Politeness, WallTime};
use comity_signals::{Declared, Purpose};
use htmlize::{escape_attribute, escape_text};

use super::robots_lines as lines;

/// The whole page; the same configuration, time and place to write to give the same bytes.
pub(super) fn page(config: &CrawlConfig, reach: &str, at: WallTime) -> String {
    let name = escape_text(token(config)).into_owned();
    let sections =
        [who(config, reach), stop(config, at), usage(config), pace(config), recognise(config), write_to(reach)];
    let ranges = if config.ranges.is_empty() { "" } else { "<link rel=\"help\" href=\"ranges.json\">\n" };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"comity {version}\">\n\
         <title>About the crawler {name}</title>\n{ranges}<style>\n{css}</style>\n</head>\n<body>\n<main>\n\
         <h1>About the crawler {name}</h1>\n{body}</main>\n\
         <footer>Written on {day} by comity {version} from the settings that the crawler runs on.</footer>\n\
         </body>\n</html>\n",
        version = env!("CARGO_PKG_VERSION"),
        css = crate::commands::page::BASE,
        body = sections.concat(),
        day = super::to_the_second(at).split('T').next().unwrap_or_default(),
    )
}

fn who(config: &CrawlConfig, reach: &str) -> String {
    let who = &config.identity;
    let purposes: Vec<String> = who.purposes().iter().map(|purpose| said(*purpose).to_owned()).collect();
    let rows = [
        ("User-Agent", code(&who.user_agent())),
        ("Name in robots.txt", who.tokens().iter().map(|token| code(token.as_str())).collect::<Vec<_>>().join(", ")),
        ("Fetches pages", purposes.join("; ")),
        ("Contact", contact(reach)),
    ];
    list(&rows)
}

fn stop(config: &CrawlConfig, at: WallTime) -> String {
    let token = token(config);
    let name = code(&token);
    let mut text = format!(
        "<h2 id=\"stop\">Stop it</h2>\n<p>{name} asks for <code>/robots.txt</code> first and obeys it (RFC 9309). \
         To keep it out, put these lines into the robots.txt of your site:</p>\n{}\
         <p>To keep it out of one part only:</p>\n{}\
         <p>A group that names {name} replaces the group for <code>*</code> as a whole: repeat in it what should still \
         hold. A changed file counts within a day.</p>\n",
        block(&lines::stop(&token)),
        block(&lines::stop_part(&token)),
    );
    if config.overrides.all().iter().any(|exception| exception.is_in_force(at)) {
        text.push_str("<p>For single sites written exceptions hold, each with its reason and its end.</p>\n");
    }
    if config.identity.tokens().len() > 1 {
        let others = config.identity.tokens().iter().skip(1).map(|token| code(token.as_str())).collect::<Vec<_>>();
        let _ = writeln!(text, "<p>Where no group names {name}, one for {} counts.</p>", others.join(", then "));
    }
    text
}

fn usage(config: &CrawlConfig) -> String {
    let ai = |purpose: &Declared| matches!(purpose, Declared::Judged(Purpose::AiTrain | Purpose::AiInput));
    let purposes = config.identity.purposes();
    let consequence = match (purposes.iter().any(ai), purposes.iter().all(ai)) {
        (_, true) => "The crawler fetches for nothing else, so such pages are not fetched at all.",
        (true, false) => {
            "Such pages may be fetched for the other purposes above; their record says that these two are refused."
        }
        (false, _) => {
            "The crawler does not fetch for these two. The record of each page keeps your answer all the same."
        }
    };
    format!(
        "<h2 id=\"ai\">Keep your pages out of AI</h2>\n<p>These lines let pages be fetched, and refuse their use for \
         training AI models and as input to them:</p>\n{}<p>{consequence}</p>\n\
         <p>For a single page the response field <code>Content-Usage: {}</code> says the same; \
         <code>noindex</code> in <code>X-Robots-Tag</code> or a robots meta element refuses its use in search.</p>\n",
        block(&lines::no_ai(&token(config))),
        lines::USAGE,
    )
}

fn pace(config: &CrawlConfig) -> String {
    let pace = &config.politeness;
    format!(
        "<h2 id=\"slow\">Slow it down</h2>\n<p>Between two requests to a site it waits at least {}, longer where the \
         site answers slowly. For a longer pause, in seconds:</p>\n{}\
         <p>A <code>Crawl-delay</code> of up to {} is kept; at a longer one the crawler stays away. After an answer 429 or \
         503 it pauses, as long as <code>Retry-After</code> says, up to a day.</p>\n",
        spoken(Span(pace.delay.max(Politeness::LEAST_DELAY))),
        block(&lines::slow(&token(config))),
        spoken(Span(pace.max_crawl_delay)),
    )
}

fn recognise(config: &CrawlConfig) -> String {
    let mut text = "<h2 id=\"recognise\">Recognise it</h2>\n".to_owned();
    let mut rows = vec![("User-Agent", format!("contains {}", code(&format!("(+{})", config.identity.contact()))))];
    if let Some(from) = config.identity.from() {
        rows.push(("From", code(from)));
    }
    if let Some(signer) = &config.fetch.signer {
        rows.push(("Signature", "each request over https is signed (RFC 9421, Web Bot Auth)".to_owned()));
        rows.push(("Signature-Agent", code(&signer.agent().url())));
        rows.push(("Keys", link(&signer.agent().directory(), &signer.agent().directory())));
        rows.push(("Key in use", format!("Ed25519, thumbprint {}", code(signer.key().thumbprint()))));
    }
    if config.ranges.is_empty() {
        rows.push(("Addresses", "no fixed ones".to_owned()));
    } else {
        let ranges: Vec<String> = config.ranges.iter().map(|range| code(&range.to_string())).collect();
        rows.push(("Addresses", format!("{} ({})", ranges.join(", "), link("ranges.json", "as JSON"))));
    }
    text.push_str(&list(&rows));
    if !config.ranges.is_empty() {
        text.push_str("<p>A request from another address is not ours, whatever it calls itself.</p>\n");
    }
    text
}

fn write_to(reach: &str) -> String {
    format!(
        "<h2 id=\"contact\">Reach us</h2>\n<p>{}</p>\n\
         <h3>Have copies erased</h3>\n<p>Write to us and name the site or the URLs, and say how we can see that they are \
         yours. Every request is on record with its time, so the copies can be found.</p>\n\
         <h3>Opt out without robots.txt</h3>\n<p>Write to us and name the host or the paths: we keep a list of what is not \
         to be fetched.</p>\n",
        contact(reach)
    )
}

fn said(purpose: Declared) -> &'static str {
    match purpose {
        Declared::Judged(Purpose::Search) => "for a search index that points to the original",
        Declared::Judged(Purpose::AiInput) => "as input to AI systems when they answer",
        Declared::Judged(Purpose::AiTrain) => "to train AI models",
        Declared::Judged(Purpose::Tdm) => "for text and data mining",
        Declared::Archive => "to keep dated copies for the record",
        Declared::Research => "for scientific research",
        Declared::Monitoring => "to watch for changes or availability",
        Declared::OwnSite => "to check sites of our own",
        Declared::Other => "for purposes that we explain on request",
    }
}

/// The token that counts before all others.
fn token(config: &CrawlConfig) -> String {
    config.identity.tokens().first().map(ToString::to_string).unwrap_or_default()
}

fn contact(reach: &str) -> String {
    let address = reach.strip_prefix("mailto:").unwrap_or(reach);
    let target = if reach.contains("://") { reach.to_owned() } else { format!("mailto:{address}") };
    link(&target, address)
}

fn spoken(span: Span) -> String {
    let millis = span.0.as_millis();
    match (millis / 1000, millis % 1000) {
        (1, 0) => "1 second".to_owned(),
        (seconds, 0) => format!("{seconds} seconds"),
        _ => format!("{millis} milliseconds"),
    }
}

fn list(rows: &[(&str, String)]) -> String {
    let rows: String = rows.iter().map(|(term, value)| format!("<dt>{term}</dt><dd>{value}</dd>\n")).collect();
    format!("<dl>\n{rows}</dl>\n")
}

/// Lines to be copied; focusable, since a narrow screen scrolls them.
fn block(text: &str) -> String {
    format!(
        "<pre tabindex=\"0\" role=\"region\" aria-label=\"Lines for robots.txt\"><code>{}</code></pre>\n",
        escape_text(text)
    )
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape_text(text))
}

fn link(target: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape_attribute(target), escape_text(text))
}

#[cfg(test)]
mod tests {
    use comity::config::ConfigFile;

    use super::*;

    /// 2026-11-30.
    const NOW: WallTime = WallTime::from_unix_millis(1_795_996_800_000);

    fn page_of(more: &str) -> String {
        let text = format!(
            "[agent]\nname = \"MyBot/1.0\"\ncontact = \"bot@example.com\"\ntokens = [\"MyBot\", \"My\"]\n\
             [crawl]\nseeds = [\"https://a.test/\"]\n{more}"
        );
        let config = CrawlConfig::resolve(ConfigFile::parse(&text, None).unwrap()).unwrap();
        page(&config, "bot@example.com", NOW)
    }

    #[test]
    fn exceptions_are_said_while_they_hold() {
        let exception = |expires: &str| {
            format!(
                "[[override]]\norigins = [\"https://my.example\"]\nscope = [\"robots\"]\nbasis = \"own_site\"\n\
                 justification = \"our own site, checked by ourselves\"\napproved_by = \"we\"\n\
                 created = 2026-11-01\nexpires = {expires}\n"
            )
        };
        assert!(page_of(&exception("2026-12-31")).contains("written exceptions hold"));
        assert!(!page_of(&exception("2026-11-15")).contains("written exceptions hold"));
        assert!(!page_of("").contains("written exceptions hold"));
    }

    #[test]
    fn the_first_token_is_the_one_to_name() {
        let html = page_of("");
        assert!(html.contains("User-agent: MyBot\nDisallow: /\n") && !html.contains("User-agent: My\n"));
        assert!(html.contains("Where no group names <code>MyBot</code>, one for <code>My</code> counts."), "{html}");
        assert!(html.contains("Written on 2026-11-30"));
    }
}
