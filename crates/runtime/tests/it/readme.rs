//! The program in the README of the project: it runs, and the page has it as it stands here.

/// The page has other blocks that are no programs, so it cannot be a documentation test as a whole.
const PAGE: &str = include_str!("../../../../README.md");

include!("readme/program.rs");

#[test]
fn the_program_of_the_readme_runs() {
    let block = concat!("```rust\n", include_str!("readme/program.rs"), "```\n");
    assert!(PAGE.contains(block), "the README does not have this program: {block}");
    main().expect("the program ends well");
}
