//! What came of a call, for whoever asked for it.

use std::sync::Arc;
use std::time::Duration;

use gateway_dialects::Dialect;
use gateway_dialects::calls::Arguments;
use gateway_protocol::{CallResultView, RawJson};
use gateway_upstream::{CatalogueTool, UpstreamId};
use serde_json::Value;

use super::{CallArguments, CallResult};
use crate::call::input::PausedCall;
use crate::failure::{Failure, code, error_result};

/// Where a call stands.
#[derive(Debug)]
pub enum CallState {
    /// It has not begun.
    Ahead,
    /// The server waits for answers of the caller.
    Waiting(Box<PausedCall>),
    /// It is over.
    Done(CallOutcome),
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// A result of MCP, whatever happened.
    pub result: RawJson,
    /// How old the result is, where it is that of an earlier call.
    pub age: Option<Duration>,
    /// What went wrong, for the operator.
    pub code: Option<&'static str>,
    /// The failure behind the result, if there is one.
    pub failure: Option<Failure>,
    /// The server that ran it.
    pub server: Option<UpstreamId>,
    /// The name of the tool there.
    pub tool: Option<Box<str>>,
    /// What was done to the arguments.
    pub notes: Vec<Value>,
    /// The dialect in which they were written, where it is not the one that was recognised.
    pub dialect: Option<Arc<Dialect>>,
}

impl CallOutcome {
    /// For a call of this tool, which is not over yet.
    pub fn of(tool: &CatalogueTool) -> Self {
        Self::on(Some(tool.server.clone()), Some(tool.name.as_str().into()))
    }

    /// For a call that no server runs, which gives `result`.
    pub fn own(tool: String, result: RawJson) -> Self {
        let is_error = CallResultView::of(&result).is_error;
        let code = is_error.then_some(code::TOOL_ERROR);
        Self { result, code, ..Self::on(None, Some(tool.into())) }
    }

    /// For a call that names no tool.
    pub fn not_found(failure: Failure) -> Self {
        let server = match &failure {
            Failure::Call(error) => error.upstream().cloned(),
            _ => None,
        };
        Self::on(server, None).failed(failure)
    }

    fn on(server: Option<UpstreamId>, tool: Option<Box<str>>) -> Self {
        let notes = Vec::new();
        let result = RawJson::null();
        Self { result, age: None, code: None, failure: None, server, tool, notes, dialect: None }
    }

    /// The same once the server has answered, or did not.
    #[must_use]
    pub fn ended(mut self, sent: Result<CallResult, Failure>) -> Self {
        match sent {
            Ok(CallResult { result, age, view }) => {
                self.code = view.is_error.then_some(code::TOOL_ERROR);
                (self.result, self.age) = (result, age);
                self
            }
            Err(failure) => self.failed(failure),
        }
    }

    /// The same for a call that failed.
    #[must_use]
    pub fn failed(mut self, failure: Failure) -> Self {
        self.code = Some(failure.code());
        self.result = error_result(&failure.for_models());
        self.failure = Some(failure);
        self
    }

    /// Whether the tool certainly did not run.
    pub fn did_not_run(&self) -> bool {
        self.failure.as_ref().is_some_and(Failure::did_not_run)
    }
}

impl CallArguments<'_> {
    /// The arguments as they came, for the log.
    pub fn as_sent(&self) -> RawJson {
        let value = match self {
            Self::Read { text, .. } => return (*text).clone(),
            Self::Written { call, .. } => match &call.arguments {
                Arguments::Missing => return RawJson::empty_object(),
                Arguments::Text(text) => RawJson::of(text),
                Arguments::Json(value) => RawJson::of(value),
            },
        };
        value.unwrap_or_else(|_| RawJson::null())
    }
}
