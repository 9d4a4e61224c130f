//! One registered tool: what is told about it, and what does its work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gateway_protocol::RawJson;
use serde_json::{Map, Value, json};

use super::handler::Handler;

/// How long a call may take where nothing else is said.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// The longest time that a call may be given.
pub(crate) const LONGEST: Duration = Duration::from_hours(1);

/// Most characters of a name.
const NAME: usize = 128;

/// A tool that is not an upstream's.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredTool {
    name: String,
    definition: RawJson,
    handler: Handler,
    timeout: Duration,
    origin: ToolOrigin,
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
    /// The name cannot be one of a tool.
    #[error("`{name}` is no name of a tool: 1 to {NAME} of the characters A-Z, a-z, 0-9, `_`, `-`, `.`")]
    Name {
        /// The name.
        name: String,
    },
    /// Another part of the definition is wrong.
    #[error("`{field}` {message}")]
    Field {
        /// The member.
        field: String,
        /// What is wrong with it.
        message: String,
    },
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
        self.timeout = timeout.min(LONGEST);
        self
    }

    pub(crate) fn from(
        origin: ToolOrigin,
        name: &str,
        about: &Map<String, Value>,
        handler: Handler,
    ) -> Result<Self, RegisterError> {
        let definition = definition(name, about)?;
        Ok(Self { name: name.to_owned(), definition, handler, timeout: TIMEOUT, origin })
    }

    /// The same without variables of ours, where a program does its work.
    #[must_use]
    pub(crate) fn without_variables(mut self, names: &Arc<[String]>) -> Self {
        if let Handler::Command(command) = self.handler {
            self.handler = Handler::Command(command.without_variables(Arc::clone(names)));
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its definition, as `tools/list` gives it.
    pub fn definition(&self) -> &RawJson {
        &self.definition
    }

    /// The bytes of what it was registered with: its definition, and the address and headers of an endpoint.
    pub(crate) fn bytes(&self) -> usize {
        let handler = match &self.handler {
            Handler::Endpoint(endpoint) => endpoint.bytes(),
            Handler::Function(_) | Handler::Command(_) => 0,
        };
        self.definition.len() + handler
    }

    /// What does its work.
    pub fn handler(&self) -> &Handler {
        &self.handler
    }

    /// How long a call may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Where it comes from.
    pub fn origin(&self) -> ToolOrigin {
        self.origin
    }
}

/// Members of a definition and what they have to be.
const MEMBERS: [(&str, Kind); 8] = [
    ("title", Kind::Text),
    ("description", Kind::Text),
    ("inputSchema", Kind::Object),
    ("outputSchema", Kind::Object),
    ("annotations", Kind::Object),
    ("icons", Kind::List),
    ("execution", Kind::Object),
    ("_meta", Kind::Object),
];

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Object,
    List,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Text => "a text",
            Self::Object => "an object",
            Self::List => "a list",
        })
    }
}

/// How the canonical names of all servers' tools begin.
const RESERVED: &str = "mcp__";

fn definition(name: &str, about: &Map<String, Value>) -> Result<RawJson, RegisterError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > NAME || !name.bytes().all(allowed) {
        let name = name.chars().take(NAME).collect();
        return Err(RegisterError::Name { name });
    }
    if name.starts_with(RESERVED) {
        return Err(wrong(
            "name",
            format!("must not begin with `{RESERVED}`: such names are those of servers' tools"),
        ));
    }
    if name.bytes().all(|byte| byte == b'.') {
        return Err(wrong("name", "must not be dots alone: a path could not name it"));
    }
    let mut members = Map::new();
    members.insert("name".to_owned(), name.into());
    for (member, kind) in MEMBERS {
        let Some(value) = about.get(member).filter(|value| !value.is_null()) else {
            if member == "inputSchema" {
                members.insert(member.to_owned(), json!({"type": "object", "properties": {}}));
            }
            continue;
        };
        let fits = match kind {
            Kind::Text => value.is_string(),
            Kind::Object => value.is_object(),
            Kind::List => value.is_array(),
        };
        if !fits {
            return Err(wrong(member, format!("must be {kind}")));
        }
        members.insert(member.to_owned(), value.clone());
    }
    let kind = members.get("inputSchema").and_then(|schema| schema.get("type"));
    if kind.is_some_and(|kind| kind != "object") {
        return Err(wrong("inputSchema", "must describe an object: its `type` must be \"object\""));
    }
    if let Some(Value::Object(schema)) = members.get_mut("inputSchema")
        && !schema.contains_key("type")
    {
        schema.insert("type".to_owned(), "object".into());
    }
    RawJson::of(&members).map_err(|error| wrong("definition", error.to_string()))
}

pub(super) fn wrong(field: &str, message: impl Into<String>) -> RegisterError {
    RegisterError::Field { field: field.to_owned(), message: message.into() }
}
