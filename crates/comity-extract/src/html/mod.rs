//! From decoded text to start tags: a tokeniser, and as much of a tree as tells what a tag is.
//!
//! | module | what it holds |
//! |---|---|
//! | `name` | names of elements as numbers |
//! | `tag` | one tag: where it ends, and those of its attributes that matter |
//! | `tokenizer` | the states between tags: text, raw text, scripts, comments |
//! | `script` | where a script ends |
//! | `tree` | what is open: foreign elements, templates, framesets |

mod name;
mod script;
mod tag;
mod tokenizer;
mod tree;

pub(crate) use name::Name;
pub(crate) use tag::{Attribute, StartTag};
pub(crate) use tokenizer::Tokenizer;
pub(crate) use tree::Tree;
