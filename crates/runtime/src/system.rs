//! The tool system: a gateway that is started once, stopped, and started again, around one registry.
//!
//! Tools are registered at any time: before the start, while it goes on, after the end. There is one registry, whether it
//! is reached through the system, its gateway or the gateway's fleet.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use gateway_config::ServiceConfig;
use gateway_dialects::Dialects;
use gateway_dialects::calls::{RouteFormat, render_route_error};
use gateway_store::{CallLog, StoreError};
use gateway_upstream::{Fleet, FleetOptions, RegisterError, RegisteredTool, Registry, UpstreamSpec};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::Runtime;
use crate::route::RouteOptions;

/// What a system is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SystemParts {
    /// The servers.
    pub servers: Vec<UpstreamSpec>,
    /// How they are kept, and the registry.
    pub fleet: FleetOptions,
    /// The settings of the service.
    pub service: ServiceConfig,
    /// The dialects.
    pub dialects: Dialects,
    /// How calls are logged; where, is said by the settings.
    pub log: gateway_store::Options,
}

impl Default for SystemParts {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            fleet: FleetOptions::default(),
            service: ServiceConfig::default(),
            dialects: Dialects::builtin(),
            log: gateway_store::Options::default(),
        }
    }
}

/// Why a system did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// The call log cannot be used.
    #[error("opening the call log")]
    Log(#[from] StoreError),
}

/// A gateway with a life of its own. Clones are the same system.
///
/// ```
/// use gateway_runtime::route::RouteOptions;
/// use gateway_runtime::system::{SystemParts, ToolSystem};
/// use gateway_upstream::{Handler, RegisteredTool};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ToolSystem::new(SystemParts::default());
/// let greet = Handler::function(|_| async { Ok(json!("hello")) });
/// system.register_tool(RegisteredTool::new("greet", &json!({"description": "Says hello"}), greet)?)?;
/// system.initialize().await?;
/// let call = json!({"type": "tool_use", "id": "t1", "name": "greet", "input": {}});
/// let result = system.execute(&call, &RouteOptions::default()).await;
/// assert_eq!(result["content"][0]["text"], "hello");
/// system.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ToolSystem(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: SystemParts,
    running: ArcSwapOption<Runtime>,
    /// Held while the system starts or ends, so that who comes second waits for what the first began. Calls do not take it.
    turning: Mutex<()>,
}

impl ToolSystem {
    /// A system that is not started.
    pub fn new(parts: SystemParts) -> Self {
        Self(Arc::new(Inner { parts, running: ArcSwapOption::empty(), turning: Mutex::new(()) }))
    }

    /// Starts it, unless it runs already; callers at the same time share one start. What was registered before is there.
    pub async fn initialize(&self) -> Result<Runtime, SystemError> {
        let _turning = self.0.turning.lock().await;
        if let Some(running) = self.gateway() {
            return Ok(running);
        }
        let parts = &self.0.parts;
        let log = match &parts.service.log.directory {
            Some(directory) => CallLog::open(directory, &parts.log)?,
            None => CallLog::in_memory(&parts.log)?,
        };
        for notice in log.opened().notices() {
            tracing::warn!(%notice, "Call log opened.");
        }
        let fleet = Fleet::start(parts.servers.clone(), parts.fleet.clone());
        let runtime = Runtime::new(parts.service.clone(), fleet, parts.dialects.clone(), log);
        self.0.running.store(Some(Arc::new(runtime.clone())));
        Ok(runtime)
    }

    /// Ends it, if it runs: calls in flight may finish within the configured time. When this returns, nothing of it is left,
    /// whoever ended it. It can be started again.
    pub async fn shutdown(&self) {
        let _turning = self.0.turning.lock().await;
        if let Some(runtime) = self.0.running.swap(None) {
            runtime.close(runtime.config().drain).await;
        }
    }

    /// Whether it runs.
    pub fn is_initialized(&self) -> bool {
        self.0.running.load().is_some()
    }

    /// The gateway, while it runs.
    pub fn gateway(&self) -> Option<Runtime> {
        self.0.running.load_full().map(|gateway| (*gateway).clone())
    }

    /// The registry. It is the one of the gateway and of its fleet.
    pub fn registry(&self) -> &Registry {
        &self.0.parts.fleet.registry
    }

    /// Registers a tool, at any time; one of the same name is replaced.
    pub fn register_tool(&self, tool: RegisteredTool) -> Result<(), RegisterError> {
        self.registry().register(tool).map(drop)
    }

    /// Takes a tool away, at any time; whether there was one.
    pub fn unregister_tool(&self, name: &str) -> bool {
        self.registry().unregister(name)
    }

    /// Runs a tool from the neutral format; see [`Runtime::execute_tool_use`].
    pub async fn execute(&self, tool_use: &Value, options: &RouteOptions) -> Value {
        match self.gateway() {
            Some(runtime) => runtime.execute_tool_use(tool_use, options).await,
            None => not_running(RouteFormat::Neutral),
        }
    }

    /// Runs tool use in any format and answers in the same; see [`Runtime::route`].
    pub async fn route(&self, request: &Value, options: &RouteOptions) -> Value {
        match self.gateway() {
            Some(runtime) => runtime.route(request, options).await,
            None => not_running(gateway_dialects::calls::route_format(request)),
        }
    }
}

fn not_running(format: RouteFormat) -> Value {
    render_route_error("the tool system is not running", format)
}
