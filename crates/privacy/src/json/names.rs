//! Masked names of members, none of them twice in an object.

use std::collections::{HashMap, HashSet};

use crate::kind::Kind;

/// Names of a document that look like masked ones, and stay as they are.
#[derive(Default)]
pub(super) struct Taken(HashSet<String>);

impl Taken {
    /// Takes note of a name in the document.
    pub(super) fn note(&mut self, name: &str) {
        if Kind::ALL.iter().any(|kind| name.contains(kind.mask())) {
            self.0.insert(name.to_owned());
        }
    }
}

/// The masked names of one object.
#[derive(Default)]
pub(super) struct Names {
    given: HashSet<String>,
    counts: HashMap<String, usize>,
}

impl Names {
    /// The masked name, with a number behind it if another member has it: two members of one name would be one.
    pub(super) fn unique(&mut self, masked: &str, taken: &Taken) -> String {
        let count = self.counts.entry(masked.to_owned()).or_insert(0);
        loop {
            *count += 1;
            let name = if *count == 1 { masked.to_owned() } else { format!("{masked}-{count}") };
            if !taken.0.contains(&name) && self.given.insert(name.clone()) {
                return name;
            }
        }
    }
}
