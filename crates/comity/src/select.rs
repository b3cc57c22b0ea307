use comity_extract::{SelectError, Selected, select};

use crate::Page;

impl Page {
    /// The elements that a CSS selector matches, in document order (feature `select`). Cost: a tree of the page, at every
    /// call.
    ///
    /// ```
    /// # fn print(page: &comity::Page) -> Result<(), comity::extract::SelectError> {
    /// for heading in page.select("article > h2")? {
    ///     println!("{}: {}", page.url(), heading.text.trim());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A text that is no selector; a page of more than 4 MiB, of more than 1,024 open elements, or with more than 32 MiB of
    /// text that matches.
    pub fn select(&self, css: &str) -> Result<Vec<Selected>, SelectError> {
        select(self.body(), self.charset(), css)
    }
}
