//! Tools that somebody registers over the network.
//!
//! Their handler is an HTTP endpoint. Anything else is refused, so that registering over the network never runs a program.

use std::collections::BTreeMap;

use gateway_config::{EndpointHandler, LONGEST_TOOL_TIMEOUT, Trust, is_definition_member, parse_time};
use serde_json::{Map, Value};

use super::endpoint::admitted;
use super::handler::Handler;
use super::tool::wrong;
use super::{RegisterError, RegisteredTool, Registry, ToolOrigin};

/// Members of a request beside those of the definition.
const BESIDE: [&str; 3] = ["name", "handler", "timeout"];

impl Registry {
    /// Registers a tool for somebody over the network: `{description, inputSchema, …, handler: {url, headers}, timeout}`.
    /// Gives whether a tool of the same name was replaced. Where the endpoint leads is looked up, so this takes a while.
    pub async fn register_remote(
        &self,
        name: &str,
        body: &Map<String, Value>,
    ) -> Result<bool, RegisterError> {
        let is_known = |member: &str| BESIDE.contains(&member) || is_definition_member(member);
        if let Some(unknown) = body.keys().find(|member| !is_known(member)) {
            return Err(wrong(unknown, "is not known here"));
        }
        if body.get("name").is_some_and(|inner| inner != name) {
            return Err(wrong("name", "is another than in the path"));
        }
        let handler = endpoint(body)?;
        admitted(&handler, &self.0.outside).await.map_err(RegisterError::Handler)?;
        let mut tool = RegisteredTool::from(ToolOrigin::Network, name, body, Handler::Endpoint(handler))?;
        if let Some(time) = body.get("timeout").filter(|time| !time.is_null()) {
            let time = parse_time(time).filter(|time| *time <= LONGEST_TOOL_TIMEOUT).ok_or_else(|| {
                wrong(
                    "timeout",
                    "must be a time up to an hour: a number of seconds, or a text such as \"30s\"",
                )
            })?;
            tool = tool.with_timeout(time);
        }
        Ok(self.register(tool)?.is_some())
    }

    /// Takes a tool away for somebody over the network; whether there was one. Tools of the configuration file stay.
    pub fn unregister_remote(&self, name: &str) -> Result<bool, RegisterError> {
        match self.get(name) {
            Some(tool) if tool.origin == ToolOrigin::Configuration => {
                Err(RegisterError::Configured { name: name.to_owned() })
            }
            Some(_) => Ok(self.unregister(name)),
            None => Ok(false),
        }
    }
}

fn endpoint(body: &Map<String, Value>) -> Result<EndpointHandler, RegisterError> {
    const ONLY: &str = "must be an HTTP endpoint, {\"url\": …, \"headers\": {…}}; commands are taken from the \
                        configuration file only";
    let handler = body.get("handler").and_then(Value::as_object).ok_or_else(|| wrong("handler", ONLY))?;
    let is_endpoint = |member: &String| member == "url" || member == "headers";
    let url = handler.get("url").and_then(Value::as_str);
    let (Some(url), true) = (url, handler.keys().all(is_endpoint)) else {
        return Err(wrong("handler", ONLY));
    };
    let headers: BTreeMap<String, String> = match handler.get("headers") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(headers) => serde_json::from_value(headers.clone())
            .map_err(|_| wrong("handler.headers", "must be an object of texts"))?,
    };
    EndpointHandler::trusted(url, &headers, Trust::Network)
        .map_err(|fault| wrong(&format!("handler.{}", fault.member), fault.message))
}
