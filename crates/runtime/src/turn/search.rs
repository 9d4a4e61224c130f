//! Calls of the three tools that search, describe and call all others.

use std::sync::Arc;

use gateway_dialects::Plan;
use gateway_dialects::calls::{Arguments, ToolCall};
use gateway_protocol::RawJson;
use gateway_search::MetaTool;
use gateway_store::Permit;
use serde::Deserialize as _;
use serde_json::Value;

use super::Turn;
use crate::Runtime;
use crate::call::{CallOutcome, CallState};
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::lists::{Finder, Named};

impl Turn {
    /// Runs a call of one of the tools of search.
    pub(super) async fn call_search(
        &self,
        runtime: &Runtime,
        context: &RequestContext,
        call: &ToolCall,
        (meta, finder, plan): (MetaTool, &Arc<Finder>, &Plan),
        permit: Permit,
    ) -> CallState {
        let own = |result| CallState::Done(CallOutcome::own(call.name.clone(), result));
        let failed =
            |failure| CallState::Done(CallOutcome::own(call.name.clone(), RawJson::null()).failed(failure));
        let parsed = match call.arguments_object(&self.dialect.label, self.options.bad_arguments) {
            Ok(parsed) => parsed,
            Err(error) => return failed(Failure::Request(error.to_string())),
        };
        let sent = Value::Object(parsed.object);
        let value = match plan.decode(&sent) {
            Ok(value) if !parsed.raw => value,
            _ => sent,
        };
        if meta == MetaTool::Search {
            return own(finder.search(&value).await);
        }
        let named = match Named::deserialize(&value) {
            Ok(named) => named,
            Err(error) => return failed(Failure::Arguments(format!("The arguments do not fit: {error}"))),
        };
        let (catalogue, server) = (&self.rendered.catalogue, self.options.named_server());
        // A model may name a tool as the list does that it was given.
        let shown = self.rendered.tool(&named.name).map(|(tool, _)| tool);
        let listed = match shown {
            Some(tool) => finder.find(catalogue, Some(tool.server.as_str()), &tool.name),
            None => finder.find(catalogue, server, &named.name),
        };
        if let (MetaTool::Describe, Some(listed)) = (meta, listed) {
            return own(listed.described());
        }
        let resolved = catalogue.resolve(server, &named.name);
        let tool = listed.and_then(|listed| catalogue.get(listed.server.as_str(), &listed.own));
        let unaccepted = resolved.as_ref().ok().filter(|tool| tool.unaccepted.is_some()).copied();
        if let Some(tool) = tool.or(unaccepted).filter(|_| meta == MetaTool::Call) {
            let arguments = match value.get("arguments") {
                None | Some(Value::Null) => Arguments::Missing,
                Some(Value::String(text)) => Arguments::Text(text.clone()),
                Some(value) => Arguments::Json(value.clone()),
            };
            let call = ToolCall { name: named.name, arguments, ..call.clone() };
            return runtime.call(self.request(context, &call, Ok((tool, None))), permit).await;
        }
        let text = finder.unknown(&named.name);
        let failure = match resolved {
            Err(error) => runtime.not_found(self.sought(&named.name), &error, text),
            Ok(_) => Failure::UnknownTool(text),
        };
        let mut request = self.request(context, call, Err(failure));
        request.named = (server, &named.name);
        runtime.call(request, permit).await
    }
}
