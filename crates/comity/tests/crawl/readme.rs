//! The crawler in ten lines is the one that compiles, and has ten.

use std::path::Path;

/// The first Rust block of a Markdown file.
fn example(file: &Path) -> Vec<String> {
    nth_example(file, 0)
}

fn nth_example(file: &Path, n: usize) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let block = text.split("\n```rust").nth(n + 1).unwrap_or_default();
    block.lines().skip(1).take_while(|line| !line.starts_with("```")).map(str::to_owned).collect()
}

#[test]
fn the_programs_of_the_guide_are_the_ones_that_compile() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (n, names) in [(0, "serde_json"), (1, "stop_handle")] {
        let compiled = nth_example(&here.join("README.md"), n + 1);
        assert!(compiled.len() > 10 && compiled.iter().any(|line| line.contains(names)), "{}", compiled.join("\n"));
        assert_eq!(nth_example(&here.join("../../docs/guide.md"), n), compiled);
    }
}

#[test]
fn the_crawler_in_ten_lines_compiles_and_has_ten() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // That one is a documentation test of the crate.
    let compiled = example(&here.join("README.md"));
    assert_eq!(compiled.len(), 10, "{}", compiled.join("\n"));
    assert_eq!(example(&here.join("../../README.md")), compiled);
    let documented = std::fs::read_to_string(here.join("src/lib.rs")).unwrap();
    let documented: Vec<&str> = documented.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let is_there = documented.windows(10).any(|lines| lines == compiled);
    assert!(is_there, "the crate's documentation begins with another one");
}
