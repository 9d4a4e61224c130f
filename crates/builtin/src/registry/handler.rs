//! What does the work of a registered tool, and how its answer becomes a result.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gateway_config::{CommandHandler, EndpointHandler};
use gateway_protocol::{CallResultView, RawJson, RawObject, ResultType};
use serde_json::{Map, Value, json};

use super::endpoint::Outside;
use super::{command, endpoint};

/// Why a function failed; any error will do, also a text.
pub type FunctionError = Box<dyn std::error::Error + Send + Sync>;

/// What a function gives: a result of MCP (`{"content": […]}`), or any other value, which becomes one.
pub type FunctionAnswer = Pin<Box<dyn Future<Output = Result<Value, FunctionError>> + Send>>;

/// A tool in our own process. Dropping the future cancels the call.
pub trait ToolFunction: Send + Sync {
    /// Runs the tool.
    fn call(&self, arguments: Map<String, Value>) -> FunctionAnswer;
}

impl<F, A> ToolFunction for F
where
    F: Fn(Map<String, Value>) -> A + Send + Sync,
    A: Future<Output = Result<Value, FunctionError>> + Send + 'static,
{
    fn call(&self, arguments: Map<String, Value>) -> FunctionAnswer {
        Box::pin(self(arguments))
    }
}

/// A function in our own process. Clones are the same function.
#[derive(Clone)]
pub struct Function(Arc<dyn ToolFunction>);

impl Function {
    /// A function: `|arguments| async move { Ok(json!({"sum": 3})) }`.
    pub fn new(function: impl ToolFunction + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// Calls it. One that panics fails alone, not with the gateway.
    pub(super) async fn call(&self, arguments: Map<String, Value>) -> Result<Value, String> {
        let answer = AssertUnwindSafe(async { self.0.call(arguments).await }).catch_unwind().await;
        answer.map_err(|_| "it panicked".to_owned())?.map_err(|error| error.to_string())
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Function")
    }
}

/// What does the work. Two are equal if a reload need not replace one by the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Handler {
    /// A function in our own process.
    Function(Function),
    /// An address that takes the arguments and gives the result.
    Endpoint(EndpointHandler),
    /// A program that is started for each call.
    Command(CommandHandler),
}

impl Handler {
    /// A function: `|arguments| async move { Ok(json!({"sum": 3})) }`.
    pub fn function(function: impl ToolFunction + 'static) -> Self {
        Self::Function(Function::new(function))
    }

    /// The word for people: `function`, `endpoint` or `command`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Function(_) => "function",
            Self::Endpoint(_) => "endpoint",
            Self::Command(_) => "command",
        }
    }

    pub(super) async fn run(
        &self,
        tool: &str,
        arguments: &RawJson,
        outside: &Outside,
    ) -> Result<RawJson, String> {
        match self {
            Self::Function(function) => {
                let value = function.call(object(arguments)?).await?;
                result_of(&RawJson::of(&value).map_err(|error| error.to_string())?)
            }
            Self::Endpoint(handler) => endpoint::run(handler, tool, arguments, outside).await,
            Self::Command(handler) => command::run(handler, arguments).await,
        }
    }
}

/// The arguments of a call as an object.
pub(super) fn object(arguments: &RawJson) -> Result<Map<String, Value>, String> {
    arguments.read().map_err(|error| format!("the arguments are no object: {error}"))
}

/// A JSON value as a result: a result of MCP passes as it is, other JSON stands in it as structured content and as text, a
/// text as text.
pub(super) fn result_of(value: &RawJson) -> Result<RawJson, String> {
    let members = RawObject::parse(value).ok();
    let content = members.as_ref().and_then(|members| members.get("content"));
    if content.is_some_and(|content| content.get().starts_with('[')) {
        return match CallResultView::of(value).result_type {
            ResultType::Complete => Ok(value.clone()),
            ResultType::InputRequired | ResultType::Other(_) => {
                Err("its result is not complete; a registered tool cannot ask back".to_owned())
            }
        };
    }
    if let Ok(text) = value.read::<String>() {
        return Ok(text_result(&text));
    }
    let structured = if members.is_some() {
        value.clone()
    } else {
        // Clients of the legacy era take objects only.
        RawJson::of(&BTreeMap::from([("result", value)])).map_err(|error| error.to_string())?
    };
    let text = json!([{"type": "text", "text": value.as_str()}]);
    let result = |text: RawJson| {
        let mut result = RawObject::default();
        result.set("content", &text)?;
        result.set("structuredContent", &structured)?;
        result.to_raw()
    };
    RawJson::of(&text).and_then(result).map_err(|error: serde_json::Error| error.to_string())
}

/// A text as a result, without content if it is empty.
pub(super) fn text_result(text: &str) -> RawJson {
    let content = if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) };
    RawJson::of(&json!({"content": content})).unwrap_or_else(|_| RawJson::empty_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Result<&str, &str>) {
        let value = RawJson::parse(value.to_owned()).unwrap();
        let found = result_of(&value);
        assert_eq!(found.as_ref().map(RawJson::as_str).map_err(String::as_str), expected);
    }

    #[test]
    fn answers_become_results() {
        check(
            r#"{"content":[{"type":"odd","n":12345678901234567890123}],"x":1}"#,
            Ok(r#"{"content":[{"type":"odd","n":12345678901234567890123}],"x":1}"#),
        );
        check(
            r#"{"content":[],"resultType":"input_required"}"#,
            Err("its result is not complete; a registered tool cannot ask back"),
        );
        check(
            r#"{"sum":3}"#,
            Ok(r#"{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}"#),
        );
        check(
            "[1,2]",
            Ok(r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":[1,2]}}"#),
        );
        check(
            r#"{"content":"not a list"}"#,
            Ok(
                r#"{"content":[{"type":"text","text":"{\"content\":\"not a list\"}"}],"structuredContent":{"content":"not a list"}}"#,
            ),
        );
        check(r#""hello""#, Ok(r#"{"content":[{"type":"text","text":"hello"}]}"#));
        check(r#""""#, Ok(r#"{"content":[]}"#));
    }
}
