//! Writing messages.

use serde::Serialize;

use crate::errors::RpcError;
use crate::raw::{RawJson, write_text};

/// One member of a request's `_meta`: its key and its JSON text.
pub type MetaEntry<'a> = (&'a str, &'a [u8]);

/// Names of methods.
pub mod method {
    /// Opens a legacy connection.
    pub const INITIALIZE: &str = "initialize";
    /// Ends the legacy handshake.
    pub const INITIALIZED: &str = "notifications/initialized";
    /// Asks a modern server what it is.
    pub const DISCOVER: &str = "server/discover";
    /// Asks a modern server for notifications.
    pub const LISTEN: &str = "subscriptions/listen";
    /// The first message of a modern server on a stream of notifications.
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    /// Checks that the other side is alive (legacy).
    pub const PING: &str = "ping";
    /// Runs a tool.
    pub const CALL_TOOL: &str = "tools/call";
    /// Lists tools.
    pub const LIST_TOOLS: &str = "tools/list";
    /// Lists resources.
    pub const LIST_RESOURCES: &str = "resources/list";
    /// Lists resource templates.
    pub const LIST_RESOURCE_TEMPLATES: &str = "resources/templates/list";
    /// Reads a resource.
    pub const READ_RESOURCE: &str = "resources/read";
    /// Lists prompts.
    pub const LIST_PROMPTS: &str = "prompts/list";
    /// Fills a prompt in.
    pub const GET_PROMPT: &str = "prompts/get";
    /// Completes an argument.
    pub const COMPLETE: &str = "completion/complete";
    /// Subscribes to changes of a resource (legacy).
    pub const SUBSCRIBE: &str = "resources/subscribe";
    /// Ends that (legacy).
    pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
    /// Says which log messages are wanted (legacy).
    pub const SET_LEVEL: &str = "logging/setLevel";
    /// The server asks the user.
    pub const ELICIT: &str = "elicitation/create";
    /// The server asks the model.
    pub const SAMPLE: &str = "sampling/createMessage";
    /// The server asks for the roots of the workspace.
    pub const LIST_ROOTS: &str = "roots/list";
    /// Asks about a task (extension).
    pub const GET_TASK: &str = "tasks/get";
    /// Brings a task what it asked for (extension).
    pub const UPDATE_TASK: &str = "tasks/update";
    /// Ends a task (extension).
    pub const CANCEL_TASK: &str = "tasks/cancel";
    /// The other side gave a request up.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// Progress of a request.
    pub const PROGRESS: &str = "notifications/progress";
    /// A log message.
    pub const LOG_MESSAGE: &str = "notifications/message";
    /// The tools are others now.
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    /// The resources are others now.
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    /// The prompts are others now.
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    /// One resource changed.
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
}

/// Keys of `_meta`.
pub mod meta {
    /// The version of a modern request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client of a modern request can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who the client of a modern request is.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Who the server is.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// From which level on the caller wants log messages.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Which subscription a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Under which token progress is wanted.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// W3C trace context.
    pub const TRACEPARENT: &str = "traceparent";
    /// W3C trace state.
    pub const TRACESTATE: &str = "tracestate";
}

/// Appends a request to `out`, without a line end. `params` are the members of the parameters, `entries` those of its
/// `_meta`; both are JSON texts that are copied as they are.
pub fn write_request(
    out: &mut Vec<u8>,
    id: u64,
    method: &str,
    params: &[(&str, &[u8])],
    entries: &[MetaEntry<'_>],
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.to_string().as_bytes());
    out.push(b',');
    write_method(out, method, params, entries);
}

/// Appends a notification to `out`, without a line end.
pub fn write_notification(
    out: &mut Vec<u8>,
    method: &str,
    params: &[(&str, &[u8])],
    entries: &[MetaEntry<'_>],
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    write_method(out, method, params, entries);
}

/// Appends the answer to a request, without a line end.
pub fn write_response(out: &mut Vec<u8>, id: &RawJson, result: &RawJson) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result.as_bytes());
    out.push(b'}');
}

/// Appends the refusal of a request, without a line end.
pub fn write_error(out: &mut Vec<u8>, id: &RawJson, error: &RpcError) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"error\":");
    write_json(out, error);
    out.push(b'}');
}

fn write_method(out: &mut Vec<u8>, method: &str, params: &[(&str, &[u8])], entries: &[MetaEntry<'_>]) {
    out.extend_from_slice(b"\"method\":");
    write_text(out, method);
    if !params.is_empty() || !entries.is_empty() {
        out.extend_from_slice(b",\"params\":");
        write_params(out, params, entries);
    }
    out.push(b'}');
}

/// Appends the parameters of a request: an object with these members, and with `_meta` if there are entries for it.
pub fn write_params(out: &mut Vec<u8>, params: &[(&str, &[u8])], entries: &[MetaEntry<'_>]) {
    out.push(b'{');
    write_members(out, params);
    if !entries.is_empty() {
        out.extend_from_slice(if params.is_empty() { b"\"_meta\":{" } else { b",\"_meta\":{" });
        write_members(out, entries);
        out.push(b'}');
    }
    out.push(b'}');
}

fn write_members(out: &mut Vec<u8>, members: &[(&str, &[u8])]) {
    for (index, (key, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(out, key);
        out.push(b':');
        // On stdio, a line break in pretty-printed JSON would end the message.
        if memchr::memchr2(b'\n', b'\r', value).is_some() {
            out.extend(value.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
        } else {
            out.extend_from_slice(value);
        }
    }
}

fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Strings and numbers always have a JSON form; writing into memory cannot fail.
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}
