//! All routes. The router, the guard, the metrics and the document are made from this table.

use super::mcp;
use super::parts::{
    ACCEPT, BAD_ARGUMENTS, CACHE_CONTROL, CALL_FAULTS, CHARACTERS, COERCE, CONTINUED, ERRORS, FILL,
    IDEMPOTENCY_KEY, INPUT, MODEL, NAME, NO_SUCH_SERVER, RESULT, SERVER, STREAM_PROVIDER, TEXT, TO,
    TOO_MUCH_WORK, UNKNOWN_PROVIDER, UNKNOWN_SERVER, answer, error, header, json, json_like, ok, path, query,
};
use super::registry;
use super::route::Verb::{Get, Post};
use super::route::{Access, Action, Content, Kind, Route, route};
use super::tools;
#[cfg(feature = "agent")]
use super::{agent, conversations};

const EXECUTE_REQUEST_OPENAI: &str = r#"{"provider":"openai","call":{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":15,\"b\":27}"}}}"#;
const TRANSFORM_REQUEST_GEMINI: &str = r#"{"model":"gemini-2.5-flash","schema":{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":0}}}}"#;
const HISTORY_REQUEST_OPENAI_TO_GEMINI: &str = r#"{"from":"openai","to":"gemini","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Add 1 and 2"}]}"#;
const ACCEPT_REQUEST_ONE: &str =
    r#"{"fingerprint":"0d4f2b5a9c1e7788aa31f0c2b6d95e4f7a8b9c0d1e2f3a4b5c6d7e8f9a0b1c2d"}"#;

const CALL_EVENTS: &str = "event: progress\ndata: {\"server\":\"files\",\"tool\":\"index\",\"progress\":1,\"total\":2}\n\n\
                           event: result\ndata: {\"result\":{\"content\":[]}}\n\n";

/// All routes, in the order of the document.
pub(crate) static ROUTES: &[Route] = &[
    tools::LIST,
    tools::RENDER,
    tools::CONTEXT,
    route(Get, "/resources", Action::Resources, "Resources", "List the servers' resources")
        .described(
            "Definitions are as their servers gave them, but for what MCP does not allow. A server whose resources are not known has a `problem`.",
        )
        .parameters(&[SERVER])
        .answers(&[json("The resources of each server.", "ResourceLists"), UNKNOWN_SERVER]),
    route(Get, "/resources/read", Action::ReadResource, "Resources", "Read a resource")
        .described(
            "Without `server`, the server is the one that lists the URI, else the one with a template that fits. What is read is in \
             the call log, under `resources/read`.",
        )
        .parameters(&[query("uri", Kind::Text, "The URI."), SERVER, ERRORS])
        .answers(&[
            json("The contents, as the server gave them.", "ResourceContents"),
            error(
                400,
                "The server or a parameter is wrong, or several servers have the URI (`candidates`).",
                &["SERVER_NOT_FOUND", "VALIDATION_ERROR"],
            ),
            error(404, "No server has such a resource.", &["RESOURCE_NOT_FOUND"]),
            error(
                500,
                "The server gave no result; with `errors=precise` 409, 502, 503 or 504.",
                &["CONNECTION_ERROR", "SERVER_ERROR", "TIMEOUT", "OVERLOADED", "RESULT_DROPPED"],
            ),
        ]),
    route(Post, "/execute", Action::Execute, "Calls", "Run a provider's tool calls")
        .described(
            "`call` is one call, a list of calls, a whole model reply, or the chunks of a streamed one: a \
             list, or the text of server-sent events or lines. Such a text may be the body too, as \
             `text/event-stream` or `application/x-ndjson`; the query then says what a body says. A stream \
             that cannot be read, or that breaks off in a call, is refused as a whole. One call gives \
             `result`, several give `results` in call order; both give `messages` to append to the \
             conversation. A reply without calls gives none. Text is not searched for calls unless `text` \
             asks for it; a text that is nothing but tool use asks. The status is 200 whenever the request \
             itself is sound: failures of tools are results for the model, and so is a call of a whole reply \
             that names no tool or whose arguments are no JSON; alone, such a call is refused. Without \
             `provider`, the shape says which provider is meant, and arguments that do not fit its plain \
             dialect are read by its other ones; `provider` in the answer names the one taken. A result with `cached` is that of \
             an earlier call. With `input`, servers may ask the caller: the answer then has `inputRequired` \
             instead of messages, and the same route goes on with `continue` and `responses`.",
        )
        .parameters(&[
            STREAM_PROVIDER,
            SERVER,
            MODEL,
            RESULT,
            ERRORS,
            INPUT,
            COERCE,
            FILL,
            BAD_ARGUMENTS,
            TEXT,
            CHARACTERS,
            IDEMPOTENCY_KEY,
            CACHE_CONTROL,
            ACCEPT,
        ])
        .body(
            "ExecuteRequest",
            &[
                ("gemini", r#"{"provider":"gemini","call":{"name":"add","args":{"a":15,"b":27}}}"#),
                ("openai", EXECUTE_REQUEST_OPENAI),
                (
                    "anthropic",
                    r#"{"call":{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":15,"b":27}}}"#,
                ),
                ("continued", CONTINUED),
            ],
        )
        .answers(&[
            ok(
                "The results.",
                Content::JsonOrEvents {
                    schema: "ExecuteAnswer",
                    json: r#"{"result":{"content":[{"type":"text","text":"{\"result\":42}"}]},"messages":[],"provider":"anthropic"}"#,
                    events: CALL_EVENTS,
                },
            ),
            error(
                400,
                "The request is not sound.",
                &[
                    "VALIDATION_ERROR",
                    "UNKNOWN_PROVIDER",
                    "SERVER_NOT_FOUND",
                    "TOOL_NOT_FOUND",
                    "TOOL_DENIED",
                    "APPROVAL_REQUIRED",
                ],
            ),
        ])
        .shared_answers(CALL_FAULTS),
    route(Post, "/call_tool", Action::CallTool, "Calls", "Run one tool by name")
        .described(
            "`tool` may be canonical (`mcp__<server>__<tool>`); `server` is then not needed. With `input`, \
             the server may ask the caller: the answer then has `inputRequired` instead of `result`, and the \
             same route goes on with `continue` and `responses`.",
        )
        .parameters(&[RESULT, ERRORS, INPUT, IDEMPOTENCY_KEY, CACHE_CONTROL, ACCEPT])
        .body(
            "CallToolRequest",
            &[
                ("by name", r#"{"server":"demo","tool":"add","arguments":{"a":15,"b":27}}"#),
                ("canonical", r#"{"tool":"mcp__demo__add","arguments":{"a":15,"b":27}}"#),
                ("continued", CONTINUED),
            ],
        )
        .answers(&[
            ok(
                "The result as the server gave it, also where the tool says that it failed (`isError`). \
             `X-Cache: hit` and `Age` say that it is that of an earlier call.",
                Content::JsonOrEvents {
                    schema: "CallToolAnswer",
                    json: r#"{"result":{"content":[{"type":"text","text":"{\"result\":42}"}]}}"#,
                    events: CALL_EVENTS,
                },
            ),
            error(
                400,
                "The request is not sound.",
                &[
                    "VALIDATION_ERROR",
                    "SERVER_NOT_FOUND",
                    "TOOL_NOT_FOUND",
                    "INPUT_REQUIRED",
                    "TOOL_DENIED",
                    "APPROVAL_REQUIRED",
                ],
            ),
        ])
        .shared_answers(CALL_FAULTS),
    mcp::POST,
    mcp::GET,
    mcp::DELETE,
    mcp::EVENTS,
    mcp::API,
    mcp::GROUP_POST,
    mcp::GROUP_GET,
    mcp::GROUP_DELETE,
    mcp::GROUP_EVENTS,
    mcp::GROUP_API,
    registry::ROUTE,
    registry::LIST,
    registry::REGISTER,
    registry::UNREGISTER,
    registry::APPROVALS,
    registry::APPROVE,
    #[cfg(feature = "agent")]
    agent::COMPLETIONS,
    #[cfg(feature = "agent")]
    agent::MODELS,
    #[cfg(feature = "agent")]
    agent::MODEL,
    #[cfg(feature = "agent")]
    agent::RESULT,
    #[cfg(feature = "agent")]
    conversations::CREATE,
    #[cfg(feature = "agent")]
    conversations::LIST,
    #[cfg(feature = "agent")]
    conversations::GET,
    #[cfg(feature = "agent")]
    conversations::RENAME,
    #[cfg(feature = "agent")]
    conversations::DELETE,
    #[cfg(feature = "agent")]
    conversations::CHAT,
    #[cfg(feature = "agent")]
    conversations::CALLS,
    route(Post, "/convert", Action::Convert, "Tools", "Convert tools that stand in the body")
        .described(
            "The body is a list of tools, an object with `tools` or `tool`, a reply to `tools/list`, a \
             provider's request, or one tool, in MCP's or a provider's form; every option of \
             `GET /tools/{provider}` for the translation may stand beside them, or beside one tool in the query. A tool that cannot be \
             read is left out alone. Nothing is connected and nothing is remembered.",
        )
        .parameters(&[TO, MODEL])
        .body(
            "ConvertRequest",
            &[("gemini", r#"{"to":"gemini","tools":[{"name":"add","inputSchema":{"type":"object"}}]}"#)],
        )
        .answers(&[
            json("The tools, in the provider's own shape.", "ConvertAnswer"),
            UNKNOWN_PROVIDER,
            TOO_MUCH_WORK,
        ]),
    route(Post, "/transform", Action::Transform, "Tools", "Transform a schema that stands in the body")
        .described(
            "Any schema, of a tool's arguments or of one parameter, as a provider or a model takes it, and \
             what was changed; every option of `GET /tools/{provider}` for the translation may stand beside it. What cannot be \
             transformed, and any schema for a model that no rule knows, comes back as it was, with a \
             warning. Nothing is connected and nothing is remembered.",
        )
        .parameters(&[TO, MODEL])
        .body("TransformRequest", &[("gemini", TRANSFORM_REQUEST_GEMINI)])
        .answers(&[json("The schema.", "TransformAnswer"), UNKNOWN_PROVIDER, TOO_MUCH_WORK]),
    route(
        Post,
        "/history",
        Action::History,
        "Calls",
        "Write a conversation of one dialect as one of another",
    )
    .described(
        "`from` and `to` are dialects; `neutral` is the format that all of them are read into. With \
             `tools`, names and arguments of calls are translated too. What the other dialect cannot carry \
             is in `warnings`. Nothing is remembered.",
    )
    .body("HistoryRequest", &[("openai to gemini", HISTORY_REQUEST_OPENAI_TO_GEMINI)])
    .answers(&[json("The conversation.", "HistoryAnswer"), UNKNOWN_PROVIDER, TOO_MUCH_WORK]),
    route(Post, "/check", Action::Check, "Tools", "Say how well tools fit the providers")
        .described("Nothing is connected and nothing is remembered.")
        .parameters(&[TO])
        .body("CheckRequest", &[("all", r#"{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}"#)])
        .answers(&[json("What would happen to each tool.", "CheckAnswer"), UNKNOWN_PROVIDER, TOO_MUCH_WORK]),
    route(Get, "/providers", Action::Providers, "Tools", "List the dialects")
        .answers(&[json("The dialects with their rules and limits.", "ProviderList")]),
    route(Get, "/detect", Action::Detect, "Tools", "Say what a model id stands for")
        .described("The same rules choose the dialect wherever `model` is given. The name of a provider is an id too.")
        .parameters(&[
            query("model", Kind::Text, "The id, with or without prefixes: `openrouter/openai/gpt-4o`."),
            query("provider", Kind::Text, "Who serves it, if that is known; alone it is the id."),
        ])
        .answers(&[
            json("Who serves it, what it can do, and the dialect that it chooses.", "DetectAnswer"),
            error(400, "No model is named.", &["VALIDATION_ERROR"]),
        ]),
    route(Get, "/providers/{name}", Action::Provider, "Tools", "Describe one dialect")
        .parameters(&[path("name", "The dialect.")])
        .answers(&[json("The dialect.", "Provider"), UNKNOWN_PROVIDER]),
    route(Get, "/logs", Action::Logs, "Operations", "Read the call log")
        .described(
            "Entries stand oldest first; of more than `limit`, or of more than about 16 MB, the newest are \
             given. `Link` with `rel=\"next\"` leads to the next page where there may be one. With \
             `follow=true` the answer is a stream of server-sent events that first gives the entries that \
             fit and then every new one; `Last-Event-ID` resumes it. Where keys are configured, a caller \
             sees its own calls; admins and the owners in `log.readers` see all, and the logs of servers.",
        )
        .parameters(&[
            query("server", Kind::Text, "Only calls of this server."),
            query("tool", Kind::Text, "Only calls of this tool."),
            query("provider", Kind::Text, "Only calls that came in this dialect."),
            query("status", Kind::Words(&["ok", "error"]), "Only calls that ended so."),
            query("correlation_id", Kind::Text, "Only calls of this request."),
            query("caller", Kind::Text, "Only calls by the owner of this key."),
            query("since", Kind::Moment, "Only calls from this moment on."),
            query("until", Kind::Moment, "Only calls before this moment."),
            query(
                "limit",
                Kind::Number { least: 1, most: 10_000, usual: Some(100) },
                "How many entries at most.",
            ),
            query(
                "after",
                Kind::Number { least: 0, most: i64::MAX as u64, usual: None },
                "Only entries with a greater id, the oldest of them.",
            ),
            query(
                "before",
                Kind::Number { least: 1, most: i64::MAX as u64, usual: None },
                "Only entries with a smaller id, the newest of them.",
            ),
            query(
                "source",
                Kind::Words(&["gateway", "server"]),
                "`server` reads the file that the server itself writes (`logPath`).",
            ),
            query("follow", Kind::Flag, "Stream new entries as they come."),
            query("stream", Kind::Flag, "The same as `follow`."),
            header("Last-Event-ID", "With `follow`: the id after which to go on."),
        ])
        .answers(&[
            ok("The entries.", Content::JsonOr("LogEntries", "text/event-stream")),
            UNKNOWN_SERVER,
            error(
                403,
                "The entries are those of another caller or of a server; or the `Host` or `Origin` is not one \
             of ours.",
                &["FORBIDDEN"],
            ),
            error(503, "Too many streams at once; see `Retry-After`.", &["OVERLOADED"]),
        ]),
    route(Get, "/servers", Action::Servers, "Servers", "List the servers and how they are")
        .answers(&[json("The servers.", "ServerList")]),
    route(
        Post,
        "/servers/{name}/connect",
        Action::ConnectServer,
        "Servers",
        "Connect a server that is not connected",
    )
    .parameters(&[NAME])
    .answers(&[
        json("It is connected.", "ServerAnswer"),
        NO_SUCH_SERVER,
        error(409, "The server is disabled.", &["CONNECTION_ERROR"]),
        error(502, "The server cannot be reached.", &["CONNECTION_ERROR"]),
    ]),
    route(
        Post,
        "/servers/{name}/restart",
        Action::RestartServer,
        "Servers",
        "End a server's connection and start it anew",
    )
    .described(
        "Calls in flight finish first. A server that crashed too often is tried again. Needs an admin \
             key where one is configured.",
    )
    .access(Access::Operator)
    .parameters(&[NAME])
    .answers(&[
        json("It is connected again.", "ServerAnswer"),
        NO_SUCH_SERVER,
        error(409, "The server is disabled.", &["CONNECTION_ERROR"]),
        error(502, "The server cannot be reached.", &["CONNECTION_ERROR"]),
    ]),
    route(
        Post,
        "/servers/{name}/accept",
        Action::AcceptServer,
        "Servers",
        "Accept a server's changed tool definitions",
    )
    .described(
        "`fingerprint` is that of one of the server's `changedDefinitions` as it was reviewed, or \
             `changesFingerprint` for all of them. Tools that were blocked can be called again. A definition \
             that changed since is not accepted. Needs an admin key; without one, `mcp-tool-gateway servers \
             accept NAME FINGERPRINT` does it on the gateway's machine.",
    )
    .access(Access::Admin)
    .parameters(&[NAME])
    .body("AcceptRequest", &[("one", ACCEPT_REQUEST_ONE)])
    .answers(&[
        json("They are accepted.", "ServerAnswer"),
        error(400, "The body names no fingerprint.", &["VALIDATION_ERROR"]),
        error(403, "No admin key is configured.", &["FORBIDDEN"]),
        NO_SUCH_SERVER,
        error(
            409,
            "No changed definition has this fingerprint now; `server` shows those that wait.",
            &["DEFINITION_CHANGED"],
        ),
    ]),
    route(Get, "/health", Action::Health, "Operations", "Say whether calls would work")
        .described(
            "`ok` means that a call to each required server would work now; without required servers, to at \
             least one of those that are not disabled. The status is 200 either way; `/ready` answers with \
             503. Where keys are configured, a caller without one sees `ok`, `status` and `version` \
             only.",
        )
        .open()
        .parameters(&[query(
            "probe",
            Kind::Flag,
            "Also ask each connected server for a sign of life; needs a key where keys are configured.",
        )])
        .answers(&[json("How the gateway and its servers are.", "Health")]),
    route(Get, "/livez", Action::Live, "Operations", "Say that the process answers")
        .open()
        .answers(&[json_like("It does.", "Live", r#"{"ok":true}"#)]),
    route(Get, "/ready", Action::Ready, "Operations", "Say whether to send calls here").open().answers(&[
        json_like("Calls would work.", "Ready", r#"{"ok":true,"status":"ready"}"#),
        answer(
            503,
            "A required server is not there, the call log cannot be written, or the gateway is stopping.",
            Content::Json(
                "Ready",
                Some(r#"{"ok":false,"status":"unavailable","reasons":["server `files` is connecting"]}"#),
            ),
        ),
    ]),
    route(Get, "/readyz", Action::Ready, "Operations", "The same as `/ready`").open().answers(&[
        json("Calls would work.", "Ready"),
        answer(503, "They would not.", Content::Json("Ready", None)),
    ]),
    route(Get, "/metrics", Action::Metrics, "Operations", "Counters and latencies")
        .described(
            "Prometheus text, or JSON where `Accept` asks for `application/json`. The JSON counts since the \
             start and has latencies of the last 10,000 requests; with `since` it is about the requests \
             among those from that moment on.",
        )
        .exempt()
        .parameters(&[query(
            "since",
            Kind::Number { least: 0, most: i64::MAX as u64, usual: None },
            "Milliseconds since 1970; JSON only.",
        )])
        .answers(&[ok("The figures.", Content::JsonOr("Metrics", "text/plain"))]),
    route(
        Get,
        "/metrics/prometheus",
        Action::MetricsText,
        "Operations",
        "Counters and latencies as Prometheus text",
    )
    .exempt()
    .answers(&[ok("The figures.", Content::Media("text/plain"))]),
    route(Get, "/openapi.json", Action::Document, "Operations", "This document")
        .open()
        .answers(&[json("An OpenAPI 3.1 document.", "Object")]),
    route(Get, "/", Action::Root, "Operations", "Lead to the document for people")
        .open()
        .answers(&[answer(302, "`Location` is `docs`.", Content::Media("text/plain"))]),
    route(Get, "/docs", Action::Page, "Operations", "This document for people")
        .open()
        .answers(&[ok("A page that shows the routes and lets you try them.", Content::Media("text/html"))]),
];
