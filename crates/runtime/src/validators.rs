//! Schemas of tools, compiled once each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use gateway_dialects::arguments::Validator;
use gateway_dialects::input_schema;
use gateway_upstream::{Catalogue, CatalogueTool, Fingerprint, UpstreamId};

/// Compiled schemas of the tools of one catalogue. A schema is compiled when its tool is first called.
#[derive(Debug, Default)]
pub struct Validators {
    snapshot: ArcSwap<Snapshot>,
}

#[derive(Debug, Default)]
struct Snapshot {
    version: u64,
    by_tool: HashMap<Key, Arc<OnceLock<Validator>>>,
}

/// A schema is the same as long as the definition that the model sees is: hidden and filled-in parameters are a matter of the
/// configuration, which a reload may change.
type Key = (UpstreamId, Fingerprint, u64);

fn key(tool: &CatalogueTool) -> Key {
    let mut hasher = DefaultHasher::new();
    tool.hidden.hash(&mut hasher);
    for name in tool.injected.keys() {
        name.hash(&mut hasher);
    }
    tool.effective.as_ref().map(gateway_protocol::RawJson::as_bytes).hash(&mut hasher);
    (tool.server.clone(), tool.fingerprint, hasher.finish())
}

impl Validators {
    /// The compiled schema of `tool`, as the model sees the tool: without parameters that are filled in for it.
    pub fn get(&self, catalogue: &Catalogue, tool: &CatalogueTool) -> Arc<OnceLock<Validator>> {
        let cell = self.cell(catalogue, tool);
        cell.get_or_init(|| Validator::new(&input_schema(&tool.value())));
        cell
    }

    fn cell(&self, catalogue: &Catalogue, tool: &CatalogueTool) -> Arc<OnceLock<Validator>> {
        let snapshot = self.snapshot.load();
        if snapshot.version == catalogue.version()
            && let Some(cell) = snapshot.by_tool.get(&key(tool))
        {
            return Arc::clone(cell);
        }
        let by_tool: HashMap<Key, Arc<OnceLock<Validator>>> = catalogue
            .tools()
            .iter()
            .map(|tool| {
                let key = key(tool);
                let cell = snapshot.by_tool.get(&key).cloned().unwrap_or_default();
                (key, cell)
            })
            .collect();
        let cell = by_tool.get(&key(tool)).cloned().unwrap_or_default();
        self.snapshot.store(Arc::new(Snapshot { version: catalogue.version(), by_tool }));
        cell
    }
}
