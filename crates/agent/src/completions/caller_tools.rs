//! The caller's own tools beside those of the gateway.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::calls::{Arguments, ToolCall};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::{Dialect, Dialects, Options, Plan, Translator};
use gateway_runtime::failure::Failure;
use serde_json::{Value, json};

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

    async fn mixed(&self, dialect: &Arc<Dialect>, questions: &[String]) -> Result<Offer, Failure> {
        let own = match &self.own {
            Some(own) => Some(own.offer(dialect, questions).await?),
            None => None,
        };
        let mut renamed = HashMap::new();
        let mut list: Vec<Value> = match own.as_ref().and_then(|own| own.list.as_ref()) {
            Some(list) => serde_json::from_slice(list)
                .map_err(|error| Failure::Internal(format!("reading the list of tools: {error}")))?,
            None => Vec::new(),
        };
        for definition in &mut list {
            let Some(name) = name_of(definition).filter(|name| self.names.contains(*name)) else { continue };
            let (name, other) = (name.to_owned(), format!("{PREFIX}{name}"));
            rename(definition, &other);
            renamed.insert(other, name);
        }
        let (theirs, callers) = self.definitions_in(dialect)?;
        let count = list.len() + theirs.len();
        list.extend(theirs);
        let base = own.clone().unwrap_or_else(Offer::nothing);
        Ok(Offer {
            list: (count > 0).then(|| Bytes::from(Value::from(list).to_string())),
            count,
            state: Some(Arc::new(Mixed { own, renamed, callers })),
            ..base
        })
    }

    /// The caller's tools as the dialect has them. The API that the caller writes for gets them as they came.
    fn definitions_in(&self, dialect: &Arc<Dialect>) -> Result<(Vec<Value>, CallersPlans), Failure> {
        match dialect.messages.protocol {
            Protocol::Chat => return Ok((self.definitions.clone(), HashMap::new())),
            Protocol::Functions => {
                let functions = self.definitions.iter().filter_map(|tool| tool.get("function")).cloned();
                return Ok((functions.collect(), HashMap::new()));
            }
            _ => {}
        }
        let translator = Translator::with(&self.dialects, Arc::clone(dialect), Options::default())
            .map_err(|error| Failure::Internal(error.to_string()))?;
        let tools: Vec<Value> = self.definitions.iter().map(as_mcp).collect();
        let translation = translator.translate(&tools);
        let mut callers = HashMap::new();
        let mut written = Vec::new();
        for tool in &translation.tools {
            let Some(definition) = &tool.definition else {
                let reason = tool.quarantine.clone().unwrap_or_default();
                let message = format!("tool `{}` cannot be sent to this model: {reason}", tool.name);
                return Err(Failure::request(message));
            };
            written.push(serde_json::to_value(definition).unwrap_or_default());
            callers.insert(tool.wire_name.clone(), (tool.name.to_owned(), tool.plan.clone()));
        }
        Ok((written, callers))
    }
}

impl Toolbox for CallerTools {
    fn offer<'a>(
        &'a self,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        self.mixed(dialect, questions).boxed()
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

/// The name in a definition of any API.
fn name_of(definition: &Value) -> Option<&str> {
    definition.get("function").unwrap_or(definition).get("name")?.as_str()
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
