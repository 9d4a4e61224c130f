//! Tool use answered in the format in which it came.
//!
//! The four formats of [`RouteFormat`] are answered in kind; what another provider sent is answered with its messages. Calls
//! run as those of `/execute` do: same lists, same checks, same log. Whatever goes wrong is an answer in the same format,
//! never an error of the transport, because it is a model that has to read it.

use std::sync::Arc;
use std::time::Duration;

use gateway_dialects::calls::text::{Notation, SkippedCall, TextCalls, ToolSchemas};
use gateway_dialects::calls::{
    ReadOptions, RouteFormat, TextScan, parse_reply, parse_route, render_route_error, render_route_result,
    route_format,
};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::results::{neutral_result, read_result};
use gateway_notation::spelling::did_you_mean;
use gateway_protocol::RawJson;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Runtime;
use crate::call::CallOutcome;
use crate::context::RequestContext;
use crate::failure::{Failure, error_result};
use crate::owner::Owner;
use crate::turn::{ModelOutput, Turn, TurnRequest, TurnRun};

/// What stands for an output that is empty.
const NOTHING: &str = "(No response)";

/// How a request is routed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RouteOptions {
    /// `xml`, `json`, `openai`, `neutral` or the name of a dialect; found out where absent.
    pub format: Option<String>,
    /// The server that is meant, where names alone do not say which.
    pub server: Option<String>,
    /// Who calls, for the log.
    pub caller: Option<String>,
    /// How long all calls of the request may take together.
    pub timeout: Option<Duration>,
    /// Ends the calls when it is cancelled.
    pub cancel: Option<CancellationToken>,
}

impl RouteOptions {
    /// An empty name means nothing, and must not be taken for an absent one.
    fn check(&self) -> Result<(), String> {
        for (name, text) in [("server", &self.server), ("provider", &self.format)] {
            if text.as_deref() == Some("") {
                return Err(format!("Missing or invalid \"{name}\" field"));
            }
        }
        Ok(())
    }
}

/// The format of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One of the formats that are answered in kind.
    Route(RouteFormat),
    /// Another provider's, which is answered with its messages.
    Provider,
}

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Routed {
    /// The answer, in the format of the request.
    pub answer: Value,
    /// Whether certainly nothing ran.
    pub not_run: bool,
}

/// Why a request has no answer of its own.
struct Fault {
    message: String,
    not_run: bool,
}

/// What is wrong with the request itself is found before anything runs.
impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { message, not_run: true }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self { message: failure.message(), not_run: failure.did_not_run() }
    }
}

impl Runtime {
    /// Runs tool use in any format and answers in the same: a text with XML, an object `{name, input}`, `function_call` or
    /// `tool_calls`, a neutral `tool_use`, or what any provider sends. Ids are kept. One call gives one result, several
    /// give a list. A request that cannot be routed gives a result whose id is `error`.
    pub async fn route(&self, request: &Value, options: &RouteOptions) -> Value {
        let context = RequestContext::new(options.caller.as_deref().map(Owner::caller));
        self.routed(request, options, &context).await.answer
    }

    /// Runs a tool from the neutral format, `{"type": "tool_use", "id", "name", "input"}`, and gives
    /// `{"type": "tool_result", "tool_use_id", "content", "status", "error"?}`, however it ends.
    pub async fn execute_tool_use(&self, tool_use: &Value, options: &RouteOptions) -> Value {
        let options = RouteOptions { format: Some("neutral".to_owned()), ..options.clone() };
        self.route(tool_use, &options).await
    }

    /// The same for a request of a face.
    pub async fn routed(&self, request: &Value, options: &RouteOptions, context: &RequestContext) -> Routed {
        let shape = match shape_of(self, request, options.format.as_deref()) {
            Ok(shape) => shape,
            Err(message) => return Routed { answer: fault(&message, RouteFormat::Neutral), not_run: true },
        };
        self.answered(request, shape, options, context).await.unwrap_or_else(|Fault { message, not_run }| {
            let format = if let Shape::Route(format) = shape { format } else { RouteFormat::Neutral };
            Routed { answer: fault(&message, format), not_run }
        })
    }

    async fn answered(
        &self,
        request: &Value,
        shape: Shape,
        options: &RouteOptions,
        context: &RequestContext,
    ) -> Result<Routed, Fault> {
        let mut turn = TurnRequest { call: ModelOutput::Json(request.clone()), ..TurnRequest::default() };
        // Whoever routes a text asks for the calls in it.
        turn.options.add("text".to_owned(), "auto".into());
        options.check()?;
        if let Some(server) = &options.server {
            turn.options.add("server".to_owned(), server.as_str().into());
        }
        match shape {
            Shape::Provider => turn.provider.clone_from(&options.format),
            Shape::Route(format) => {
                let asked = TextScan::Offered(TextCalls::Auto, Arc::new(ToolSchemas::default()));
                parse_route(request, format, asked).map_err(|error| error.to_string())?;
                match format {
                    // All values are texts there.
                    RouteFormat::Xml => turn.options.add("coerceArguments".to_owned(), true.into()),
                    // Several providers could have sent it.
                    RouteFormat::Json => turn.provider = Some("anthropic".to_owned()),
                    RouteFormat::OpenAi | RouteFormat::Neutral => {}
                }
            }
        }
        turn.note_provider(self, context);
        let turn = Turn::parse(self, turn).await.map_err(|error| error.message())?;
        if turn.reply.calls.is_empty() && matches!(shape, Shape::Route(_)) {
            return Err(no_tool_use(&turn.reply.skipped).into());
        }
        // Nobody is asked here, so that every call ends.
        let mut turn = TurnRun::new(turn);
        let running = Box::pin(turn.advance(self, context, None));
        let within = async {
            match options.timeout {
                Some(time) => tokio::time::timeout(time, running)
                    .await
                    .map_err(|_| format!("no answer within {time:?}")),
                None => Ok(running.await),
            }
        };
        let outcome = match &options.cancel {
            Some(cancel) => {
                cancel.run_until_cancelled(within).await.unwrap_or_else(|| Err("it was cancelled".to_owned()))
            }
            None => within.await,
        };
        let (results, not_run): (Vec<Value>, bool) = match outcome {
            Ok(over) => {
                over.map_err(|error| error.message())?;
                if shape == Shape::Provider {
                    turn.outcomes_mut().for_each(say_something);
                    let answer = turn.answer(self, context)?;
                    return Ok(Routed { answer: messages(&answer.body)?, not_run: answer.not_run });
                }
                let ran = turn.outcomes();
                let results = ran.iter().map(|ran| read_result(ran.result.as_str()).value).collect();
                (results, ran.iter().all(|ran| ran.did_not_run()))
            }
            Err(why) => {
                let calls = turn.turn.reply.calls.iter();
                (calls.map(|call| given_up(&call.name, &why)).collect(), false)
            }
        };
        let format = match shape {
            // A `tool` message answers a native call only.
            Shape::Route(RouteFormat::OpenAi) if turn.turn.reply.written.is_some() => RouteFormat::Neutral,
            // Tool use in a text is XML unless it is found to be JSON.
            Shape::Route(RouteFormat::Xml) if turn.turn.reply.written == Some(Notation::Json) => {
                RouteFormat::Neutral
            }
            Shape::Route(format) => format,
            Shape::Provider => RouteFormat::Neutral,
        };
        let written = turn.turn.reply.calls.iter().zip(&results).map(|(call, result)| {
            render_route_result(&with_text(neutral_result(call.id.as_str(), result)), format)
        });
        Ok(Routed { answer: together(written.collect(), format), not_run })
    }
}

fn shape_of(runtime: &Runtime, request: &Value, named: Option<&str>) -> Result<Shape, String> {
    let format = match named {
        Some("xml") => RouteFormat::Xml,
        Some("json") => RouteFormat::Json,
        Some("openai") => RouteFormat::OpenAi,
        Some("neutral") => RouteFormat::Neutral,
        Some(other) if runtime.dialects().get(other).is_ok() => return Ok(Shape::Provider),
        Some(other) => {
            let dialects = runtime.dialects();
            let known = ["xml", "json", "openai", "neutral"].into_iter().chain(dialects.names());
            let question = did_you_mean(other, known).map(|question| format!("; {question}"));
            return Err(format!("Unsupported tool use format: {other}{}", question.unwrap_or_default()));
        }
        None => match route_format(request) {
            RouteFormat::Json if is_another_providers(request) => return Ok(Shape::Provider),
            format => format,
        },
    };
    Ok(Shape::Route(format))
}

/// Whether a request is clearly in the format of a provider that none of the four formats is.
fn is_another_providers(request: &Value) -> bool {
    let reply = parse_reply(request, &ReadOptions::default());
    let Ok(reply) = reply else { return false };
    match reply.protocol {
        None | Some(Protocol::Messages | Protocol::Mcp) => false,
        Some(
            Protocol::Chat
            | Protocol::Responses
            | Protocol::Functions
            | Protocol::GenerateContent
            | Protocol::Converse
            | Protocol::CohereChat
            | Protocol::OllamaChat,
        ) => !reply.calls.is_empty(),
    }
}

/// Why there is nothing to run.
fn no_tool_use(skipped: &[SkippedCall]) -> String {
    match skipped.first() {
        None => "there is no tool use in it".to_owned(),
        Some(first) => format!("the tool use of `{}` in the text is not run: {}", first.name, first.reason),
    }
}

/// The result of a call that was not waited for any longer.
fn given_up(tool: &str, why: &str) -> Value {
    read_result(error_result(&format!("Error executing tool '{tool}': {why}")).as_str()).value
}

/// A neutral result that says something.
fn with_text(mut result: Value) -> Value {
    if says_nothing(&result)
        && let Some(content) = result.get_mut("content")
    {
        *content = json!([{"type": "text", "text": NOTHING}]);
    }
    result
}

/// The same for a result of MCP, from which a provider's message is made.
fn say_something(ran: &mut CallOutcome) {
    let mut result = read_result(ran.result.as_str()).value;
    let says_nothing = says_nothing(&neutral_result("", &result));
    if let (true, Some(members)) = (says_nothing, result.as_object_mut()) {
        members.insert("content".to_owned(), json!([{"type": "text", "text": NOTHING}]));
        ran.result = RawJson::of(&result).unwrap_or_else(|_| ran.result.clone());
    }
}

/// Whether a neutral result has neither a value nor a block with anything in it.
fn says_nothing(result: &Value) -> bool {
    let blocks = result.get("content").and_then(Value::as_array);
    result.get("structuredContent").is_none()
        && blocks.is_some_and(|blocks| blocks.iter().all(|block| block.get("text") == Some(&json!(""))))
}

fn fault(message: &str, format: RouteFormat) -> Value {
    together(vec![render_route_error(message, format)], format)
}

/// One result as it is, several as a list; as XML one after the other.
fn together(mut results: Vec<Value>, format: RouteFormat) -> Value {
    if results.len() == 1 {
        results.pop().unwrap_or_default()
    } else if format == RouteFormat::Xml {
        results.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n").into()
    } else {
        results.into()
    }
}

/// The messages of an answer of `/execute`.
fn messages(body: &[u8]) -> Result<Value, Fault> {
    let fault = |error: serde_json::Error| Fault { message: error.to_string(), not_run: false };
    let answer: Value = serde_json::from_slice(body).map_err(fault)?;
    Ok(answer.get("messages").cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_name_is_not_an_absent_one() {
        let named = |text: &str| RouteOptions { server: Some(text.to_owned()), ..RouteOptions::default() };
        assert_eq!(RouteOptions::default().check(), Ok(()));
        assert_eq!(named("demo").check(), Ok(()));
        assert_eq!(named("").check(), Err("Missing or invalid \"server\" field".to_owned()));
        let unnamed = RouteOptions { format: Some(String::new()), ..RouteOptions::default() };
        assert_eq!(unnamed.check(), Err("Missing or invalid \"provider\" field".to_owned()));
    }
}
