//! What the tests of this crate share: reading one case as a crawler would.

use comity_robots::{Dialect, Robots, request_target};
use comity_signals::{
    HeadFacts, LicenceLink, PageReader, PageSignals, Preferences, Purpose, RobotsMeta, RobotsReading, SignalOptions,
    UnixSeconds,
};

/// One resource and everything said about it by the carriers that this crate reads.
pub(crate) struct Case<'a> {
    pub(crate) agent: &'a str,
    pub(crate) url: &'a str,
    pub(crate) robots: Option<&'a str>,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) html: &'a str,
    pub(crate) image: bool,
    pub(crate) now: UnixSeconds,
    pub(crate) options: SignalOptions,
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) robots: RobotsReading,
    pub(crate) page: PageSignals,
    pub(crate) preferences: Preferences,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self {
            agent: "ComityBot",
            url: "https://example.com/page",
            robots: None,
            fields: Vec::new(),
            html: "",
            image: false,
            now: UnixSeconds(0),
            options: SignalOptions::default(),
        }
    }
}

impl Case<'_> {
    pub(crate) fn read(&self) -> Outcome {
        let rules = Robots::parse(self.robots.unwrap_or_default().as_bytes()).rules(&[self.agent], Dialect::Standard);
        let target = request_target(self.url);
        let robots = RobotsReading::read(&rules, &target, self.options);
        let reader = PageReader { token: self.agent, image: self.image, options: self.options };
        let page = reader.read(&self.fields, &head(self.html));
        let preferences = page.preferences(robots.preferences.clone(), self.now);
        Outcome { robots, page, preferences }
    }
}

impl Outcome {
    /// The four verdicts in the order of [`Purpose::ALL`], as `a`, `d` or `-`.
    pub(crate) fn verdicts(&self) -> String {
        letters(&self.preferences)
    }

    /// All diagnostic codes, robots.txt first.
    pub(crate) fn codes(&self) -> Vec<&'static str> {
        let all = self.robots.diagnostics.as_slice().iter().chain(self.page.diagnostics.as_slice());
        all.map(|diagnostic| diagnostic.code.as_str()).collect()
    }
}

pub(crate) fn letters(preferences: &Preferences) -> String {
    let letter = |purpose| match preferences.verdict(purpose).as_str() {
        "allowed" => 'a',
        "denied" => 'd',
        _ => '-',
    };
    Purpose::ALL.into_iter().map(letter).collect()
}

/// The metas and licence links of well-formed test pages; real pages are read by comity-extract.
pub(crate) fn head(html: &str) -> HeadFacts {
    let mut head = HeadFacts::default();
    let tags = html.split('<').filter_map(|tag| tag.split('>').next());
    for tag in tags {
        let content = || attribute(tag, "content").unwrap_or_default();
        match attribute(tag, "name").unwrap_or_default().to_ascii_lowercase().as_str() {
            "tdm-reservation" => head.tdm_reservation.push(content()),
            "tdm-policy" => head.tdm_policy.push(content()),
            name if tag.starts_with("meta ") => {
                head.robots.push(RobotsMeta { name: name.to_owned(), content: content() })
            }
            _ => {}
        }
        if tag.starts_with("link ") && attribute(tag, "rel").as_deref() == Some("license") {
            let media_type = attribute(tag, "type");
            head.licences.push(LicenceLink { href: attribute(tag, "href").unwrap_or_default(), media_type });
        }
    }
    head
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, value) = tag.split_once(&format!("{name}="))?;
    let end: &[char] = match value.chars().next()? {
        '"' => &['"'],
        '\'' => &['\''],
        _ => &[' '],
    };
    let value = if end == [' '] { value } else { value.get(1..)? };
    value.split(end).next().map(str::to_owned)
}
