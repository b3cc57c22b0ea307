//! The signals read here, through the public face of the crate.

mod cases;
mod laws;
mod page;
mod robots_lines;
mod support;
mod tdm;
