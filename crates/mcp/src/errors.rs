//! What a caller gets where there is no result.

use std::fmt::Display;

use gateway_protocol::{RawJson, RpcError, code};
use gateway_runtime::failure::{Failure, call_code};
use gateway_runtime::lookup::Sought;
use gateway_runtime::questions;
use gateway_upstream::{CallError, LookupError, UpstreamId};
use serde::Deserialize;
use serde_json::json;

use crate::caller::Caller;
use crate::view::View;

pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}

pub(crate) fn internal(error: impl Display) -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, error.to_string())
}

/// MCP has parameters by name only; a list would be read as if their order meant something.
pub(crate) fn check_params(params: Option<&RawJson>) -> Result<(), RpcError> {
    match params.and_then(|params| params.as_bytes().first()) {
        None | Some(b'{') => Ok(()),
        Some(_) => Err(invalid("`params` must be an object")),
    }
}

/// The parameters of a request that cannot do without.
pub(crate) fn required(params: Option<&RawJson>) -> Result<&RawJson, RpcError> {
    params.ok_or_else(|| invalid("`params` are missing"))
}

/// What is needed of the parameters of a request.
pub(crate) fn read_params<'p, T: Deserialize<'p>>(
    method: &str,
    params: Option<&'p RawJson>,
) -> Result<T, RpcError> {
    required(params)?.read().map_err(|error| invalid(format!("reading the params of {method}: {error}")))
}

/// What a caller gets for a request that gave no result: the upstream's own error, or that there is none.
pub(crate) fn rpc_error(error: CallError) -> RpcError {
    match error {
        CallError::Refused { upstream, error } => questions::attributed_error(&upstream, error),
        other => {
            let data = RawJson::of(&json!({"code": call_code(&other)})).ok();
            RpcError { code: code::INTERNAL_ERROR, message: other.to_string(), data }
        }
    }
}

/// The same for a call that may have failed before it reached its upstream.
pub(crate) fn rpc_failure(failure: Failure) -> RpcError {
    match failure {
        Failure::Call(error) => rpc_error(error),
        Failure::NoRoom(message) | Failure::Internal(message) | Failure::BadQuestion(message) => {
            internal(message)
        }
        other => invalid(other.message()),
    }
}

/// Why a name leads to no tool of an endpoint, in the words of `text`.
pub(crate) fn not_found(caller: &Caller, name: &str, error: &LookupError, text: String) -> Failure {
    let server = caller.view.server().map(UpstreamId::as_str);
    let failure = caller.endpoint.not_found(Sought { server, name, implied: None }, error, text.clone());
    match (&caller.view, &failure) {
        // Who sees a group learns nothing of other servers.
        (View::Group(_), Failure::Call(error))
            if !error.upstream().is_some_and(|server| caller.view.shows(caller.endpoint.fleet(), server)) =>
        {
            Failure::UnknownTool(text)
        }
        _ => failure,
    }
}
