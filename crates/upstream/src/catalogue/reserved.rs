//! Names that belong to one upstream, whether it is there or not.
//!
//! `<id>__…`, `<prefix>__…` and `mcp__<id>__…` lead to the tools of a configured upstream. Whoever else took such a name
//! would take its calls, so these names are reserved also while it is down, disabled or not started yet. Where one
//! reserved prefix is the beginning of another (`a` and `a__b`), the longest decides.

use std::collections::HashMap;

use gateway_config::{UpstreamId, UpstreamSpec};

/// The word for the server that is meant where none is named.
const DEFAULT: &str = "default";

/// What stands between a prefix and the name of a tool.
const SEPARATOR: &str = "__";

/// The owners of reserved prefixes.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    /// By the prefix as it is written.
    exact: HashMap<String, Vec<UpstreamId>>,
    /// By the prefix in the form that [`normalised`] gives it.
    similar: HashMap<String, Vec<UpstreamId>>,
}

impl Reserved {
    /// The names of configured upstreams, and further ids that are to be kept free.
    pub(super) fn of<'a>(
        specs: impl Iterator<Item = &'a UpstreamSpec>,
        ids: impl Iterator<Item = &'a UpstreamId>,
    ) -> Self {
        let mut reserved = Self::default();
        for spec in specs {
            reserved.add(&spec.id, spec.id.as_str());
            if let Some(prefix) = spec.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
                reserved.add(&spec.id, prefix);
            }
        }
        for id in ids {
            reserved.add(id, id.as_str());
        }
        // `default` stands for a server whatever that is called, so that no tool may take such a name either.
        let default = UpstreamId::new(DEFAULT);
        let prefix = format!("mcp{SEPARATOR}{DEFAULT}");
        reserved.similar.entry(normalised(&prefix)).or_insert_with(|| vec![default.clone()]);
        reserved.exact.entry(prefix).or_insert_with(|| vec![default]);
        reserved
    }

    fn add(&mut self, owner: &UpstreamId, prefix: &str) {
        for prefix in [prefix.to_owned(), format!("mcp{SEPARATOR}{prefix}")] {
            let similar = normalised(&prefix);
            for (owners, prefix) in [(&mut self.exact, prefix), (&mut self.similar, similar)] {
                let owners = owners.entry(prefix).or_default();
                if !owners.contains(owner) {
                    owners.push(owner.clone());
                }
            }
        }
    }

    /// The upstreams whose prefix a name has, and what they call the tool; none if it has no prefix.
    pub(super) fn prefixed<'a, 'n>(
        &'a self,
        name: &'n str,
    ) -> impl Iterator<Item = (&'a UpstreamId, &'n str)> {
        let found = split(&self.exact, name).filter(|(_, tool)| !tool.is_empty());
        found.into_iter().flat_map(|(owners, tool)| owners.iter().map(move |owner| (owner, tool)))
    }

    /// The upstream that a name is reserved for, where it is another than `server`.
    pub(super) fn other_owner(&self, name: &str, server: &UpstreamId) -> Option<&UpstreamId> {
        let similar = normalised(name);
        let splits = [split(&self.exact, name), split(&self.similar, &similar)];
        let (owners, _) = splits.into_iter().flatten().find(|(owners, _)| !owners.contains(server))?;
        owners.first()
    }
}

/// The owners of the prefix that a name begins with, and the rest of the name; `None` if it begins with no reserved one.
fn split<'a, 'n>(
    owners: &'a HashMap<String, Vec<UpstreamId>>,
    name: &'n str,
) -> Option<(&'a [UpstreamId], &'n str)> {
    // Three underscores in a row can be split in two ways.
    (1..name.len()).rev().find_map(|index| {
        let (prefix, tool) = (name.get(..index)?, name.get(index..)?.strip_prefix(SEPARATOR)?);
        Some((owners.get(prefix)?.as_slice(), tool))
    })
}

/// A name as it may look in a list: dialects replace the characters that a provider refuses, put an underscore in front,
/// and people do not see the case of a letter.
fn normalised(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    name.chars().map(plain).collect::<String>().trim_start_matches('_').to_owned()
}
