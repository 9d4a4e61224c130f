//! The routes that list tools.

use super::parts::{
    CATEGORY, ERRORS, GROUP, IMPORTANCE, MODEL, NAME_PATTERN, NOT_MODIFIED, PROVIDER, ROW, SERVER, TAG,
    UNKNOWN_PROVIDER, UNKNOWN_SERVER, error, ok, query,
};
use super::route::{Action, Answer, Content, Kind, Route};

/// The only server that is asked for has no tools to show.
const UNUSABLE: [Answer; 3] = [
    error(409, "With `errors=precise`: the server is disabled; 400 otherwise.", &["CONNECTION_ERROR"]),
    error(500, "The server cannot be reached, or cannot list its tools.", &["CONNECTION_ERROR"]),
    error(502, "With `errors=precise`: the same.", &["CONNECTION_ERROR"]),
];

pub(super) const LIST: Route = Route {
    action: Action::Tools,
    path: "/tools",
    tag: "Tools",
    summary: "List tools as their servers gave them",
    description: "Definitions are not touched: unknown fields, annotations and key order stay. Answers carry an ETag. \
                  Servers whose tools are not known are named in `X-Servers-Missing`; where only one is asked for, its error is the answer.",
    parameters: &[
        SERVER,
        ERRORS,
        query("meta", Kind::Flag, "Adds the server and the fingerprint, in `_meta` of each tool."),
        NAME_PATTERN,
        CATEGORY,
        IMPORTANCE,
        TAG,
        GROUP,
    ],
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
        UNUSABLE[0],
        UNUSABLE[1],
        UNUSABLE[2],
    ],
    ..ROW
};

pub(super) const RENDER: Route = Route {
    action: Action::Render,
    path: "/tools/{provider}",
    tag: "Tools",
    summary: "List tools in a provider's format",
    description: "Schemas are rewritten so that the provider takes them; `report=true` tells what happened to each \
                  keyword, which tools are `withheld` and which servers are `missing`. `X-Servers-Missing` as for `GET /tools`; \
                  `X-Model-Unknown` says that no rule knows the model.",
    parameters: &[
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
        query("profile", Kind::Text, "Another dialect than the path names."),
        query("descriptionFallback", Kind::Text, "The description of tools that have none."),
        query("defaults", Kind::Words(&["keep", "strip", "describe"]), "What happens to default values."),
        query("open", Kind::Words(&["declared", "all"]), "Whether undeclared properties can be said."),
        query("strict", Kind::Words(&["auto", "as-named"]), "Whether strict mode is chosen by the schema."),
        query("emptyRequired", Kind::Words(&["keep", "omit", "add"]), "What happens to an empty `required`."),
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
        UNUSABLE[0],
        UNUSABLE[1],
        UNUSABLE[2],
    ],
    ..ROW
};

pub(super) const CONTEXT: Route = Route {
    action: Action::Context,
    path: "/tools/{provider}/context",
    tag: "Tools",
    summary: "Describe tools for a prompt",
    description: "",
    parameters: &[
        PROVIDER,
        SERVER,
        ERRORS,
        query("mode", Kind::Words(&["concise", "standard", "detailed"]), "How much is said."),
        query(
            "group_by",
            Kind::Words(&["server", "category"]),
            "Puts tools that belong together under one heading.",
        ),
        query("resources", Kind::Flag, "Tells the servers' resources too, with the state of each server."),
        NAME_PATTERN,
        CATEGORY,
        IMPORTANCE,
        TAG,
        GROUP,
    ],
    answers: &[
        ok("Readable text.", Content::Media("text/plain")),
        UNKNOWN_PROVIDER,
        UNUSABLE[0],
        UNUSABLE[1],
        UNUSABLE[2],
    ],
    ..ROW
};
