//! `crawl-bare` with the allocator of the command `comity`.

#[path = "crawl-bare.rs"]
mod same;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    same::main();
}
