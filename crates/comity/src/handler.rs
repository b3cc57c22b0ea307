//! What the crawl's author does with pages: handlers, as closures or functions, plain or asynchronous.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
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

type Handling = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;

/// A handler of pages.
#[derive(Clone)]
pub(crate) enum PageHandler {
    /// Runs at once, on the thread that has the page.
    Plain(Arc<dyn Fn(&Page) -> HandlerResult + Send + Sync>),
    /// Runs beside other work, and has a time.
    Async {
        call: Arc<dyn Fn(Page, Context) -> Handling + Send + Sync>,
        /// Somebody outside has the page: its time is theirs.
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
        let call = move |page, context| -> Handling {
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
    pub(crate) fn failed(error: &BoxError) -> Self {
        let mut words = error.to_string();
        words.truncate(words.floor_char_boundary(MOST_WORDS));
        Self(format!("the handler failed: {words}"))
    }

    pub(crate) fn panicked() -> Self {
        Self("the handler panicked".to_owned())
    }
}

/// Calls a plain handler; a panic in it is its author's and ends nothing here. What it had locked or half done is its own.
pub(crate) fn call<T>(handler: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(handler)).map_err(|_| Fault::panicked())
}

/// Runs an asynchronous handler to its end; its panics are as those of a plain one, whether they come with the call or later.
pub(crate) async fn run(start: impl FnOnce() -> Handling) -> Result<(), Fault> {
    let handling = call(start)?;
    let mut handling = pin!(handling);
    let ended = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context)));
        polled.map_or_else(|_| Err(Fault::panicked()).into(), |polled| polled.map(Ok))
    });
    ended.await?.map_err(|error| Fault::failed(&error))
}
