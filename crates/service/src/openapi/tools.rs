//! The routes that list tools.

use super::parts::{
    ERRORS, FILTERS, MODEL, NOT_MODIFIED, PROVIDER, SERVER, UNKNOWN_PROVIDER, UNKNOWN_SERVER, error, json,
    json_like, ok, query,
};
use super::route::Verb::Get;
use super::route::{Action, Answer, Content, Kind, Parameter, Route, route};

const TOOL_LIST_EXAMPLE: &str = r#"{"tools":[{"name":"add","description":"Add two numbers","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}}]}"#;

const MOST_TOKENS: Parameter = query(
    "maxTokens",
    Kind::Number { least: 1, most: u32::MAX as u64, usual: None },
    "At most so many estimated tokens of definitions; chosen as for `limit`.",
);

/// The only server that is asked for has no tools to show.
const UNUSABLE: &[Answer] = &[
    error(409, "With `errors=precise`: the server is disabled; 400 otherwise.", &["CONNECTION_ERROR"]),
    error(500, "The server cannot be reached, or cannot list its tools.", &["CONNECTION_ERROR"]),
    error(
        502,
        "With `errors=precise`: the same. Always: a tool cannot be written for the provider, and its server says that \
         no list may lack it (`onConversionError`).",
        &["CONNECTION_ERROR", "CONVERSION_ERROR"],
    ),
];

pub(super) const LIST: Route =
    route(Get, "/tools", Action::Tools, "Tools", "List tools as their servers gave them")
        .described(
            "Definitions are not touched: unknown fields, annotations and key order stay. Answers carry an \
             ETag. Servers whose tools are not known are named in `X-Servers-Missing`; where only one is \
             asked for, its error is the answer. Servers whose tools are those of an earlier run, because they \
             were not asked yet in this one, are named in `X-Servers-Stale`. `X-Tools-Omitted` counts the tools \
             that `limit` or `maxTokens` leaves out.",
        )
        .parameters(&[
            SERVER,
            ERRORS,
            query("meta", Kind::Flag, "Adds the server and the fingerprint, in `_meta` of each tool."),
            query("limit", Kind::Text, "At most so many tools, or `off`; all unless given."),
            MOST_TOKENS,
        ])
        .shared_parameters(FILTERS)
        .answers(&[json_like("The tools.", "ToolList", TOOL_LIST_EXAMPLE), NOT_MODIFIED, UNKNOWN_SERVER])
        .shared_answers(UNUSABLE);

pub(super) const RENDER: Route =
    route(Get, "/tools/{provider}", Action::Render, "Tools", "List tools in a provider's format")
        .described(
            "Schemas are rewritten so that the provider takes them; `report=true` shows what happened to \
             each keyword, which tools are `withheld` and which servers are `missing` or `stale`. `X-Servers-Missing` and \
             `X-Servers-Stale` as for `GET /tools`; `X-Model-Unknown` says that no rule knows the model, and \
             `X-Tools-Verbatim` that schemas are as they came. Where the provider takes fewer tools in one request, the list holds the first by pin, importance and order, and three \
             tools that search, describe and call all others; `X-Tools-Omitted` counts what is left out, and \
             `X-Tools-Not-Strict` what is not strict because one request does not take more strict tools. The rows of the \
             report have the reasons, as `omitted` and `notStrict`.",
        )
        .parameters(&[
            PROVIDER,
            SERVER,
            MODEL,
            ERRORS,
            query("report", Kind::Flag, "Adds what was changed, and why."),
            query("list", Kind::Flag, "The bare list, without its wrapper."),
            query(
                "meta",
                Kind::Flag,
                "Adds where each tool comes from, as `meta` beside the list; not with `list`.",
            ),
            query(
                "mode",
                Kind::Words(&["full", "search"]),
                "All tools, or three that search, describe and call them.",
            ),
            query(
                "limit",
                Kind::Text,
                "At most so many tools, those of search included, or `off` for all; as many as the provider takes unless given.",
            ),
            query(
                "query",
                Kind::Text,
                "What the tools are for, such as the question of a user: where `limit`, `maxTokens` or the provider leaves no room for \
                 all, those come first that fit it best, behind pinned ones; the tools of search are then left out.",
            ),
            MOST_TOKENS,
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
                "verbatim",
                Kind::Flag,
                "Leaves schemas as they came, though the provider may refuse some; 400 where the dialect has no \
                 such form.",
            ),
            query(
                "emptyRequired",
                Kind::Words(&["keep", "omit", "add"]),
                "What happens to an empty `required`.",
            ),
            query(
                "budget",
                Kind::Text,
                "Most tokens of a lowered schema, or `off` for any number; `auto`, the default: twice those of the \
                 original and 300.",
            ),
            query("hide", Kind::Texts, "Parameters that the model does not see."),
            query(
                "compat",
                Kind::Text,
                "`auto`, `off` (the bare form, where the dialect has one) or the name of a layer for a family of models.",
            ),
        ])
        .shared_parameters(FILTERS)
        .answers(&[
            json("The tools, in the provider's own shape.", "RenderedTools"),
            NOT_MODIFIED,
            UNKNOWN_PROVIDER,
        ])
        .shared_answers(UNUSABLE);

pub(super) const CONTEXT: Route = route(
    Get,
    "/tools/{provider}/context",
    Action::Context,
    "Tools",
    "Describe tools for a prompt",
)
.parameters(&[
    PROVIDER,
    SERVER,
    ERRORS,
    query("mode", Kind::Words(&["concise", "standard", "detailed"]), "How much is said."),
    query(
        "group_by",
        Kind::Words(&["server", "category", "importance"]),
        "Puts tools that belong together under one heading; those without a category under `Other`.",
    ),
    query(
        "maxTokens",
        Kind::Number { least: 1, most: u32::MAX as u64, usual: None },
        "Bounds the text: whole tools, the most important first, and a line that says how many are left \
                 out.",
    ),
    query("limit", Kind::Text, "At most so many tools, or `off`; all unless given."),
    query("resources", Kind::Flag, "Tells the servers' resources too, with the state of each server."),
])
.shared_parameters(FILTERS)
.answers(&[ok("Readable text.", Content::Media("text/plain")), UNKNOWN_PROVIDER])
.shared_answers(UNUSABLE);
