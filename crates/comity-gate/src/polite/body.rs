use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::sending::Answered;

pin_project! {
    /// A response body that holds the origin's place until it ends or is dropped: at one request per origin, the next
    /// one waits for that. Read it or drop it.
    #[derive(Debug)]
    pub struct PoliteBody<B> {
        #[pin]
        inner: B,
        answered: Answered,
    }
}

impl<B> PoliteBody<B> {
    pub(crate) const fn new(inner: B, answered: Answered) -> Self {
        Self { inner, answered }
    }
}

impl<B: Body> Body for PoliteBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let frame = ready!(this.inner.poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            this.answered.end();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
