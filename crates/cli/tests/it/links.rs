//! Links between the project's documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents of the project, as paths from its root.
fn documents() -> Vec<PathBuf> {
    let mut folders = vec![root(), root().join("docs"), root().join("conformance"), root().join("bench")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && folder.starts_with(root().join("docs")) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "the documents are not where this test looks: {found:?}");
    found.sort();
    found
}

/// The targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced || line.starts_with("    ") {
            continue;
        }
        for part in line.split("](").skip(1) {
            found.extend(part.split([')', ' ']).next());
        }
    }
    found
}

/// The anchors of a document's headings: lower case, spaces as dashes, other punctuation left out.
fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix('#').map(|line| line.trim_start_matches('#').trim()))
        .map(|heading| {
            let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>().to_lowercase()
        })
        .collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) =
                link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target =
                if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let is_good = match anchor {
                None => target.exists(),
                Some(anchor) => fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor)),
            };
            if !is_good {
                broken.push(format!("{}: {link}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
