use comity_fetch::{MediaTypes, ResponseHead, Sink, Want};
use comity_url::CrawlUrl;
use std::sync::Arc;
use tokio::sync::oneshot;

use super::errand::Errand;
use super::reading::{Reader, Reading};

/// Where the decoded body of a page goes as it comes: into its reader, and nowhere else. What is kept of it are the coded
/// bytes in the capture; a handler that wants to read them has them decoded once more.
pub(super) struct PageSink {
    url: CrawlUrl,
    reading: Reading,
    pub(super) reader: Option<Reader>,
    head: Option<oneshot::Sender<()>>,
    types: Arc<MediaTypes>,
}

impl PageSink {
    /// `head` is told the moment the response head is complete.
    pub(super) fn new(url: CrawlUrl, reading: Reading, head: oneshot::Sender<()>, types: Arc<MediaTypes>) -> Self {
        Self { url, reading, reader: None, head: Some(head), types }
    }
}

impl Sink for PageSink {
    fn head(&mut self, head: &ResponseHead<'_>) -> Want {
        if let Some(sender) = self.head.take() {
            // Nobody listens when the origin may have one request at a time only.
            let _ = sender.send(());
        }
        if (200..300).contains(&head.status) {
            // A sitemap that was asked for is read whatever it is served as.
            if self.reading.errand == Errand::Page && !self.types.want(head.content_type()) {
                return Want::OtherType;
            }
            let mut reader = Reader::new(&mut self.reading, &self.url, head.content_type());
            head.fields_named("link").for_each(|value| reader.link_field(value));
            self.reader = Some(reader);
        }
        Want::Body
    }

    fn chunk(&mut self, decoded: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.push(decoded);
        }
    }
}
