//! What the crawl's author does with pages: handlers, as closures or functions, plain or asynchronous.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use crate::{Context, Page};

/// Any error, to be handed over.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What a handler that may fail gives: any error becomes a [`BoxError`] by `?`.
pub type HandlerResult = Result<(), BoxError>;

/// What a handler gives: nothing, or a result.
///
/// An error fails the page by the name `crawl.handler`: it is on record, its links are followed, it is not asked for again, and
/// the crawl goes on. A panic counts as one.
pub trait HandlerOutput: sealed::Sealed {
    /// As a result.
    ///
    /// # Errors
    /// The handler's own.
    fn into_result(self) -> HandlerResult;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E: Into<super::BoxError>> Sealed for Result<(), E> {}
}

impl HandlerOutput for () {
    fn into_result(self) -> HandlerResult {
        Ok(())
    }
}

impl<E: Into<BoxError>> HandlerOutput for Result<(), E> {
    fn into_result(self) -> HandlerResult {
        self.map_err(Into::into)
    }
}

type Handling<'a> = Pin<Box<dyn Future<Output = HandlerResult> + Send + 'a>>;

/// A handler of pages.
#[derive(Clone)]
pub(crate) enum PageHandler {
    /// Runs at once, on the thread that has the page.
    Plain(Arc<dyn Fn(&Page) -> HandlerResult + Send + Sync>),
    /// Runs beside other work, and has a time.
    Async {
        call: Arc<dyn Fn(Page, Context) -> Handling<'static> + Send + Sync>,
        /// Somebody outside has the page: its time is theirs, a day at most.
        patient: bool,
    },
}

impl PageHandler {
    pub(crate) fn plain<R: HandlerOutput>(handler: impl Fn(&Page) -> R + Send + Sync + 'static) -> Self {
        Self::Plain(Arc::new(move |page| handler(page).into_result()))
    }

    pub(crate) fn asynchronous<F, Fut>(handler: F) -> Self
    where
        F: Fn(Page, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerOutput> + Send + 'static,
    {
        let call = move |page, context| -> Handling<'static> {
            let handling = handler(page, context);
            Box::pin(async move { handling.await.into_result() })
        };
        Self::Async { call: Arc::new(call), patient: false }
    }

    /// The same, for as long as whoever has the page wants.
    pub(crate) fn patient<F, Fut>(handler: F) -> Self
    where
        F: Fn(Page, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerOutput> + Send + 'static,
    {
        match Self::asynchronous(handler) {
            Self::Async { call, .. } => Self::Async { call, patient: true },
            plain @ Self::Plain(_) => plain,
        }
    }
}

impl fmt::Debug for PageHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Async { .. } => "Async",
        })
    }
}

/// How a handler failed, in words for the record.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) String);

/// Bytes of a handler's own words that go on record.
const MOST_WORDS: usize = 300;

impl Fault {
    /// Of an error, which may be anybody's: what it does when it is printed and dropped is caught, too.
    pub(crate) fn failed(error: BoxError) -> Self {
        let words = call(move || {
            let mut words = error.to_string();
            words.truncate(words.floor_char_boundary(MOST_WORDS));
            words
        });
        Self(words.map_or_else(
            |_| "the handler failed, and its error panicked when it was asked why".to_owned(),
            |words| format!("the handler failed: {words}"),
        ))
    }

    pub(crate) fn panicked() -> Self {
        Self("the handler panicked".to_owned())
    }
}

/// A panic in what the crawl's author gave.
#[derive(Debug)]
pub(crate) struct Panicked;

/// What an author's code does, dropped where it is, panics included.
struct Caught<'a>(Option<Handling<'a>>);

impl Drop for Caught<'_> {
    fn drop(&mut self) {
        let handling = self.0.take();
        // Whoever dropped it has its outcome already, or wants none.
        drop(call(move || drop(handling)));
    }
}

/// Calls a plain handler; a panic in it is its author's and ends nothing here. What it had locked or half done is its own.
pub(crate) fn call<T>(handler: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(handler)).map_err(|_| Fault::panicked())
}

/// Runs what the crawl's author gave to its end; a panic in it is as one of a plain handler, whether it comes with the call, later, or
/// when it is dropped.
pub(crate) async fn caught<'a>(start: impl FnOnce() -> Handling<'a>) -> Result<HandlerResult, Panicked> {
    let mut handling = Caught(Some(call(start).map_err(|_| Panicked)?));
    poll_fn(|context| {
        // It is taken by nobody but its drop.
        let Some(handling) = handling.0.as_mut() else { return Err(Panicked).into() };
        let polled = catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context)));
        polled.map_or_else(|_| Err(Panicked).into(), |polled| polled.map(Ok))
    })
    .await
}

/// Runs an asynchronous handler to its end.
pub(crate) async fn run(start: impl FnOnce() -> Handling<'static>) -> Result<(), Fault> {
    let ended = caught(start).await.map_err(|Panicked| Fault::panicked())?;
    ended.map_err(Fault::failed)
}
