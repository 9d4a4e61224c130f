//! The route for a single schema.

use super::parts::{MODEL, ROW, TO, TOO_MUCH_WORK, UNKNOWN_PROVIDER, ok};
use super::route::{Action, Body, Content, Route, Verb};

pub(super) const TRANSFORM: Route = Route {
    action: Action::Transform,
    verb: Verb::Post,
    path: "/transform",
    tag: "Tools",
    summary: "Transform a schema that stands in the body",
    description: "The schema of a tool's arguments as a provider or a model takes it, and what was changed; every option of `GET /tools/{provider}` may stand beside it. Nothing is connected and nothing is remembered.",
    parameters: &[TO, MODEL],
    body: Some(Body {
        schema: "TransformRequest",
        examples: &[(
            "gemini",
            r#"{"model":"gemini-2.5-flash","schema":{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":0}}}}"#,
        )],
    }),
    answers: &[ok("The schema.", Content::Json("TransformAnswer", None)), UNKNOWN_PROVIDER, TOO_MUCH_WORK],
    ..ROW
};
