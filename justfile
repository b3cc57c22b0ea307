# The verbs of the house. Each only calls cargo.

# every check that this machine can run
test *FLAGS:
    cargo xtask test {{FLAGS}}

# formatting and lints, warnings as errors
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# the documentation of the public API
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# a synthetic web and a polite crawl of it
demo *FLAGS:
    cargo run --release -- demo {{FLAGS}}

# what CI runs
ci:
    bash .ci/run
