//! Calls of plain HTTP callers whom servers may ask something: `input` in the request says what they can be asked.
//!
//! Where a server wants to know something, the call is set aside and the caller gets the requests and a state; with the state
//! and the answers it goes on. A state holds for its caller and its route, for a while, and once.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gateway_protocol::{
    Notification, RawJson, RawObject, ResultType, RpcError, code as rpc, without_repeats,
};
use gateway_store::Permit;
use gateway_upstream::UpstreamId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::in_flight::{InFlight, Input, Peer, Reached, Target, UpstreamRequest};
use super::{Call, CallOutcome, CallState};
use crate::Runtime;
use crate::capabilities::Capabilities;
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::parked::{Suspended, Waiting};
use crate::progress::Watcher;
use crate::seal::{BadState, Behind, unique_name};

/// What a caller can be asked.
#[derive(Clone, Debug)]
pub struct Answerer {
    can: Capabilities,
    /// Calls of one request may be taken for each other.
    owner: Arc<str>,
}

impl Answerer {
    /// Reads the words of `input`; `None` if there are none.
    pub fn of(words: &[String]) -> Result<Option<Self>, Failure> {
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
                    return Err(Failure::request(message));
                }
            };
            capabilities.insert(word.clone(), value);
        }
        let raw = RawJson::of(&capabilities).unwrap_or_else(|_| RawJson::empty_object());
        Ok(Some(Self { can: Capabilities::of(raw), owner: unique_name().into() }))
    }
}

/// A call that was set aside.
#[derive(Debug)]
pub struct PausedCall {
    /// What is known of it so far.
    pub outcome: CallOutcome,
    rest: Rest,
    /// What the server wants to know, by name.
    pub requests: Requests,
    answerer: Answerer,
}

/// Requests of a server, by name.
pub type Requests = Vec<(String, RawJson)>;

#[derive(Debug)]
enum Rest {
    /// A server of the legacy era waits for the answers.
    InFlight(Box<InFlight>),
    /// A server of the modern era wants the same call again, with the answers and its own state.
    Again(Arc<UpstreamRequest>, Option<String>),
}

/// A caller who comes back with its answers, and sees progress if it wants to.
struct Returning(Option<Watcher>);

impl Peer for Returning {
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        if let Some(watcher) = &self.0 {
            watcher.report(&notification);
        }
        Box::pin(std::future::ready(()))
    }

    fn is_asked(&self) -> bool {
        false
    }

    fn ask<'a>(
        &'a self,
        method: &'a str,
        _: Option<&'a RawJson>,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        let error = RpcError::new(rpc::METHOD_NOT_FOUND, format!("Method not found: {method}"));
        Box::pin(std::future::ready(Err(error)))
    }
}

impl PausedCall {
    /// Makes a call for a caller who can be asked.
    pub async fn begin(
        runtime: &Runtime,
        outcome: CallOutcome,
        call: Call<'_>,
        permit: Permit,
        answerer: &Answerer,
    ) -> CallState {
        let Call { tool, arguments, context, origin, .. } = call;
        let (server, name) = (tool.server.clone(), tool.name.clone());
        let request = UpstreamRequest {
            runtime: runtime.clone(),
            context: quiet(context),
            origin: origin.clone(),
            owner: Arc::clone(&answerer.owner),
            target: Target::Tool { server, name, arguments: arguments.clone() },
            meta: Vec::new(),
            capabilities: answerer.can.raw.clone(),
            is_watched: context.progress.is_some(),
        };
        let in_flight = Arc::new(request).start(Input::default(), Some(permit));
        go(in_flight, outcome, answerer.clone(), context).await
    }

    /// How long it can be set aside.
    pub fn patience(&self) -> Duration {
        match &self.rest {
            Rest::InFlight(in_flight) => in_flight.patience(),
            Rest::Again(request, _) => request.runtime.config().mcp.input_expiry,
        }
    }

    /// Goes on with the answers; what has none is refused.
    pub async fn resume(
        self,
        context: &RequestContext,
        answered: impl Fn(&str) -> Option<RawJson>,
    ) -> CallState {
        let Self { outcome, rest, requests, answerer } = self;
        let in_flight = match rest {
            Rest::InFlight(mut in_flight) => {
                in_flight.answer(answered);
                *in_flight
            }
            Rest::Again(request, state) => {
                let mut responses = RawObject::default();
                for (key, _) in &requests {
                    if let Some(answer) = answered(key) {
                        // A text that was read before can be read again.
                        let _ = responses.set(key, &answer);
                    }
                }
                let responses = Some(responses.to_raw().unwrap_or_else(|_| RawJson::empty_object()));
                let is_watched = context.progress.is_some();
                let request = UpstreamRequest { context: quiet(context), is_watched, ..(*request).clone() };
                Arc::new(request).start(Input { responses, state }, None)
            }
        };
        go(in_flight, outcome, answerer, context).await
    }
}

/// The same context without its progress, which belongs to one request, where the call may outlive it.
fn quiet(context: &RequestContext) -> RequestContext {
    RequestContext { progress: None, ..context.clone() }
}

/// Goes on until the call is over or has to be set aside.
async fn go(
    mut in_flight: InFlight,
    outcome: CallOutcome,
    answerer: Answerer,
    context: &RequestContext,
) -> CallState {
    let watcher = match (&context.progress, &in_flight.request.target) {
        (Some(sink), Target::Tool { server, name, .. }) => {
            Some(Watcher { sink: Arc::clone(sink), server: server.clone(), tool: name.clone() })
        }
        _ => None,
    };
    let reached = match in_flight.advance(&answerer.can, &Returning(watcher)).await {
        Ok(Reached::Result(result)) if result.view.result_type != ResultType::InputRequired => {
            return CallState::Done(outcome.ended(Ok(result)));
        }
        Ok(reached) => reached,
        Err(failure) => return CallState::Done(outcome.failed(failure)),
    };
    match set_aside(in_flight, reached, &answerer) {
        Ok((rest, requests)) => {
            CallState::Waiting(Box::new(PausedCall { outcome, rest, requests, answerer }))
        }
        Err(failure) => CallState::Done(outcome.failed(failure)),
    }
}

/// What is left of a call whose server wants to know something.
fn set_aside(
    in_flight: InFlight,
    reached: Reached,
    answerer: &Answerer,
) -> Result<(Rest, Requests), Failure> {
    let malformed = |error: serde_json::Error| {
        Failure::NeedsInput(format!("what the server asks cannot be read: {error}"))
    };
    match reached {
        Reached::Question => {
            let requests = named(in_flight.server(), &in_flight.input_requests().map_err(malformed)?);
            Ok((Rest::InFlight(Box::new(in_flight)), requests))
        }
        Reached::Result(result) => {
            let (requests, state) = asked(in_flight.server(), &result.result).map_err(malformed)?;
            let mut requested = requests.iter();
            if let Some(other) = requested.find_map(|(_, request)| unanswerable(&answerer.can, request)) {
                let message =
                    format!("the server asks for `{other}`, which the caller did not offer to answer");
                return Err(Failure::NeedsInput(message));
            }
            Ok((Rest::Again(in_flight.request, state), requests))
        }
    }
}

/// What a server of the modern era asks, and the state that it wants back.
pub fn asked(server: &UpstreamId, result: &RawJson) -> Result<(Requests, Option<String>), serde_json::Error> {
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
fn unanswerable(can: &Capabilities, request: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Method<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let asked =
        request.read::<Method<'_>>().map_or_else(|_| "?".to_owned(), |found| found.method.into_owned());
    (!can.answers(&asked)).then_some(asked)
}

/// What a caller is asked, and how it goes on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequired {
    requests: RawJson,
    state: String,
    /// Seconds for which the state holds.
    expires_in: u64,
}

/// What was set aside; a state of a call goes on with no turn, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// A single call.
    Call,
    /// A turn.
    Turn,
}

impl Suspension {
    fn mark(self) -> &'static str {
        match self {
            Self::Call => "http /call_tool",
            Self::Turn => "http /execute",
        }
    }
}

/// Sets a call or a turn aside.
pub fn park(
    runtime: &Runtime,
    context: &RequestContext,
    kind: Suspension,
    (what, patience): (Box<dyn Suspended>, Duration),
    (calls, requests): (usize, &[(String, RawJson)]),
) -> Result<InputRequired, Failure> {
    let mut object = RawObject::default();
    for (key, request) in requests {
        object.set(key, request).map_err(|error| unwritten(&error))?;
    }
    let keys = requests.iter().map(|(key, _)| key.clone()).collect();
    let requests = object.to_raw().map_err(|error| unwritten(&error))?;
    let full = || Failure::NoRoom("too many calls wait for answers; try again later".to_owned());
    let id = runtime.parked().park(Waiting { what, calls, keys }, patience).ok_or_else(full)?;
    let owner = context.caller.as_ref();
    let state = runtime.seal().write(Behind::Parked(id), owner, kind.mark(), Some(patience));
    Ok(InputRequired { requests, state, expires_in: patience.as_secs() })
}

fn unwritten(error: &serde_json::Error) -> Failure {
    Failure::BadQuestion(format!("what the server asks cannot be written: {error}"))
}

/// A request that goes on with a call or a turn.
#[derive(Debug)]
pub struct Continued {
    state: String,
    responses: RawJson,
}

impl Continued {
    /// Reads the members `continue` and `responses` of a body. Nothing else may stand beside them.
    pub fn read(body: &RawJson) -> Result<Self, Failure> {
        let members = RawObject::parse(body)
            .map_err(|error| Failure::request(format!("reading the body as JSON: {error}")))?;
        let mut others = members.members().iter().map(|(key, _)| key.as_ref());
        if let Some(other) = others.find(|key| !matches!(*key, "continue" | "responses")) {
            let message = format!("\"{other}\" cannot stand beside \"continue\": the first request said it");
            return Err(Failure::request(message));
        }
        let state = members.get("continue").and_then(|state| serde_json::from_str(state.get()).ok());
        let state = state.ok_or_else(|| Failure::request("Missing or invalid \"continue\" field"))?;
        let responses = match members.get("responses").filter(|responses| responses.get() != "null") {
            None => RawJson::empty_object(),
            Some(responses) => body.part(responses),
        };
        let is_sound = RawObject::parse(&responses)
            .is_ok_and(|given| given.members().iter().all(|(_, value)| value.get().starts_with('{')));
        if !is_sound {
            let message = "Missing or invalid \"responses\" field: expected an object of objects";
            return Err(Failure::request(message));
        }
        Ok(Self { state, responses })
    }

    /// The answer to a request.
    pub fn response(&self, key: &str) -> Option<RawJson> {
        let given = RawObject::parse(&self.responses).ok()?;
        given.get(key).map(|value| self.responses.part(value))
    }

    /// Takes up what the state stands for, if it is this caller's, was given for the same kind, still holds, and was not
    /// used.
    pub fn take<T: 'static>(
        &self,
        runtime: &Runtime,
        context: &RequestContext,
        kind: Suspension,
    ) -> Result<Box<T>, Failure> {
        let gone = |message: &str| Failure::InputExpired(format!("{message}; send the request again"));
        let forged = || Failure::request("this state was not made here, or was changed");
        let id = match runtime.seal().read(&self.state, context.caller.as_ref(), kind.mark()) {
            Ok(Behind::Parked(id)) => id,
            Ok(Behind::Upstream(_)) | Err(BadState::Forged) => return Err(forged()),
            Err(BadState::Expired) => return Err(gone("this state has expired")),
            Err(BadState::Foreign) => {
                let message = "this state belongs to another caller or another route";
                return Err(Failure::Foreign(message.to_owned()));
            }
        };
        let taken = runtime.parked().take_if(&id, |keys| self.check(keys));
        let taken = taken.ok_or_else(|| gone("what this state stands for was continued already, or is over"));
        taken??.downcast().ok_or_else(forged)
    }

    /// An answer that nobody asked for is most likely a mistyped name, and the question would be refused.
    fn check(&self, known: &[String]) -> Result<(), Failure> {
        let given = RawObject::parse(&self.responses).unwrap_or_default();
        match given.members().iter().find(|(key, _)| !known.iter().any(|known| known == key)) {
            None => Ok(()),
            Some((key, _)) => {
                let known = known.join(", ");
                let message = format!("nothing was asked under the name \"{key}\"; asked was: {known}");
                Err(Failure::Request(message))
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
        assert_eq!(answerer.can.raw.as_str(), r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#);
        assert!(
            Answerer::of(&words(&["everything"])).is_err_and(|error| error.message().contains("sampling"))
        );
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
