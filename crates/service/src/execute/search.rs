//! Calls of the three tools that search, describe and call all others.

use std::sync::Arc;

use gateway_dialects::Plan;
use gateway_dialects::calls::{Arguments, ToolCall};
use gateway_store::Permit;
use serde::Deserialize as _;
use serde_json::Value;

use super::{Ran, Step, Turn, as_sent};
use crate::context::RequestContext;
use crate::errors::code;
use crate::gateway::Gateway;
use crate::mcp::finder::{Finder, Named};
use crate::run::{Failure, Origin};
use crate::search::MetaTool;

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
        match (meta, listed, tool) {
            (MetaTool::Describe, Some(listed), _) => {
                ran.result = listed.described();
                Step::Done(ran.judged())
            }
            (_, Some(_), Some(tool)) => {
                let arguments = match value.get("arguments") {
                    None | Some(Value::Null) => Arguments::Missing,
                    Some(Value::String(text)) => Arguments::Text(text.clone()),
                    Some(value) => Arguments::Json(value.clone()),
                };
                let call = ToolCall { name: named.name, arguments, ..call.clone() };
                self.run_found(gateway, context, &call, (tool, None), permit, origin).await
            }
            (..) => {
                let message = finder.unknown(&named.name);
                let name = (self.server.as_deref(), named.name.as_str());
                gateway.record_unknown(
                    name,
                    &as_sent(&call.arguments),
                    permit,
                    context,
                    origin,
                    (&message, code::TOOL_NOT_FOUND),
                );
                Step::Done(Ran::unknown_tool(message))
            }
        }
    }
}
