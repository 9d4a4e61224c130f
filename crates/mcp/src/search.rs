//! Search over MCP: where it is on, `tools/list` gives three tools that stand for all others.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use gateway_protocol::{RawJson, RawObject, RpcError, method};
use gateway_search::{Beside, MetaTool, TokenCost};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::endpoint::Endpoint;
use crate::errors::{invalid, not_found};
use crate::params::member;
use crate::view::View;
use gateway_config::SearchMode;
use gateway_runtime::failure::error_result;
use gateway_runtime::lists::{Finder, Named, may_be_meant};

/// A member of `_meta` of `tools/list`: `all` gives every definition, whatever is configured.
const LIST_META: &str = "mcp-tool-gateway/list";

fn finder_of(endpoint: &Endpoint, view: &View) -> Arc<Finder> {
    let catalogue = endpoint.fleet().catalogue();
    endpoint.state().finders.get(view, catalogue.version(), || {
        let tools = view.tools(&catalogue).into_iter().map(|tool| (view.name_of(tool), tool));
        let finder = Arc::new(Finder::new(tools, Beside::Nothing));
        if is_on(endpoint, &finder) {
            let TokenCost { all, listed } = finder.cost;
            tracing::info!(
                view = %view.word(), tools = finder.tool_count(), tokens = all, listed, saved = finder.cost.saved(),
                "Tools are offered through search."
            );
        }
        finder
    })
}

fn is_on(endpoint: &Endpoint, finder: &Finder) -> bool {
    match endpoint.config().mcp.search {
        SearchMode::Off => false,
        SearchMode::Above(tools) => finder.tool_count() > tools,
        SearchMode::On => true,
    }
}

/// What `tools/list` shows instead of all tools, and what it says about it; `None` if all are to be shown.
pub(crate) fn offered(caller: &Caller, params: Option<&RawJson>) -> Option<(Arc<[RawJson]>, Value)> {
    if caller.endpoint.config().mcp.search == SearchMode::Off || params.is_some_and(wants_all) {
        return None;
    }
    let finder = finder_of(&caller.endpoint, &caller.view);
    is_on(&caller.endpoint, &finder).then(|| (Arc::clone(&finder.shown), finder.note()))
}

fn wants_all(params: &RawJson) -> bool {
    let meta: Option<HashMap<String, Value>> = member(Some(params), "_meta");
    meta.is_some_and(|meta| meta.get(LIST_META).is_some_and(|word| word == "all"))
}

/// What a request for a tool means.
pub(crate) enum Meant {
    /// What it says.
    Itself,
    /// One of the three, and this is what it gives.
    Answered(RawJson),
    /// Another tool: the request as if the caller had named it.
    Other(RawJson),
}

/// Looks whether a request asks for one of the three.
pub(crate) async fn meant(caller: &Caller, asked: &str, params: &RawJson) -> Result<Meant, RpcError> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        arguments: Option<&'a RawValue>,
    }
    if asked != method::CALL_TOOL || caller.endpoint.config().mcp.search == SearchMode::Off {
        return Ok(Meant::Itself);
    }
    let Ok(Params { name: Some(name), arguments }) = params.read::<Params<'_>>() else {
        return Ok(Meant::Itself);
    };
    if !may_be_meant(&name) {
        return Ok(Meant::Itself);
    }
    caller.endpoint.fleet().listed_or_stale(caller.view.awaited(), caller.endpoint.config().list_wait).await;
    let finder = finder_of(&caller.endpoint, &caller.view);
    let Some(tool) = finder.meta_tool(&name) else { return Ok(Meant::Itself) };
    let arguments = arguments.map_or_else(RawJson::empty_object, |arguments| params.part(arguments));
    let fault = |error: serde_json::Error| invalid(format!("reading `params.arguments`: {error}"));
    if tool == MetaTool::Search {
        return Ok(Meant::Answered(finder.search(&arguments.read().map_err(fault)?).await));
    }
    let named: Named = match arguments.read() {
        Ok(named) => named,
        Err(error) => {
            return Ok(Meant::Answered(error_result(&format!("The arguments do not fit: {error}"))));
        }
    };
    let catalogue = caller.endpoint.fleet().catalogue();
    let unknown = || Meant::Answered(error_result(&finder.unknown(&named.name)));
    let found = match caller.view.tool(&catalogue, &named.name) {
        Ok(found) => found,
        Err(error) => {
            let failure = not_found(caller, &named.name, &error, finder.unknown(&named.name));
            return Ok(Meant::Answered(error_result(&failure.for_models())));
        }
    };
    if tool == MetaTool::Describe {
        let listed = finder.find(&catalogue, Some(found.server.as_str()), &found.name);
        return Ok(listed.map_or_else(unknown, |listed| Meant::Answered(listed.described())));
    }
    unwrapped(params, &named).map(Meant::Other).map_err(fault)
}

/// A request for the tool that `call_tool` names: everything else in it stays.
fn unwrapped(params: &RawJson, named: &Named) -> Result<RawJson, serde_json::Error> {
    let name = RawJson::of(&named.name)?;
    let arguments = named.arguments()?;
    let mut members = RawObject::parse(params)?;
    members.set("name", &name)?;
    members.set("arguments", &arguments)?;
    members.to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[track_caller]
    fn check_unwrapped(arguments: &str, expected: &str) {
        let params = format!(
            r#"{{"name":"call_tool","arguments":{arguments},"_meta":{{"progressToken":1}},"requestState":"s"}}"#
        );
        let outer = raw(arguments);
        let named: Named = outer.read().unwrap();
        let inner = unwrapped(&raw(&params), &named).unwrap();
        let expected = format!(
            r#"{{"name":"x","arguments":{expected},"_meta":{{"progressToken":1}},"requestState":"s"}}"#
        );
        assert_eq!(inner.as_str(), expected);
    }

    #[test]
    fn a_wrapped_call_becomes_the_call_itself() {
        check_unwrapped(
            r#"{"name":"x","arguments":{"n":1e400,"a":123456789012345678901234567890}}"#,
            r#"{"n":1e400,"a":123456789012345678901234567890}"#,
        );
        check_unwrapped(r#"{"name":"x"}"#, "{}");
        check_unwrapped(r#"{"name":"x","arguments":null}"#, "{}");
        check_unwrapped(r#"{"name":"x","arguments":"{\"a\":1}"}"#, r#"{"a":1}"#);
    }

    #[test]
    fn everything_is_listed_for_those_who_ask() {
        assert!(wants_all(&raw(r#"{"_meta":{"mcp-tool-gateway/list":"all"}}"#)));
        for params in ["{}", r#"{"_meta":null}"#, r#"{"_meta":{"mcp-tool-gateway/list":"some"}}"#, "[]"] {
            assert!(!wants_all(&raw(params)), "{params}");
        }
    }
}
