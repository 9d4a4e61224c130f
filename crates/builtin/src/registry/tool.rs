//! One registered tool: its definition, and what does its work.

use std::time::Duration;

use gateway_config::{
    DefinitionError, LONGEST_TOOL_TIMEOUT, TOOL_TIMEOUT, ToolHandler, ToolSpec, tool_definition,
};
use gateway_protocol::RawJson;
use serde_json::{Map, Value};

use super::handler::Handler;

/// A tool that is not an upstream's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegisteredTool {
    /// Its name.
    pub name: String,
    /// Its definition, as `tools/list` gives it.
    pub definition: RawJson,
    /// What does its work.
    pub handler: Handler,
    /// How long a call may take.
    pub timeout: Duration,
    /// Where it comes from.
    pub origin: ToolOrigin,
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOrigin {
    /// The program that the gateway is part of.
    Program,
    /// The configuration file.
    Configuration,
    /// Somebody with an admin key.
    Network,
}

impl ToolOrigin {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Configuration => "configuration",
            Self::Network => "network",
        }
    }
}

/// Why a definition is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Its name or another part of it is wrong.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The definition is too long.
    #[error("the definition and its endpoint have {bytes} bytes; at most {limit} are taken")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// There are too many tools.
    #[error("there are {limit} tools already, which is the most; unregister one first")]
    Full {
        /// The bound.
        limit: usize,
    },
    /// The tool of that name stands in the configuration file.
    #[error("`{name}` stands in the configuration file; change it there")]
    Configured {
        /// The name.
        name: String,
    },
    /// The handler may not be used.
    #[error("{0}")]
    Handler(String),
}

impl RegisteredTool {
    /// A tool of this program. `about` holds the members of an MCP definition beside the name: `description`,
    /// `inputSchema`, `annotations` and so on. A tool without `inputSchema` takes any object.
    pub fn new(name: &str, about: &Value, handler: Handler) -> Result<Self, RegisterError> {
        let about = about.as_object().ok_or_else(|| wrong("definition", "must be an object"))?;
        Self::from(ToolOrigin::Program, name, about, handler)
    }

    /// The same with another time that a call may take; at most an hour.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(LONGEST_TOOL_TIMEOUT);
        self
    }

    pub(super) fn from(
        origin: ToolOrigin,
        name: &str,
        about: &Map<String, Value>,
        handler: Handler,
    ) -> Result<Self, RegisterError> {
        let definition = tool_definition(name, about)?;
        Ok(Self { name: name.to_owned(), definition, handler, timeout: TOOL_TIMEOUT, origin })
    }

    /// A tool of the configuration file.
    pub(super) fn configured(spec: &ToolSpec) -> Self {
        let handler = match &spec.handler {
            ToolHandler::Endpoint(endpoint) => Handler::Endpoint(endpoint.clone()),
            ToolHandler::Command(command) => Handler::Command(command.clone()),
        };
        Self {
            name: spec.name.clone(),
            definition: spec.definition.clone(),
            handler,
            timeout: spec.timeout,
            origin: ToolOrigin::Configuration,
        }
    }

    /// The bytes of what it was registered with: its definition, and the address and headers of an endpoint.
    pub(crate) fn bytes(&self) -> usize {
        let handler = match &self.handler {
            Handler::Endpoint(endpoint) => endpoint.bytes(),
            Handler::Function(_) | Handler::Command(_) => 0,
        };
        self.definition.len() + handler
    }
}

pub(super) fn wrong(field: &str, message: impl Into<String>) -> RegisterError {
    DefinitionError::field(field, message).into()
}
