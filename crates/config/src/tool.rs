//! Tools of the configuration file itself, and the settings of the registry that holds them.

use std::time::Duration;

use gateway_protocol::RawJson;

use crate::command::CommandHandler;
use crate::endpoint::EndpointHandler;
use crate::problem::Problem;
use crate::resource::ResourceSpec;

/// How long a call of such a tool may take unless configured.
pub const TOOL_TIMEOUT: Duration = Duration::from_mins(1);

/// The longest time that such a call may be given.
pub const LONGEST_TOOL_TIMEOUT: Duration = Duration::from_hours(1);

/// A tool of the configuration file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its definition, as `tools/list` gives it.
    pub definition: RawJson,
    /// What does its work.
    pub handler: ToolHandler,
    /// How long a call may take.
    pub timeout: Duration,
}

/// What does the work of a tool of the configuration file.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolHandler {
    /// An address that takes the arguments and gives the result.
    Endpoint(EndpointHandler),
    /// A program that is started for each call.
    Command(CommandHandler),
}

impl ToolSpec {
    /// The bytes of what is configured: its definition, and the address and headers of an endpoint.
    pub(crate) fn bytes(&self) -> usize {
        let handler = match &self.handler {
            ToolHandler::Endpoint(endpoint) => endpoint.bytes(),
            ToolHandler::Command(_) => 0,
        };
        self.definition.len() + handler
    }
}

/// A tool of the configuration file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedTool {
    /// Its name in the file.
    pub name: String,
    /// What is wrong with it, and where.
    pub problem: Problem,
}

/// What is configured for the registry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegistryConfig {
    /// The name of the server that its tools are offered as.
    pub name: String,
    /// The tools of the configuration file.
    pub tools: Vec<ToolSpec>,
    /// The tools of the configuration file that are left out. One entry for each thing that is wrong.
    pub refused: Vec<RefusedTool>,
    /// The resources of the configuration file.
    pub resources: Vec<ResourceSpec>,
    /// Most tools, and most resources, from everywhere.
    pub max_tools: usize,
    /// Most bytes of one definition.
    pub max_definition_bytes: usize,
    /// Whether tools that are registered over the network may lead to private addresses.
    pub allow_private: bool,
}

impl Default for RegistryConfig {
    fn default() -> Self {
        Self {
            name: "registry".to_owned(),
            tools: Vec::new(),
            refused: Vec::new(),
            resources: Vec::new(),
            max_tools: 1_000,
            max_definition_bytes: 64 << 10,
            allow_private: false,
        }
    }
}
