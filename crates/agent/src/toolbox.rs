//! What the loop needs of tools.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::Dialect;
use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::{OfferedTools, ToolSchemas};
use gateway_dialects::history::TranslatedTools;
use gateway_protocol::RawJson;
use gateway_runtime::failure::{Failure, error_result};
use serde_json::Value;

/// Why tools cannot be offered.
pub type ToolsError = Failure;

/// Tools that a model may call.
///
/// Dropping the future of a call ends the call.
pub trait Toolbox: Debug + Send + Sync {
    /// The tools for a model of `dialect`. `questions` are what the conversation is about, the oldest first, where not all tools can
    /// be offered.
    fn offer<'a>(
        &'a self,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>>;

    /// The same for the model that callers know as `model`, where that makes a difference.
    fn offer_to<'a>(
        &'a self,
        _model: &'a str,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        self.offer(dialect, questions)
    }

    /// Whether a call of this name is run here. All others are handed back to the caller.
    fn owns(&self, _offer: &Offer, _name: &str) -> bool {
        true
    }

    /// A call that is handed back, as the caller knows it.
    fn handed_back(&self, _offer: &Offer, call: ToolCall) -> ToolCall {
        call
    }

    /// Runs one call of the tools that were offered last.
    fn call<'a>(&'a self, offer: &'a Offer, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome>;
}

/// Tools as a model is offered them.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The dialect's list, as JSON; `None` if there are no tools.
    pub list: Option<Bytes>,
    /// How many there are.
    pub count: usize,
    /// Names and arguments as the model knows them.
    pub codec: Arc<TranslatedTools>,
    /// The measure of calls that the model writes as text.
    pub offered: Arc<dyn OfferedTools>,
    /// What whoever asks should know of it: patterns that match nothing, servers that are not there.
    pub notices: Vec<String>,
    /// What the toolbox needs to run calls of this offer.
    pub state: Option<Arc<dyn Any + Send + Sync>>,
}

impl Offer {
    /// No tools.
    pub fn nothing() -> Self {
        Self {
            list: None,
            count: 0,
            codec: Arc::new(TranslatedTools::default()),
            offered: Arc::new(ToolSchemas::default()),
            notices: Vec::new(),
            state: None,
        }
    }
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct ToolOutcome {
    /// A result of MCP, whatever happened.
    pub result: RawJson,
    /// The word for programs if it failed.
    pub code: Option<&'static str>,
    /// Whether the call itself was wrong: no such tool, or arguments that do not fit.
    pub is_bad: bool,
    /// The server that ran it, and the name of the tool there.
    pub ran_on: Option<(String, String)>,
    /// What was done to the arguments before it ran, as `/execute` reports it.
    pub notes: Vec<Value>,
    /// How long it took.
    pub duration: Duration,
}

/// No tools at all.
#[derive(Clone, Copy, Debug)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn offer<'a>(
        &'a self,
        _dialect: &'a Arc<Dialect>,
        _questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        async { Ok(Offer::nothing()) }.boxed()
    }

    fn call<'a>(&'a self, _offer: &'a Offer, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        let result = error_result(&format!("Error: Tool '{}' not found", call.name));
        let code = Some(gateway_runtime::failure::code::TOOL_NOT_FOUND);
        async move {
            ToolOutcome {
                result,
                code,
                is_bad: true,
                ran_on: None,
                notes: Vec::new(),
                duration: Duration::ZERO,
            }
        }
        .boxed()
    }
}
