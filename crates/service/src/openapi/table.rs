//! All routes. The router, the guard, the metrics and the document are made from this table.

use super::history;
use super::mcp;
use super::parts::{
    ACCEPT, BAD_ARGUMENTS, CACHE_CONTROL, CALL_FAULT, CHARACTERS, COERCE, CONFLICT, CONTINUED, ERRORS,
    IDEMPOTENCY_KEY, INPUT, MODEL, NAME, NEEDS_INPUT, NO_SUCH_SERVER, PRECISE_FAULTS, REFUSED_CALL, RESULT,
    ROW, SERVER, STATE_OVER, STREAM_PROVIDER, TEXT, TO, TOO_MUCH_WORK, UNKNOWN_PROVIDER, UNKNOWN_SERVER,
    error, header, ok, path, query,
};
use super::registry;
use super::route::{Access, Action, Answer, Body, Content, Kind, Load, Route, Verb};
use super::tools;
use super::transform;

/// All routes, in the order of the document.
pub(crate) static ROUTES: &[Route] = &[
    tools::LIST,
    tools::RENDER,
    tools::CONTEXT,
    Route {
        action: Action::Execute,
        verb: Verb::Post,
        path: "/execute",
        tag: "Calls",
        summary: "Run a provider's tool calls",
        description: "`call` is one call, a list of calls, a whole model reply, or the chunks of a streamed one: a list, or the text of \
                      server-sent events or lines. Such a text may be the body too, as `text/event-stream` or `application/x-ndjson`; the query then \
                      says what a body says. A stream that cannot be read, or that breaks off in a call, is refused as a whole. One call gives `result`, several give \
                      `results` in call order; both give `messages` to append to the conversation. A reply without calls gives none. Text is not searched for \
                      calls unless `text` asks for it; a text that is nothing but tool use asks. The status is 200 whenever \
                      the request itself is sound: failures of tools are results for the model. A result with `cached` is that of an earlier \
                      call. With `input`, servers may ask the caller: the answer then has `inputRequired` instead of messages, and the same \
                      route goes on with `continue` and `responses`.",
        parameters: &[
            STREAM_PROVIDER,
            SERVER,
            MODEL,
            RESULT,
            ERRORS,
            INPUT,
            COERCE,
            BAD_ARGUMENTS,
            TEXT,
            CHARACTERS,
            IDEMPOTENCY_KEY,
            CACHE_CONTROL,
            ACCEPT,
        ],
        body: Some(Body {
            schema: "ExecuteRequest",
            examples: &[
                ("gemini", r#"{"provider":"gemini","call":{"name":"add","args":{"a":15,"b":27}}}"#),
                (
                    "openai",
                    r#"{"provider":"openai","call":{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":15,\"b\":27}"}}}"#,
                ),
                (
                    "anthropic",
                    r#"{"call":{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":15,"b":27}}}"#,
                ),
                ("continued", CONTINUED),
            ],
        }),
        answers: &[
            ok(
                "The results.",
                Content::JsonOrEvents(
                    "ExecuteAnswer",
                    r#"{"result":{"content":[{"type":"text","text":"{\"result\":42}"}]},"messages":[]}"#,
                ),
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
            REFUSED_CALL,
            error(
                404,
                "With `errors=precise`: no such server or tool.",
                &["SERVER_NOT_FOUND", "TOOL_NOT_FOUND"],
            ),
            NEEDS_INPUT,
            STATE_OVER,
            CONFLICT,
            CALL_FAULT,
            PRECISE_FAULTS[0],
            PRECISE_FAULTS[1],
            PRECISE_FAULTS[2],
        ],
        ..ROW
    },
    Route {
        action: Action::CallTool,
        verb: Verb::Post,
        path: "/call_tool",
        tag: "Calls",
        summary: "Run one tool by name",
        description: "`tool` may be canonical (`mcp__<server>__<tool>`); `server` is then not needed. With `input`, \
                      the server may ask the caller: the answer then has `inputRequired` instead of `result`, and the same route goes on with \
                      `continue` and `responses`.",
        parameters: &[RESULT, ERRORS, INPUT, IDEMPOTENCY_KEY, CACHE_CONTROL, ACCEPT],
        body: Some(Body {
            schema: "CallToolRequest",
            examples: &[
                ("by name", r#"{"server":"demo","tool":"add","arguments":{"a":15,"b":27}}"#),
                ("canonical", r#"{"tool":"mcp__demo__add","arguments":{"a":15,"b":27}}"#),
                ("continued", CONTINUED),
            ],
        }),
        answers: &[
            ok(
                "The result as the server gave it, also where the tool says that it failed (`isError`). `X-Cache: hit` and `Age` say that it is that of an earlier call.",
                Content::JsonOrEvents(
                    "CallToolAnswer",
                    r#"{"result":{"content":[{"type":"text","text":"{\"result\":42}"}]}}"#,
                ),
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
            REFUSED_CALL,
            error(
                404,
                "With `errors=precise`: no such server or tool.",
                &["SERVER_NOT_FOUND", "TOOL_NOT_FOUND"],
            ),
            NEEDS_INPUT,
            STATE_OVER,
            CONFLICT,
            CALL_FAULT,
            PRECISE_FAULTS[0],
            PRECISE_FAULTS[1],
            PRECISE_FAULTS[2],
        ],
        ..ROW
    },
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
    Route {
        action: Action::Convert,
        verb: Verb::Post,
        path: "/convert",
        tag: "Tools",
        summary: "Convert tools that stand in the body",
        description: "The body is a list of tools, an object with `tools`, or a reply to `tools/list`; every option of `GET /tools/{provider}` may stand beside them. Nothing is connected and nothing is remembered.",
        parameters: &[TO, MODEL],
        body: Some(Body {
            schema: "ConvertRequest",
            examples: &[(
                "gemini",
                r#"{"to":"gemini","tools":[{"name":"add","inputSchema":{"type":"object"}}]}"#,
            )],
        }),
        answers: &[
            ok("The tools, in the provider's own shape.", Content::Json("ConvertAnswer", None)),
            UNKNOWN_PROVIDER,
            TOO_MUCH_WORK,
        ],
        ..ROW
    },
    transform::TRANSFORM,
    history::HISTORY,
    Route {
        action: Action::Check,
        verb: Verb::Post,
        path: "/check",
        tag: "Tools",
        summary: "Say how well tools fit the providers",
        description: "Nothing is connected and nothing is remembered.",
        parameters: &[TO],
        body: Some(Body {
            schema: "CheckRequest",
            examples: &[("all", r#"{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}"#)],
        }),
        answers: &[
            ok("What would happen to each tool.", Content::Json("CheckAnswer", None)),
            UNKNOWN_PROVIDER,
            TOO_MUCH_WORK,
        ],
        ..ROW
    },
    Route {
        action: Action::Providers,
        path: "/providers",
        tag: "Tools",
        summary: "List the dialects",
        answers: &[ok("The dialects with their rules and limits.", Content::Json("ProviderList", None))],
        ..ROW
    },
    Route {
        action: Action::Provider,
        path: "/providers/{name}",
        tag: "Tools",
        summary: "Describe one dialect",
        parameters: &[path("name", "The dialect.")],
        answers: &[ok("The dialect.", Content::Json("Provider", None)), UNKNOWN_PROVIDER],
        ..ROW
    },
    Route {
        action: Action::Logs,
        path: "/logs",
        tag: "Operations",
        summary: "Read the call log",
        description: "Entries stand oldest first; of more than `limit`, or of more than about 16 MB, the newest are given. `Link` with `rel=\"next\"` leads to \
                      the next page where there may be one. With `follow=true` the answer is a stream of server-sent events that first \
                      gives the entries that fit and then every new one; `Last-Event-ID` resumes it. Where keys are configured, a caller sees \
                      its own calls; admins and the owners in `log.readers` see all, and the logs of servers.",
        parameters: &[
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
        ],
        answers: &[
            ok("The entries.", Content::JsonOr("LogEntries", "text/event-stream")),
            UNKNOWN_SERVER,
            error(
                403,
                "The entries are those of another caller or of a server; or the `Host` or `Origin` is not one of ours.",
                &["FORBIDDEN"],
            ),
            error(503, "Too many streams at once; see `Retry-After`.", &["OVERLOADED"]),
        ],
        ..ROW
    },
    Route {
        action: Action::Servers,
        path: "/servers",
        tag: "Servers",
        summary: "List the servers and how they are",
        answers: &[ok("The servers.", Content::Json("ServerList", None))],
        ..ROW
    },
    Route {
        action: Action::ConnectServer,
        verb: Verb::Post,
        path: "/servers/{name}/connect",
        tag: "Servers",
        summary: "Connect a server that is not connected",
        parameters: &[NAME],
        answers: &[
            ok("It is connected.", Content::Json("ServerAnswer", None)),
            NO_SUCH_SERVER,
            error(409, "The server is disabled.", &["CONNECTION_ERROR"]),
            error(502, "The server cannot be reached.", &["CONNECTION_ERROR"]),
        ],
        ..ROW
    },
    Route {
        action: Action::RestartServer,
        verb: Verb::Post,
        path: "/servers/{name}/restart",
        tag: "Servers",
        summary: "End a server's connection and start it anew",
        description: "Calls in flight finish first. A server that crashed too often is tried again. Needs an admin key where one is \
                      configured.",
        access: Access::Operator,
        parameters: &[NAME],
        answers: &[
            ok("It is connected again.", Content::Json("ServerAnswer", None)),
            NO_SUCH_SERVER,
            error(409, "The server is disabled.", &["CONNECTION_ERROR"]),
            error(502, "The server cannot be reached.", &["CONNECTION_ERROR"]),
        ],
        ..ROW
    },
    Route {
        action: Action::AcceptServer,
        verb: Verb::Post,
        path: "/servers/{name}/accept",
        tag: "Servers",
        summary: "Accept a server's changed tool definitions",
        description: "`fingerprint` is that of one of the server's `changedDefinitions` as it was reviewed, or `changesFingerprint` for \
                      all of them. Tools that were blocked can be called again. A definition that changed since is not accepted. Needs an \
                      admin key; without one, `mcp-tool-gateway servers accept NAME FINGERPRINT` does it on the gateway's machine.",
        access: Access::Admin,
        parameters: &[NAME],
        body: Some(Body {
            schema: "AcceptRequest",
            examples: &[(
                "one",
                r#"{"fingerprint":"0d4f2b5a9c1e7788aa31f0c2b6d95e4f7a8b9c0d1e2f3a4b5c6d7e8f9a0b1c2d"}"#,
            )],
        }),
        answers: &[
            ok("They are accepted.", Content::Json("ServerAnswer", None)),
            error(400, "The body names no fingerprint.", &["VALIDATION_ERROR"]),
            error(403, "No admin key is configured.", &["FORBIDDEN"]),
            NO_SUCH_SERVER,
            error(
                409,
                "No changed definition has this fingerprint now; `server` shows those that wait.",
                &["DEFINITION_CHANGED"],
            ),
        ],
        ..ROW
    },
    Route {
        action: Action::Health,
        path: "/health",
        summary: "Say whether calls would work",
        description: "`ok` means that a call to each required server would work now; without required servers, to at least \
                      one of those that are not disabled. The status is 200 either way; `/ready` answers with 503. Where keys are \
                      configured, a caller without one is told `ok`, `status` and `version` only.",
        access: Access::Open,
        load: Load::Exempt,
        parameters: &[query(
            "probe",
            Kind::Flag,
            "Also ask each connected server for a sign of life; needs a key where keys are configured.",
        )],
        answers: &[ok("How the gateway and its servers are.", Content::Json("Health", None))],
        ..ROW
    },
    Route {
        action: Action::Live,
        path: "/livez",
        summary: "Say that the process answers",
        access: Access::Open,
        load: Load::Exempt,
        answers: &[ok("It does.", Content::Json("Live", Some(r#"{"ok":true}"#)))],
        ..ROW
    },
    Route {
        action: Action::Ready,
        path: "/ready",
        summary: "Say whether to send calls here",
        access: Access::Open,
        load: Load::Exempt,
        answers: &[
            ok("Calls would work.", Content::Json("Ready", Some(r#"{"ok":true,"status":"ready"}"#))),
            Answer {
                status: 503,
                description: "A required server is not there, the call log cannot be written, or the gateway is stopping.",
                content: Content::Json(
                    "Ready",
                    Some(r#"{"ok":false,"status":"unavailable","reasons":["server `files` is connecting"]}"#),
                ),
            },
        ],
        ..ROW
    },
    Route {
        action: Action::Ready,
        path: "/readyz",
        summary: "The same as `/ready`",
        access: Access::Open,
        load: Load::Exempt,
        answers: &[
            ok("Calls would work.", Content::Json("Ready", None)),
            Answer { status: 503, description: "They would not.", content: Content::Json("Ready", None) },
        ],
        ..ROW
    },
    Route {
        action: Action::Metrics,
        path: "/metrics",
        summary: "Counters and latencies",
        description: "Prometheus text, or JSON where `Accept` asks for `application/json`. The JSON counts since the start and has \
                      latencies of the last 10,000 requests; with `since` it is about the requests among those from that moment on.",
        load: Load::Exempt,
        parameters: &[query(
            "since",
            Kind::Number { least: 0, most: i64::MAX as u64, usual: None },
            "Milliseconds since 1970; JSON only.",
        )],
        answers: &[ok("The figures.", Content::JsonOr("Metrics", "text/plain"))],
        ..ROW
    },
    Route {
        action: Action::MetricsText,
        path: "/metrics/prometheus",
        summary: "Counters and latencies as Prometheus text",
        load: Load::Exempt,
        answers: &[ok("The figures.", Content::Media("text/plain"))],
        ..ROW
    },
    Route {
        action: Action::Document,
        path: "/openapi.json",
        summary: "This document",
        access: Access::Open,
        load: Load::Exempt,
        answers: &[ok("An OpenAPI 3.1 document.", Content::Json("Object", None))],
        ..ROW
    },
    Route {
        action: Action::Page,
        path: "/docs",
        summary: "This document for people",
        access: Access::Open,
        load: Load::Exempt,
        answers: &[ok("A page that shows the routes and lets you try them.", Content::Media("text/html"))],
        ..ROW
    },
];
