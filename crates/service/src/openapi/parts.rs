//! What several routes have in common: parameters, answers, and the short ways to write them.

use super::route::{Answer, Content, Kind, Location, Parameter};

pub(super) const fn path(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, location: Location::Path, kind: Kind::Text, description }
}

pub(super) const fn query(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter { name, location: Location::Query, kind, description }
}

pub(super) const fn header(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, location: Location::Header, kind: Kind::Text, description }
}

pub(super) const fn answer(status: u16, description: &'static str, content: Content) -> Answer {
    Answer { status, description, content }
}

/// JSON by a schema of the components.
pub(super) const fn json(description: &'static str, schema: &'static str) -> Answer {
    ok(description, Content::Json(schema, None))
}

/// The same with an example.
pub(super) const fn json_like(
    description: &'static str,
    schema: &'static str,
    example: &'static str,
) -> Answer {
    ok(description, Content::Json(schema, Some(example)))
}

pub(super) const fn ok(description: &'static str, content: Content) -> Answer {
    answer(200, description, content)
}

pub(super) const fn error(status: u16, description: &'static str, codes: &'static [&'static str]) -> Answer {
    answer(status, description, Content::Error(codes))
}

pub(super) const SERVER: Parameter = query(
    "server",
    Kind::Text,
    "One server by name, or `*` for all. Absent means the default server if there is one, else all.",
);
pub(super) const PROVIDER: Parameter =
    path("provider", "A dialect such as `openai`, `anthropic` or `gemini`; see `GET /providers`.");
pub(super) const STREAM_PROVIDER: Parameter =
    query("provider", Kind::Text, "The dialect, where the body is a stream. A body of JSON says it itself.");
pub(super) const NAME: Parameter = path("name", "The server's name as the configuration has it.");
pub(super) const MODEL: Parameter =
    query("model", Kind::Text, "A model id; chooses the rules that this model needs.");
pub(super) const IDEMPOTENCY_KEY: Parameter = header(
    "Idempotency-Key",
    "Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes; where the answer could not be kept so long, 409.",
);
pub(super) const INPUT: Parameter = query(
    "input",
    Kind::Texts,
    "What the server may ask the caller: `elicitation`, `sampling`, `roots`. The body may say it too.",
);
/// A request that goes on with a call.
pub(super) const CONTINUED: &str =
    r#"{"continue":"eyJi…","responses":{"request-1":{"action":"accept","content":{"name":"Ann"}}}}"#;
pub(super) const CACHE_CONTROL: Parameter = header(
    "Cache-Control",
    "`no-cache` wants a fresh result where the configuration keeps results of the tool.",
);
pub(super) const ACCEPT: Parameter = header(
    "Accept",
    "`text/event-stream` gives a stream: `progress` and `log` events as the servers report them, then one `result` event with the \
     answer, or one `error` event with the error and its `status`. What is wrong before anything was reported has its own status.",
);
pub(super) const RESULT: Parameter = query(
    "result",
    Kind::Text,
    "The shape of the result: `raw` as the server gave it, `parsed`, `first-text`, `joined`, `rich` or `provider`.",
);
pub(super) const ERRORS: Parameter = query(
    "errors",
    Kind::Words(&["plain", "precise"]),
    "`precise` answers a single call's failure with 404, 502, 503 or 504 where they fit.",
);

pub(super) const COERCE: Parameter =
    query("coerceArguments", Kind::Flag, "Repair arguments of the wrong type, such as \"15\" for a number.");
pub(super) const FILL: Parameter = query(
    "fillDefaults",
    Kind::Flag,
    "Send the schema's defaults for what the model left out, as where its list has them stripped; each is in the notes of the \
     result.",
);
pub(super) const TEXT: Parameter = query(
    "text",
    Kind::Words(&["off", "auto", "xml", "json"]),
    "In which notation calls are taken out of the text of a reply without native calls: `off` unless the model's data says that it \
     writes calls as text. Only whole calls of tools in the list, with arguments that validate.",
);
pub(super) const BAD_ARGUMENTS: Parameter = query(
    "onBadArguments",
    Kind::Words(&["error", "raw", "repair"]),
    "What happens to arguments that are no JSON object: `raw` hands them on as `{\"raw\": text}`, and no schema is applied to them \
     (those of a registered tool are still checked: nobody else does); `repair` mends what it can.",
);
pub(super) const CHARACTERS: Parameter = query(
    "maxCharacters",
    Kind::Number { least: 100, most: 100_000_000, usual: None },
    "Cut results that are longer.",
);
pub(super) const TO: Parameter = query("to", Kind::Texts, "The dialects to convert to or to check for.");

/// Which tools are meant.
pub(super) const FILTERS: &[Parameter] = &[
    query("name", Kind::Texts, "Only tools whose name fits one of these patterns (`*`, `?`)."),
    query("category", Kind::Texts, "Only tools of these categories."),
    query("importance", Kind::Words(&["low", "normal", "high"]), "Only tools of at least this importance."),
    query("tag", Kind::Texts, "Only tools with one of these tags."),
    query("group", Kind::Texts, "Only tools of these configured groups."),
];

pub(super) const UNKNOWN_SERVER: Answer =
    error(400, "The server or a parameter is wrong.", &["SERVER_NOT_FOUND", "VALIDATION_ERROR"]);
pub(super) const UNKNOWN_PROVIDER: Answer = error(
    400,
    "The provider, the server or a parameter is wrong.",
    &["UNKNOWN_PROVIDER", "SERVER_NOT_FOUND", "VALIDATION_ERROR"],
);
pub(super) const TOO_MUCH_WORK: Answer = error(
    413,
    "The body is too large, or what it brings takes more work than one request may take: send less of it, or name fewer dialects.",
    &["BODY_TOO_LARGE"],
);
pub(super) const NOT_MODIFIED: Answer =
    answer(304, "The tag in `If-None-Match` still holds.", Content::Nothing);
pub(super) const CONFLICT: Answer =
    error(422, "The key was used with another body.", &["IDEMPOTENCY_CONFLICT"]);
/// Why a call gave no result.
pub(super) const CALL_FAULTS: &[Answer] = &[
    error(
        403,
        "The state belongs to another caller or another route, or the tool's definition changed and nobody has accepted it. With \
     `errors=precise` also: the policy or somebody denies the call, or somebody has to approve it (`approvalId`).",
        &["FORBIDDEN", "TOOL_DENIED", "APPROVAL_REQUIRED"],
    ),
    error(404, "With `errors=precise`: no such server or tool.", &["SERVER_NOT_FOUND", "TOOL_NOT_FOUND"]),
    error(
        409,
        "With `errors=precise`: the server asks for something that the caller did not offer.",
        &["INPUT_REQUIRED"],
    ),
    error(410, "The state has expired or was used; send the request again.", &["INPUT_EXPIRED"]),
    CONFLICT,
    error(
        500,
        "The server cannot be reached, gave no answer in time or answered with a fault; or the tool ran and there was no room for its \
     result.",
        &["CONNECTION_ERROR", "TIMEOUT", "SERVER_ERROR", "RESULT_DROPPED"],
    ),
    error(
        502,
        "With `errors=precise`: the server is gone or faulty, or there was no room for the result.",
        &["CONNECTION_ERROR", "SERVER_ERROR", "RESULT_DROPPED"],
    ),
    error(503, "Too much at once; see `Retry-After`.", &["OVERLOADED"]),
    error(504, "With `errors=precise`: no answer in time.", &["TIMEOUT"]),
];
pub(super) const NO_SUCH_SERVER: Answer = error(404, "No server has this name.", &["SERVER_NOT_FOUND"]);
