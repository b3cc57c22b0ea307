//! `crawl-comity` with the allocator of the command `comity`.

#[path = "crawl-comity.rs"]
mod same;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    same::main();
}
