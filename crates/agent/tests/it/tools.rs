//! Replies and tools for tests of the loop without HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_agent::{Offer, ToolOutcome, Toolbox, ToolsError};
use gateway_dialects::Dialect;
use gateway_dialects::calls::{Arguments, CallId, ToolCall};
use gateway_dialects::stream::{Outcome, StreamEvent, StreamedCall};
use gateway_protocol::RawJson;
use serde_json::{Map, Value, json};

/// A call in a reply.
pub(crate) fn called(id: &str, name: &str, arguments: &Value) -> StreamEvent {
    let call = ToolCall {
        id: CallId::Given(id.to_owned()),
        name: name.to_owned(),
        arguments: Arguments::Json(arguments.clone()),
        item_id: None,
        signature: None,
        extra: Map::new(),
        written: None,
    };
    StreamEvent::Call(StreamedCall { call, outcome: Outcome::Complete })
}

/// Text in a reply.
pub(crate) fn said(text: &str) -> StreamEvent {
    StreamEvent::Text(text.to_owned())
}

/// A result with this text.
pub(crate) fn result(text: &str) -> ToolOutcome {
    let result = RawJson::of(&json!({"content": [{"type": "text", "text": text}]})).unwrap();
    ToolOutcome {
        result,
        code: None,
        is_bad: false,
        ran_on: None,
        notes: Vec::new(),
        duration: Duration::ZERO,
    }
}

type Run = dyn Fn(ToolCall) -> BoxFuture<'static, ToolOutcome> + Send + Sync;

/// Tools that are one function.
pub(crate) struct FnTools(Box<Run>);

impl FnTools {
    pub(crate) fn new<F>(run: impl Fn(ToolCall) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = ToolOutcome> + Send + 'static,
    {
        Arc::new(Self(Box::new(move |call| run(call).boxed())))
    }
}

impl fmt::Debug for FnTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FnTools")
    }
}

impl Toolbox for FnTools {
    fn offer<'a>(
        &'a self,
        _dialect: &'a Arc<Dialect>,
        _questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        async { Ok(Offer::nothing()) }.boxed()
    }

    fn call<'a>(&'a self, _offer: &'a Offer, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        (self.0)(call.clone())
    }
}
