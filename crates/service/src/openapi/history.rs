//! The route for conversations.

use super::parts::{ROW, TOO_MUCH_WORK, UNKNOWN_PROVIDER, ok};
use super::route::{Action, Body, Content, Route, Verb};

pub(super) const HISTORY: Route = Route {
    action: Action::History,
    verb: Verb::Post,
    path: "/history",
    tag: "Calls",
    summary: "Write a conversation of one dialect as one of another",
    description: "`from` and `to` are dialects; `neutral` is the format that all of them are read into. With `tools`, names and arguments of \
                  calls are translated too. What the other dialect cannot carry is in `warnings`. Nothing is remembered.",
    parameters: &[],
    body: Some(Body {
        schema: "HistoryRequest",
        examples: &[(
            "openai to gemini",
            r#"{"from":"openai","to":"gemini","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Add 1 and 2"}]}"#,
        )],
    }),
    answers: &[
        ok("The conversation.", Content::Json("HistoryAnswer", None)),
        UNKNOWN_PROVIDER,
        TOO_MUCH_WORK,
    ],
    ..ROW
};
