//! The routes of the MCP endpoint, which has its own rules for messages and errors.

use gateway_mcp::Operation;

use super::parts::{answer, header, ok, path, query};
use super::route::Verb::{Delete, Get, Post};
use super::route::{Action, Answer, Content, Kind, Parameter, Route, route};

const GROUP: Parameter = path("group", "A configured group, or one server by name.");
const SESSION: Parameter = header("Mcp-Session-Id", "The session that `initialize` gave (legacy era).");
const VERSION: Parameter = header("MCP-Protocol-Version", "The version of MCP that the request speaks.");
const SESSION_ID: Parameter =
    query("sessionId", Kind::Text, "The session that the stream's first event names.");

const MESSAGES: &[(&str, &str)] = &[(
    "discover",
    r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
)];

const fn refused(status: u16, description: &'static str) -> Answer {
    answer(status, description, Content::Json("JsonRpcMessage", None))
}

const ACCEPTED: Answer = answer(202, "A notification or an answer was taken.", Content::Nothing);
const STREAM: Answer = ok("A stream of events.", Content::Media("text/event-stream"));
const NOT_KNOWN: Answer = refused(404, "The group, the session or the method is not known.");

pub(super) const POST: Route =
    route(Post, "/mcp", Action::Mcp(Operation::Post), "MCP", "Speak MCP with all servers")
        .described(
            "Streamable HTTP in both eras: requests of 2026-07-28 stand alone; older clients send \
             `initialize` and get a session. One message in, one message or a stream of events out.",
        )
        .parameters(&[SESSION, VERSION])
        .body("JsonRpcMessage", MESSAGES)
        .answers(&[
            ok(
                "The answer, or a stream that ends with it.",
                Content::JsonOr("JsonRpcMessage", "text/event-stream"),
            ),
            ACCEPTED,
            refused(400, "The message or its headers are wrong; the JSON-RPC error says how."),
            NOT_KNOWN,
        ]);

pub(super) const GET: Route =
    route(Get, "/mcp", Action::Mcp(Operation::Get), "MCP", "Hear what was not asked for (legacy era)")
        .described("With `Last-Event-ID` a stream that broke goes on where it was.")
        .exempt()
        .parameters(&[SESSION, VERSION])
        .answers(&[
            STREAM,
            refused(400, "The stream is not known any more."),
            NOT_KNOWN,
            refused(405, "There is no stream without a session."),
        ]);

pub(super) const DELETE: Route =
    route(Delete, "/mcp", Action::Mcp(Operation::Delete), "MCP", "End a session (legacy era)")
        .parameters(&[SESSION, VERSION])
        .answers(&[
            answer(204, "It is over.", Content::Nothing),
            refused(400, "No session is named."),
            NOT_KNOWN,
        ]);

pub(super) const EVENTS: Route = route(
    Get,
    "/mcp/events",
    Action::Mcp(Operation::Events),
    "MCP",
    "Speak MCP as it began (HTTP with server-sent events)",
)
.described("For clients of 2024-11-05. The first event, `endpoint`, says where to POST messages.")
.exempt()
.answers(&[STREAM, NOT_KNOWN]);

pub(super) const API: Route =
    route(Post, "/mcp/api", Action::Mcp(Operation::Api), "MCP", "Send a message of such a client")
        .described("Its answer comes on the stream.")
        .parameters(&[SESSION_ID])
        .body("JsonRpcMessage", MESSAGES)
        .answers(&[ACCEPTED, refused(400, "The message cannot be read, or no session is named."), NOT_KNOWN]);

pub(super) const GROUP_POST: Route = Route {
    summary: "Speak MCP with one group of tools, or with one server",
    description: "As `/mcp`. A group that is one server passes through: names and URIs are those of the server.",
    ..in_group("/mcp/{group}", POST)
};
pub(super) const GROUP_GET: Route = in_group("/mcp/{group}", GET);
pub(super) const GROUP_DELETE: Route = in_group("/mcp/{group}", DELETE);
pub(super) const GROUP_EVENTS: Route = in_group("/mcp/{group}/events", EVENTS);
pub(super) const GROUP_API: Route = in_group("/mcp/{group}/api", API);

/// The same route for one group.
const fn in_group(path: &'static str, all: Route) -> Route {
    Route { path, parameters: [&[GROUP], all.parameters[0]], ..all }
}
