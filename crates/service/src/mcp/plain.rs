//! Calls of plain HTTP callers whom servers may ask something: `input` in the request says what they can be asked.
//!
//! Where a server wants to know something, the call is set aside and the caller gets the requests and a state; with the state
//! and the answers it goes on. A state holds for its caller and its route, for a while, and once.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use gateway_protocol::{RawJson, RawObject, ResultType, without_repeats};
use gateway_store::Permit;
use gateway_upstream::UpstreamId;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::caller::{Can, Reach};
use super::flight::{Errand, Flight, Input, Lap, Target};
use super::out::{Out, Sink};
use super::parked::Waiting;
use super::state::{BadState, Behind, unique_name};
use crate::errors::{ApiError, code};
use crate::runtime::call::{Call, Done};
use crate::runtime::context::RequestContext;
use crate::runtime::failure::Failure;
use crate::runtime::gateway::Gateway;

/// What a caller can be asked.
#[derive(Clone, Debug)]
pub(crate) struct Answerer {
    can: Can,
    /// Calls of one request may be taken for each other.
    owner: Arc<str>,
}

impl Answerer {
    /// Reads the words of `input`; nothing where there are none.
    pub(crate) fn of(words: &[String]) -> Result<Option<Self>, ApiError> {
        if words.is_empty() {
            return Ok(None);
        }
        let mut capabilities = serde_json::Map::new();
        for word in words {
            let value = match word.as_str() {
                "elicitation" => json!({"form": {}, "url": {}}),
                "sampling" | "roots" => json!({}),
                other => {
                    let message = format!("input={other}: expected one of elicitation, sampling, roots");
                    return Err(ApiError::bad_request(message));
                }
            };
            capabilities.insert(word.clone(), value);
        }
        let raw = RawJson::of(&capabilities).unwrap_or_else(|_| RawJson::empty_object());
        Ok(Some(Self { can: Can::of(raw), owner: unique_name().into() }))
    }
}

/// How far a call came.
pub(crate) enum Came {
    /// It is over.
    Done(Done),
    /// The server wants to know something first.
    Waits(Box<Paused>),
}

/// A call that was set aside.
#[derive(Debug)]
pub(crate) struct Paused {
    rest: Rest,
    requests: Requests,
    answerer: Answerer,
}

/// Requests of a server, by name.
type Requests = Vec<(String, RawJson)>;

#[derive(Debug)]
enum Rest {
    /// A server of the legacy era waits for the answers.
    Flight(Box<Flight>),
    /// A server of the modern era wants the same call again, with the answers and its own state.
    Again(Arc<Errand>, Option<String>),
}

/// Makes a call for a caller who can be asked.
pub(crate) async fn call(
    gateway: &Gateway,
    call: Call<'_>,
    permit: Permit,
    answerer: &Answerer,
) -> Result<Came, Failure> {
    let Call { tool, arguments, context, origin } = call;
    let errand = Errand {
        gateway: gateway.clone(),
        context: quiet(context),
        transport: origin.transport,
        provider: origin.provider.clone(),
        owner: Arc::clone(&answerer.owner),
        target: Target::Tool {
            server: tool.server.clone(),
            name: tool.name.clone(),
            arguments: arguments.clone(),
        },
        meta: Vec::new(),
        capabilities: answerer.can.raw().clone(),
        is_watched: context.progress.is_some(),
    };
    go(Arc::new(errand).start(Input::default(), Some(permit)), answerer.clone(), context).await
}

/// The same context without its progress, which belongs to one request, where the call may outlive it.
fn quiet(context: &RequestContext) -> RequestContext {
    RequestContext { progress: None, ..context.clone() }
}

async fn go(mut flight: Flight, answerer: Answerer, context: &RequestContext) -> Result<Came, Failure> {
    let errand = Arc::clone(&flight.errand);
    let watcher = match (&context.progress, &errand.target) {
        (Some(progress), Target::Tool { server, name, .. }) => Some(progress.watcher(server, name)),
        _ => None,
    };
    let out = Out { sink: Sink::Plain(watcher), token: None, level: None };
    let malformed = |error: serde_json::Error| {
        Failure::NeedsInput(format!("what the server asks cannot be read: {error}"))
    };
    match flight.lap(&answerer.can, &Reach::Returns, &out).await? {
        Lap::Waits => {
            let requests = named(flight.server(), &flight.input_requests().map_err(malformed)?);
            Ok(Came::Waits(Box::new(Paused { rest: Rest::Flight(Box::new(flight)), requests, answerer })))
        }
        Lap::Done(done) if done.view.result_type == ResultType::InputRequired => {
            let (requests, state) = asked(flight.server(), &done.result).map_err(malformed)?;
            if let Some(other) = requests.iter().find_map(|(_, request)| unanswerable(&answerer.can, request))
            {
                let message =
                    format!("the server asks for `{other}`, which the caller did not offer to answer");
                return Err(Failure::NeedsInput(message));
            }
            Ok(Came::Waits(Box::new(Paused { rest: Rest::Again(errand, state), requests, answerer })))
        }
        Lap::Done(done) => Ok(Came::Done(done)),
    }
}

/// What a server of the modern era asks, and the state that it wants back.
fn asked(server: &UpstreamId, result: &RawJson) -> Result<(Requests, Option<String>), serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asked<'a> {
        #[serde(borrow, default)]
        input_requests: RawObject<'a>,
        #[serde(default)]
        request_state: Option<String>,
    }
    let result = without_repeats(result);
    let Asked { input_requests, request_state } = result.read()?;
    Ok((named(server, &input_requests), request_state))
}

/// The requests, each with the name of the server that asks.
fn named(server: &UpstreamId, requests: &RawObject<'_>) -> Requests {
    let with_server = |value: &RawValue| {
        let mut request: RawObject<'_> = serde_json::from_str(value.get())?;
        request.remove("server");
        request.set("server", &RawJson::of(server.as_str())?)?;
        request.to_raw()
    };
    let raw = |value: &RawValue| with_server(value).unwrap_or_else(|_: serde_json::Error| RawJson::null());
    requests.members().iter().map(|(key, value)| (key.to_string(), raw(value))).collect()
}

/// The method of a request that the caller does not answer.
fn unanswerable(can: &Can, request: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Method<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let asked =
        request.read::<Method<'_>>().map_or_else(|_| "?".to_owned(), |found| found.method.into_owned());
    (!can.answers(&asked)).then_some(asked)
}

impl Paused {
    /// What the server wants to know, by name.
    pub(crate) fn requests(&self) -> &[(String, RawJson)] {
        &self.requests
    }

    /// How long it can be set aside.
    pub(crate) fn patience(&self) -> Duration {
        match &self.rest {
            Rest::Flight(flight) => flight.patience(),
            Rest::Again(errand, _) => errand.gateway.config().mcp.input_expiry,
        }
    }

    /// Goes on with the answers; what has none is refused.
    pub(crate) async fn go_on(
        self,
        context: &RequestContext,
        answered: impl Fn(&str) -> Option<RawJson>,
    ) -> Result<Came, Failure> {
        let Self { rest, requests, answerer } = self;
        let flight = match rest {
            Rest::Flight(mut flight) => {
                flight.answer(answered);
                *flight
            }
            Rest::Again(errand, state) => {
                let mut responses = RawObject::default();
                for (key, _) in &requests {
                    if let Some(answer) = answered(key) {
                        // A text that was read before can be read again.
                        let _ = responses.set(key, &answer);
                    }
                }
                let responses = Some(responses.to_raw().unwrap_or_else(|_| RawJson::empty_object()));
                let errand = Errand {
                    gateway: errand.gateway.clone(),
                    context: quiet(context),
                    owner: Arc::clone(&errand.owner),
                    target: errand.target.clone(),
                    meta: Vec::new(),
                    capabilities: errand.capabilities.clone(),
                    provider: errand.provider.clone(),
                    transport: errand.transport,
                    is_watched: context.progress.is_some(),
                };
                Arc::new(errand).start(Input { responses, state }, None)
            }
        };
        go(flight, answerer, context).await
    }
}

/// A call of `/call_tool` that was set aside, with how its caller wants the answer.
#[derive(Debug)]
pub(crate) struct PausedCall {
    pub(crate) paused: Paused,
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) mode: gateway_dialects::results::ResultMode,
    pub(crate) style: crate::errors::ErrorStyle,
}

/// What a caller is asked, and how it goes on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InputRequired {
    requests: RawJson,
    state: String,
    /// Seconds for which the state holds.
    expires_in: u64,
}

/// Where a request came in; a state that was given at one place holds there only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    CallTool,
    Execute,
}

impl Place {
    fn mark(self) -> &'static str {
        match self {
            Self::CallTool => "http /call_tool",
            Self::Execute => "http /execute",
        }
    }
}

/// Sets a call or a turn aside.
pub(crate) fn park(
    gateway: &Gateway,
    context: &RequestContext,
    place: Place,
    (waiting, patience): (Waiting, Duration),
    requests: &[(String, RawJson)],
) -> Result<InputRequired, ApiError> {
    let mut object = RawObject::default();
    for (key, request) in requests {
        object.set(key, request).map_err(|error| unwritten(&error))?;
    }
    let requests = object.to_raw().map_err(|error| unwritten(&error))?;
    let mcp = gateway.mcp();
    let id = mcp.parked.park(waiting, patience).ok_or_else(|| {
        let message = "too many calls wait for answers; try again later";
        ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1)
    })?;
    let state = mcp.seal.write(Behind::Parked(id), context.caller.as_ref(), place.mark(), Some(patience));
    Ok(InputRequired { requests, state, expires_in: patience.as_secs() })
}

fn unwritten(error: &serde_json::Error) -> ApiError {
    let message = format!("what the server asks cannot be written: {error}");
    ApiError::new(StatusCode::BAD_GATEWAY, code::SERVER_ERROR, message)
}

/// A request that goes on with a call or a turn.
#[derive(Debug)]
pub(crate) struct Continued {
    state: String,
    responses: RawJson,
}

impl Continued {
    /// Reads the members `continue` and `responses` of a body. Nothing else may stand beside them.
    pub(crate) fn read(body: &RawJson) -> Result<Self, ApiError> {
        let members = RawObject::parse(body)
            .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
        let mut others = members.members().iter().map(|(key, _)| key.as_ref());
        if let Some(other) = others.find(|key| !matches!(*key, "continue" | "responses")) {
            let message = format!("\"{other}\" cannot stand beside \"continue\": the first request said it");
            return Err(ApiError::bad_request(message));
        }
        let state = members.get("continue").and_then(|state| serde_json::from_str(state.get()).ok());
        let state = state.ok_or_else(|| ApiError::bad_request("Missing or invalid \"continue\" field"))?;
        let responses = match members.get("responses").filter(|responses| responses.get() != "null") {
            None => RawJson::empty_object(),
            Some(responses) => body.part(responses),
        };
        let is_sound = RawObject::parse(&responses)
            .is_ok_and(|given| given.members().iter().all(|(_, value)| value.get().starts_with('{')));
        if !is_sound {
            let message = "Missing or invalid \"responses\" field: expected an object of objects";
            return Err(ApiError::bad_request(message));
        }
        Ok(Self { state, responses })
    }

    /// The answer to a request.
    pub(crate) fn response(&self, key: &str) -> Option<RawJson> {
        let given = RawObject::parse(&self.responses).ok()?;
        given.get(key).map(|value| self.responses.part(value))
    }

    /// Takes up what the state stands for, if it is this caller's, was given at this place, still holds, and was not used.
    pub(crate) fn take(
        &self,
        gateway: &Gateway,
        context: &RequestContext,
        place: Place,
    ) -> Result<Waiting, ApiError> {
        let gone = |message: &str| {
            ApiError::new(StatusCode::GONE, code::INPUT_EXPIRED, format!("{message}; send the request again"))
        };
        let mcp = gateway.mcp();
        let behind = mcp.seal.read(&self.state, context.caller.as_ref(), place.mark());
        let id = match behind {
            Ok(Behind::Parked(id)) => id,
            Ok(Behind::Upstream(_)) | Err(BadState::Forged) => {
                return Err(ApiError::bad_request("this state was not made here, or was changed"));
            }
            Err(BadState::Expired) => return Err(gone("this state has expired")),
            Err(BadState::Foreign) => {
                let message = "this state belongs to another caller or another route";
                return Err(ApiError::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message));
            }
        };
        let taken = mcp.parked.take_if(&id, |waiting| self.check(waiting));
        taken.ok_or_else(|| gone("what this state stands for was continued already, or is over"))?
    }

    /// An answer that nobody asked for is most likely a mistyped name, and the question would be refused.
    fn check(&self, waiting: &Waiting) -> Result<(), ApiError> {
        let known: Vec<String> = match waiting {
            Waiting::Call(call) => call.paused.requests().iter().map(|(key, _)| key.clone()).collect(),
            Waiting::Turn(turn) => turn.requests().into_iter().map(|(key, _)| key).collect(),
            Waiting::Flight(_) => Vec::new(),
        };
        let given = RawObject::parse(&self.responses).unwrap_or_default();
        match given.members().iter().find(|(key, _)| !known.iter().any(|known| known == key)) {
            None => Ok(()),
            Some((key, _)) => {
                let known = known.join(", ");
                let message = format!("nothing was asked under the name \"{key}\"; asked was: {known}");
                Err(ApiError::bad_request(message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway_protocol::method;

    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn a_caller_says_what_it_can_be_asked() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(Answerer::of(&[]).unwrap().is_none());
        let answerer = Answerer::of(&words(&["elicitation", "roots"])).unwrap().unwrap();
        assert!(answerer.can.answers(method::ELICIT) && answerer.can.answers(method::LIST_ROOTS));
        assert!(!answerer.can.answers(method::SAMPLE));
        assert_eq!(answerer.can.raw().as_str(), r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#);
        assert!(Answerer::of(&words(&["everything"])).is_err_and(|error| error.message.contains("sampling")));
    }

    #[test]
    fn a_body_that_goes_on_has_a_state_and_answers() {
        let read = Continued::read(&raw(r#"{"continue":"s","responses":{"a":{"n":1e400}}}"#)).unwrap();
        assert_eq!(read.state, "s");
        assert_eq!(read.response("a").unwrap().as_str(), r#"{"n":1e400}"#);
        assert!(read.response("b").is_none());
        assert!(Continued::read(&raw(r#"{"continue":"s"}"#)).is_ok());
        for wrong in [
            r#"{"continue":1}"#,
            r#"{"continue":"s","responses":[]}"#,
            r#"{"continue":"s","responses":{"a":1}}"#,
            r#"{"continue":"s","tool":"x"}"#,
        ] {
            assert!(Continued::read(&raw(wrong)).is_err(), "{wrong}");
        }
    }
}
