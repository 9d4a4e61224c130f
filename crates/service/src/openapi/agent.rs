//! The routes of the agent.

use super::parts::{error, header, json, ok, path, query};
use super::route::Verb::{Get, Post};
use super::route::{Action, Answer, Content, Kind, Route, route};

const COMPLETION_REQUEST: &str =
    r#"{"model":"local","messages":[{"role":"user","content":"What is 15 plus 27?"}]}"#;
const COMPLETION: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"local","choices":[{"index":0,"message":{"role":"assistant","content":"42"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":0}}}"#;

const COMPLETION_CHUNKS: &str = concat!(
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"local","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"local","choices":[{"index":0,"delta":{"content":"42"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"local","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);

pub(super) const COMPLETIONS: Route = route(
    Post,
    "/v1/chat/completions",
    Action::Completions,
    "Agent",
    "Ask a model that has all tools",
)
.described(
    "A drop-in for OpenAI's Chat Completions, streamed and not. Without `tools`, the model is offered the tools of the gateway, whose \
     calls run here until it answers; `gateway` in the answer has the calls and what each round cost. With `tools`, these are handed back \
     to the caller, and the gateway's are offered beside them only if `x-gateway-tools` says so. With `x-gateway-tools: none` and a model \
     of Chat Completions the request and the answer go through as they are. Members that are not known are passed on. Where a bound, or \
     a model that gave no answer, ended the loop after calls ran, `gateway.continuation` of the answer or of the error goes on from \
     there. Errors have OpenAI's shape; one after the first byte of a stream is an event of it.",
)
.parameters(&[
    header(
        "x-gateway-tools",
        "Which of the gateway's tools are offered: `auto` for all, `none`, `group:NAME`, or patterns of names and of `server/tool`, \
         separated by commas. `auto` if absent; `none` if the request brings `tools`.",
    ),
    header(
        "x-gateway-continue",
        "Goes on where an earlier answer stopped: its `gateway.continuation`. The body may say it too, as `gateway.continue`.",
    ),
    header(
        "x-gateway-events",
        "`calls` for chunks of the stream that say which calls run here. The body may say it too, as `gateway.events`.",
    ),
])
.body("CompletionRequest", &[("question", COMPLETION_REQUEST)])
.answers(&[
    ok(
        "The answer.",
        Content::JsonOrEvents { schema: "Completion", json: COMPLETION, events: COMPLETION_CHUNKS },
    ),
    error(
        400,
        "The request is not sound, or the model's API refuses it.",
        &["context_length_exceeded", "VALIDATION_ERROR", "PERSONAL_DATA"],
    ),
    error(404, "No model has this name; an API that does not know its model has a code of its own, or none.", &["model_not_found"]),
    error(
        413,
        "The body is too large, or the conversation is too long for the model.",
        &["BODY_TOO_LARGE", "context_length_exceeded"],
    ),
    error(422, "The model's API refuses the request.", &[]),
    error(
        429,
        "Too many requests by this caller, or for the model's API; see `Retry-After`.",
        &["OVERLOADED"],
    ),
    error(
        500,
        "The loop gave no answer, or the tools cannot be listed.",
        &["limit_exceeded", "empty_answer", "cancelled", "CONVERSION_ERROR", "UNKNOWN"],
    ),
    error(502, "The model gave no answer.", &["model_error", "model_unreachable"]),
    error(
        503,
        "Too much at once; see `Retry-After`. Or the loop cannot keep what it has to.",
        &["OVERLOADED", "store_unavailable"],
    ),
    error(504, "The model sent nothing for too long.", &["model_timeout"]),
]);

const BUSY: Answer = error(503, "Too much at once; see `Retry-After`.", &["OVERLOADED"]);

pub(super) const MODELS: Route =
    route(Get, "/v1/models", Action::Models, "Agent", "List the models that can be asked")
        .answers(&[json("The models, as OpenAI lists them.", "ModelList"), BUSY]);

pub(super) const MODEL: Route =
    route(Get, "/v1/models/{id}", Action::Model, "Agent", "Look up a model that can be asked")
        .parameters(&[path("id", "The name that requests give as `model`; a `/` in it is written `%2F`.")])
        .answers(&[
            json("The model, as OpenAI describes it.", "Model"),
            error(404, "No model has this name.", &["model_not_found"]),
            BUSY,
        ]);

pub(super) const RESULT: Route =
    route(Get, "/results/{id}", Action::KeptResult, "Agent", "Read a piece of a long result")
        .described(
            "A result that a model was shown only the ends of stays readable for `loop.keepResults`, for the caller whose request it came \
             of. `X-Result-Bytes` is the length of the whole, `X-Result-Offset` where the piece begins, and `X-Result-Next` where the next \
             one does, unless this is the last. Pieces are cut between characters.",
        )
        .parameters(&[
            path("id", "The id, as the cut result names it."),
            query("offset", Kind::Number { least: 0, most: u64::MAX, usual: Some(0) }, "The byte to start from."),
            query(
                "length",
                Kind::Number { least: 1, most: 4 << 20, usual: Some(64 << 10) },
                "How many bytes to read.",
            ),
        ])
        .answers(&[
            ok("The piece.", Content::Media("text/plain")),
            error(400, "A parameter is wrong.", &["VALIDATION_ERROR"]),
            error(404, "No result is kept under this id for this caller.", &["RESOURCE_NOT_FOUND"]),
        ]);
