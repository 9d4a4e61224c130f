//! The routes of the registry and of approvals, and the one that answers in any format.

use super::parts::{CONFLICT, IDEMPOTENCY_KEY, ROW, SERVER, error, ok, path, query};
use super::route::{Access, Action, Answer, Body, Content, Kind, Parameter, Route, Verb};

const TOOL: Parameter = path("name", "The tool's name.");
const NO_ADMIN: Answer =
    error(403, "No admin key is configured, or the `Host` or `Origin` is not one of ours.", &["FORBIDDEN"]);
const CONFIGURED: Answer = error(409, "The tool stands in the configuration file.", &["REGISTRY_CONFLICT"]);

pub(super) const ROUTE: Route = Route {
    action: Action::Route,
    verb: Verb::Post,
    path: "/route",
    tag: "Calls",
    summary: "Run tool use in any format and answer in the same",
    description: "The body is XML as `text/plain` or `application/xml`, or JSON: `{name, input}`, `function_call` or `tool_calls`, a neutral \
                  `tool_use`, or what any provider sends. One call gives one result, several give a list; ids are kept. Tool use inside of prose runs if it is \
                  whole, its tool is listed and its arguments validate. Other providers \
                  get their own messages. The status is 200 whatever the tools do: what cannot be routed is answered in the same format \
                  with the id `error` and the text `Error routing tool use: …`.",
    parameters: &[
        query(
            "format",
            Kind::Text,
            "The format of the body: `xml`, `json`, `openai`, `neutral` or the name of a dialect; found out where absent.",
        ),
        SERVER,
        query(
            "timeoutMs",
            Kind::Number { least: 1, most: 3_600_000, usual: None },
            "How long all calls may take together.",
        ),
        IDEMPOTENCY_KEY,
    ],
    body: Some(Body {
        schema: "RouteRequest",
        examples: &[
            ("neutral", r#"{"type":"tool_use","id":"t1","name":"add","input":{"a":15,"b":27}}"#),
            ("json", r#"{"name":"add","input":{"a":15,"b":27}}"#),
            (
                "openai",
                r#"{"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":15,\"b\":27}"}}]}"#,
            ),
            ("xml", r#""<add><a>15</a><b>27</b></add>""#),
        ],
    }),
    answers: &[
        ok("The results, in the format of the request.", Content::JsonOr("RouteAnswer", "application/xml")),
        error(400, "The request is not sound.", &["VALIDATION_ERROR"]),
        CONFLICT,
    ],
    ..ROW
};

pub(super) const LIST: Route = Route {
    action: Action::Registry,
    path: "/registry",
    tag: "Registry",
    summary: "List the registered tools",
    description: "With what does their work and where they come from. Needs an admin key.",
    access: Access::Admin,
    answers: &[
        ok(
            "The tools.",
            Content::Json(
                "RegistryList",
                Some(
                    r#"{"server":"registry","tools":[{"name":"order","origin":"network","handler":{"kind":"endpoint","url":"https://shop.example/order"},"timeoutMs":60000,"definition":{"name":"order","inputSchema":{"type":"object","properties":{}}}}]}"#,
                ),
            ),
        ),
        NO_ADMIN,
    ],
    ..ROW
};

pub(super) const REGISTER: Route = Route {
    action: Action::RegisterTool,
    verb: Verb::Put,
    path: "/registry/{name}",
    tag: "Registry",
    summary: "Register a tool, or replace it",
    description: "The handler is an HTTP endpoint; commands are taken from the configuration file only. Private addresses are refused \
                  unless the configuration allows them. The tool is listed and called like all others from the answer on, until it is \
                  unregistered or the gateway ends. Needs an admin key.",
    access: Access::Admin,
    parameters: &[TOOL],
    body: Some(Body {
        schema: "RegisterRequest",
        examples: &[(
            "order",
            r#"{"description":"Look up an order","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},"handler":{"url":"https://shop.example/order","headers":{"authorization":"Bearer …"}},"timeout":"10s"}"#,
        )],
    }),
    answers: &[
        ok("It replaced one of the same name.", Content::Json("RegisterAnswer", None)),
        Answer {
            status: 201,
            description: "It is new.",
            content: Content::Json("RegisterAnswer", Some(r#"{"name":"order","replaced":false}"#)),
        },
        error(400, "The definition or the address is refused.", &["VALIDATION_ERROR"]),
        NO_ADMIN,
        CONFIGURED,
        error(507, "There are too many tools.", &["REGISTRY_FULL"]),
    ],
    ..ROW
};

pub(super) const UNREGISTER: Route = Route {
    action: Action::UnregisterTool,
    verb: Verb::Delete,
    path: "/registry/{name}",
    tag: "Registry",
    summary: "Unregister a tool",
    description: "Needs an admin key.",
    access: Access::Admin,
    parameters: &[TOOL],
    answers: &[
        Answer { status: 204, description: "It is gone.", content: Content::Nothing },
        NO_ADMIN,
        error(404, "No tool has this name.", &["TOOL_NOT_FOUND"]),
        CONFIGURED,
    ],
    ..ROW
};

pub(super) const APPROVALS: Route = Route {
    action: Action::Approvals,
    path: "/approvals",
    tag: "Calls",
    summary: "List the calls that wait for approval",
    description: "Calls of tools whose policy is `ask`, by callers who cannot be asked themselves; and calls that were approved and have not run. \
                  Needs an admin key.",
    access: Access::Admin,
    answers: &[
        ok(
            "The calls, oldest first.",
            Content::Json(
                "ApprovalList",
                Some(
                    r#"{"approvals":[{"id":"0f8fad5bd9cb469fa16570867728950e","server":"files","tool":"write_file","arguments":"{\"path\":\"a.txt\"}","display":"The gateway asks: may this call run?\nServer: \"files\"\nTool: \"write_file\"\nArguments: {\"path\":\"a.txt\"}","truncated":false,"caller":"alice","approved":false,"expiresInMs":598000}]}"#,
                ),
            ),
        ),
        NO_ADMIN,
    ],
    ..ROW
};

pub(super) const APPROVE: Route = Route {
    action: Action::Approve,
    verb: Verb::Post,
    path: "/approvals/{id}",
    tag: "Calls",
    summary: "Approve or deny a call that waits",
    description: "A call that waits goes on at once. One that was given up runs when its caller makes it again, once, until the approval expires. \
                  Needs an admin key.",
    access: Access::Admin,
    parameters: &[path("id", "The id of the call.")],
    body: Some(Body {
        schema: "ApprovalRequest",
        examples: &[("approve", r#"{"decision":"approve"}"#), ("deny", r#"{"decision":"deny"}"#)],
    }),
    answers: &[
        ok("It is decided.", Content::Json("ApprovalAnswer", None)),
        error(400, "The decision is neither.", &["VALIDATION_ERROR"]),
        NO_ADMIN,
        error(404, "No call with this id waits.", &["NOT_FOUND"]),
    ],
    ..ROW
};
