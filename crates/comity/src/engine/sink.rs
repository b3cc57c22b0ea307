use comity_fetch::{Keep, MediaTypes, Read, ResponseHead, Sink, Want};
use comity_url::CrawlUrl;
use std::sync::Arc;
use tokio::sync::oneshot;

use super::content::{ContentJudge, Ruling};
use super::errand::Errand;
use super::reading::{Found, Reader, Reading};

/// Where the decoded body of a page goes as it comes: into its reader, and nowhere else. What is kept of it are the coded
/// bytes in the capture, once the second decision lets them be; a handler that wants to read them has them decoded once more.
pub(super) struct PageSink {
    url: CrawlUrl,
    reading: Reading,
    reader: Option<Reader>,
    found: Found,
    content: ContentJudge,
    answered: bool,
    head: Option<oneshot::Sender<()>>,
    types: Arc<MediaTypes>,
}

impl PageSink {
    /// `head` is told the moment the response head is complete.
    pub(super) fn new(
        url: CrawlUrl,
        reading: Reading,
        content: ContentJudge,
        head: oneshot::Sender<()>,
        types: Arc<MediaTypes>,
    ) -> Self {
        Self { url, reading, reader: None, found: Found::default(), content, answered: false, head: Some(head), types }
    }

    /// What was found, and the second decision; no decision where no head came. Of what is withheld nothing was found.
    pub(super) fn finish(mut self) -> (Found, Option<Ruling>) {
        self.end_reading();
        let ruling = self.content.finish(self.answered);
        let is_withheld = ruling.as_ref().is_some_and(|ruling| ruling.decision.is_withheld());
        (if is_withheld { Found::default() } else { self.found }, ruling)
    }

    fn end_reading(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.found = reader.finish();
        }
    }

    fn want(&mut self, head: &ResponseHead<'_>) -> Want {
        let is_success = (200..300).contains(&head.status);
        // A sitemap that was asked for is read whatever it is served as.
        if is_success && self.reading.errand == Errand::Page && !self.types.want(head.content_type()) {
            return Want::OtherType;
        }
        if is_success {
            let mut reader = Reader::new(&mut self.reading, &self.url, head.content_type());
            head.fields_named("link").for_each(|value| reader.link_field(value));
            self.reader = Some(reader);
        } else {
            self.content.read_aside(head.content_type());
        }
        Want::Body
    }
}

impl Sink for PageSink {
    fn head(&mut self, head: &ResponseHead<'_>) -> Want {
        if let Some(sender) = self.head.take() {
            // Nobody listens when the origin may have one request at a time only.
            let _ = sender.send(());
        }
        self.answered = true;
        let want = self.want(head);
        let is_open = self.content.head(head, want == Want::Body);
        if is_open { want } else { Want::HeadOnly }
    }

    fn chunk(&mut self, decoded: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.push(decoded);
        }
        self.content.push(decoded);
    }

    fn unreadable(&mut self) {
        let head = self.reader.as_ref().and_then(Reader::head);
        self.content.unreadable(head.map(|(_, past_head)| past_head));
    }

    fn keep(&mut self, read: Read) -> Keep {
        if read == Read::End {
            self.end_reading();
            return self.content.keep(read, self.found.page.as_ref().map(|page| (&page.head, true)));
        }
        self.content.keep(read, self.reader.as_ref().and_then(Reader::head))
    }
}
