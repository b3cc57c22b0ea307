//! The signals read here, through the public face of the crate.

mod cases;
mod laws;
mod page;
mod resource;
mod robots_lines;
mod rsl;
mod seeds;
mod support;
mod tdm;
