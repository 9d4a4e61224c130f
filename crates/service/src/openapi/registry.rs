//! The routes of the registry and of approvals, and the one that answers in any format.

use super::parts::{CONFLICT, IDEMPOTENCY_KEY, SERVER, answer, error, json, json_like, ok, path, query};
use super::route::Verb::{Delete, Get, Post, Put};
use super::route::{Access, Action, Answer, Content, Kind, Parameter, Route, route};

const ROUTE_REQUEST_OPENAI: &str = r#"{"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":15,\"b\":27}"}}]}"#;
const REGISTRY_LIST_EXAMPLE: &str = r#"{"server":"registry","tools":[{"name":"order","origin":"network","handler":{"kind":"endpoint","url":"https://shop.example/order"},"timeoutMs":60000,"definition":{"name":"order","inputSchema":{"type":"object","properties":{}}}}]}"#;
const REGISTER_REQUEST_ORDER: &str = r#"{"description":"Look up an order","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},"handler":{"url":"https://shop.example/order","headers":{"authorization":"Bearer …"}},"timeout":"10s"}"#;
const APPROVAL_LIST_EXAMPLE: &str = r#"{"approvals":[{"id":"0f8fad5bd9cb469fa16570867728950e","server":"files","tool":"write_file","arguments":"{\"path\":\"a.txt\"}","display":"The gateway asks: may this call run?\nServer: \"files\"\nTool: \"write_file\"\nArguments: {\"path\":\"a.txt\"}","truncated":false,"caller":"alice","approved":false,"expiresInMs":598000}]}"#;

const TOOL: Parameter = path("name", "The tool's name.");
const NO_ADMIN: Answer =
    error(403, "No admin key is configured, or the `Host` or `Origin` is not one of ours.", &["FORBIDDEN"]);
const CONFIGURED: Answer = error(409, "The tool stands in the configuration file.", &["REGISTRY_CONFLICT"]);

pub(super) const ROUTE: Route = route(
    Post,
    "/route",
    Action::Route,
    "Calls",
    "Run tool use in any format and answer in the same",
)
.described(
    "The body is XML as `text/plain` or `application/xml`, or JSON: `{name, input}`, \
             `function_call` or `tool_calls`, a neutral `tool_use`, or what any provider sends. One call \
             gives one result, several give a list; ids are kept. Tool use inside of prose runs if it is \
             whole, its tool is listed and its arguments validate. Other providers get their own messages. \
             The status is 200 whatever the tools do: what cannot be routed is answered in the same format \
             with the id `error` and the text `Error routing tool use: …`.",
)
.parameters(&[
    query(
        "format",
        Kind::Text,
        "The format of the body: `xml`, `json`, `openai`, `neutral` or the name of a dialect; found out \
             where absent.",
    ),
    SERVER,
    query(
        "timeoutMs",
        Kind::Number { least: 1, most: 3_600_000, usual: None },
        "How long all calls may take together.",
    ),
    IDEMPOTENCY_KEY,
])
.body(
    "RouteRequest",
    &[
        ("neutral", r#"{"type":"tool_use","id":"t1","name":"add","input":{"a":15,"b":27}}"#),
        ("json", r#"{"name":"add","input":{"a":15,"b":27}}"#),
        ("openai", ROUTE_REQUEST_OPENAI),
        ("xml", r#""<add><a>15</a><b>27</b></add>""#),
    ],
)
.answers(&[
    ok("The results, in the format of the request.", Content::JsonOr("RouteAnswer", "application/xml")),
    error(400, "The request is not sound.", &["VALIDATION_ERROR"]),
    CONFLICT,
]);

pub(super) const LIST: Route =
    route(Get, "/registry", Action::Registry, "Registry", "List the registered tools")
        .described("With what does their work and where they come from. Needs an admin key.")
        .access(Access::Admin)
        .answers(&[json_like("The tools.", "RegistryList", REGISTRY_LIST_EXAMPLE), NO_ADMIN]);

pub(super) const REGISTER: Route =
    route(Put, "/registry/{name}", Action::RegisterTool, "Registry", "Register a tool, or replace it")
        .described(
            "The handler is an HTTP endpoint; commands are taken from the configuration file only. Private \
             addresses are refused unless the configuration allows them. The tool is listed and called like \
             all others from the answer on, until it is unregistered or the gateway ends. Needs an admin \
             key.",
        )
        .access(Access::Admin)
        .parameters(&[TOOL])
        .body("RegisterRequest", &[("order", REGISTER_REQUEST_ORDER)])
        .answers(&[
            json("It replaced one of the same name.", "RegisterAnswer"),
            answer(
                201,
                "It is new.",
                Content::Json("RegisterAnswer", Some(r#"{"name":"order","replaced":false}"#)),
            ),
            error(400, "The definition or the address is refused.", &["VALIDATION_ERROR"]),
            NO_ADMIN,
            CONFIGURED,
            error(507, "There are too many tools.", &["REGISTRY_FULL"]),
        ]);

pub(super) const UNREGISTER: Route =
    route(Delete, "/registry/{name}", Action::UnregisterTool, "Registry", "Unregister a tool")
        .described("Needs an admin key.")
        .access(Access::Admin)
        .parameters(&[TOOL])
        .answers(&[
            answer(204, "It is gone.", Content::Nothing),
            NO_ADMIN,
            error(404, "No tool has this name.", &["TOOL_NOT_FOUND"]),
            CONFIGURED,
        ]);

pub(super) const APPROVALS: Route =
    route(Get, "/approvals", Action::Approvals, "Calls", "List the calls that wait for approval")
        .described(
            "Calls of tools whose policy is `ask`, by callers who cannot be asked themselves; and calls \
             that were approved and have not run. Needs an admin key.",
        )
        .access(Access::Admin)
        .answers(&[json_like("The calls, oldest first.", "ApprovalList", APPROVAL_LIST_EXAMPLE), NO_ADMIN]);

pub(super) const APPROVE: Route =
    route(Post, "/approvals/{id}", Action::Approve, "Calls", "Approve or deny a call that waits")
        .described(
            "A call that waits goes on at once. One that was given up runs when its caller makes it again, \
             once, until the approval expires. Needs an admin key.",
        )
        .access(Access::Admin)
        .parameters(&[path("id", "The id of the call.")])
        .body(
            "ApprovalRequest",
            &[("approve", r#"{"decision":"approve"}"#), ("deny", r#"{"decision":"deny"}"#)],
        )
        .answers(&[
            json("It is decided.", "ApprovalAnswer"),
            error(400, "The decision is neither.", &["VALIDATION_ERROR"]),
            NO_ADMIN,
            error(404, "No call with this id waits.", &["NOT_FOUND"]),
        ]);
