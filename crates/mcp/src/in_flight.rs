//! A request of a caller over MCP, driven to its end: what servers ask meanwhile reaches the caller in the way of its era.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use gateway_protocol::{Notification, RawJson, RawObject, ResultType, RpcError};
use gateway_upstream::UpstreamId;
use serde::Deserialize;

use crate::caller::{Caller, Reach};
use crate::errors::{internal, rpc_failure};
use crate::outbound::Out;
use gateway_runtime::call::CallResult;
use gateway_runtime::call::in_flight::{InFlight, Input, Peer, Reached};
use gateway_runtime::call::input::asked;
use gateway_runtime::failure::{Failure, error_result};

/// How often a server may ask for more before the call is given up.
const ROUNDS: usize = 32;

/// How far a request came.
pub(crate) enum Progressed {
    /// It ended.
    Done(CallResult),
    /// The server waits for answers that only another request can bring.
    Waits(Box<InFlight>),
    /// The upstream itself said `input_required`.
    Asks(RawJson),
}

/// The caller, with the way back to it.
struct CallerPeer<'a> {
    caller: &'a Caller,
    out: &'a Out,
}

impl Peer for CallerPeer<'_> {
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        Box::pin(self.out.note(notification))
    }

    fn is_asked(&self) -> bool {
        matches!(self.caller.reach, Reach::Asked(_))
    }

    fn ask<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawJson>,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>> {
        match &self.caller.reach {
            Reach::Asked(peer) => Box::pin(peer.ask(&self.out.sink, method, params)),
            Reach::Returns => {
                let error = internal("the caller comes back with its answers");
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }
}

/// Goes on until there is a result, or answers are needed that this request cannot get.
pub(crate) async fn drive(mut call: InFlight, caller: &Caller, out: &Out) -> Result<Progressed, RpcError> {
    let peer = CallerPeer { caller, out };
    let mut rounds = 0;
    loop {
        let result = match call.advance(&caller.can, &peer).await {
            // The model has to read why.
            Err(failure @ (Failure::Refused { .. } | Failure::TooMany(_) | Failure::Arguments(_))) => {
                return Ok(Progressed::Done(CallResult::fresh(error_result(&failure.message()))));
            }
            Err(failure) => return Err(rpc_failure(failure)),
            Ok(Reached::Question) => return Ok(Progressed::Waits(Box::new(call))),
            Ok(Reached::Result(result)) => result,
        };
        if result.view.result_type != ResultType::InputRequired {
            return Ok(Progressed::Done(result));
        }
        if !peer.is_asked() {
            return Ok(Progressed::Asks(result.result));
        }
        if rounds >= ROUNDS {
            let message = format!("the server asked {ROUNDS} times and gave no result");
            return Err(internal(message));
        }
        rounds += 1;
        let patience = caller.endpoint.config().mcp.input_expiry;
        let asking = tokio::time::timeout(patience, answers(call.server(), &result.result, &peer));
        let answered =
            caller.endpoint.state().stopping.run_until_cancelled(asking).await.and_then(Result::ok);
        let late = || internal("the caller gave no answer in time");
        call = Arc::clone(&call.request).start(answered.ok_or_else(late)??, None);
    }
}

/// Asks a legacy caller what a modern server wants to know.
async fn answers(server: &UpstreamId, result: &RawJson, peer: &CallerPeer<'_>) -> Result<Input, RpcError> {
    #[derive(Deserialize)]
    struct InputRequest {
        #[serde(default)]
        method: String,
        #[serde(default)]
        params: Option<RawJson>,
    }
    let malformed = |_| internal("the server's `input_required` cannot be read");
    let (requests, state) = asked(server, result).map_err(malformed)?;
    let mut asking = FuturesUnordered::new();
    for (key, request) in &requests {
        let InputRequest { method, params } = request.read().map_err(malformed)?;
        if !peer.caller.can.answers(&method) {
            let message = format!("the server asks for `{method}`, which the client does not offer");
            return Err(internal(message));
        }
        asking.push(async move { Ok::<_, RpcError>((key, peer.ask(&method, params.as_ref()).await?)) });
    }
    let mut responses = RawObject::default();
    while let Some(answer) = asking.next().await {
        let (key, answer) = answer?;
        responses.set(key, &answer).map_err(malformed)?;
    }
    Ok(Input { responses: Some(responses.to_raw().map_err(malformed)?), state })
}
