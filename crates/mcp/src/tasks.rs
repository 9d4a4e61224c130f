//! Tasks that outlive their request (extension `io.modelcontextprotocol/tasks`): the upstream keeps them, we only bring
//! questions about them to the right one.
//!
//! A task's id says which server has it, where more than one is behind the endpoint: `gateway:<server>:<id>`. Where callers
//! have keys, it is signed, so that nobody asks about the tasks of others.

use gateway_protocol::{RawJson, RawObject, ResultType, RpcError, method};
use gateway_upstream::UpstreamId;

use crate::caller::Caller;
use crate::errors::{internal, invalid, rpc_error};
use crate::params::member;
use crate::view::View;
use gateway_runtime::call::CallResult;
use gateway_runtime::questions;
use gateway_runtime::seal::Behind;

const TASK_ID: &str = "taskId";

/// Whether a method is about a task.
pub(crate) fn is_meant(asked: &str) -> bool {
    matches!(asked, method::GET_TASK | method::UPDATE_TASK | method::CANCEL_TASK)
}

/// The task that a request is about.
pub(crate) fn task_id(params: Option<&RawJson>) -> Option<String> {
    member(params, TASK_ID)
}

/// A result of `server` with the id that its task has here. Results that are no tasks stay as they are.
pub(crate) fn published(caller: &Caller, server: &UpstreamId, done: CallResult) -> RawJson {
    let is_task = matches!(done.view.result_type, ResultType::Other(kind) if kind == "task");
    if is_task { renamed(caller, server, done.result) } else { done.result }
}

fn renamed(caller: &Caller, server: &UpstreamId, result: RawJson) -> RawJson {
    let renamed = || {
        let mut members = RawObject::parse(&result).ok()?;
        let own: String = serde_json::from_str(members.get(TASK_ID)?.get()).ok()?;
        members.set(TASK_ID, &RawJson::of(&public_id(caller, server, own)).ok()?).ok()?;
        members.to_raw().ok()
    };
    renamed().unwrap_or(result)
}

/// The id of a task here. The server sees one client, us; so where callers have keys, the id is signed for its caller.
/// It has no end of its own: every answer must name the task alike, and the server says how long it lives.
fn public_id(caller: &Caller, server: &UpstreamId, own: String) -> String {
    let (plain, view) = (matches!(caller.view, View::Server(_)), caller.view.word());
    match caller.context.caller.as_ref() {
        None if plain => own,
        None => format!("gateway:{server}:{own}"),
        Some(who) => {
            let behind = Behind::Upstream(Some(own));
            let state = caller.endpoint.seal().write(behind, Some(who), &task_mark(&view, server), None);
            format!("gateway:{server}:{state}")
        }
    }
}

fn task_mark(view: &str, server: &UpstreamId) -> String {
    format!("task {view} {server}")
}

/// Asks the server that has the task.
pub(crate) async fn answer(
    caller: &Caller,
    method: &str,
    params: Option<&RawJson>,
) -> Result<RawJson, RpcError> {
    let public = task_id(params).ok_or_else(|| invalid("`params.taskId` is missing"))?;
    let (server, own) = owner(caller, &public).ok_or_else(|| invalid(format!("Task not found: {public}")))?;
    let own_text = RawJson::of(&own).map_err(|error| invalid(format!("writing `params.taskId`: {error}")))?;
    let empty = RawJson::empty_object();
    let members = RawObject::parse(params.unwrap_or(&empty))
        .map_err(|error| invalid(format!("reading the params of {method}: {error}")))?;
    let mut list = vec![(TASK_ID, own_text.as_bytes())];
    let rest = members.members().iter().filter(|(key, _)| key != TASK_ID && key != "_meta");
    list.extend(rest.map(|(key, value)| (key.as_ref(), value.get().as_bytes())));
    let mut options = caller.context.call_options();
    options.capabilities = Some(caller.can.raw.clone());
    let outcome = caller.endpoint.fleet().request(server.as_str(), method, Some(&own), &list, &options).await;
    let result = questions::attributed(&server, &outcome.map_err(rpc_error)?)
        .map_err(|error| internal(format!("what the server asks cannot be read: {error}")))?;
    Ok(renamed(caller, &server, result))
}

fn owner(caller: &Caller, public: &str) -> Option<(UpstreamId, String)> {
    let who = caller.context.caller.as_ref();
    if let (View::Server(server), None) = (&caller.view, who) {
        return Some((server.clone(), public.to_owned()));
    }
    let (server, own) = caller.view.servers(caller.endpoint.fleet()).into_iter().find_map(|server| {
        let own = public.strip_prefix("gateway:")?.strip_prefix(server.as_str())?.strip_prefix(':')?;
        Some((server.clone(), own.to_owned()))
    })?;
    if who.is_none() {
        return Some((server, own));
    }
    match caller.endpoint.seal().read(&own, who, &task_mark(&caller.view.word(), &server)).ok()? {
        Behind::Upstream(Some(own)) => Some((server, own)),
        Behind::Upstream(None) | Behind::Parked(_) => None,
    }
}
