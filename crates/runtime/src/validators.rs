//! Schemas of tools, compiled once each.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use gateway_dialects::arguments::{Coercion, Issue, Validator};
use gateway_dialects::input_schema;
use gateway_upstream::{Catalogue, CatalogueTool, ListedTool};
use serde_json::Value;

/// Compiled schemas of the tools of one catalogue.
#[derive(Debug, Default)]
pub struct Validators {
    snapshot: ArcSwap<Snapshot>,
}

/// Schemas by the addresses of their tools: a definition is read once, so that one which did not change is the same tool in the
/// next catalogue.
#[derive(Debug, Default)]
struct Snapshot {
    version: u64,
    by_tool: HashMap<usize, Arc<ToolValidator>>,
}

/// The schema of a tool as the model sees the tool, without parameters that are filled in for it. It is compiled when the tool is
/// first called.
#[derive(Debug)]
pub struct ToolValidator {
    /// Kept, so that no other tool gets its address.
    tool: Arc<ListedTool>,
    validator: OnceLock<Validator>,
}

impl ToolValidator {
    fn new(tool: &CatalogueTool) -> Arc<Self> {
        Arc::new(Self { tool: Arc::clone(tool.shared()), validator: OnceLock::new() })
    }
}

impl Deref for ToolValidator {
    type Target = Validator;

    fn deref(&self) -> &Validator {
        self.validator.get_or_init(|| Validator::new(&input_schema(&self.tool.value())))
    }
}

impl Validators {
    /// The schema of a tool of `catalogue`.
    pub fn get(&self, catalogue: &Catalogue, tool: &CatalogueTool) -> Arc<ToolValidator> {
        let key = |tool: &CatalogueTool| Arc::as_ptr(tool.shared()).addr();
        let snapshot = self.snapshot.load();
        if snapshot.version == catalogue.version()
            && let Some(validator) = snapshot.by_tool.get(&key(tool))
        {
            return Arc::clone(validator);
        }
        let validators = catalogue.tools().iter().map(|tool| {
            let known = snapshot.by_tool.get(&key(tool)).cloned();
            (key(tool), known.unwrap_or_else(|| ToolValidator::new(tool)))
        });
        let by_tool: HashMap<usize, Arc<ToolValidator>> = validators.collect();
        let found = by_tool.get(&key(tool)).cloned();
        self.snapshot.store(Arc::new(Snapshot { version: catalogue.version(), by_tool }));
        found.unwrap_or_else(|| ToolValidator::new(tool))
    }
}

/// Arguments that do not fit, coerced if that is wanted and helps; else why they do not fit.
pub fn coerced(
    validator: &Validator,
    arguments: &Value,
    coerce: bool,
) -> Result<(Value, Vec<Coercion>), Vec<Issue>> {
    if coerce {
        let (coerced, coercions) = validator.coerce(arguments);
        if validator.is_valid(&coerced) {
            return Ok((coerced, coercions));
        }
        return Err(validator.validate(&validator.coerce_partly(arguments)));
    }
    Err(validator.validate(arguments))
}
