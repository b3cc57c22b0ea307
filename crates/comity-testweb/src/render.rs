use std::fmt::Write as _;
use std::io;

use bytes::Bytes;
use comity_policy::WallTime;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::answer::{Answer, Content, RetryAfter, Target};
use crate::body::{EndMark, PageBody};
use crate::dice::Dice;
use crate::layout::Layout;
use crate::reply::Reply;
use crate::web::Spec;

const HTML: &str = "text/html; charset=utf-8";
const TAIL: &str = "</p>\n</body></html>\n";

/// What rendering needs to know besides the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renderer<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) layout: &'a Layout,
    /// The Date that is sent.
    pub(crate) now: WallTime,
}

impl Renderer<'_> {
    /// The response to a request; its body is made while it is sent.
    pub(crate) fn response(self, reply: &Reply, end: EndMark) -> Response<PageBody> {
        let rendered = match reply {
            Reply::Scripted(answer) => self.scripted(answer),
            Reply::Generated { site, page } => self.generated(*site, *page),
        };
        let mut response = rendered.unwrap_or_else(|error| {
            let text = format!("testweb: answer cannot be sent: {error}\n");
            let mut failed = Response::new(PageBody::default().bytes(Bytes::from(text)));
            *failed.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            failed
        });
        if let Ok(date) = HeaderValue::from_str(&http_date(self.now)) {
            response.headers_mut().entry(header::DATE).or_insert(date);
        }
        response.map(|body| body.ending(end))
    }

    fn scripted(self, answer: &Answer) -> Result<Response<PageBody>, io::Error> {
        let plain = match &answer.body {
            Content::Empty => PageBody::default(),
            Content::Bytes(bytes) => PageBody::default().bytes(bytes.clone()),
            Content::Page(size) => {
                self.page("a page", &answer.links, *size, &mut Dice::at(self.spec.seed, &[2, *size]))
            }
        };
        let body = match answer.coding.token() {
            None => plain,
            Some(_) => PageBody::default().bytes(answer.coding.encode(&plain.collect())?),
        };
        let mut response = Response::new(body.chunked(answer.chunked).paced(answer.pace));
        *response.status_mut() = StatusCode::from_u16(answer.status)
            .ok()
            .filter(|status| !status.is_informational())
            .ok_or_else(|| io::Error::other(format!("status {}", answer.status)))?;
        for (name, value) in self.fields(answer) {
            let name = HeaderName::try_from(name).map_err(io::Error::other)?;
            response.headers_mut().append(name, HeaderValue::try_from(value).map_err(io::Error::other)?);
        }
        Ok(response)
    }

    fn fields(self, answer: &Answer) -> Vec<(String, String)> {
        let retry_after = answer.retry_after.as_ref().map(|value| match value {
            RetryAfter::Seconds(seconds) => seconds.to_string(),
            RetryAfter::Date(after) => http_date(self.now.after(*after)),
            RetryAfter::Raw(text) => text.clone(),
        });
        let own = [
            ("content-type", answer.content_type.clone()),
            ("content-encoding", answer.coding.token().map(str::to_owned)),
            ("location", answer.location.as_ref().map(|to| self.layout.href(to))),
            ("retry-after", retry_after),
        ];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        own.chain(answer.fields.iter().cloned()).collect()
    }

    fn generated(self, site: usize, page: u32) -> Result<Response<PageBody>, io::Error> {
        let size = self.spec.generated(site).map_or(0, crate::Generated::size);
        let links = self.spec.generated_links(site, page);
        let mut dice = Dice::at(self.spec.seed, &[3, site as u64, page.into()]);
        let mut response = Response::new(self.page(&format!("page {page} of site {site}"), &links, size, &mut dice));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(HTML));
        Ok(response)
    }

    /// An HTML page with these links, filled up to `size` bytes.
    fn page(self, title: &str, links: &[Target], size: u64, dice: &mut Dice) -> PageBody {
        let mut head = format!("<!doctype html>\n<html><head><title>{title}</title></head><body>\n");
        for (number, link) in links.iter().enumerate() {
            let href = escape(&self.layout.href(link));
            // Writing to a string never fails.
            let _ = writeln!(head, "<a href=\"{href}\">link {number}</a>");
        }
        head.push_str("<p>");
        let filler = size.saturating_sub((head.len() + TAIL.len()) as u64);
        PageBody::default().bytes(Bytes::from(head)).filler(filler, dice).bytes(Bytes::from_static(TAIL.as_bytes()))
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// IMF-fixdate (RFC 9110 §5.6.7), part seconds dropped.
pub(crate) fn http_date(at: WallTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day, hour, minute, second, _) = at.civil();
    let weekday = at.unix_millis().div_euclid(86_400_000).rem_euclid(7);
    let weekday = usize::try_from(weekday).ok().and_then(|day| DAYS.get(day)).unwrap_or(&"Thu");
    let month = MONTHS.get(month as usize - 1).unwrap_or(&"Jan");
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_they_are_read() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 30 Nov 2026 23:59:59 GMT"]
        {
            assert_eq!(http_date(comity_policy::parse_http_date(text).unwrap()), text);
        }
    }
}
