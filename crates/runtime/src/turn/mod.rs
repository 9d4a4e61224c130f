//! Whole turns: what a model said, run, and answered in the provider's own shape.

mod answer;
mod offered;
mod request;
mod run;
mod search;

pub use self::offered::OfferedList;
pub use self::request::{ModelOutput, TurnRequest};
pub use self::run::TurnRun;

use std::sync::Arc;

use gateway_dialects::arguments::unknown_tool_text;
use gateway_dialects::calls::text::{AnyTool, Notation, TextCalls, ToolSchemas};
use gateway_dialects::calls::{CallError, CallId, ReadOptions, Reply, TextScan, ToolCall, parse_reply};
use gateway_dialects::results::{Outcome, ResultMode, ResultOptions, read_result, render_mode};
use gateway_dialects::{Dialect, Plan};
use gateway_notation::spelling::nearest_names;
use gateway_protocol::RawJson;
use gateway_upstream::{CatalogueTool, LookupError};
use serde_json::Value;

use self::request::TurnOptions;
use crate::Runtime;
use crate::call::{CallArguments, CallRequest, Origin, PLAIN, SiblingDialects, Siblings};
use crate::call_ids::CallIds;
use crate::context::RequestContext;
use crate::failure::{ErrorStyle, Failure};
use crate::lists::{ListRequest, ReadyDialects, Rendered, may_be_meant};
use crate::lookup::Sought;
use crate::parameters::{Parameters, compat};
use crate::scope::Scope;

/// A turn to run.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The calls, as the model said them.
    pub reply: Reply,
    /// The dialects at the time of the reply.
    dialects: Arc<ReadyDialects>,
    /// The dialect of the answer.
    dialect: Arc<Dialect>,
    /// What the provider is called in log and metrics.
    origin: Origin,
    rendered: Arc<Rendered>,
    /// The three tools of search, where a call may be of them.
    search: Option<Arc<Rendered>>,
    /// The list that the model was given.
    list: ListRequest,
    /// Whether nobody named a provider or a model, so that other dialects of the same protocol may have been meant.
    is_detected: bool,
    options: TurnOptions,
}

impl Turn {
    /// Reads what a model said, and finds the list that it was given.
    pub async fn parse(runtime: &Runtime, request: TurnRequest) -> Result<Self, Failure> {
        let TurnRequest { call, provider, options: parameters } = request;
        let (provider, model) = (provider.as_deref(), parameters.get("model"));
        let (lists, dialects) = (runtime.lists(), runtime.ready_dialects());
        let named = if provider.is_some() || model.is_some() {
            let chosen = dialects.choose(provider, model, &compat(&parameters));
            Some(chosen.map_err(|error| lists.unknown_dialect(&error))?)
        } else {
            None
        };
        let options = TurnOptions::read(&parameters)?;
        let read = ReadOptions {
            protocol: named.as_ref().map(|dialect| dialect.messages.protocol),
            label: named.as_ref().map_or("", |dialect| &dialect.label),
            text: match &call {
                ModelOutput::Json(Value::String(_)) => TextScan::Whole(Arc::new(AnyTool)),
                ModelOutput::Json(_) | ModelOutput::Call(_) => TextScan::Off,
            },
            ids_after: 0,
        };
        let text_calls = |dialect: Option<&Arc<Dialect>>| {
            let usual = || dialect.map_or(TextCalls::Off, |dialect| dialect.messages.text_calls);
            options.text.unwrap_or_else(usual)
        };
        let (reply, call) = match call {
            ModelOutput::Call(call) => (call.into_reply(read.protocol), Value::Null),
            ModelOutput::Json(call) => (first_reading(&call, &read, text_calls(named.as_ref()))?, call),
        };
        let detected = || dialects.detected(reply.protocol);
        let text_calls = if reply.calls.is_empty() && !reply.text.is_empty() {
            text_calls(named.as_ref().or_else(detected))
        } else {
            TextCalls::Off
        };
        let is_detected = named.is_none();
        let list_dialect = match &named {
            Some(_) => provider,
            None => detected().map(|dialect| dialect.name.as_str()),
        };
        let scope = runtime.scope(options.server.as_deref())?;
        let request = ListRequest::parse(lists, scope, list_dialect, &parameters)?;
        let reads_text = text_calls != TextCalls::Off;
        // Servers that are still starting are waited for only where a name is not known yet, or where a text is searched
        // for names: which ones are tools is known when all servers are. Boxed, as few turns wait.
        let mut rendered = lists.get(&request).await?;
        let has_all = |list: &Rendered| reply.calls.iter().all(|call| list.tool(&call.name).is_some());
        let is_known = !reads_text && has_all(&rendered);
        // First those who never listed anything: what others listed in an earlier run is known.
        if !is_known {
            Box::pin(lists.listed_or_stale(&request)).await;
            rendered = lists.get(&request).await?;
        }
        if !has_all(&rendered) {
            Box::pin(lists.listed(&request)).await;
            rendered = lists.get(&request).await?;
        }
        let is_xml = reply.written == Some(Notation::Xml);
        let reply = if reads_text || is_xml {
            let tools = Arc::new(OfferedList::new(runtime.clone(), Arc::clone(&rendered), options.coerce));
            let text = match reply.written {
                // XML says no types: the schemas of the tools do, so that "007" stays a text where a text is wanted.
                Some(_) => TextScan::Whole(tools),
                None => TextScan::Offered(text_calls, tools),
            };
            read_reply(&call, &ReadOptions { text, ..read.clone() })?
        } else {
            reply
        };
        if reply.calls.len() > MOST_CALLS {
            let message = format!("{} calls in one turn; at most {MOST_CALLS} are run", reply.calls.len());
            return Err(Failure::request(message));
        }
        let search = if is_known && !is_xml {
            None
        } else {
            // Boxed: nearly all calls are of tools that are known.
            Box::pin(search_list(runtime, &request, &rendered, &reply)).await?
        };
        let dialect = match (&rendered.dialect, named) {
            (Some(dialect), _) => Arc::clone(dialect),
            (None, Some(dialect)) => dialect,
            (None, None) => request.dialect(lists)?,
        };
        // One name for one dialect, however it was named or recognised, and with whatever layer.
        let own = dialect.name.split('+').next().unwrap_or(&dialect.name);
        let origin = Origin { transport: PLAIN, provider: Some(own.into()) };
        let mut turn = Self {
            reply,
            dialects: Arc::clone(&dialects),
            dialect,
            origin,
            rendered,
            search,
            list: request,
            is_detected,
            options,
        };
        turn.name_calls(runtime.call_ids());
        Ok(turn)
    }

    /// A turn of a model that was given tools of `rendered`, the list that `list` asks for, and perhaps those of `search`. Arguments are
    /// repaired and coerced where that is certain; nobody can be asked anything.
    pub fn of_reply(
        runtime: &Runtime,
        reply: Reply,
        list: ListRequest,
        rendered: Arc<Rendered>,
        search: Option<Arc<Rendered>>,
    ) -> Result<Self, Failure> {
        let dialect = match &rendered.dialect {
            Some(dialect) => Arc::clone(dialect),
            None => list.dialect(runtime.lists())?,
        };
        let own = dialect.name.split('+').next().unwrap_or(&dialect.name);
        let origin = Origin { transport: PLAIN, provider: Some(own.into()) };
        let search = search.or_else(|| rendered.finder.is_some().then(|| Arc::clone(&rendered)));
        let dialects = runtime.ready_dialects();
        let options = TurnOptions::of_model();
        Ok(Self { reply, dialects, dialect, origin, rendered, search, list, is_detected: false, options })
    }

    /// Gives calls without an id one that no other call of the gateway has, in the form that the provider takes.
    fn name_calls(&mut self, ids: &CallIds) {
        let calls = &mut self.reply.calls;
        if calls.iter().all(|call| call.id.given().is_some()) {
            return;
        }
        for call in calls.iter_mut().filter(|call| call.id.given().is_none()) {
            call.id = CallId::Generated(ids.next(&self.dialect));
        }
        self.options.results.ids = calls.iter().map(|call| call.id.as_str().to_owned()).collect();
    }

    /// How exactly failures are reported.
    pub fn style(&self) -> ErrorStyle {
        self.options.style
    }

    /// A call of the turn, for the runtime.
    fn request<'a>(
        &'a self,
        context: &'a RequestContext,
        call: &'a ToolCall,
        tool: Result<(&'a CatalogueTool, Option<&'a Plan>), Failure>,
    ) -> CallRequest<'a> {
        let TurnOptions { bad_arguments: bad, coerce, fill, ref answerer, .. } = self.options;
        CallRequest {
            named: (self.options.named_server(), &call.name),
            tool,
            catalogue: &self.rendered.catalogue,
            arguments: CallArguments::Written { call, label: &self.dialect.label, bad, coerce, fill },
            context,
            origin: &self.origin,
            answerer: answerer.as_ref(),
            siblings: Some(Siblings {
                dialects: self.siblings(),
                list: &self.list,
                is_detected: self.is_detected,
            }),
        }
    }

    /// The other dialects in which the model may have been given a tool: where none was named, those of the same protocol; where a
    /// list mixes strict and plain tools, both, because which tools are strict changes with the tools beside them; else the
    /// strict form, because few who ask for a list with `strict=auto` say so again.
    fn siblings(&self) -> SiblingDialects<'_> {
        if self.is_detected {
            SiblingDialects::Given(self.dialects.siblings(self.reply.protocol))
        } else if self.rendered.forms.is_empty() {
            SiblingDialects::StrictFormOf(&self.dialect)
        } else {
            SiblingDialects::Given(&self.rendered.forms)
        }
    }

    /// The tool that the model means: by the name in its list, else by any other name that leads to it.
    fn find(&self, name: &str) -> Result<(&CatalogueTool, Option<&Plan>), LookupError> {
        if let Some((tool, plan)) = self.rendered.tool(name) {
            return Ok((tool, Some(plan)));
        }
        let tool = self.rendered.catalogue.resolve(self.options.named_server(), name)?;
        // Under another name the plan of its own entry still holds, if it has one.
        let own = self.rendered.name_of(tool.server.as_str(), &tool.name);
        Ok((tool, own.and_then(|name| self.rendered.tool(name)).map(|(_, plan)| plan)))
    }

    /// The same error with tools named as in the list that the model was given.
    fn as_shown(&self, mut error: LookupError) -> LookupError {
        if let LookupError::Ambiguous { candidates, .. } = &mut error {
            for candidate in candidates {
                let shown = self.rendered.name_of(candidate.server.as_str(), &candidate.own_name);
                candidate.name = shown.map(str::to_owned).or_else(|| candidate.name.take());
            }
        }
        error
    }

    fn sought<'a>(&'a self, name: &'a str) -> Sought<'a> {
        let implied = match &self.list.scope {
            Scope::Server(id) => Some(id.as_str()),
            Scope::All => None,
        };
        Sought { server: self.options.named_server(), name, implied }
    }

    fn unknown(&self, runtime: &Runtime, name: &str) -> String {
        let text = unknown_tool_text(name, &nearest_names(name, self.rendered.wire_names()));
        match &self.list.scope {
            Scope::Server(_) => text,
            Scope::All => runtime.unknown_among_all(&text),
        }
    }
}

/// The three tools of search, where a call may be of them: a model that was given these calls them, and its caller need not
/// say so again.
async fn search_list(
    runtime: &Runtime,
    request: &ListRequest,
    rendered: &Arc<Rendered>,
    reply: &Reply,
) -> Result<Option<Arc<Rendered>>, Failure> {
    if rendered.finder.is_some() {
        return Ok(Some(Arc::clone(rendered)));
    }
    let mut calls = reply.calls.iter();
    if calls.any(|call| rendered.tool(&call.name).is_none() && may_be_meant(&call.name)) {
        return runtime.lists().get(&request.searched()).await.map(Some);
    }
    Ok(None)
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
    let dialects = runtime.ready_dialects();
    let Some(dialect) = dialects.untouched() else { return result.clone() };
    let read = read_result(result.as_str());
    let outcome = Outcome { call_id: None, wire_name: tool, result: &read.value, kept: None };
    let origin = format!("{server}/{tool}");
    RawJson::of(&render_mode(mode, dialect, &outcome, &origin, &ResultOptions::default()))
        .unwrap_or_else(|_| result.clone())
}
