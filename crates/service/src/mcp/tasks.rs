//! Tasks that outlive their request (extension `io.modelcontextprotocol/tasks`): the upstream keeps them, we only bring
//! questions about them to the right one.
//!
//! A task's id says which server has it, where more than one is behind the endpoint: `gateway:<server>:<id>`.

use gateway_protocol::{RawJson, RawObject, RpcError};
use gateway_upstream::UpstreamId;
use serde::Deserialize;

use super::caller::Caller;
use super::core::invalid;
use super::face::Face;
use super::flight::told;
use crate::gateway::Gateway;

const TASK_ID: &str = "taskId";

/// Whether a method is about a task.
pub(super) fn is_meant(method: &str) -> bool {
    matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel")
}

/// The task that a request is about.
pub(super) fn task_id(params: Option<&RawJson>) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "taskId")]
        id: String,
    }
    params?.read::<Params>().ok().map(|params| params.id)
}

/// A result of `server` with the id that its task has here.
pub(super) fn published(face: &Face, server: &UpstreamId, result: RawJson) -> RawJson {
    if matches!(face, Face::Server(_)) {
        return result;
    }
    let renamed = || {
        let mut members = RawObject::parse(&result).ok()?;
        let own: String = serde_json::from_str(members.get(TASK_ID)?.get()).ok()?;
        let public = RawJson::of(&format!("gateway:{server}:{own}")).ok()?;
        members.set(TASK_ID, &public).ok()?;
        members.to_raw().ok()
    };
    renamed().unwrap_or(result)
}

/// Asks the server that has the task.
pub(super) async fn answer(
    gateway: &Gateway,
    caller: &Caller,
    method: &str,
    params: Option<&RawJson>,
) -> Result<RawJson, RpcError> {
    let public = task_id(params).ok_or_else(|| invalid("`params.taskId` is missing"))?;
    let (server, own) =
        owner(gateway, &caller.face, &public).ok_or_else(|| invalid(format!("Task not found: {public}")))?;
    let own_text = RawJson::of(&own).map_err(|error| invalid(format!("writing `params.taskId`: {error}")))?;
    let empty = RawJson::empty_object();
    let members = RawObject::parse(params.unwrap_or(&empty))
        .map_err(|error| invalid(format!("reading the params of {method}: {error}")))?;
    let mut list = vec![(TASK_ID, own_text.as_bytes())];
    let rest = members.members.iter().filter(|(key, _)| key != TASK_ID && key != "_meta");
    list.extend(rest.map(|(key, value)| (key.as_ref(), value.get().as_bytes())));
    let mut options = caller.context.call_options();
    options.capabilities = Some(caller.can.raw().clone());
    let outcome = gateway.fleet().request(server.as_str(), method, Some(&own), &list, &options).await;
    outcome.map(|result| published(&caller.face, &server, result)).map_err(told)
}

fn owner(gateway: &Gateway, face: &Face, public: &str) -> Option<(UpstreamId, String)> {
    if let Face::Server(server) = face {
        return Some((server.clone(), public.to_owned()));
    }
    face.servers(gateway).into_iter().find_map(|server| {
        let own = public.strip_prefix("gateway:")?.strip_prefix(server.as_str())?.strip_prefix(':')?;
        Some((server.clone(), own.to_owned()))
    })
}
