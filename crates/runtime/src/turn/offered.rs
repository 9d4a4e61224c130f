//! The list that a model was given, as the measure of calls that it wrote as text.

use std::sync::Arc;

use gateway_dialects::Plan;
use gateway_dialects::arguments::{Validator, render_issues};
use gateway_dialects::calls::text::OfferedTools;
use gateway_dialects::input_schema;
use gateway_notation::pointer;
use serde_json::{Map, Value};

use crate::Runtime;
use crate::lists::Rendered;
use crate::validators::coerced;

/// The tools of a list. Only names in the list count: text is not searched for other names that lead to a tool.
#[derive(Debug)]
pub struct OfferedList {
    runtime: Runtime,
    rendered: Arc<Rendered>,
    coerce: bool,
}

impl OfferedList {
    /// The tools of `rendered`; `coerce` says whether values may be turned into the types that a schema wants.
    pub fn new(runtime: Runtime, rendered: Arc<Rendered>, coerce: bool) -> Self {
        Self { runtime, rendered, coerce }
    }

    /// The input schema of a tool of search, where these stand for the list.
    fn search_schema(&self, name: &str) -> Option<(Value, &Plan)> {
        let (tool, finder, plan) = self.rendered.meta_tool(name)?;
        let index = gateway_search::MetaTool::ALL.iter().position(|one| *one == tool)?;
        Some((input_schema(finder.definitions.get(index)?), plan))
    }
}

impl OfferedTools for OfferedList {
    fn server(&self, name: &str) -> Option<String> {
        let (tool, _) = self.rendered.tool(name)?;
        Some(tool.server.as_str().to_owned())
    }

    fn is_offered(&self, name: &str) -> bool {
        self.rendered.tool(name).is_some() || self.rendered.meta_tool(name).is_some()
    }

    fn schema(&self, name: &str) -> Value {
        match self.rendered.tool(name) {
            Some((tool, _)) => tool.value().get("inputSchema").cloned().unwrap_or_default(),
            None => self.search_schema(name).map(|(schema, _)| schema).unwrap_or_default(),
        }
    }

    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        let sent = Value::Object(arguments.clone());
        let decoded = |plan: &Plan| {
            plan.decode(&sent).map_err(|error| format!("The arguments cannot be read: {error}"))
        };
        let check = |validator: &Validator, plan: &Plan, coerce, rename: &dyn Fn(&str) -> String| {
            let value = decoded(plan)?;
            if validator.is_valid(&value) {
                return Ok(());
            }
            coerced(validator, &value, coerce).map(drop).map_err(|issues| render_issues(&issues, rename))
        };
        if let Some((tool, plan)) = self.rendered.tool(name) {
            let validator = self.runtime.validators().get(&self.rendered.catalogue, tool);
            let rename = |pointer: &str| pointer::dotted(&plan.wire_pointer(pointer));
            return check(&validator, plan, self.coerce, &rename);
        }
        let (schema, plan) =
            self.search_schema(name).ok_or_else(|| "no tool of this name was offered".to_owned())?;
        check(&Validator::new(&schema), plan, false, &pointer::dotted)
    }
}
