//! Whole turns: what a model said, run, and answered in the provider's own shape.

mod answer;
mod offered;
mod run;
mod search;

use self::offered::OfferedList;
pub(crate) use self::run::{Step, Unfinished};

use std::sync::Arc;

use gateway_dialects::arguments::{BadArguments, unknown_tool_text};
use gateway_dialects::calls::text::{Notation, TextCalls, ToolSchemas};
use gateway_dialects::calls::{Arguments, CallError, ReadOptions, Reply, TextScan, ToolCall, parse_reply};
use gateway_dialects::results::{Outcome, ResultMode, ResultOptions, read_result, render_mode};
use gateway_dialects::{Dialect, Plan};
use gateway_notation::pointer;
use gateway_notation::spelling::nearest_names;
use gateway_protocol::RawJson;
use gateway_store::Permit;
use gateway_upstream::{CatalogueTool, LookupError};
use serde_json::{Map, Value, json};

use crate::errors::{ApiError, ErrorStyle, code};
use crate::lists::{ListRequest, Rendered, unknown_dialect};
use crate::mcp::finder::may_be_meant;
use crate::mcp::plain::{self, Answerer, Came};
use crate::query::Parameters;
use crate::runtime::call::{Call, Origin, PLAIN};
use crate::runtime::context::RequestContext;
use crate::runtime::failure::{Failure, error_result};
use crate::runtime::gateway::Gateway;
use crate::runtime::lookup::Sought;
use crate::runtime::scope::Scope;

/// A turn to run.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The calls, as the model said them.
    pub(crate) reply: Reply,
    /// The dialect of the answer.
    dialect: Arc<Dialect>,
    /// What the provider is called in log and metrics.
    provider: Arc<str>,
    rendered: Arc<Rendered>,
    /// The three tools of search, where a call may be of them.
    search: Option<Arc<Rendered>>,
    server: Option<String>,
    scope: Scope,
    coerce: bool,
    bad_arguments: BadArguments,
    mode: ResultMode,
    pub(crate) style: ErrorStyle,
    results: ResultOptions,
    /// What the caller can be asked.
    answerer: Option<Answerer>,
}

/// What came of one call of a turn.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// A result of MCP, whatever happened.
    pub(crate) result: RawJson,
    /// What went wrong, for the operator.
    pub(crate) code: Option<&'static str>,
    failure: Option<Failure>,
    server: Option<String>,
    tool: Option<String>,
    /// Whether the result is that of an earlier call.
    is_cached: bool,
    notes: Vec<Value>,
}

impl Turn {
    /// Reads a request of `/execute`.
    pub(crate) async fn parse(
        gateway: &Gateway,
        body: &Map<String, Value>,
        query: &Parameters,
    ) -> Result<Self, ApiError> {
        let provider = match body.get("provider") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) if !name.is_empty() => Some(name.as_str()),
            Some(_) => return Err(ApiError::bad_request("Missing or invalid \"provider\" field")),
        };
        let call = body
            .get("call")
            .filter(|call| !call.is_null())
            .ok_or_else(|| ApiError::bad_request("Missing or invalid \"call\" field"))?;
        if !matches!(body.get("server"), None | Some(Value::Null))
            && body.get("server").and_then(Value::as_str).is_none_or(str::is_empty)
        {
            return Err(ApiError::bad_request("Missing or invalid \"server\" field"));
        }
        // What the body says stands above the query.
        let mut options = query.clone();
        options.extend(&Parameters::of_object(body));
        let server = options.get("server").map(str::to_owned);
        let model = options.get("model");
        let named = match (provider, model) {
            (None, None) => None,
            _ => Some(
                gateway
                    .ready_dialects()
                    .choose(gateway.dialects(), provider, model, &crate::query::compat(&options))
                    .map_err(|error| unknown_dialect(gateway, &error))?,
            ),
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
            text_calls(named.as_ref().or_else(|| gateway.ready_dialects().detected(reply.protocol)))
        } else {
            TextCalls::Off
        };
        let dialect_name = match &named {
            Some(_) => provider.map(str::to_owned),
            None => gateway.ready_dialects().detected(reply.protocol).map(|dialect| dialect.name.clone()),
        };
        let request = ListRequest::parse(gateway, dialect_name.as_deref(), &options)?;
        // Servers that are still starting are waited for only where a name is not known yet.
        let mut rendered = gateway.rendered_now(&request).await?;
        if !reply.calls.iter().all(|call| rendered.tool(&call.name).is_some()) {
            rendered = gateway.rendered(&request).await?;
        }
        let coerce = options.flag("coerceArguments")? || options.flag("coerce")?;
        let reads_text = text_calls != TextCalls::Off;
        if reads_text {
            // Which names are tools is known when all servers are.
            rendered = gateway.rendered(&request).await?;
        }
        let reply = if reads_text || reply.written == Some(Notation::Xml) {
            let tools =
                Arc::new(OfferedList { gateway: gateway.clone(), rendered: Arc::clone(&rendered), coerce });
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
            return Err(ApiError::bad_request(message));
        }
        // A model that was given the three tools of search calls them, and its caller need not say so again.
        let mut calls = reply.calls.iter();
        let search = if rendered.finder.is_some() {
            Some(Arc::clone(&rendered))
        } else if calls.any(|call| rendered.tool(&call.name).is_none() && may_be_meant(&call.name)) {
            Some(gateway.rendered_now(&request.searched()).await?)
        } else {
            None
        };
        let dialect = match (&rendered.dialect, named) {
            (Some(dialect), _) => Arc::clone(dialect),
            (None, Some(dialect)) => dialect,
            (None, None) => Arc::new(request.dialect(gateway)?),
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
            provider: provider_name.into(),
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
    async fn run_call(
        &self,
        gateway: &Gateway,
        context: &RequestContext,
        call: &ToolCall,
        permit: Permit,
    ) -> Step {
        let origin = Origin { transport: PLAIN, provider: Some(Arc::clone(&self.provider)) };
        let search = self.search.as_ref().and_then(|list| list.meta_tool(&call.name));
        if let Some((tool, finder, plan)) = search.filter(|_| self.rendered.tool(&call.name).is_none()) {
            return self.run_search(gateway, context, call, (tool, finder, plan), permit, &origin).await;
        }
        match self.find(&call.name) {
            Ok(found) => self.run_found(gateway, context, call, found, permit, &origin).await,
            Err(error) => {
                let text = match &error {
                    LookupError::Ambiguous { .. } => error.to_string(),
                    _ => self.unknown(gateway, &call.name),
                };
                let failure = gateway.not_found(self.sought(&call.name), &error, text);
                let name = (self.named_server(), call.name.as_str());
                let arguments = as_sent(&call.arguments);
                gateway.record_unknown(name, &arguments, permit, context, &origin, &failure);
                Step::Done(Ran::not_found(failure))
            }
        }
    }

    /// Runs a call whose tool was found.
    async fn run_found(
        &self,
        gateway: &Gateway,
        context: &RequestContext,
        call: &ToolCall,
        (tool, plan): (&CatalogueTool, Option<&Plan>),
        permit: Permit,
        origin: &Origin,
    ) -> Step {
        let mut ran = Ran::of(tool);
        let parsed = match call.arguments_object(&self.dialect.label, self.bad_arguments) {
            Ok(parsed) => parsed,
            Err(error) => {
                let failure = Failure::Unreadable(error.to_string());
                let arguments = as_sent(&call.arguments);
                let refused = Call { tool, arguments: &arguments, context, origin };
                gateway.record_refusal(refused, permit, &failure);
                return Step::Done(ran.failed(failure));
            }
        };
        ran.notes.extend(parsed.repairs.iter().map(|repair| json!({"repaired": repair.name()})));
        let sent = Value::Object(parsed.object);
        let decoded = match plan {
            Some(plan) if !parsed.raw => plan.decode(&sent),
            _ => Ok(sent.clone()),
        };
        let logged = |value: &Value| RawJson::of(value).unwrap_or_else(|_| RawJson::empty_object());
        let value = match decoded {
            Ok(value) => value,
            Err(error) => {
                let failure = Failure::Arguments(format!("The arguments cannot be read: {error}"));
                let refused = Call { tool, arguments: &logged(&sent), context, origin };
                gateway.record_refusal(refused, permit, &failure);
                return Step::Done(ran.failed(failure));
            }
        };
        let rename = |pointer: &str| match plan {
            Some(plan) => pointer::dotted(&plan.wire_pointer(pointer)),
            None => pointer::dotted(pointer),
        };
        let value =
            match gateway.check_arguments(&self.rendered.catalogue, tool, &value, self.coerce, &rename) {
                Ok(None) => value,
                Ok(Some((mended, coercions))) => {
                    ran.notes.extend(
                        coercions.iter().map(|one| json!({"coerced": one.path, "rule": one.rule.name()})),
                    );
                    mended
                }
                Err(failure) => {
                    let refused = Call { tool, arguments: &logged(&value), context, origin };
                    gateway.record_refusal(refused, permit, &failure);
                    return Step::Done(ran.failed(failure));
                }
            };
        let arguments = logged(&value);
        let call = Call { tool, arguments: &arguments, context, origin };
        let came = match &self.answerer {
            Some(answerer) => plain::call(gateway, call, permit, answerer).await,
            None => gateway.run(call, permit, context.own_call_options()).await.map(Came::Done),
        };
        ran.came(came)
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

    fn unknown(&self, gateway: &Gateway, name: &str) -> String {
        let text = unknown_tool_text(name, &nearest_names(name, self.rendered.wire_names()));
        match &self.scope {
            Scope::Server(_) => text,
            Scope::All => gateway.unknown_among_all(&text),
        }
    }
}

/// Reads native calls, or a text that is nothing but tool use.
fn first_reading(call: &Value, read: &ReadOptions<'_>, text: TextCalls) -> Result<Reply, ApiError> {
    match parse_reply(call, read) {
        // The text of a model that may write calls is read again when the tools that it was offered are known.
        Err(CallError::NotObject { .. }) if text != TextCalls::Off && call.is_string() => {
            let text = TextScan::Offered(text, Arc::new(ToolSchemas::default()));
            read_reply(call, &ReadOptions { text, ..read.clone() })
        }
        reply => reply.map_err(|error| ApiError::bad_request(error.to_string())),
    }
}

fn read_reply(call: &Value, read: &ReadOptions<'_>) -> Result<Reply, ApiError> {
    parse_reply(call, read).map_err(|error| ApiError::bad_request(error.to_string()))
}

/// More calls than any model makes in one turn.
const MOST_CALLS: usize = 256;

/// Arguments as they came, for the log.
fn as_sent(arguments: &Arguments) -> RawJson {
    let value = match arguments {
        Arguments::Missing => return RawJson::empty_object(),
        Arguments::Text(text) => Value::String(text.clone()),
        Arguments::Json(value) => value.clone(),
    };
    RawJson::of(&value).unwrap_or_else(|_| RawJson::null())
}

impl Ran {
    fn of(tool: &CatalogueTool) -> Self {
        Self {
            result: RawJson::null(),
            code: None,
            failure: None,
            server: Some(tool.server.to_string()),
            tool: Some(tool.name.clone()),
            is_cached: false,
            notes: Vec::new(),
        }
    }

    /// What came of a call that no server runs.
    fn nobodys(tool: String) -> Self {
        Self {
            result: RawJson::null(),
            code: None,
            is_cached: false,
            failure: None,
            server: None,
            tool: Some(tool),
            notes: Vec::new(),
        }
    }

    /// What became of a call that was made.
    fn came(mut self, came: Result<Came, Failure>) -> Step {
        match came {
            Ok(Came::Done(done)) => {
                self.result = done.result;
                self.is_cached = done.age.is_some();
                if done.view.is_error {
                    self.code = Some(code::TOOL_ERROR);
                }
                Step::Done(self)
            }
            Ok(Came::Waits(paused)) => Step::Waits(Box::new(self), paused),
            Err(failure) => Step::Done(self.failed(failure)),
        }
    }

    /// Notes where a result says that it is none.
    fn judged(mut self) -> Self {
        if gateway_protocol::CallResultView::of(&self.result).is_error {
            self.code = Some(code::TOOL_ERROR);
        }
        self
    }

    /// What came of a call that names no tool.
    fn not_found(failure: Failure) -> Self {
        let server = match &failure {
            Failure::Call(error) => error.upstream().map(ToString::to_string),
            _ => None,
        };
        let ran = Self {
            result: RawJson::null(),
            code: None,
            failure: None,
            server,
            tool: None,
            is_cached: false,
            notes: Vec::new(),
        };
        ran.failed(failure)
    }

    fn failed(mut self, failure: Failure) -> Self {
        self.code = Some(failure.code());
        self.result = error_result(&failure.message());
        self.failure = Some(failure);
        self
    }
}

/// What the caller wants of a result.
pub(crate) fn result_mode(parameters: &Parameters) -> Result<ResultMode, ApiError> {
    match parameters.get("result") {
        None => Ok(ResultMode::Raw),
        Some(word) => word.parse().map_err(|error| ApiError::bad_request(format!("{error}"))),
    }
}

/// A result in the form that the caller wants.
pub(crate) fn rendered_result(
    gateway: &Gateway,
    mode: ResultMode,
    (server, tool): (&str, &str),
    result: &RawJson,
) -> RawJson {
    if mode == ResultMode::Raw {
        return result.clone();
    }
    let Some(dialect) = gateway.ready_dialects().untouched() else { return result.clone() };
    let read = read_result(result.as_str());
    let outcome = Outcome { call_id: None, wire_name: tool, result: &read.value, kept: None };
    let origin = format!("{server}/{tool}");
    RawJson::of(&render_mode(mode, dialect, &outcome, &origin, &ResultOptions::default()))
        .unwrap_or_else(|_| result.clone())
}
