//! What a crawl is told in code: the commonest keys of the configuration, and what is done with pages.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use comity_policy::Reason;
use comity_url::{CrawlUrl, ScopeKind};

use crate::config::{ConfigError, ConfigFile, Span};
use crate::crawler::Asked;
use crate::engine::HandlerBounds;
use crate::handler::{HandlerOutput, PageHandler};
use crate::sink::SharedSink;
use crate::{Context, CrawlerBuilder, Event, Page, Proposed, RobotsSeen, Seed, Sink, UrlEnding};

/// Settings: each is the key of the same name in the configuration, whose row in docs/configuration.md says more.
impl CrawlerBuilder {
    /// Adds a seed: an absolute http or https URL.
    pub fn seed(self, url: impl AsRef<str>) -> Self {
        self.seeds([url])
    }

    /// Adds seeds.
    pub fn seeds(mut self, urls: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let seeds = self.file.crawl.seeds.get_or_insert_default();
        seeds.extend(urls.into_iter().map(|url| url.as_ref().to_owned()));
        self
    }

    /// Adds a seed with a priority, or with user data. Where the crawl in the directory has it already, it stays as it is.
    pub fn seed_with(mut self, seed: Seed) -> Self {
        self.asked.seeds_with.push((seed.url.clone(), seed.with));
        self.seed(seed.url)
    }

    /// How far from the seeds it goes. Default: their origins.
    pub fn scope(self, scope: ScopeKind) -> Self {
        self.configure(|file| file.crawl.scope = Some(scope.to_string()))
    }

    /// Takes URLs that match one of these patterns, of those in scope: `"/docs/"`, `"https://example.org/*.html$"`.
    pub fn include(mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let include = self.file.crawl.include.get_or_insert_default();
        include.extend(patterns.into_iter().map(|pattern| pattern.as_ref().to_owned()));
        self
    }

    /// Takes no URL that matches one of these patterns.
    pub fn exclude(mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let exclude = self.file.crawl.exclude.get_or_insert_default();
        exclude.extend(patterns.into_iter().map(|pattern| pattern.as_ref().to_owned()));
        self
    }

    /// What the content is wanted for: `"search"` (the default), `"ai_input"`, `"ai_train"`, `"tdm"`, or one that is recorded
    /// only. Replaces what was declared before.
    pub fn purposes(self, purposes: impl IntoIterator<Item = impl Display>) -> Self {
        let purposes = purposes.into_iter().map(|purpose| purpose.to_string()).collect();
        self.configure(|file| file.agent.purposes = Some(purposes))
    }

    /// Stops after so many pages.
    pub const fn max_pages(mut self, pages: u64) -> Self {
        self.file.crawl.max_pages = Some(pages);
        self
    }

    /// Follows links so far from a seed. Default 20.
    pub const fn max_depth(mut self, links: u32) -> Self {
        self.file.crawl.max_depth = Some(links);
        self
    }

    /// Stops after so long.
    pub const fn max_duration(mut self, time: Duration) -> Self {
        self.file.crawl.max_duration = Some(Span(time));
        self
    }

    /// Visits so many URLs at once, of different origins. Default 32.
    pub const fn total(mut self, visits: u32) -> Self {
        self.file.politeness.total = Some(visits);
        self
    }

    /// Sets the own floor between two requests to an origin. Under 200 ms it holds only on allowed networks.
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.file.politeness.delay = Some(Span(delay));
        self
    }

    /// Lets the crawl connect to a non-public network, `"127.0.0.0/8"`: once for each.
    pub fn allow_addresses(mut self, network: &str) -> Self {
        self.file.fetch.allow_addresses.get_or_insert_default().push(network.to_owned());
        self
    }

    /// Changes any key of the configuration.
    pub fn configure(mut self, change: impl FnOnce(&mut ConfigFile)) -> Self {
        change(&mut self.file);
        self
    }
}

/// Handlers. A page is an answer to a judged request that is no redirect, no 304, and of which something may be kept. It leaves the
/// queue only after its handler has ended: a crawl that is killed before asks for it again, and the handler is told again.
///
/// One handler has a page: of `on_page` and `each_page` the one that was given last.
impl CrawlerBuilder {
    /// Gives every page to an asynchronous handler: a closure, or an `async fn(Page, Context)`.
    ///
    /// What a handler cannot do: nothing of it makes the crawl ask for more, or sooner, than robots.txt and the delays allow; what it
    /// enqueues is judged like any link. What a slow one costs: its page's origin waits for it, since the page is not settled (within
    /// the origin's delay that costs nothing); other origins go on, until [`CrawlerBuilder::handlers_at_once`] pages are at
    /// handlers. From there on the crawl is as fast as its handlers. One that takes longer than
    /// [`CrawlerBuilder::handler_time`] is dropped where it waits. An error, a panic and a time that is over fail the page by the name
    /// `crawl.handler`, with the words of the error on record.
    ///
    /// A handler that computes for long without an `await` holds up a thread of the crawl: hand that to
    /// `tokio::task::spawn_blocking`.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), comity::Error> {
    /// let crawler = comity::Crawler::builder("MyBot/1.0 (+https://example.com/bot)")
    ///     .seed("https://example.org/")
    ///     .on_page(|page, ctx| async move {
    ///         if let Some(next) = page.header("x-next-page") {
    ///             ctx.enqueue(next)?.priority(0).user_data("a page of the list")?;
    ///         }
    ///         tokio::fs::write("latest.html", page.body()).await?;
    ///         Ok::<(), comity::BoxError>(())
    ///     })
    ///     .build()?;
    /// # crawler.run().await?; Ok(()) }
    /// ```
    pub fn on_page<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Page, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerOutput> + Send + 'static,
    {
        self.handlers.on_page = Some(PageHandler::asynchronous(handler));
        self
    }

    /// Shows every page to a plain closure, which gives nothing or a result. It runs on the crawl's own threads, at once: hand long
    /// work to somebody else, or use [`CrawlerBuilder::on_page`].
    pub fn each_page<R: HandlerOutput>(mut self, handler: impl Fn(&Page) -> R + Send + Sync + 'static) -> Self {
        self.handlers.on_page = Some(PageHandler::plain(handler));
        self
    }

    /// Gives the pages of some URLs to a handler of their own: the first route counts that matches, in the order in which they were
    /// given; [`CrawlerBuilder::on_page`] has the others. A pattern is written as those of [`CrawlerBuilder::include`]: a prefix, in which `*`
    /// stands for anything, and a `$` at its end for the end of the URL. `"https://docs.example/"` is a host, `"/list/*.html$"` a path on any.
    pub fn route<F, Fut>(mut self, pattern: &str, handler: F) -> Self
    where
        F: Fn(Page, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerOutput> + Send + 'static,
    {
        self.asked.routes.push((pattern.to_owned(), PageHandler::asynchronous(handler)));
        self
    }

    /// [`CrawlerBuilder::route`], for a plain closure as of [`CrawlerBuilder::each_page`].
    pub fn route_each<R: HandlerOutput>(
        mut self,
        pattern: &str,
        handler: impl Fn(&Page) -> R + Send + Sync + 'static,
    ) -> Self {
        self.asked.routes.push((pattern.to_owned(), PageHandler::plain(handler)));
        self
    }

    /// Writes pages and outcomes into a sink too, which acknowledges each before its URL leaves the queue. There is one: a second is
    /// an error of [`CrawlerBuilder::build`].
    pub fn sink(mut self, sink: impl Sink + 'static) -> Self {
        let before = self.handlers.sink.replace(SharedSink(Arc::new(sink)));
        self.asked.has_two_sinks |= before.is_some();
        self
    }

    /// How many pages may be at asynchronous handlers at once, 1 at least. Default 64.
    pub const fn handlers_at_once(mut self, pages: usize) -> Self {
        self.asked.bounds.at_once = pages;
        self
    }

    /// How long an asynchronous handler may take with one page, a day at most. Default 60 s.
    pub const fn handler_time(mut self, time: Duration) -> Self {
        self.asked.bounds.time = time;
        self
    }
}

/// Hooks: plain closures, called at once, on the crawl's own threads, for every event of their kind. They change nothing: a hook that
/// panics is in the log. Several of one kind are called in their order. [`Crawler::events`](crate::Crawler::events) is the same as a channel.
impl CrawlerBuilder {
    /// Asks before a URL is queued that was found: a link, a redirect, what a sitemap lists, what a handler enqueues. One that is
    /// turned down is left out by the name `url.filter`. Of several filters each may turn it down. Seeds are not asked about; robots.txt is
    /// no matter of a filter, which can only take away.
    pub fn filter(mut self, filter: impl Fn(Proposed<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.listeners.filters.push(Arc::new(filter));
        self
    }

    /// Is told of every event.
    pub fn on_event(mut self, hook: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.hooks.push(Arc::new(hook));
        self
    }

    /// Is told of every URL that was found and is not queued, and why: scope, depth, traps, budgets, the filter.
    pub fn on_skip(self, hook: impl Fn(&CrawlUrl, Reason) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Event::Skipped { url, reason, .. } = event {
                hook(url, *reason);
            }
        })
    }

    /// Is told of every exchange on the way to a robots.txt, and whether that has changed.
    pub fn on_robots(self, hook: impl Fn(&RobotsSeen) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Event::Robots(seen) = event {
                hook(seen);
            }
        })
    }

    /// Is told of every URL that was not requested, or of whose answer nothing may be kept, and why.
    pub fn on_refused(self, hook: impl Fn(&CrawlUrl, Reason) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Event::Ended { url, ending: UrlEnding::Refused(reason) | UrlEnding::Withheld(reason), .. } = event {
                hook(url, *reason);
            }
        })
    }

    /// Is told of every URL that failed for good, and why.
    pub fn on_error(self, hook: impl Fn(&CrawlUrl, Reason) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Event::Ended { url, ending: UrlEnding::Failed(reason), .. } = event {
                hook(url, *reason);
            }
        })
    }

    /// Is told of every URL that was answered, and its status, redirects too.
    pub fn on_done(self, hook: impl Fn(&CrawlUrl, u16) + Send + Sync + 'static) -> Self {
        self.on_event(move |event| {
            if let Event::Ended { url, ending: UrlEnding::Fetched(status) | UrlEnding::Redirected(status), .. } = event
            {
                hook(url, *status);
            }
        })
    }
}

/// What a crawler in code is called.
#[derive(Debug, Default)]
pub(crate) struct AgentText {
    /// What was given, where it was not understood.
    fault: Option<String>,
}

impl AgentText {
    /// Reads a User-Agent, `MyBot/1.0 (+https://example.com/bot)`, into the configuration.
    pub(crate) fn read(text: &str, file: &mut ConfigFile) -> Self {
        let (name, contact) = match text.trim().split_once('(') {
            None => (text.trim(), None),
            Some((name, comment)) => (name.trim(), comment.strip_suffix(')').map(str::trim)),
        };
        let contact = contact.map(|contact| contact.strip_prefix('+').unwrap_or(contact).trim());
        file.agent.name = Some(name.to_owned());
        file.agent.contact = contact.filter(|contact| !contact.is_empty()).map(ToOwned::to_owned);
        Self { fault: file.agent.contact.is_none().then(|| text.to_owned()) }
    }

    /// Whether there is a contact by now.
    ///
    /// # Errors
    /// When there is none: what to write.
    pub(crate) fn check(&self, file: &ConfigFile) -> Result<(), ConfigError> {
        let Some(text) = self.fault.as_ref().filter(|_| file.agent.contact.is_none()) else { return Ok(()) };
        let name = file.agent.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("MyBot/1.0");
        Err(ConfigError::new(format!("{text:?} says nothing of how sites reach you"))
            .at("Crawler::builder")
            .hint(format!("add a URL or e-mail address in brackets: \"{name} (+https://example.com/bot)\"")))
    }
}

impl Asked {
    /// Whether it can be done.
    ///
    /// # Errors
    /// Bounds that cannot be kept, or a sink that would hear nothing.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.has_two_sinks {
            let hint = "give one that writes into both: a URL leaves the queue when all has arrived";
            return Err(ConfigError::new("two sinks, and only one would hear of anything").at("sink").hint(hint));
        }
        self.bounds.check()
    }
}

impl HandlerBounds {
    /// Whether they can be kept.
    ///
    /// # Errors
    /// None at once, no time, or more than a day.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        if self.at_once == 0 {
            return Err(ConfigError::new("no handler could ever start").at("handlers_at_once").hint("give 1 or more"));
        }
        if self.time.is_zero() || self.time > Self::LONGEST {
            let hint = "give more than nothing, and a day at most: a page is held, and its origin waits, for as long";
            return Err(ConfigError::new(format!("{:?} for a handler", self.time)).at("handler_time").hint(hint));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (ConfigFile, AgentText) {
        let mut file = ConfigFile::default();
        let agent = AgentText::read(text, &mut file);
        (file, agent)
    }

    #[test]
    fn an_agent_is_a_name_and_a_contact() {
        let table = [
            ("MyBot/1.0 (+https://example.com/bot)", "MyBot/1.0", "https://example.com/bot"),
            ("MyBot/1.0 (bot@example.com)", "MyBot/1.0", "bot@example.com"),
            ("  MyBot (+ bot@example.com ) ", "MyBot", "bot@example.com"),
        ];
        for (text, name, contact) in table {
            let (file, agent) = read(text);
            assert_eq!((file.agent.name.as_deref(), file.agent.contact.as_deref()), (Some(name), Some(contact)));
            agent.check(&file).unwrap();
        }
    }

    #[test]
    fn without_a_contact_it_says_what_to_write() {
        for text in ["MyBot/1.0", "MyBot/1.0 ()", "MyBot/1.0 (+)", "MyBot/1.0 (+https://example.com/bot", "", "()"] {
            let (mut file, agent) = read(text);
            let error = agent.check(&file).unwrap_err();
            assert!(error.to_string().contains("how sites reach you"), "{text}: {error}");
            let hint = error.advice().unwrap();
            let written = hint.split('"').nth(1).unwrap();
            assert!(read(written).1.check(&read(written).0).is_ok(), "{hint}");
            file.agent.contact = Some("bot@example.com".to_owned());
            agent.check(&file).unwrap();
        }
    }
}
