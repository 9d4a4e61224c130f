//! Connects to MCP servers, keeps them alive and lists their tools.
//!
//! What it is: transports (stdio, Streamable HTTP, legacy SSE, in process), one owner task per connection, a supervisor
//! for each upstream, and the catalogue of all their tools. What it is not: it knows no provider, no HTTP status that we
//! answer with, and no call log. Results stay raw JSON from the wire to the caller.

mod builtin;
mod catalogue;
pub mod config;
mod connection;
mod error;
mod fleet;
#[cfg(test)]
mod log_lines;
mod long_work;
mod lossy;
mod results;
mod spec;

pub use builtin::demo::DemoServer;
pub use builtin::registry::{
    CommandHandler, CommandInput, EndpointHandler, ExecuteError, FunctionAnswer, FunctionError, Handler,
    RefusedTool, RegisterError, RegisteredResource, RegisteredTool, Registry, RegistryConfig, RegistryEvent,
    ResourceContents, ToolFunction, ToolOrigin,
};
pub use builtin::workspace::{WorkspaceServer, WorkspaceSpec};
pub use catalogue::{
    Catalogue, CatalogueRules, CatalogueTool, Clash, ClashOutcome, ClashPolicy, DefinitionChange,
    DefinitionChangeKind, DefinitionPart, Fingerprint, Importance, LeftOut, LeftOutReason, ListedTool,
    LookupError, ToolFilter, ToolGroup, UpstreamTools, canonical_name, canonical_splits, changed_definitions,
};
pub use connection::{
    Asker, ConnectOptions, Connection, OutgoingRequest, Question, QuestionOrigin, ServerEvent,
    enable_keepers, run_as_keeper,
};
pub use error::{CallError, ConnectError, NoRoom};
pub use fleet::{
    AcceptError, AcceptFileError, Answered, CallOptions, Capabilities, DefinitionNotice, FileWatch, Fleet,
    FleetEvent, FleetOptions, InFlight, ResourceSubscription, UpstreamHealth, UpstreamState, Withheld,
    accept_in_file, are_new_tools_taken_in_file, take_new_tools_in_file, watch_files, withheld_fingerprint,
    withheld_in_file,
};
pub use lossy::send_lossy;
pub use results::{FREE_BYTES, RESULT_BYTES, Reclaim, Reservation, ResultBudget, needed};
pub use spec::{
    Approval, ConnectMode, Endpoint, Fallback, FallbackOn, HttpMode, Limits, OnDefinitionChange,
    ProtocolChoice, RestartPolicy, Timeouts, ToolRules, UpstreamId, UpstreamSpec,
};
