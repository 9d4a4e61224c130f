//! Connects to MCP servers, keeps them alive, lists their tools and sends calls to them.
//!
//! What it is: transports (stdio, Streamable HTTP, legacy SSE, in process), one owner task per connection, a supervisor
//! for each upstream, and the catalogue of all their tools. What it is not: it knows no provider, no HTTP status that we
//! answer with, and no call log. Results stay raw JSON from the wire to the caller.

mod catalogue;
mod connection;
mod error;
mod fleet;
mod last_words;
#[cfg(test)]
mod log_lines;
mod long_work;
mod lossy;
mod results;

pub use catalogue::{
    Catalogue, CatalogueTool, Clash, ClashOutcome, DefinitionChange, DefinitionChangeKind, DefinitionPart,
    Fingerprint, LeftOut, LeftOutReason, ListedTool, LookupError, MalformedTool, ToolCandidate, ToolFilter,
    UpstreamTools, Withheld, canonical_name, canonical_splits,
};
pub use connection::{
    ConnectOptions, Connection, OutgoingRequest, Question, QuestionOrigin, Responder, ServerEvent,
};
pub use error::{CallError, ConnectError, NoRoom};
pub use fleet::{
    AcceptError, AcceptFileError, Answered, CallOptions, Capabilities, DefinitionNotice, FileWatch, Fleet,
    FleetEvent, FleetOptions, InFlight, ResourceSubscription, Unaccepted, UpstreamHealth, UpstreamState,
    accept_in_file, are_new_tools_taken_in_file, take_new_tools_in_file, unaccepted_fingerprint,
    unaccepted_in_file, watch_files,
};
pub use last_words::without_chatter;
pub use lossy::send_lossy;
pub use results::{FREE_BYTES, Reclaim, Reservation, ResultBudget, needed};

// What stands in the signatures of this crate, so that its users need no other one.
pub use gateway_builtin::{
    DemoServer, ExecuteError, FunctionAnswer, FunctionError, Handler, RegisterError, RegisteredResource,
    RegisteredTool, Registry, RegistryEvent, ResourceContents, ToolFunction, ToolOrigin, WorkspaceServer,
};
pub use gateway_config::{
    Approval, CatalogueRules, ClashPolicy, CommandHandler, CommandInput, ConnectMode, Endpoint,
    EndpointHandler, Fallback, FallbackOn, HttpMode, Importance, Limits, OnConversionError,
    OnDefinitionChange, ProtocolChoice, RefusedTool, RegistryConfig, RestartPolicy, Timeouts, ToolGroup,
    ToolRules, UpstreamId, UpstreamSpec, WorkspaceSpec,
};
