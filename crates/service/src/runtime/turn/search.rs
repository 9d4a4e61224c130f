//! Calls of the three tools that search, describe and call all others.

use std::sync::Arc;

use gateway_dialects::Plan;
use gateway_dialects::calls::{Arguments, ToolCall};
use gateway_search::MetaTool;
use gateway_store::Permit;
use serde::Deserialize as _;
use serde_json::Value;

use super::{Ran, Step, Turn, as_sent};
use crate::mcp::finder::{Finder, Named};
use crate::runtime::call::Origin;
use crate::runtime::context::RequestContext;
use crate::runtime::failure::Failure;
use crate::runtime::gateway::Gateway;

impl Turn {
    /// Runs a call of one of the tools of search.
    pub(super) async fn run_search(
        &self,
        gateway: &Gateway,
        context: &RequestContext,
        call: &ToolCall,
        (meta, finder, plan): (MetaTool, &Arc<Finder>, &Plan),
        permit: Permit,
        origin: &Origin,
    ) -> Step {
        let mut ran = Ran::nobodys(call.name.clone());
        let parsed = match call.arguments_object(&self.dialect.label, self.bad_arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Step::Done(ran.failed(Failure::Unreadable(error.to_string()))),
        };
        let sent = Value::Object(parsed.object);
        let value = match plan.decode(&sent) {
            Ok(value) if !parsed.raw => value,
            _ => sent,
        };
        if meta == MetaTool::Search {
            ran.result = finder.search(&value).await;
            return Step::Done(ran.judged());
        }
        let named = match Named::deserialize(&value) {
            Ok(named) => named,
            Err(error) => {
                let failure = Failure::Arguments(format!("The arguments do not fit: {error}"));
                return Step::Done(ran.failed(failure));
            }
        };
        let catalogue = &self.rendered.catalogue;
        let server = self.server.as_deref().filter(|server| *server != "*");
        let listed = finder.find(catalogue, server, &named.name);
        let tool = listed.and_then(|listed| catalogue.get(listed.server.as_str(), &listed.own));
        let withheld = catalogue.resolve(server, &named.name).ok().filter(|tool| tool.withheld.is_some());
        match (meta, listed, tool.or(withheld)) {
            (MetaTool::Describe, Some(listed), _) => {
                ran.result = listed.described();
                Step::Done(ran.judged())
            }
            (MetaTool::Call, _, Some(tool)) => {
                let arguments = match value.get("arguments") {
                    None | Some(Value::Null) => Arguments::Missing,
                    Some(Value::String(text)) => Arguments::Text(text.clone()),
                    Some(value) => Arguments::Json(value.clone()),
                };
                let call = ToolCall { name: named.name, arguments, ..call.clone() };
                self.run_found(gateway, context, &call, (tool, None), permit, origin).await
            }
            (..) => {
                let text = finder.unknown(&named.name);
                let failure = match catalogue.resolve(server, &named.name) {
                    Err(error) => gateway.not_found(self.sought(&named.name), &error, text),
                    Ok(_) => Failure::UnknownTool(text),
                };
                let name = (server, named.name.as_str());
                let arguments = as_sent(&call.arguments);
                gateway.record_unknown(name, &arguments, permit, context, origin, &failure);
                Step::Done(Ran::not_found(failure))
            }
        }
    }
}
