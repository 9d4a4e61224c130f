//! The tools that a model may choose from, as text.

use gateway_dialects::calls::text::{OfferedTools, ToolSchemas};
use gateway_dialects::context::{Detail, render_groups};
use gateway_notation::spelling::did_you_mean;
use serde_json::{Map, Value, json};

/// The tools of one request.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// Tools of MCP by the names of their servers, in the order of the list.
    groups: Vec<(String, Vec<Value>)>,
    schemas: ToolSchemas,
}

impl Tools {
    /// The tools of a list of Chat Completions.
    pub(super) fn read(list: &[u8], offered: Option<&dyn OfferedTools>) -> Result<Self, serde_json::Error> {
        let list: Vec<Value> = serde_json::from_slice(list)?;
        let mut tools = Self::default();
        for definition in &list {
            let function = definition.get("function").unwrap_or(definition);
            let Some(name) = function.get("name").and_then(Value::as_str) else { continue };
            let schema = function.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"}));
            let mut tool = json!({"name": name, "inputSchema": schema});
            if let Some(description) = function.get("description") {
                tool["description"] = description.clone();
            }
            let server = offered.and_then(|offered| offered.server(name)).unwrap_or_default();
            tools.schemas = tools.schemas.with(name, schema);
            match tools.groups.iter_mut().find(|(other, _)| *other == server) {
                Some((_, group)) => group.push(tool),
                None => tools.groups.push((server, vec![tool])),
            }
        }
        Ok(tools)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All of them for a prompt, one line each.
    pub(super) fn context(&self) -> String {
        let groups: Vec<(String, Vec<&Value>)> =
            self.groups.iter().map(|(server, tools)| (server.clone(), tools.iter().collect())).collect();
        render_groups(&groups, Detail::Concise)
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|(server, _)| server.as_str()).filter(|server| !server.is_empty())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flat_map(|(_, tools)| tools).filter_map(|tool| tool["name"].as_str())
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.groups.iter().flat_map(|(_, tools)| tools).find(|tool| tool["name"] == name)
    }

    pub(super) fn description(&self, name: &str) -> &str {
        self.get(name).and_then(|tool| tool["description"].as_str()).unwrap_or_default()
    }

    /// The schema of a tool's arguments.
    pub(super) fn schema(&self, name: &str) -> &Value {
        self.get(name).map_or(&Value::Null, |tool| &tool["inputSchema"])
    }

    /// Whether there is a tool of this name; the error says so to the model.
    pub(super) fn find(&self, name: &str) -> Result<(), String> {
        if self.get(name).is_some() {
            return Ok(());
        }
        let hint = did_you_mean(name, self.names()).map_or_else(String::new, |hint| format!(" {hint}"));
        let names: Vec<&str> = self.names().collect();
        Err(format!("there is no tool `{name}`.{hint} The tools are: {}.", names.join(", ")))
    }

    /// Whether a server of this name has tools here, if one is named; the error says so to the model.
    pub(super) fn find_server(&self, name: &str) -> Result<(), String> {
        if name.is_empty() || self.servers().any(|server| server == name) {
            return Ok(());
        }
        let servers: Vec<&str> = self.servers().collect();
        Err(format!("no server `{name}` is connected. The servers are: {}.", servers.join(", ")))
    }

    /// Whether a tool takes arguments; the error says to the model why not.
    pub(super) fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        self.schemas.check(name, arguments)
    }
}
