use std::fmt;

/// Declares [`Reason`] as one table: variant, stable code, one line for people.
macro_rules! reasons {
    ($($variant:ident, $code:literal, $text:literal;)+) => {
        /// Why a URL was or was not fetched: one vocabulary for crawler, gateway, records, metrics and report.
        ///
        /// The codes are stable. `docs/reference/reasons.md` explains each; a test fails when one is missing there.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = concat!("`", $code, "`: ", $text, ".")] $variant,)+
        }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable code: lower case, dotted.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// One line for people.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

reasons! {
    Ok, "ok", "allowed by a rule, or by rules that do not match";
    OkOverride, "ok.override", "allowed by a written override";
    OkNoRules, "ok.no_rules", "allowed because no robots rule applies to us";
    RobotsDisallow, "robots.disallow", "a robots rule refuses this URL";
    RobotsDisallowAll, "robots.disallow_all", "a robots rule refuses some path, and the path cannot be seen";
    RobotsUnseenPath, "robots.unseen_path", "the path cannot be seen and the profile is strict";
    RobotsUnreachable, "robots.unreachable", "robots.txt could not be fetched, so everything is disallowed";
    SignalSearch, "signal.search", "every declared purpose is denied, search among them";
    SignalAiInput, "signal.ai_input", "every declared purpose is denied, AI input among them";
    SignalAiTrain, "signal.ai_train", "every declared purpose is denied, AI training among them";
    SignalTdm, "signal.tdm", "every declared purpose is denied, text and data mining among them";
    SignalUnspecified, "signal.unspecified", "nothing permits a declared purpose, and silence is set to refuse";
    SignalUse, "signal.use_ceiling", "more is to be done with the content than `use=` of Content-Signal permits";
    TermsDenied, "terms.denied", "reviewed terms deny every declared purpose";
    Optout, "optout", "the origin asked not to be visited";
    UrlSyntax, "url.syntax", "no absolute http or https URL";
    UrlUnsendable, "url.unsendable", "the URL cannot be sent without being altered";
    UrlScope, "url.scope", "outside the scope of the crawl";
    UrlFilter, "url.filter", "the crawl's own filter turns it down";
    UrlDepth, "url.depth", "deeper than the crawl goes";
    UrlLength, "url.length", "longer than URLs may be";
    UrlTrapSegments, "url.trap.segments", "more path segments than pages have";
    UrlTrapRepeated, "url.trap.repeated", "path segments repeat as in a loop";
    UrlTrapPattern, "url.trap.pattern", "one pattern of the origin's URLs grows without end";
    UrlTrapHosts, "url.trap.hosts", "the registrable domain has more hosts than are crawled";
    UrlTrapDuplicates, "url.trap.duplicates", "the page that links there is one of too many copies of one page";
    UrlSitemapHost, "url.sitemap.host", "the sitemap may not speak for this host";
    UrlSitemapDepth, "url.sitemap.depth", "sitemap indexes are nested deeper than they are followed";
    UrlBudgetSitemaps, "url.budget.sitemaps", "the sitemap budget of the origin is spent";
    UrlSuspicious, "url.suspicious", "a link that holds another URL behind stray text";
    UrlBudgetPages, "url.budget.pages", "the page budget of the origin is spent";
    UrlBudgetDomain, "url.budget.domain", "the page budget of the registrable domain is spent";
    UrlBudgetPending, "url.budget.pending", "too many URLs of the registrable domain wait";
    UrlBudgetBytes, "url.budget.bytes", "the byte budget of the origin is spent";
    UrlBudgetQueue, "url.budget.queue", "the queue budget is spent";
    UrlRedirects, "url.redirects", "more redirects in a row than are followed";
    FetchDns, "fetch.dns", "the name does not exist or has no address";
    FetchDnsTimeout, "fetch.dns.timeout", "name resolution failed for now";
    FetchRefused, "fetch.refused", "no address accepted a connection";
    FetchTimeoutConnect, "fetch.timeout.connect", "connecting took too long";
    FetchTimeoutHead, "fetch.timeout.head", "the response head took too long";
    FetchTimeoutIdle, "fetch.timeout.idle", "the body paused too long";
    FetchTimeoutTotal, "fetch.timeout.total", "the exchange took too long";
    FetchSlow, "fetch.slow", "the body came slower than the least rate";
    FetchReset, "fetch.reset", "the connection ended before the message did";
    FetchTls, "fetch.tls", "the TLS handshake failed";
    FetchProtocol, "fetch.protocol", "the answer is no HTTP";
    FetchTooLarge, "fetch.too_large", "the decoded body is larger than the limit";
    FetchRatio, "fetch.ratio", "the body inflates more than the ratio bound";
    FetchHeaders, "fetch.headers", "the response head is larger than the limit";
    FetchCoding, "fetch.coding", "the content coding is unknown or broken";
    FetchType, "fetch.type", "the media type is not among those that are wanted";
    FetchSpool, "fetch.spool", "there was no room to keep the body";
    FetchRequestBody, "fetch.request_body", "the body sent along is larger than the limit, or broke off";
    FetchProxyConnect, "fetch.proxy.connect", "the proxy took no connection, or hung up";
    FetchProxyTimeout, "fetch.proxy.timeout", "the proxy took too long to answer";
    FetchProxyAuth, "fetch.proxy.auth", "the proxy refused our credentials";
    FetchProxyRefused, "fetch.proxy.refused", "the proxy refused to pass the request on";
    FetchProxyProtocol, "fetch.proxy.protocol", "what the proxy answers is no answer of a proxy";
    FetchProxyNone, "fetch.proxy.none", "no proxy is left for now";
    FetchCancelled, "fetch.cancelled", "the crawl stopped before the exchange ended";
    CrawlHandler, "crawl.handler", "the crawl's own handler panicked on this page";
    CrawlPanic, "crawl.panic", "a fault inside the crawler broke the visit off";
    AddressPrivate, "address.private", "the address is private, loopback, link-local or otherwise not public";
    AddressNone, "address.none", "no address is left after the address check";
    ParkCrawlDelay, "park.crawl_delay", "the Crawl-delay is above the longest we accept, so the origin is not crawled";
    ParkRetryAfter, "park.retry_after", "the origin asked to be left alone for long";
    ParkRobots, "park.robots", "robots.txt is unreachable; the origin waits for the next try";
    ParkOperator, "park.operator", "parked by the operator";
    PermitStale, "permit.stale", "the permit was older than permits may be";
    RateOrigin, "rate.origin", "our own floor, or the adaptive delay, runs for the origin";
    RateCrawlDelay, "rate.crawl_delay", "the origin's Crawl-delay runs";
    RateVisitTime, "rate.visit_time", "outside the hours in which robots.txt wants visits";
    RateBackoff, "rate.backoff", "the origin asked to slow down or failed";
    RateAddress, "rate.address", "the address's own gap runs";
    RateTotal, "rate.total", "the crawl's rate is spent";
    RateDomain, "rate.domain", "the registrable domain's rate is spent";
    RateCustomer, "rate.customer", "the customer's rate is spent";
    ConcOrigin, "conc.origin", "as many requests as allowed are open at the origin";
    ConcAddress, "conc.address", "as many requests as allowed are open at the address";
    ConcTotal, "conc.total", "as many requests as allowed are open";
    ConcCustomer, "conc.customer", "the customer has as many requests open as allowed";
    ConcTunnels, "conc.tunnels", "the customer has as many tunnels open as allowed";
    TargetSyntax, "target.syntax", "the request to the gateway names no target that could be judged";
    TargetScheme, "target.scheme", "the target's scheme is not one that the customer may ask for";
    TargetPort, "target.port", "the target's port is not one that may be connected to";
    TargetMethod, "target.method", "the gateway forwards GET and HEAD";
    TargetContent, "target.content", "the gateway forwards requests without content";
    TargetMismatch, "target.mismatch", "the Host field names another host than the target";
    TargetAddress, "target.address", "the target's address may not be connected to";
    TargetLoop, "target.loop", "the request has been through this gateway before";
    AuthMissing, "auth.missing", "no credentials of a customer";
    AuthInvalid, "auth.invalid", "the credentials are not those of a customer";
    AuthToken, "auth.token", "the product token is not one of the customer's";
    AuthPurpose, "auth.purpose", "the purpose is not one of the customer's";
    GatewayDraining, "gateway.draining", "the gateway is about to stop";
}

impl Reason {
    /// The reason with this stable code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.code() == code)
    }

    /// The reason of a refusal whose first denied purpose is this.
    #[must_use]
    pub const fn of_signal(purpose: comity_signals::Purpose) -> Self {
        use comity_signals::Purpose;
        match purpose {
            Purpose::Search => Self::SignalSearch,
            Purpose::AiInput => Self::SignalAiInput,
            Purpose::AiTrain => Self::SignalAiTrain,
            Purpose::Tdm => Self::SignalTdm,
        }
    }

    /// True for a refusal by what a site says of use, in signals or in terms that were reviewed.
    #[must_use]
    pub const fn is_signal(self) -> bool {
        matches!(
            self,
            Self::SignalSearch
                | Self::SignalAiInput
                | Self::SignalAiTrain
                | Self::SignalTdm
                | Self::SignalUnspecified
                | Self::SignalUse
                | Self::TermsDenied
        )
    }

    /// True when something took too long, or came too slowly: it may be quicker another time.
    #[must_use]
    pub const fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::FetchDnsTimeout
                | Self::FetchTimeoutConnect
                | Self::FetchTimeoutHead
                | Self::FetchTimeoutIdle
                | Self::FetchTimeoutTotal
                | Self::FetchSlow
        )
    }

    /// True when there is no address that may be connected to.
    #[must_use]
    pub const fn is_refused_address(self) -> bool {
        matches!(self, Self::AddressPrivate | Self::AddressNone)
    }

    /// True when no connection came about: the name, its addresses, TCP or TLS. Nothing was asked.
    #[must_use]
    pub const fn is_connect(self) -> bool {
        matches!(
            self,
            Self::FetchDns | Self::FetchDnsTimeout | Self::FetchRefused | Self::FetchTimeoutConnect | Self::FetchTls
        ) || self.is_refused_address()
    }

    /// True when the site's bytes broke the rules of HTTP, TLS or their coding: it answers so the next time, too.
    #[must_use]
    pub const fn is_broken(self) -> bool {
        matches!(self, Self::FetchProtocol | Self::FetchCoding | Self::FetchTls)
    }

    /// True when a bound of ours on size was met: the site answers the same another time.
    #[must_use]
    pub const fn is_size_limit(self) -> bool {
        matches!(self, Self::FetchTooLarge | Self::FetchRatio | Self::FetchHeaders)
    }

    /// True when the cause lies on our side: turns, permits, stops, disks, bodies that we sent along.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(
            self,
            Self::FetchCancelled
                | Self::CrawlHandler
                | Self::CrawlPanic
                | Self::FetchSpool
                | Self::FetchRequestBody
                | Self::FetchType
                | Self::PermitStale
                | Self::RateAddress
                | Self::ConcAddress
                | Self::RateVisitTime
                | Self::UrlUnsendable
        )
    }

    /// True when the cause lies at a proxy of ours: it says nothing about the site.
    #[must_use]
    pub const fn is_proxy(self) -> bool {
        self.is_proxy_down() || matches!(self, Self::FetchProxyRefused)
    }

    /// True when the proxy serves nobody for now, whatever it is asked for.
    #[must_use]
    pub const fn is_proxy_down(self) -> bool {
        matches!(
            self,
            Self::FetchProxyConnect
                | Self::FetchProxyTimeout
                | Self::FetchProxyAuth
                | Self::FetchProxyProtocol
                | Self::FetchProxyNone
        )
    }

    /// True when the URL was let through.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::Ok | Self::OkOverride | Self::OkNoRules)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PAGE: &str = include_str!("../../../docs/reference/reasons.md");

    #[test]
    fn every_code_is_unique_and_stands_in_the_reference() {
        let mut seen = BTreeSet::new();
        for reason in Reason::ALL {
            assert!(seen.insert(reason.code()), "{} twice", reason.code());
            assert!(PAGE.contains(&format!("| `{}` |", reason.code())), "{} lacks a row in reasons.md", reason.code());
        }
    }

    #[test]
    fn the_reference_says_of_which_kind_a_reason_is() {
        type Kind = (&'static str, fn(Reason) -> bool);
        let kinds: [Kind; 8] = [
            ("is_timeout", Reason::is_timeout),
            ("is_connect", Reason::is_connect),
            ("is_refused_address", Reason::is_refused_address),
            ("is_broken", Reason::is_broken),
            ("is_size_limit", Reason::is_size_limit),
            ("is_ours", Reason::is_ours),
            ("is_proxy", Reason::is_proxy),
            ("is_proxy_down", Reason::is_proxy_down),
        ];
        for (name, is) in kinds {
            let row = PAGE.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | "))).unwrap();
            let (_, codes) = row.split_once(" | ").unwrap();
            let said: Vec<&str> = codes.split('`').skip(1).step_by(2).collect();
            let held: Vec<&str> =
                Reason::ALL.iter().filter(|reason| is(**reason)).map(|reason| reason.code()).collect();
            assert_eq!(said, held, "{name} in reasons.md");
        }
    }
}
