//! The caller's own tools beside those of the gateway.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::calls::text::{OfferedTools, ToolSchemas};
use gateway_dialects::calls::{Arguments, ToolCall};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::TranslatedTools;
use gateway_dialects::{Dialect, Dialects, Options, Plan, Translator};
use gateway_runtime::failure::Failure;
use serde_json::{Map, Value, json};

use crate::toolbox::{Offer, ToolOutcome, Toolbox, ToolsError};

/// What a tool of ours is called behind, where the caller has a tool of its name.
const PREFIX: &str = "gateway__";

/// Tools of the caller, which the caller runs, beside those of the gateway.
#[derive(Debug)]
pub(super) struct CallerTools {
    own: Option<Box<dyn Toolbox>>,
    /// The caller's definitions, as they came.
    definitions: Vec<Value>,
    names: HashSet<String>,
    dialects: Arc<Dialects>,
}

/// The caller's name of a tool, and how its arguments travel, by the name that the model sees.
type CallersPlans = HashMap<String, (String, Plan)>;

/// The caller's tools as a model is offered them.
struct Written {
    definitions: Vec<Value>,
    /// Empty where they are sent as they came.
    plans: CallersPlans,
    /// The measure of calls that the model writes as text.
    schemas: ToolSchemas,
}

/// What it takes to hand calls on.
struct Mixed {
    own: Option<Offer>,
    /// Names of ours that give way to the caller's, by the name that the model sees.
    renamed: HashMap<String, String>,
    /// How the arguments of the caller's tools travel, by the name that the model sees.
    callers: CallersPlans,
}

impl CallerTools {
    pub(super) fn new(
        own: Option<Box<dyn Toolbox>>,
        definitions: Vec<Value>,
        dialects: Arc<Dialects>,
    ) -> Self {
        let names = definitions.iter().filter_map(name_of).map(str::to_owned).collect();
        Self { own, definitions, names, dialects }
    }

    async fn mixed(
        &self,
        model: &str,
        dialect: &Arc<Dialect>,
        questions: &[String],
    ) -> Result<Offer, Failure> {
        let own = match &self.own {
            Some(own) => Some(own.offer_to(model, dialect, questions).await?),
            None => None,
        };
        let mut list: Vec<Value> = match own.as_ref().and_then(|own| own.list.as_ref()) {
            Some(list) => serde_json::from_slice(list)
                .map_err(|error| Failure::Internal(format!("reading the list of tools: {error}")))?,
            None => Vec::new(),
        };
        let theirs = self.written_in(dialect)?;
        let is_taken = |name: &str| self.names.contains(name) || theirs.plans.contains_key(name);
        let mut renamed = HashMap::new();
        for definition in &mut list {
            let Some(name) = name_of(definition).filter(|name| is_taken(name)) else { continue };
            let (name, other) = (name.to_owned(), format!("{PREFIX}{name}"));
            rename(definition, &other);
            renamed.insert(other, name);
        }
        list.extend(theirs.definitions);
        let count = list.len();
        let base = own.clone().unwrap_or_else(Offer::nothing);
        let offered = MixedOffer {
            callers: theirs.schemas,
            renamed: renamed.clone(),
            hidden: renamed.values().cloned().collect(),
            own: base.offered,
        };
        Ok(Offer {
            list: (count > 0).then(|| Bytes::from(Value::from(list).to_string())),
            count,
            codec: Arc::new(codec_of(&base.codec, &renamed, &theirs.plans)),
            offered: Arc::new(offered),
            notices: base.notices,
            state: Some(Arc::new(Mixed { own, renamed, callers: theirs.plans })),
        })
    }

    /// The caller's tools as the dialect has them. The API that the caller writes for gets them as they came.
    fn written_in(&self, dialect: &Arc<Dialect>) -> Result<Written, Failure> {
        let functions = self.definitions.iter().filter(|tool| custom_of(tool).is_none());
        let as_they_came = |definitions: Vec<Value>| {
            let named = functions.clone().filter_map(|tool| Some((name_of(tool)?, as_mcp(tool))));
            let schemas = named.fold(ToolSchemas::default(), |schemas, (name, mut tool)| {
                schemas.with(name, tool["inputSchema"].take())
            });
            Written { definitions, plans: HashMap::new(), schemas }
        };
        if dialect.messages.protocol == Protocol::Chat {
            return Ok(as_they_came(self.definitions.clone()));
        }
        if let Some(name) = self.definitions.iter().find_map(|tool| custom_of(tool)?.get("name")?.as_str()) {
            return Err(Failure::request(format!(
                "tool `{name}` cannot be sent to this model: its API has no custom tools"
            )));
        }
        if dialect.messages.protocol == Protocol::Functions {
            let functions = functions.clone().filter_map(|tool| tool.get("function"));
            return Ok(as_they_came(functions.cloned().collect()));
        }
        let translator = Translator::with(&self.dialects, Arc::clone(dialect), Options::default())
            .map_err(|error| Failure::Internal(error.to_string()))?;
        let tools: Vec<Value> = self.definitions.iter().map(as_mcp).collect();
        let translation = translator.translate(&tools);
        let (mut definitions, mut plans) = (Vec::new(), HashMap::new());
        let mut schemas = ToolSchemas::default();
        for (tool, given) in translation.tools.iter().zip(&tools) {
            let Some(definition) = &tool.definition else {
                let reason = tool.quarantine.clone().unwrap_or_default();
                let message = format!("tool `{}` cannot be sent to this model: {reason}", tool.name);
                return Err(Failure::request(message));
            };
            definitions.push(serde_json::to_value(definition).unwrap_or_default());
            schemas = schemas.with_plan(&tool.wire_name, given["inputSchema"].clone(), tool.plan.clone());
            plans.insert(tool.wire_name.clone(), (tool.name.to_owned(), tool.plan.clone()));
        }
        Ok(Written { definitions, plans, schemas })
    }
}

/// Names and arguments of all tools: ours, as far as they have given way, and the caller's.
fn codec_of(
    own: &TranslatedTools,
    renamed: &HashMap<String, String>,
    callers: &CallersPlans,
) -> TranslatedTools {
    own.giving_way(
        renamed.iter().map(|(new, old)| (new.as_str(), old.as_str())),
        callers.iter().map(|(wire_name, (name, plan))| (wire_name.as_str(), name.as_str(), plan)),
    )
}

/// All tools that a model was offered, by the names that it sees.
#[derive(Debug)]
struct MixedOffer {
    callers: ToolSchemas,
    renamed: HashMap<String, String>,
    /// Names of ours that are the caller's now.
    hidden: HashSet<String>,
    own: Arc<dyn OfferedTools>,
}

impl MixedOffer {
    /// The tools that have one of this name, and its name among them.
    fn holder<'a>(&'a self, name: &'a str) -> (&'a dyn OfferedTools, &'a str) {
        match self.renamed.get(name) {
            _ if self.callers.is_offered(name) || self.hidden.contains(name) => (&self.callers, name),
            Some(own) => (self.own.as_ref(), own),
            None => (self.own.as_ref(), name),
        }
    }
}

impl OfferedTools for MixedOffer {
    fn is_offered(&self, name: &str) -> bool {
        let (holder, name) = self.holder(name);
        holder.is_offered(name)
    }

    fn schema(&self, name: &str) -> Value {
        let (holder, name) = self.holder(name);
        holder.schema(name)
    }

    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        let (holder, name) = self.holder(name);
        holder.check(name, arguments)
    }

    fn server(&self, name: &str) -> Option<String> {
        let (holder, name) = self.holder(name);
        holder.server(name)
    }
}

impl Toolbox for CallerTools {
    fn offer<'a>(
        &'a self,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        self.mixed("", dialect, questions).boxed()
    }

    fn offer_to<'a>(
        &'a self,
        model: &'a str,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        self.mixed(model, dialect, questions).boxed()
    }

    fn owns(&self, offer: &Offer, name: &str) -> bool {
        let is_callers = self.names.contains(name)
            || mixed_of(offer).is_some_and(|mixed| mixed.callers.contains_key(name));
        self.own.is_some() && !is_callers
    }

    /// With the caller's name, and arguments for the caller's schema.
    fn handed_back(&self, offer: &Offer, mut call: ToolCall) -> ToolCall {
        let Some((name, plan)) = mixed_of(offer).and_then(|mixed| mixed.callers.get(&call.name)) else {
            return call;
        };
        call.name.clone_from(name);
        let sent = match &call.arguments {
            _ if plan.is_identity() => None,
            Arguments::Text(text) => serde_json::from_str(text).ok(),
            Arguments::Json(value) => Some(value.clone()),
            Arguments::Missing => None,
        };
        if let Some(decoded) = sent.and_then(|sent| plan.decode(&sent).ok()) {
            call.arguments = Arguments::Text(decoded.to_string());
        }
        call
    }

    fn call<'a>(&'a self, offer: &'a Offer, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        async move {
            let state = mixed_of(offer);
            let (Some(own), Some(Mixed { own: Some(offer), renamed, .. })) = (&self.own, state) else {
                return crate::toolbox::NoTools.call(offer, call).await;
            };
            match renamed.get(&call.name) {
                Some(name) => own.call(offer, &ToolCall { name: name.clone(), ..call.clone() }).await,
                None => own.call(offer, call).await,
            }
        }
        .boxed()
    }
}

fn mixed_of(offer: &Offer) -> Option<&Mixed> {
    offer.state.as_ref()?.downcast_ref()
}

/// A tool that takes plain text, which only Chat Completions has.
fn custom_of(definition: &Value) -> Option<&Value> {
    definition.get("custom").filter(|_| definition["type"] == "custom")
}

/// The name in a definition of any API.
fn name_of(definition: &Value) -> Option<&str> {
    let holder = definition.get("function").or_else(|| custom_of(definition)).unwrap_or(definition);
    holder.get("name")?.as_str()
}

fn rename(definition: &mut Value, name: &str) {
    let holder = if definition.get("function").is_some() { &mut definition["function"] } else { definition };
    holder["name"] = name.into();
}

/// A tool of a chat request as MCP has it.
fn as_mcp(definition: &Value) -> Value {
    let function = definition.get("function").unwrap_or(definition);
    json!({
        "name": function["name"], "description": function["description"],
        "inputSchema": function.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"})),
    })
}
