//! The routes of conversations.

use super::parts::{CONFLICT, ERRORS, IDEMPOTENCY_KEY, error, header, json, json_like, ok, path, query};
use super::route::Verb::{Delete, Get, Patch, Post};
use super::route::{Action, Answer, Content, Kind, Parameter, Route, route};

const CONVERSATION: &str = r#"{"id":"6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d","title":"New Conversation","messages":[],"created_at":"2026-11-03T10:00:00Z","updated_at":"2026-11-03T10:00:00Z","version":1,"message_count":0,"metadata":{}}"#;
const SUMMARIES: &str = r#"[{"id":"6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d","title":"Sums","created_at":"2026-11-03T10:00:00Z","updated_at":"2026-11-03T10:00:05Z","message_count":5,"version":7}]"#;
const MESSAGE: &str = r#"{"message":{"role":"user","content":"What is 15 plus 27?"},"stream":false}"#;
const ANSWER: &str =
    r#"{"content":"15 plus 27 is 42.","conversation_id":"6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d"}"#;
const ANSWER_EVENTS: &str = concat!(
    r#"data: {"conversation_id":"6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d"}"#,
    "\n\n",
    r#"data: {"choices":[{"delta":{"content":"15 plus 27 is 42."},"index":0,"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"delta":{},"index":0,"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);
const DELETED: &str = r#"{"message":"Conversation deleted successfully","success":true}"#;
const RECORDS: &str = r#"{"conversation_id":"6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d","calls":[{"tool_name":"add","arguments":{"a":15,"b":27},"result":"42","id":"call_1","correlation_id":"0b1f6f0e-3f1d-4c55-9d2b-6f1f2a4f9f10"}]}"#;

const ID: Parameter = path("id", "The id of the conversation.");
const IF_MATCH: Parameter = header(
    "If-Match",
    "The `ETag` that the conversation has to have; the same as `version` in the body. Another one is refused with 409.",
);
const UNKNOWN: Answer =
    error(404, "The caller has no such conversation; also under `detail`.", &["CONVERSATION_NOT_FOUND"]);
const WRONG: Answer = error(400, "The request is not sound.", &["VALIDATION_ERROR"]);
const CHANGED: Answer = error(
    409,
    "The conversation was changed meanwhile (`version` is the current one), or another message of it is being answered.",
    &["CONFLICT"],
);
const FULL: Answer =
    error(413, "The body or the conversation is too large.", &["BODY_TOO_LARGE", "CONVERSATION_FULL"]);
const STORE: Answer = error(500, "The store of conversations cannot be used.", &["STORE_ERROR"]);
const AWAY: Answer = error(
    503,
    "Too much at once, or with `errors=precise`: the store cannot be used.",
    &["OVERLOADED", "STORE_ERROR"],
);

pub(super) const CREATE: Route =
    route(Post, "/conversations", Action::CreateConversation, "Agent", "Begin a conversation")
        .described(
            "It belongs to the owner of the key; for others it does not exist. Without `title` it is called \"New Conversation\". `ETag` is \
             its version.",
        )
        .parameters(&[ERRORS, IDEMPOTENCY_KEY])
        .body("NewConversation", &[("named", r#"{"title":"Sums"}"#)])
        .answers(&[json_like("The conversation.", "Conversation", CONVERSATION), WRONG, FULL, CONFLICT, STORE, AWAY]);

pub(super) const LIST: Route =
    route(Get, "/conversations", Action::Conversations, "Agent", "List conversations, last updated first")
        .described(
            "Without their messages. `Link` with `rel=\"next\"` leads to the next page where there is one. A search that takes long ends a \
             page early, perhaps without any conversation.",
        )
        .parameters(&[
            query("q", Kind::Text, "Only those with this text in their title or in a message, ignoring case."),
            query(
                "limit",
                Kind::Number { least: 1, most: 1_000_000, usual: Some(50) },
                "How many at most; no page has more than 200.",
            ),
            query("after", Kind::Text, "Where the page before ended, as its `Link` says."),
            ERRORS,
        ])
        .answers(&[json_like("The conversations.", "ConversationSummaries", SUMMARIES), WRONG, STORE, AWAY]);

pub(super) const GET: Route =
    route(Get, "/conversations/{id}", Action::Conversation, "Agent", "Read a conversation")
        .described(
            "Messages have the form of Chat Completions, without empty members. A call whose turn broke off has a result that says \
             `interrupted`.",
        )
        .parameters(&[
            ID,
            query("offset", Kind::Number { least: 0, most: 1_000_000, usual: Some(0) }, "The first message."),
            query(
                "limit",
                Kind::Number { least: 1, most: 1_000_000, usual: None },
                "How many messages; all if absent.",
            ),
            ERRORS,
        ])
        .answers(&[json("The conversation.", "Conversation"), WRONG, UNKNOWN, STORE, AWAY]);

pub(super) const RENAME: Route = route(
    Patch,
    "/conversations/{id}",
    Action::RenameConversation,
    "Agent",
    "Give a conversation another title",
)
.parameters(&[ID, IF_MATCH, ERRORS])
.body("RenameConversation", &[("renamed", r#"{"title":"More sums","version":7}"#)])
.answers(&[json("The conversation.", "Conversation"), WRONG, UNKNOWN, CHANGED, FULL, STORE, AWAY]);

pub(super) const DELETE: Route =
    route(Delete, "/conversations/{id}", Action::DeleteConversation, "Agent", "Delete a conversation")
        .parameters(&[ID, ERRORS])
        .answers(&[json_like("It is deleted.", "ConversationDeleted", DELETED), WRONG, UNKNOWN, STORE, AWAY]);

pub(super) const CHAT: Route =
    route(Post, "/conversations/{id}/chat", Action::Chat, "Agent", "Send a message and get the answer")
        .described(
            "The model is offered the gateway's tools, whose calls run here until it answers. The answer is streamed unless `stream` is \
             false: `{\"conversation_id\"}`, chunks with `choices[0].delta.content`, a chunk with a `finish_reason`, `[DONE]`; a failure \
             after the first byte is an event with `error`, `code` and `detail` before `[DONE]`. Rounds with tools leave no trace unless \
             `events` asks for `tool_call`, `tool_result`, `usage` or `reasoning`. Everything that is said is stored before anything \
             follows from it. A caller who goes away ends the turn; what was said until then stays. Members that are not known are \
             settings of Chat Completions; `messages` and `tools` are refused. `Idempotency-Key` counts for answers that are not streamed.",
        )
        .parameters(&[
            ID,
            IF_MATCH,
            ERRORS,
            IDEMPOTENCY_KEY,
            header(
                "x-gateway-tools",
                "Which of the gateway's tools are offered: `auto` for all, `none`, `group:NAME`, or patterns of names and of `server/tool`, \
                 separated by commas.",
            ),
        ])
        .body("ChatRequest", &[("question", MESSAGE)])
        .answers(&[
            ok("The answer.", Content::JsonOrEvents { schema: "ChatAnswer", json: ANSWER, events: ANSWER_EVENTS }),
            error(
                400,
                "The request is not sound, no model has this name, or personal data in it may not pass.",
                &["VALIDATION_ERROR", "PERSONAL_DATA"],
            ),
            UNKNOWN,
            CHANGED,
            FULL,
            CONFLICT,
            error(
                500,
                "The model, the loop or the store failed; with `errors=precise` 502, 503 or 504 where they fit.",
                &["MODEL_ERROR", "TIMEOUT", "LIMIT_EXCEEDED", "STORE_ERROR", "CANCELLED", "UNKNOWN"],
            ),
            error(502, "With `errors=precise`: the model gave no answer.", &["MODEL_ERROR"]),
            AWAY,
            error(504, "With `errors=precise`: the model sent nothing for too long.", &["TIMEOUT"]),
        ]);

pub(super) const CALLS: Route =
    route(Get, "/conversations/{id}/calls", Action::ConversationCalls, "Agent", "List the calls of a conversation")
        .described(
            "In order. The result of a call that still runs is null. `GET /logs?correlation_id=` has more about those of one message.",
        )
        .parameters(&[ID, ERRORS])
        .answers(&[json_like("The calls.", "ConversationCalls", RECORDS), WRONG, UNKNOWN, STORE, AWAY]);
