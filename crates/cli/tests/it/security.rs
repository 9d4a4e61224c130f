//! What SECURITY.md promises.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Every promise names its test in the last column of its row; a renamed or deleted test would leave a promise without one.
#[test]
fn every_promise_has_its_test() {
    let text = fs::read_to_string(crate::repository().join("SECURITY.md")).unwrap();
    let promised: BTreeSet<&str> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .filter_map(|line| line.trim_end().trim_end_matches('|').rsplit('|').next())
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(promised.len() >= 70, "only {} tests are named", promised.len());
    // Tests of attacks are made by a macro, from their names.
    let mut tests: BTreeSet<String> =
        crate::attacks::TESTED.iter().map(|name| name.replace('-', "_")).collect();
    collect_tests(&crate::repository().join("crates"), &mut tests);
    let missing: Vec<&&str> = promised.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "SECURITY.md names tests that do not exist: {missing:?}");
}

/// The names of all functions under `#[test]` or `#[tokio::test…]`.
fn collect_tests(folder: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_tests(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim_start) {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    is_test = true;
                } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
                    tests.extend(rest.split(['(', '<']).next().map(str::to_owned));
                    is_test = false;
                }
            }
        }
    }
}
