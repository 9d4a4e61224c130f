//! The routes of the MCP endpoint, which has its own rules for messages and errors.

use gateway_mcp::Operation;

use super::parts::ROW;
use super::route::{Action, Answer, Body, Content, Kind, Load, Parameter, Place, Route, Verb};

const GROUP: Parameter = Parameter {
    name: "group",
    place: Place::Path,
    kind: Kind::Text,
    description: "A configured group, or one server by name.",
};
const SESSION: Parameter = Parameter {
    name: "Mcp-Session-Id",
    place: Place::Header,
    kind: Kind::Text,
    description: "The session that `initialize` gave (legacy era).",
};
const VERSION: Parameter = Parameter {
    name: "MCP-Protocol-Version",
    place: Place::Header,
    kind: Kind::Text,
    description: "The version of MCP that the request speaks.",
};
const SESSION_ID: Parameter = Parameter {
    name: "sessionId",
    place: Place::Query,
    kind: Kind::Text,
    description: "The session that the stream's first event names.",
};

const MESSAGE: Option<Body> = Some(Body {
    schema: "JsonRpcMessage",
    examples: &[(
        "discover",
        r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    )],
});

const fn refused(status: u16, description: &'static str) -> Answer {
    Answer { status, description, content: Content::Json("JsonRpcMessage", None) }
}

const ACCEPTED: Answer =
    Answer { status: 202, description: "A notification or an answer was taken.", content: Content::Nothing };
const STREAM: Answer =
    Answer { status: 200, description: "A stream of events.", content: Content::Media("text/event-stream") };
const NOT_KNOWN: Answer = refused(404, "The group, the session or the method is not known.");

pub(super) const POST: Route = Route {
    action: Action::Mcp(Operation::Post),
    verb: Verb::Post,
    path: "/mcp",
    tag: "MCP",
    summary: "Speak MCP with all servers",
    description: "Streamable HTTP in both eras: requests of 2026-07-28 stand alone; older clients send `initialize` and get a session. One message in, one message or a stream of events out.",
    parameters: &[SESSION, VERSION],
    body: MESSAGE,
    answers: &[
        Answer {
            status: 200,
            description: "The answer, or a stream that ends with it.",
            content: Content::JsonOr("JsonRpcMessage", "text/event-stream"),
        },
        ACCEPTED,
        refused(400, "The message or its headers are wrong; the JSON-RPC error says how."),
        NOT_KNOWN,
    ],
    ..ROW
};

pub(super) const GET: Route = Route {
    action: Action::Mcp(Operation::Get),
    verb: Verb::Get,
    path: "/mcp",
    tag: "MCP",
    summary: "Hear what was not asked for (legacy era)",
    description: "With `Last-Event-ID` a stream that broke goes on where it was.",
    load: Load::Exempt,
    parameters: &[SESSION, VERSION],
    answers: &[
        STREAM,
        refused(400, "The stream is not known any more."),
        NOT_KNOWN,
        refused(405, "There is no stream without a session."),
    ],
    ..ROW
};

pub(super) const DELETE: Route = Route {
    action: Action::Mcp(Operation::Delete),
    verb: Verb::Delete,
    path: "/mcp",
    tag: "MCP",
    summary: "End a session (legacy era)",
    parameters: &[SESSION, VERSION],
    answers: &[
        Answer { status: 204, description: "It is over.", content: Content::Nothing },
        refused(400, "No session is named."),
        NOT_KNOWN,
    ],
    ..ROW
};

pub(super) const EVENTS: Route = Route {
    action: Action::Mcp(Operation::Events),
    verb: Verb::Get,
    path: "/mcp/events",
    tag: "MCP",
    summary: "Speak MCP as it began (HTTP with server-sent events)",
    description: "For clients of 2024-11-05. The first event, `endpoint`, tells where to POST messages.",
    load: Load::Exempt,
    answers: &[STREAM, NOT_KNOWN],
    ..ROW
};

pub(super) const API: Route = Route {
    action: Action::Mcp(Operation::Api),
    verb: Verb::Post,
    path: "/mcp/api",
    tag: "MCP",
    summary: "Send a message of such a client",
    description: "Its answer comes on the stream.",
    parameters: &[SESSION_ID],
    body: MESSAGE,
    answers: &[ACCEPTED, refused(400, "The message cannot be read, or no session is named."), NOT_KNOWN],
    ..ROW
};

pub(super) const GROUP_POST: Route = Route {
    path: "/mcp/{group}",
    summary: "Speak MCP with one group of tools, or with one server",
    description: "As `/mcp`. A group that is one server passes through: names and URIs are those of the server.",
    parameters: &[GROUP, SESSION, VERSION],
    ..POST
};
pub(super) const GROUP_GET: Route =
    Route { path: "/mcp/{group}", parameters: &[GROUP, SESSION, VERSION], ..GET };
pub(super) const GROUP_DELETE: Route =
    Route { path: "/mcp/{group}", parameters: &[GROUP, SESSION, VERSION], ..DELETE };
pub(super) const GROUP_EVENTS: Route = Route { path: "/mcp/{group}/events", parameters: &[GROUP], ..EVENTS };
pub(super) const GROUP_API: Route =
    Route { path: "/mcp/{group}/api", parameters: &[GROUP, SESSION_ID], ..API };
