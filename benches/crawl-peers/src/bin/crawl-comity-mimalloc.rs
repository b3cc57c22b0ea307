//! `crawl-comity` with the allocator of the command `comity`.

#[path = "crawl-comity.rs"]
mod same;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    same::main();
}
