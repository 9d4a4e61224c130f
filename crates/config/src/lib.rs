//! The configuration: JSON with comments, whose servers are the block that people already have.
//!
//! What it is: the reader of the file, of other clients' blocks, of variables and the environment, and the plain data that
//! they become. What it is not: it does not know what the values are used for. It starts nothing, connects to nothing and
//! has no runtime.
//!
//! Everything is a pure function of texts and an [`Environment`]; all errors are reported at once, each with file, line and
//! field, and none with the value of a variable.
//!
//! ```
//! use std::path::Path;
//!
//! use gateway_config::{Endpoint, Environment, parse};
//!
//! let text = r#"{"mcpServers": {"files": {"command": "files-server"}}}"#;
//! let environment = Environment::new(|_| None, |_| Err(std::io::ErrorKind::NotFound.into()));
//! let config = parse(Path::new("gateway.json"), text, &environment)?;
//! assert!(matches!(config.servers[0].endpoint, Endpoint::Stdio { .. }));
//! # Ok::<(), gateway_config::Problems>(())
//! ```

mod catalogue;
mod command;
mod conversations;
mod definition;
mod dotenv;
mod endpoint;
mod environment;
mod expand;
mod fields;
mod file;
pub mod jsonc;
mod key;
mod level;
mod locate;
mod models;
mod privacy;
mod problem;
mod program;
mod registry;
mod resource;
mod schema;
mod secret_text;
mod server;
mod servers;
mod service;
mod spec;
mod template;
mod text_file;
mod toml_text;
mod tool;
mod unsafe_env;
mod variables;
mod words;
mod yaml_text;

pub use gateway_privacy::{Kind as PersonalDataKind, Mode as ScreenMode};

pub use catalogue::{CatalogueRules, ClashPolicy, ToolGroup};
pub use command::{CommandHandler, CommandInput};
pub use conversations::{ConversationsConfig, StoreLocation};
pub use definition::{DefinitionError, SCHEMA_SYNONYMS, is_definition_member, tool_definition};
pub use dotenv::parse as parse_dotenv;
pub use endpoint::{EndpointHandler, Trust, WrongEndpoint};
pub use environment::{DotenvScope, Environment};
pub use fields::parse_time;
pub use file::{ConfigSource, GatewayConfig, parse};
pub use key::{ADMIN_PREFIX, CALLER_PREFIX, Secret};
pub use level::LogLevel;
pub use locate::{CONFIG_FILE, Lookup, load, load_settings};
pub use models::{
    LoopConfig, ModelKind, ModelSpec, OnLimit, SearchTools, ToolBudget, ToolDialect, ToolUse, ollama_address,
    server_address,
};
pub use privacy::{PrivacyConfig, ScreenModes};
pub use problem::{Problem, Problems};
pub use resource::{ResourceDefinition, ResourceSpec, StaticContents, template_values};
pub use schema::json_schema;
pub use servers::OnInvalidServer;
pub use service::{
    ApprovalConfig, Approver, CacheConfig, LogConfig, McpConfig, RESULT_BYTES, RateLimit, SearchMode,
    ServiceConfig,
};
pub use spec::{
    Approval, ConnectMode, Endpoint, Fallback, FallbackOn, HttpMode, Importance, Limits, OnConversionError,
    OnDefinitionChange, ProtocolChoice, RestartPolicy, Timeouts, ToolRules, UpstreamId, UpstreamSpec,
    WorkspaceSpec,
};
pub use template::{Piece, Template};
pub use text_file::read_regular_file;
pub use tool::{LONGEST_TOOL_TIMEOUT, RefusedTool, RegistryConfig, TOOL_TIMEOUT, ToolHandler, ToolSpec};
pub use words::split_words;
