//! Whole turns: what a model said, run, and answered in the provider's own shape.

mod answer;
mod offered;
mod run;
mod search;

use self::offered::OfferedList;
pub use self::run::TurnRun;

use std::sync::Arc;

use gateway_dialects::arguments::{BadArguments, unknown_tool_text};
use gateway_dialects::calls::text::{Notation, TextCalls, ToolSchemas};
use gateway_dialects::calls::{CallError, ReadOptions, Reply, TextScan, ToolCall, parse_reply};
use gateway_dialects::results::{Outcome, ResultMode, ResultOptions, read_result, render_mode};
use gateway_dialects::{Dialect, Plan};
use gateway_notation::spelling::nearest_names;
use gateway_protocol::RawJson;
use gateway_store::Permit;
use gateway_upstream::{CatalogueTool, LookupError};
use serde_json::{Map, Value};

use crate::Runtime;
use crate::call::input::Answerer;
use crate::call::{CallArguments, CallRequest, CallState, Origin, PLAIN};
use crate::context::RequestContext;
use crate::failure::{ErrorStyle, Failure};
use crate::lists::{ListRequest, Rendered, may_be_meant};
use crate::lookup::Sought;
use crate::parameters::{Parameters, compat};
use crate::scope::Scope;

/// A turn to run.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The calls, as the model said them.
    pub reply: Reply,
    /// The dialect of the answer.
    dialect: Arc<Dialect>,
    /// What the provider is called in log and metrics.
    origin: Origin,
    rendered: Arc<Rendered>,
    /// The three tools of search, where a call may be of them.
    search: Option<Arc<Rendered>>,
    server: Option<String>,
    scope: Scope,
    coerce: bool,
    bad_arguments: BadArguments,
    mode: ResultMode,
    /// How exactly failures are reported.
    pub style: ErrorStyle,
    results: ResultOptions,
    /// What the caller can be asked.
    answerer: Option<Answerer>,
}

impl Turn {
    /// Reads a request of `/execute`.
    pub async fn parse(
        runtime: &Runtime,
        body: &Map<String, Value>,
        query: &Parameters,
    ) -> Result<Self, Failure> {
        let provider = match body.get("provider") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) if !name.is_empty() => Some(name.as_str()),
            Some(_) => return Err(Failure::request("Missing or invalid \"provider\" field")),
        };
        let call = body
            .get("call")
            .filter(|call| !call.is_null())
            .ok_or_else(|| Failure::request("Missing or invalid \"call\" field"))?;
        if !matches!(body.get("server"), None | Some(Value::Null))
            && body.get("server").and_then(Value::as_str).is_none_or(str::is_empty)
        {
            return Err(Failure::request("Missing or invalid \"server\" field"));
        }
        // What the body says stands above the query.
        let mut options = query.clone();
        options.extend(&Parameters::of_object(body));
        let server = options.get("server").map(str::to_owned);
        let model = options.get("model");
        let named = match (provider, model) {
            (None, None) => None,
            _ => {
                let chosen = runtime.ready_dialects().choose(provider, model, &compat(&options));
                Some(chosen.map_err(|error| runtime.lists().unknown_dialect(&error))?)
            }
        };
        let read = ReadOptions {
            protocol: named.as_ref().map(|dialect| dialect.messages.protocol),
            label: named.as_ref().map_or("", |dialect| &dialect.label),
            text: if call.is_string() {
                TextScan::Whole(Arc::new(ToolSchemas::default()))
            } else {
                TextScan::Off
            },
            ids_after: 0,
        };
        let asked = options.word("text", &TextCalls::WORDS)?;
        let text_calls = |dialect: Option<&Arc<Dialect>>| {
            asked.unwrap_or_else(|| dialect.map_or(TextCalls::Off, |dialect| dialect.messages.text_calls))
        };
        let reply = first_reading(call, &read, text_calls(named.as_ref()))?;
        let text_calls = if reply.calls.is_empty() && !reply.text.is_empty() {
            text_calls(named.as_ref().or_else(|| runtime.ready_dialects().detected(reply.protocol)))
        } else {
            TextCalls::Off
        };
        let dialect_name = match &named {
            Some(_) => provider.map(str::to_owned),
            None => runtime.ready_dialects().detected(reply.protocol).map(|dialect| dialect.name.clone()),
        };
        let scope = runtime.scope(options.get("server"))?;
        let request = ListRequest::parse(runtime.lists(), scope, dialect_name.as_deref(), &options)?;
        let coerce = options.flag("coerceArguments")? || options.flag("coerce")?;
        let reads_text = text_calls != TextCalls::Off;
        // Servers that are still starting are waited for only where a name is not known yet, or where a text is searched
        // for names: which ones are tools is known when all servers are. Boxed, as few turns wait.
        let mut rendered = Box::pin(runtime.lists().get_now(&request)).await?;
        if reads_text || !reply.calls.iter().all(|call| rendered.tool(&call.name).is_some()) {
            rendered = Box::pin(runtime.lists().get(&request)).await?;
        }
        let reply = if reads_text || reply.written == Some(Notation::Xml) {
            let tools =
                Arc::new(OfferedList { runtime: runtime.clone(), rendered: Arc::clone(&rendered), coerce });
            let text = match reply.written {
                // XML says no types: the schemas of the tools do, so that "007" stays a text where a text is wanted.
                Some(_) => TextScan::Whole(tools),
                None => TextScan::Offered(text_calls, tools),
            };
            read_reply(call, &ReadOptions { text, ..read.clone() })?
        } else {
            reply
        };
        if reply.calls.len() > MOST_CALLS {
            let message = format!("{} calls in one turn; at most {MOST_CALLS} are run", reply.calls.len());
            return Err(Failure::request(message));
        }
        // A model that was given the three tools of search calls them, and its caller need not say so again.
        let mut calls = reply.calls.iter();
        let search = if rendered.finder.is_some() {
            Some(Arc::clone(&rendered))
        } else if calls.any(|call| rendered.tool(&call.name).is_none() && may_be_meant(&call.name)) {
            Some(Box::pin(runtime.lists().get_now(&request.searched())).await?)
        } else {
            None
        };
        let dialect = match (&rendered.dialect, named) {
            (Some(dialect), _) => Arc::clone(dialect),
            (None, Some(dialect)) => dialect,
            (None, None) => request.dialect(runtime.lists())?,
        };
        let words =
            [("error", BadArguments::Error), ("raw", BadArguments::Raw), ("repair", BadArguments::Repair)];
        let bad_arguments = options.word("onBadArguments", &words)?.unwrap_or_default();
        let styles = [("precise", ErrorStyle::Precise), ("plain", ErrorStyle::Plain)];
        let style = options.word("errors", &styles)?.unwrap_or_default();
        let mut results = ResultOptions::default();
        if let Some(model) = model {
            results = results.for_model(model);
        }
        let most = options.number("maxCharacters", 100..=100_000_000)?;
        if let Some(most) = most.and_then(|most| usize::try_from(most).ok()) {
            results = results.limited_to(most);
        }
        let provider_name = provider.map_or_else(|| dialect.name.clone(), str::to_owned);
        Ok(Self {
            coerce,
            mode: result_mode(&options)?,
            reply,
            origin: Origin { transport: PLAIN, provider: Some(provider_name.into()) },
            dialect,
            rendered,
            search,
            server,
            scope: request.scope,
            bad_arguments,
            style,
            results,
            answerer: Answerer::of(&options.all("input"))?,
        })
    }

    /// Runs one call.
    async fn call(
        &self,
        runtime: &Runtime,
        context: &RequestContext,
        call: &ToolCall,
        permit: Permit,
    ) -> CallState {
        let search = self.search.as_ref().and_then(|list| list.meta_tool(&call.name));
        if let Some(found) = search.filter(|_| self.rendered.tool(&call.name).is_none()) {
            // Boxed: few lists are searched, and all calls would carry the future along.
            return Box::pin(self.call_search(runtime, context, call, found, permit)).await;
        }
        let tool = self.find(&call.name).map_err(|error| {
            let text = match &error {
                LookupError::Ambiguous { .. } => error.to_string(),
                _ => self.unknown(runtime, &call.name),
            };
            runtime.not_found(self.sought(&call.name), &error, text)
        });
        runtime.call(self.request(context, call, tool), permit).await
    }

    /// A call of the turn, for the runtime.
    fn request<'a>(
        &'a self,
        context: &'a RequestContext,
        call: &'a ToolCall,
        tool: Result<(&'a CatalogueTool, Option<&'a Plan>), Failure>,
    ) -> CallRequest<'a> {
        let (label, bad, coerce) = (self.dialect.label.as_str(), self.bad_arguments, self.coerce);
        CallRequest {
            named: (self.named_server(), &call.name),
            tool,
            catalogue: &self.rendered.catalogue,
            arguments: CallArguments::Written { call, label, bad, coerce },
            context,
            origin: &self.origin,
            answerer: self.answerer.as_ref(),
        }
    }

    /// The tool that the model means: by the name in its list, else by any other name that leads to it.
    fn find(&self, name: &str) -> Result<(&CatalogueTool, Option<&Plan>), LookupError> {
        if let Some((tool, plan)) = self.rendered.tool(name) {
            return Ok((tool, Some(plan)));
        }
        let tool = self.rendered.catalogue.resolve(self.named_server(), name)?;
        // Under another name the plan of its own entry still holds, if it has one.
        let plan = self.rendered.wire_names().find_map(|wire| {
            let (listed, plan) = self.rendered.tool(wire)?;
            (listed.server == tool.server && listed.name == tool.name).then_some(plan)
        });
        Ok((tool, plan))
    }

    /// The server that the caller named.
    fn named_server(&self) -> Option<&str> {
        self.server.as_deref().filter(|server| *server != "*")
    }

    fn sought<'a>(&'a self, name: &'a str) -> Sought<'a> {
        let implied = match &self.scope {
            Scope::Server(id) => Some(id.as_str()),
            Scope::All => None,
        };
        Sought { server: self.named_server(), name, implied }
    }

    fn unknown(&self, runtime: &Runtime, name: &str) -> String {
        let text = unknown_tool_text(name, &nearest_names(name, self.rendered.wire_names()));
        match &self.scope {
            Scope::Server(_) => text,
            Scope::All => runtime.unknown_among_all(&text),
        }
    }
}

/// Reads native calls, or a text that is nothing but tool use.
fn first_reading(call: &Value, read: &ReadOptions<'_>, text: TextCalls) -> Result<Reply, Failure> {
    match parse_reply(call, read) {
        // The text of a model that may write calls is read again when the tools that it was offered are known.
        Err(CallError::NotObject { .. }) if text != TextCalls::Off && call.is_string() => {
            let text = TextScan::Offered(text, Arc::new(ToolSchemas::default()));
            read_reply(call, &ReadOptions { text, ..read.clone() })
        }
        reply => reply.map_err(|error| Failure::request(error.to_string())),
    }
}

fn read_reply(call: &Value, read: &ReadOptions<'_>) -> Result<Reply, Failure> {
    parse_reply(call, read).map_err(|error| Failure::request(error.to_string()))
}

/// More calls than any model makes in one turn.
const MOST_CALLS: usize = 256;

/// What the caller wants of a result.
pub fn result_mode(parameters: &Parameters) -> Result<ResultMode, Failure> {
    match parameters.get("result") {
        None => Ok(ResultMode::Raw),
        Some(word) => word.parse().map_err(|error| Failure::request(format!("{error}"))),
    }
}

/// A result in the form that the caller wants.
pub fn rendered_result(
    runtime: &Runtime,
    mode: ResultMode,
    (server, tool): (&str, &str),
    result: &RawJson,
) -> RawJson {
    if mode == ResultMode::Raw {
        return result.clone();
    }
    let Some(dialect) = runtime.ready_dialects().untouched() else { return result.clone() };
    let read = read_result(result.as_str());
    let outcome = Outcome { call_id: None, wire_name: tool, result: &read.value, kept: None };
    let origin = format!("{server}/{tool}");
    RawJson::of(&render_mode(mode, dialect, &outcome, &origin, &ResultOptions::default()))
        .unwrap_or_else(|_| result.clone())
}
