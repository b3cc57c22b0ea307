//! The documentation: its links, and the book.

mod book;
mod html;
mod links;
mod page;

use crate::{print, step};

/// `cargo xtask docs`: the links, then the book, where mdbook is here.
pub(crate) fn command() -> Result<(), String> {
    check()?;
    if !step::answers("mdbook", "--version") {
        print("links are whole; the book needs mdbook: cargo install mdbook --locked");
        return Ok(());
    }
    let book = book::build(&step::root())?;
    html::check(&book)?;
    print(&format!("the book is in {}", book.join("index.html").display()));
    Ok(())
}

/// Fails when a link of the documentation leads nowhere, or a page is in no table of contents.
pub(crate) fn check() -> Result<(), String> {
    let wrong = links::faults(&step::root())?;
    if wrong.is_empty() { Ok(()) } else { Err(format!("the documentation is broken:\n  {}", wrong.join("\n  "))) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_link_of_the_documentation_leads_somewhere() {
        super::check().unwrap();
    }
}
