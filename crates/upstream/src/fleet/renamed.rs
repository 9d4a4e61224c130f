//! The log lines about tools that do not have their own names: those are reserved for another upstream, or clash.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use gateway_config::UpstreamId;
use tracing::warn;

use super::definitions::first_few;
use crate::catalogue::{Catalogue, CatalogueTool, ClashOutcome};

/// Most tools that are remembered as logged; after that, all are logged once more.
const REMEMBERED: usize = 16_384;

/// What was logged already: each version of a definition once.
#[derive(Debug, Default)]
pub(super) struct Logged(Mutex<HashSet<u64>>);

impl Logged {
    /// One line for each upstream with tools that were not logged yet, and one for all clashes that hide tools.
    pub(super) fn log(&self, catalogue: &Catalogue) {
        let mut fresh: BTreeMap<&UpstreamId, Vec<&CatalogueTool>> = BTreeMap::new();
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in catalogue.renamed() {
            let mut hasher = DefaultHasher::new();
            (&tool.server, &tool.name, &tool.reserved_for, &tool.fingerprint).hash(&mut hasher);
            if logged.len() >= REMEMBERED {
                logged.clear();
            }
            if logged.insert(hasher.finish()) {
                fresh.entry(&tool.server).or_default().push(tool);
            }
        }
        let mut clashes = Vec::new();
        for clash in catalogue.clashes().iter().filter(|clash| clash.outcome == ClashOutcome::NotListed) {
            let mut hasher = DefaultHasher::new();
            (&clash.name, &clash.servers).hash(&mut hasher);
            if logged.insert(hasher.finish()) {
                clashes.push(clash);
            }
        }
        drop(logged);
        if !clashes.is_empty() {
            let (count, clashes) = (clashes.len(), first_few(clashes.into_iter().map(ToString::to_string)));
            warn!(count, clashes, "Tools are not listed, because several servers have one of their name.");
        }
        for (upstream, tools) in fresh {
            let count = tools.len();
            let tools = first_few(tools.into_iter().map(describe));
            warn!(%upstream, count, tools, "Tools have names that are reserved for another upstream.");
        }
    }
}

fn describe(tool: &CatalogueTool) -> String {
    let owner = tool.reserved_for.as_ref().map_or("another", UpstreamId::as_str);
    let name = &tool.name;
    if tool.listed {
        format!("`{name}` is reserved for `{owner}` and listed as `{}`", tool.public_name)
    } else {
        format!("`{name}` is reserved for `{owner}` and not listed")
    }
}

#[cfg(test)]
mod tests {
    use gateway_config::{CatalogueRules, Endpoint, UpstreamSpec};
    use gateway_protocol::RawJson;

    use super::*;
    use crate::catalogue::UpstreamTools;
    use crate::log_lines::log_lines;

    #[test]
    fn many_reserved_names_are_one_line_of_the_log() {
        let (files, evil) =
            (UpstreamSpec::new("files", Endpoint::Demo), UpstreamSpec::new("evil", Endpoint::Demo));
        let definition = |number| RawJson::parse(format!(r#"{{"name":"files__{number:04}"}}"#)).unwrap();
        let tools: Vec<RawJson> = (0..2_000).map(definition).collect();
        let parts =
            [UpstreamTools { spec: &files, tools: &[] }, UpstreamTools { spec: &evil, tools: &tools }];
        let catalogue = Catalogue::build(1, &parts, &CatalogueRules::default());
        let logged = Logged::default();
        let line = "Tools have names that are reserved for another upstream. upstream=evil count=2000 \
             tools=`files__0000` is reserved for `files` and listed as `evil__files__0000`; \
             `files__0001` is reserved for `files` and listed as `evil__files__0001`; \
             `files__0002` is reserved for `files` and listed as `evil__files__0002`; and 1997 more";
        assert_eq!(log_lines(|| logged.log(&catalogue)), [line]);
        assert_eq!(log_lines(|| logged.log(&catalogue)), Vec::<String>::new(), "each tool once");
    }
}
