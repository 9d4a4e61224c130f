//! All routes. The router, the guard, the metrics and the document are made from this table.

use super::mcp;
use super::route::{Access, Action, Answer, Body, Content, Kind, Load, Parameter, Place, Route, Verb};

const fn path(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, place: Place::Path, kind: Kind::Text, description }
}

const fn query(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, kind, description }
}

const fn header(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, place: Place::Header, kind: Kind::Text, description }
}

const fn ok(description: &'static str, content: Content) -> Answer {
    Answer { status: 200, description, content }
}

const fn error(status: u16, description: &'static str, codes: &'static [&'static str]) -> Answer {
    Answer { status, description, content: Content::Error(codes) }
}

const SERVER: Parameter = query(
    "server",
    Kind::Text,
    "One server by name, or `*` for all. Absent means the default server if there is one, else all.",
);
const PROVIDER: Parameter =
    path("provider", "A dialect such as `openai`, `anthropic` or `gemini`; see `GET /providers`.");
const NAME: Parameter = path("name", "The server's name as the configuration has it.");
const MODEL: Parameter = query("model", Kind::Text, "A model id; chooses the rules that this model needs.");
const IDEMPOTENCY_KEY: Parameter = header(
    "Idempotency-Key",
    "Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes.",
);
const RESULT: Parameter = query(
    "result",
    Kind::Text,
    "The shape of the result: `raw` as the server gave it, `parsed`, `first-text`, `joined`, `rich` or `provider`.",
);
const ERRORS: Parameter = query(
    "errors",
    Kind::Words(&["plain", "precise"]),
    "`precise` answers a single call's failure with 404, 502, 503 or 504 where they fit.",
);

const COERCE: Parameter =
    query("coerceArguments", Kind::Flag, "Mend arguments of the wrong type, such as \"15\" for a number.");
const BAD_ARGUMENTS: Parameter = query(
    "onBadArguments",
    Kind::Words(&["error", "raw", "repair"]),
    "What happens to arguments that are not JSON.",
);
const CHARACTERS: Parameter = query(
    "maxCharacters",
    Kind::Number { least: 100, most: 100_000_000, usual: None },
    "Cut results that are longer.",
);
const TO: Parameter = query("to", Kind::Texts, "The dialects to convert to or to check for.");

const CATEGORY: Parameter = query("category", Kind::Texts, "Only tools of these categories.");
const IMPORTANCE: Parameter =
    query("importance", Kind::Words(&["low", "normal", "high"]), "Only tools of at least this importance.");
const TAG: Parameter = query("tag", Kind::Texts, "Only tools with one of these tags.");
const NAME_PATTERN: Parameter =
    query("name", Kind::Texts, "Only tools whose name fits one of these patterns (`*`, `?`).");
const GROUP: Parameter = query("group", Kind::Texts, "Only tools of these configured groups.");

const UNKNOWN_SERVER: Answer =
    error(400, "The server or a parameter is wrong.", &["SERVER_NOT_FOUND", "VALIDATION_ERROR"]);
const UNKNOWN_PROVIDER: Answer = error(
    400,
    "The provider, the server or a parameter is wrong.",
    &["UNKNOWN_PROVIDER", "SERVER_NOT_FOUND", "VALIDATION_ERROR"],
);
const NOT_MODIFIED: Answer =
    Answer { status: 304, description: "The tag in `If-None-Match` still holds.", content: Content::Nothing };
const CALL_FAULT: Answer = error(
    500,
    "The server cannot be reached, gave no answer in time or answered with a fault.",
    &["CONNECTION_ERROR", "TIMEOUT", "SERVER_ERROR"],
);
const PRECISE_FAULTS: [Answer; 3] = [
    error(502, "With `errors=precise`: the server is gone or faulty.", &["CONNECTION_ERROR", "SERVER_ERROR"]),
    error(503, "Too much at once; see `Retry-After`.", &["OVERLOADED"]),
    error(504, "With `errors=precise`: no answer in time.", &["TIMEOUT"]),
];
const CONFLICT: Answer = error(422, "The key was used with another body.", &["IDEMPOTENCY_CONFLICT"]);
const NO_SUCH_SERVER: Answer = error(404, "No server has this name.", &["SERVER_NOT_FOUND"]);

pub(super) const ROW: Route = Route {
    action: Action::Live,
    verb: Verb::Get,
    path: "",
    tag: "Operations",
    summary: "",
    description: "",
    access: Access::Key,
    load: Load::Counted,
    parameters: &[],
    body: None,
    answers: &[],
};

/// All routes, in the order of the document.
pub(crate) static ROUTES: &[Route] = &[
    Route {
        action: Action::Tools,
        path: "/tools",
        tag: "Tools",
        summary: "List tools as their servers gave them",
        description: "Definitions are not touched: unknown fields, annotations and key order stay. Answers carry an ETag.",
        parameters: &[SERVER, NAME_PATTERN, CATEGORY, IMPORTANCE, TAG, GROUP],
        answers: &[
            ok(
                "The tools.",
                Content::Json(
                    "ToolList",
                    Some(
                        r#"{"tools":[{"name":"add","description":"Add two numbers","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}}]}"#,
                    ),
                ),
            ),
            NOT_MODIFIED,
            UNKNOWN_SERVER,
        ],
        ..ROW
    },
    Route {
        action: Action::Render,
        path: "/tools/{provider}",
        tag: "Tools",
        summary: "List tools in a provider's format",
        description: "Schemas are rewritten so that the provider takes them; `report=true` tells what happened to each keyword.",
        parameters: &[
            PROVIDER,
            SERVER,
            MODEL,
            query("report", Kind::Flag, "Adds what was changed, and why."),
            query("list", Kind::Flag, "The bare list, without its wrapper."),
            query(
                "mode",
                Kind::Words(&["full", "search"]),
                "All tools, or three that search, describe and call them.",
            ),
            query("profile", Kind::Text, "Another dialect than the path names."),
            query("descriptionFallback", Kind::Text, "The description of tools that have none."),
            query("defaults", Kind::Words(&["keep", "strip", "describe"]), "What happens to default values."),
            query("open", Kind::Words(&["declared", "all"]), "Whether undeclared properties can be said."),
            query(
                "strict",
                Kind::Words(&["auto", "as-named"]),
                "Whether strict mode is chosen by the schema.",
            ),
            query(
                "emptyRequired",
                Kind::Words(&["keep", "omit", "add"]),
                "What happens to an empty `required`.",
            ),
            query("hide", Kind::Texts, "Parameters that the model does not see."),
            query("compat", Kind::Text, "`auto`, `off` or the name of a layer for a family of models."),
            NAME_PATTERN,
            CATEGORY,
            IMPORTANCE,
            TAG,
            GROUP,
        ],
        answers: &[
            ok("The tools, in the provider's own shape.", Content::Json("RenderedTools", None)),
            NOT_MODIFIED,
            UNKNOWN_PROVIDER,
        ],
        ..ROW
    },
    Route {
        action: Action::Context,
        path: "/tools/{provider}/context",
        tag: "Tools",
        summary: "Describe tools for a prompt",
        description: "",
        parameters: &[
            PROVIDER,
            SERVER,
            query("mode", Kind::Words(&["concise", "standard", "detailed"]), "How much is said."),
            query(
                "group_by",
                Kind::Words(&["server", "category"]),
                "Puts tools that belong together under one heading.",
            ),
            NAME_PATTERN,
            CATEGORY,
            IMPORTANCE,
            TAG,
            GROUP,
        ],
        answers: &[ok("Readable text.", Content::Media("text/plain")), UNKNOWN_PROVIDER],
        ..ROW
    },
    Route {
        action: Action::Execute,
        verb: Verb::Post,
        path: "/execute",
        tag: "Calls",
        summary: "Run a provider's tool calls",
        description: "`call` is one call, a list of calls or a whole model reply. One call gives `result`, several give \
                      `results` in call order; both give `messages` to append to the conversation. The status is 200 whenever \
                      the request itself is sound: failures of tools are results for the model.",
        parameters: &[SERVER, MODEL, RESULT, ERRORS, COERCE, BAD_ARGUMENTS, CHARACTERS, IDEMPOTENCY_KEY],
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
            ],
        }),
        answers: &[
            ok(
                "The results.",
                Content::Json(
                    "ExecuteAnswer",
                    Some(
                        r#"{"result":{"content":[{"type":"text","text":"{\"result\":42}"}]},"messages":[]}"#,
                    ),
                ),
            ),
            error(
                400,
                "The request is not sound.",
                &["VALIDATION_ERROR", "UNKNOWN_PROVIDER", "SERVER_NOT_FOUND", "TOOL_NOT_FOUND"],
            ),
            error(
                404,
                "With `errors=precise`: no such server or tool.",
                &["SERVER_NOT_FOUND", "TOOL_NOT_FOUND"],
            ),
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
        description: "`tool` may be canonical (`mcp__<server>__<tool>`); `server` is then not needed.",
        parameters: &[RESULT, ERRORS, IDEMPOTENCY_KEY],
        body: Some(Body {
            schema: "CallToolRequest",
            examples: &[
                ("by name", r#"{"server":"demo","tool":"add","arguments":{"a":15,"b":27}}"#),
                ("canonical", r#"{"tool":"mcp__demo__add","arguments":{"a":15,"b":27}}"#),
            ],
        }),
        answers: &[
            ok(
                "The result as the server gave it, also where the tool says that it failed (`isError`).",
                Content::Json(
                    "CallToolAnswer",
                    Some(r#"{"result":{"content":[{"type":"text","text":"{\"result\":42}"}]}}"#),
                ),
            ),
            error(
                400,
                "The request is not sound.",
                &["VALIDATION_ERROR", "SERVER_NOT_FOUND", "TOOL_NOT_FOUND"],
            ),
            error(
                404,
                "With `errors=precise`: no such server or tool.",
                &["SERVER_NOT_FOUND", "TOOL_NOT_FOUND"],
            ),
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
        ],
        ..ROW
    },
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
        description: "Entries stand oldest first; of more than `limit` the newest are given. `Link` with `rel=\"next\"` leads to \
                      the next page where there may be one. With `follow=true` the answer is a stream of server-sent events that first \
                      gives the entries that fit and then every new one; `Last-Event-ID` resumes it.",
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
        description: "Calls in flight finish first. A server that crashed too often is tried again.",
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
        description: "Tools that were blocked because their definition changed can be called again.",
        parameters: &[NAME],
        answers: &[ok("They are accepted.", Content::Json("ServerAnswer", None)), NO_SUCH_SERVER],
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

/// What the table says about a request.
#[derive(Debug)]
pub(crate) enum Found {
    /// A route and its place in the table.
    Route(usize, &'static Route),
    /// The path exists with other methods.
    OtherMethods(String),
    /// No such path.
    Nothing,
}

/// Looks a request up.
pub(crate) fn find(method: &http::Method, path: &str) -> Found {
    let mut exists = false;
    for (place, route) in ROUTES.iter().enumerate() {
        if fits(route.path, path) {
            if route.verb.takes(method) {
                return Found::Route(place, route);
            }
            exists = true;
        }
    }
    if exists { Found::OtherMethods(methods(path)) } else { Found::Nothing }
}

/// The methods of a path, for `Allow`.
fn methods(path: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for route in ROUTES.iter().filter(|route| fits(route.path, path)) {
        words.push(route.verb.name());
        if route.verb == Verb::Get {
            words.push("HEAD");
        }
    }
    words.push("OPTIONS");
    words.join(", ")
}

/// Whether `path` is one of those that `pattern` stands for. A parameter is one segment that is not empty.
fn fits(pattern: &str, path: &str) -> bool {
    if !pattern.contains('{') {
        return pattern == path;
    }
    let mut wanted = pattern.split('/');
    let mut given = path.split('/');
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[track_caller]
    fn check(method: &Method, path: &str, expected: &str) {
        let found = match find(method, path) {
            Found::Route(place, route) => {
                assert!(std::ptr::eq(route, &raw const ROUTES[place]));
                route.path.to_owned()
            }
            Found::OtherMethods(allow) => format!("405 {allow}"),
            Found::Nothing => "404".to_owned(),
        };
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn requests_find_their_route() {
        check(&Method::GET, "/tools", "/tools");
        check(&Method::HEAD, "/tools", "/tools");
        check(&Method::GET, "/tools/gemini", "/tools/{provider}");
        check(&Method::GET, "/tools/gemini/context", "/tools/{provider}/context");
        check(&Method::GET, "/tools/", "404");
        check(&Method::GET, "/tools//context", "404");
        check(&Method::GET, "/tools/gemini/context/", "404");
        check(&Method::POST, "/tools", "405 GET, HEAD, OPTIONS");
        check(&Method::GET, "/execute", "405 POST, OPTIONS");
        check(&Method::POST, "/servers/a/restart", "/servers/{name}/restart");
        check(&Method::DELETE, "/servers/a/restart", "405 POST, OPTIONS");
        check(&Method::GET, "/metrics/prometheus", "/metrics/prometheus");
        check(&Method::GET, "/", "404");
        check(&Method::GET, "", "404");
        check(&Method::GET, "/TOOLS", "404");
    }

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for route in ROUTES {
            for segment in route.path.split('/').filter(|segment| segment.starts_with('{')) {
                let name = segment.trim_matches(['{', '}']);
                let described =
                    |parameter: &&Parameter| parameter.place == Place::Path && parameter.name == name;
                assert_eq!(route.parameters.iter().filter(described).count(), 1, "{}", route.path);
            }
        }
    }
}
