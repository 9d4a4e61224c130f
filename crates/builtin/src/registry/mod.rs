//! The registry: tools that are not an upstream's.
//!
//! A tool has a definition and a handler: a function of this program, an HTTP endpoint or a command. Tools come from the
//! program that the gateway is part of, from the configuration file, or over HTTP from somebody with an admin key. There
//! is no global registry: each fleet has one, and clones of it are the same one. A fleet offers its tools as those of one
//! more server, so that they are listed, called, logged and limited like all others.

mod address;
mod command;
mod endpoint;
mod handler;
mod network;
mod resource;
mod tool;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gateway_config::{RefusedTool, RegistryConfig};
use gateway_protocol::{ListKind, RawJson, RawObject, RpcError, code, method};
use serde_json::{Value, json};
use tokio::sync::broadcast;

pub use handler::{Function, FunctionAnswer, FunctionError, Handler, ToolFunction};
pub use resource::{RegisteredResource, ResourceContents};
pub use tool::{RegisterError, RegisteredTool, ToolOrigin};

use crate::server::{Params, ServerProfile};
use address::Lookup;
use endpoint::Outside;

const PROFILE: ServerProfile =
    ServerProfile { name: "registry", title: "Registered tools", instructions: "", changes: true };

/// How many events a slow subscriber may lag behind.
const EVENTS: usize = 256;

/// Something that happened to the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryEvent {
    /// A tool was registered, or replaced.
    ToolRegistered {
        /// Its name.
        name: String,
    },
    /// A tool was unregistered.
    ToolUnregistered {
        /// Its name.
        name: String,
    },
}

impl RegistryEvent {
    /// The word for programs: `tool-registered` or `tool-unregistered`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ToolRegistered { .. } => "tool-registered",
            Self::ToolUnregistered { .. } => "tool-unregistered",
        }
    }

    /// The tool.
    pub fn name(&self) -> &str {
        match self {
            Self::ToolRegistered { name } | Self::ToolUnregistered { name } => name,
        }
    }
}

/// Why a tool gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// No tool has this name.
    #[error("Tool '{name}' not found")]
    NotFound {
        /// The name.
        name: String,
    },
    /// Its handler failed.
    #[error("Error executing tool '{name}': {message}")]
    Failed {
        /// The tool.
        name: String,
        /// Why.
        message: String,
    },
}

/// Tools that are not an upstream's. Clones are the same registry.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    /// Never held across an await, nor while watchers are notified.
    state: Mutex<State>,
    events: broadcast::Sender<RegistryEvent>,
    watchers: Mutex<Vec<Watcher>>,
    outside: Outside,
}

type Tools = BTreeMap<String, Arc<RegisteredTool>>;
/// Returns whether it wants further notifications.
type Watcher = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Default)]
struct State {
    tools: Tools,
    /// By URI or template, in the order in which they are tried.
    resources: BTreeMap<String, Arc<RegisteredResource>>,
    config: RegistryConfig,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registry").field("tools", &self.state().tools.keys()).finish()
    }
}

/// Two are the same if what is registered in one is seen in the other.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Registry {
    /// One without tools.
    pub fn new() -> Self {
        Self::with(Lookup::default())
    }

    /// One that resolves the names of endpoints in its own way.
    pub fn with_lookup<L, A>(lookup: L) -> Self
    where
        L: Fn(&str) -> A + Send + Sync + 'static,
        A: Future<Output = std::io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        Self::with(Lookup::new(move |name| Box::pin(lookup(name)) as Pin<Box<_>>))
    }

    fn with(lookup: Lookup) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            events: broadcast::Sender::new(EVENTS),
            watchers: Mutex::default(),
            outside: Outside::new(lookup),
        }))
    }

    /// Registers a tool; one of the same name is replaced, and given back.
    pub fn register(&self, tool: RegisteredTool) -> Result<Option<Arc<RegisteredTool>>, RegisterError> {
        let replaced = {
            let mut state = self.state();
            state.check(&tool)?;
            let name = tool.name.clone();
            let replaced = state.tools.insert(name.clone(), Arc::new(tool));
            // Under the lock, so that events come in the order of what happened. Nobody listening is fine.
            let _ = self.0.events.send(RegistryEvent::ToolRegistered { name });
            replaced
        };
        self.notify_watchers();
        Ok(replaced)
    }

    /// Takes a tool away; whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let found = {
            let mut state = self.state();
            let found = state.tools.remove(name).is_some();
            if found {
                let _ = self.0.events.send(RegistryEvent::ToolUnregistered { name: name.to_owned() });
            }
            found
        };
        if found {
            self.notify_watchers();
        }
        found
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        self.state().tools.get(name).cloned()
    }

    /// Whether there is a tool of that name.
    pub fn has(&self, name: &str) -> bool {
        self.state().tools.contains_key(name)
    }

    /// All tools by name. It is a copy: what happens to it does not happen to the registry, nor the other way round.
    pub fn get_all(&self) -> BTreeMap<String, Arc<RegisteredTool>> {
        self.state().tools.clone()
    }

    /// Registers a resource or a template; one of the same URI is replaced, and given back.
    pub fn register_resource(
        &self,
        resource: RegisteredResource,
    ) -> Result<Option<Arc<RegisteredResource>>, RegisterError> {
        let replaced = {
            let mut state = self.state();
            state.check_room(resource.bytes(), &state.resources, &resource.about.uri)?;
            state.resources.insert(resource.about.uri.clone(), Arc::new(resource))
        };
        self.notify_watchers();
        Ok(replaced)
    }

    /// Takes a resource or a template away; whether there was one.
    pub fn unregister_resource(&self, uri: &str) -> bool {
        let found = self.state().resources.remove(uri).is_some();
        if found {
            self.notify_watchers();
        }
        found
    }

    /// The definitions of the resources, or of the templates.
    pub fn resource_definitions(&self, kind: ListKind) -> Vec<RawJson> {
        let state = self.state();
        let is_meant = |resource: &&Arc<RegisteredResource>| match kind {
            ListKind::Resources => !resource.about.is_template,
            ListKind::ResourceTemplates => resource.about.is_template,
            ListKind::Tools | ListKind::Prompts => false,
        };
        state.resources.values().filter(is_meant).map(|resource| resource.about.json.clone()).collect()
    }

    /// Whether there are resources or templates.
    pub fn has_resources(&self) -> bool {
        !self.state().resources.is_empty()
    }

    /// Whether nothing is registered.
    pub fn is_empty(&self) -> bool {
        let state = self.state();
        state.tools.is_empty() && state.resources.is_empty()
    }

    /// Reads a resource: the fixed one of that URI, else what the first template makes of it.
    pub async fn read_resource(&self, uri: &str) -> Result<RawJson, RpcError> {
        let contents = self.contents(uri).await?;
        RawJson::of(&contents).map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
    }

    async fn contents(&self, uri: &str) -> Result<Value, RpcError> {
        let found = {
            let state = self.state();
            let mut of_template = state.resources.values().filter(|resource| resource.about.is_template);
            match state.resources.get(uri).filter(|resource| !resource.about.is_template) {
                Some(resource) => Some((Arc::clone(resource), serde_json::Map::new())),
                None => of_template.find_map(|resource| Some((Arc::clone(resource), resource.matched(uri)?))),
            }
        };
        let Some((resource, values)) = found else {
            // The code of the legacy era; a modern caller gets its own.
            let data = RawJson::of(&json!({"uri": uri})).ok();
            let message = format!("Resource '{uri}' not found");
            return Err(RpcError { code: code::LEGACY_RESOURCE_NOT_FOUND, message, data });
        };
        resource.read(uri, values).await.map_err(|message| {
            RpcError::new(code::INTERNAL_ERROR, format!("Error reading resource '{uri}': {message}"))
        })
    }

    /// What happens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<RegistryEvent> {
        self.0.events.subscribe()
    }

    /// Runs a tool and gives its result, an object as `tools/call` gives it. Dropping the future cancels the call; after
    /// the tool's own time it is cancelled too.
    pub async fn execute(&self, name: &str, arguments: &RawJson) -> Result<RawJson, ExecuteError> {
        let tool = self.get(name).ok_or_else(|| ExecuteError::NotFound { name: name.to_owned() })?;
        let running = Box::pin(tool.handler.run(name, arguments, &self.0.outside));
        let outcome = match tokio::time::timeout(tool.timeout, running).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("no answer within {:?}", tool.timeout)),
        };
        outcome.map_err(|message| ExecuteError::Failed { name: name.to_owned(), message })
    }

    /// Takes a configuration over: its tools replace those of the last one. Tools from elsewhere stay, unless one of the
    /// configuration has their name.
    pub fn configure(&self, config: &RegistryConfig) {
        self.0.outside.allow_private(config.allow_private);
        {
            let mut state = self.state();
            let mut events = Vec::new();
            let stays = |name: &String| config.tools.iter().any(|tool| tool.name == *name);
            state.tools.retain(|name, tool| {
                let goes = tool.origin == ToolOrigin::Configuration && !stays(name);
                if goes {
                    events.push(RegistryEvent::ToolUnregistered { name: name.clone() });
                }
                !goes
            });
            for tool in config.tools.iter().map(RegisteredTool::configured) {
                if state.tools.get(&tool.name).is_none_or(|known| **known != tool) {
                    let name = tool.name.clone();
                    events.push(RegistryEvent::ToolRegistered { name: name.clone() });
                    state.tools.insert(name, Arc::new(tool));
                }
            }
            state.resources.retain(|_, resource| resource.origin != ToolOrigin::Configuration);
            for resource in &config.resources {
                let resource = RegisteredResource::configured(resource);
                state.resources.insert(resource.about.uri.clone(), Arc::new(resource));
            }
            state.config = config.clone();
            for event in events {
                let _ = self.0.events.send(event);
            }
        }
        self.notify_watchers();
    }

    /// The tools of the configuration that are left out.
    pub fn refused(&self) -> Vec<RefusedTool> {
        self.state().config.refused.clone()
    }

    /// The name of the server that the tools are offered as.
    pub fn server_name(&self) -> String {
        self.state().config.name.clone()
    }

    /// The definitions of all tools, by name.
    pub fn definitions(&self) -> Vec<RawJson> {
        self.state().tools.values().map(|tool| tool.definition.clone()).collect()
    }

    /// Notifies somebody whenever tools change, before whoever changed them goes on; for as long as it returns `true`.
    pub fn watch(&self, watcher: impl Fn() -> bool + Send + Sync + 'static) {
        self.watchers().push(Arc::new(watcher));
    }

    /// Answers a request of MCP.
    pub async fn handle(&self, method: &str, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
        let read = Params::read(params)?;
        let values = |entries: Vec<RawJson>| -> Value {
            entries.iter().filter_map(|entry| entry.read::<Value>().ok()).collect()
        };
        let list = |member: &str, kind: ListKind| json!({member: values(self.resource_definitions(kind)), "ttlMs": 0, "cacheScope": "public"});
        let answer = match method {
            method::CALL_TOOL => return self.call(read, params).await,
            method::LIST_RESOURCES => list("resources", ListKind::Resources),
            method::LIST_RESOURCE_TEMPLATES => list("resourceTemplates", ListKind::ResourceTemplates),
            method::READ_RESOURCE => self.contents(read.uri()?).await?,
            _ => PROFILE.answer(method, &read, || values(self.definitions()))?,
        };
        read.written(answer)
    }

    async fn call(&self, mut read: Params, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
        let name = read.call()?.0.to_owned();
        // As they came: numbers of any length, and the order of members.
        let arguments = params.and_then(|params| {
            let members = RawObject::parse(params).ok()?;
            members.get("arguments").filter(|value| value.get() != "null").map(|value| params.part(value))
        });
        let arguments = arguments.unwrap_or_else(RawJson::empty_object);
        match self.execute(&name, &arguments).await {
            Ok(result) => Ok(result),
            Err(error @ ExecuteError::NotFound { .. }) => {
                Err(RpcError::new(code::INVALID_PARAMS, error.to_string()))
            }
            Err(error @ ExecuteError::Failed { .. }) => {
                let content = json!([{"type": "text", "text": error.to_string()}]);
                read.written(json!({"content": content, "isError": true}))
            }
        }
    }

    fn notify_watchers(&self) {
        let watchers = self.watchers().clone();
        for watcher in watchers {
            if !watcher() {
                self.watchers().retain(|known| !Arc::ptr_eq(known, &watcher));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether there is room for a definition of so many bytes, which may replace another of the same key.
    fn check_room<T>(&self, bytes: usize, all: &BTreeMap<String, T>, key: &str) -> Result<(), RegisterError> {
        let limit = self.config.max_definition_bytes;
        if bytes > limit {
            return Err(RegisterError::TooLong { bytes, limit });
        }
        let limit = self.config.max_tools;
        let is_full = !all.contains_key(key) && all.len() >= limit;
        if is_full { Err(RegisterError::Full { limit }) } else { Ok(()) }
    }

    /// Whether a tool may be registered.
    fn check(&self, tool: &RegisteredTool) -> Result<(), RegisterError> {
        self.check_room(tool.bytes(), &self.tools, &tool.name)?;
        let known = self.tools.get(&tool.name);
        let is_configured = known.is_some_and(|known| known.origin == ToolOrigin::Configuration);
        if is_configured && tool.origin == ToolOrigin::Network {
            return Err(RegisterError::Configured { name: tool.name.clone() });
        }
        Ok(())
    }
}
