//! The configuration file: JSON with comments, whose servers are the block that people already have.
//!
//! Accepted as they are: `mcpServers` (Claude, Cursor, Windsurf, Cline, Gemini CLI, Copilot), `servers` and `mcp.servers`
//! (VS Code, `OpenCode`), `context_servers` (Zed), `mcp_servers` (Codex, in TOML), `extensions` (Goose, in YAML). Everything else
//! at the top is ours.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::catalogue::{CatalogueRules, ClashPolicy, ToolGroup};
use crate::environment::Environment;
use crate::expand::Source;
use crate::fields::{Context, Fields, Item, describe};
use crate::jsonc::{Document, JsoncError};
use crate::key::Secret;
use crate::problem::{Problem, Problems};
use crate::registry;
use crate::secret_text::SECRET_SETTINGS;
use crate::server::servers_schema;
use crate::servers::{
    Locations, OnInvalidServer, Role, SERVER_BLOCKS, check_references, is_of_opencode, read_servers,
    report_duplicates, server_blocks, without_servers,
};
use crate::service::{self, ServiceConfig};
use crate::spec::{Endpoint, UpstreamId, UpstreamSpec};
use crate::tool::{RefusedTool, RegistryConfig, ToolHandler, ToolSpec};
use crate::variables::{Overlay, overlay};
use crate::{toml_text, yaml_text};

/// Settings in the files of well-known clients that mean nothing here.
const OF_CLIENTS: &[&str] = &[
    // Claude Desktop
    "globalShortcut",
    "preferences",
    "isUsingBuiltInNodeForMcp",
    "isDxtAutoUpdatesEnabled",
    "userThemeMode",
    "locale",
    "scale",
    // Claude Code
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "permissions",
    "hooks",
    "projects",
    // Gemini CLI
    "theme",
    "selectedAuthType",
    "preferredEditor",
    "general",
    "ui",
    "ide",
    "privacy",
    "context",
    "security",
    // OpenCode
    "model",
    "small_model",
    "provider",
    "agent",
    "permission",
    "instructions",
    // Codex
    "model_provider",
    "model_providers",
    "model_reasoning_effort",
    "approval_policy",
    "sandbox_mode",
    "profiles",
];

/// What is configured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The servers, in the order of the file, disabled ones included.
    pub servers: Vec<UpstreamSpec>,
    /// Clash policy, groups and the order of the servers.
    pub catalogue: CatalogueRules,
    /// The tools of the file itself, and the settings of the registry. The server that offers them is in `servers`, if there
    /// are any.
    pub registry: RegistryConfig,
    /// The settings of the gateway itself.
    pub service: ServiceConfig,
    /// The members of the file that `service` was read from, as JSON: to see which of them another configuration changes.
    pub settings: BTreeMap<String, Secret>,
    /// Where all this comes from.
    pub source: ConfigSource,
    locations: Locations,
    /// What should be looked at.
    pub warnings: Vec<Problem>,
}

impl GatewayConfig {
    /// Where the program or the address of a server is configured, for a problem that shows only when it is used.
    pub fn location(&self, server: &UpstreamId) -> Problem {
        let of_environment = || Problem::of_variable(server.as_str(), "");
        self.locations.get(server).cloned().unwrap_or_else(of_environment)
    }
}

/// Where a configuration comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConfigSource {
    /// A file.
    File(PathBuf),
    /// Environment variables that describe one server.
    Environment,
    /// Nothing is configured.
    #[default]
    Nothing,
}

/// Reads the text of a configuration file. `file` is how problems name it.
pub fn parse(file: &Path, text: &str, environment: &Environment<'_>) -> Result<GatewayConfig, Problems> {
    let problems = RefCell::default();
    let mut parts = Parts::default();
    parts.read_file(Path::new(""), file, text, Role::Whole, environment, &problems);
    parts.finish(problems, ConfigSource::File(file.to_owned()), environment)
}

/// What has been read so far, from one or more files.
#[derive(Default)]
pub(crate) struct Parts {
    /// The files, as problems name them; and those that are read for their servers only.
    files: Vec<String>,
    client_files: Vec<String>,
    pub(crate) servers: Vec<UpstreamSpec>,
    locations: Locations,
    /// What becomes of all if the entry of a server is invalid.
    pub(crate) on_invalid_server: OnInvalidServer,
    clash: ClashPolicy,
    groups: BTreeMap<String, ToolGroup>,
    registry: RegistryConfig,
    service: Option<ServiceConfig>,
    settings: BTreeMap<String, Secret>,
    /// Names of the variables that the gateway's keys are taken from.
    key_variables: BTreeSet<String>,
    /// Files without any servers: an error, unless another file has some.
    without_servers: Vec<Problem>,
    has_servers: bool,
}

impl Parts {
    /// Reads a file, whose path starts at `directory` if it is relative.
    pub(crate) fn read_file(
        &mut self,
        directory: &Path,
        file: &Path,
        text: &str,
        role: Role,
        environment: &Environment<'_>,
        problems: &RefCell<Problems>,
    ) {
        self.files.push(file.display().to_string());
        if role == Role::Servers {
            self.client_files.push(file.display().to_string());
        }
        let before = (problems.borrow().errors.len(), problems.borrow().warnings.len());
        let refuse = |line: usize, message: String| {
            let problem = Problem { line: Some(line), ..Problem::of_file(file, message) };
            problems.borrow_mut().errors.push(problem);
        };
        let (notation, parse) = notation_of(file);
        let document = match parse(text) {
            Ok(document) => document,
            Err(error) => {
                let message = format!("not {notation}: {}, column {}", error.message, error.column);
                return refuse(error.line, message);
            }
        };
        let Value::Object(members) = &document.value else {
            return refuse(1, format!("must be a {notation} object"));
        };
        let path = directory.join(file);
        let overlay = match role {
            Role::Whole => overlay(&describe(|at| Self::default().read_fields(at)), members, environment),
            Role::Servers => Overlay::default(),
        };
        self.hide_keys(&overlay);
        problems.borrow_mut().warnings.extend(overlay.warnings);
        let context = Context {
            file: &file.display().to_string(),
            directory: path.parent().unwrap_or(directory),
            document: Some(&document),
            source: Source {
                environment,
                inputs: members.get("inputs").unwrap_or(&Value::Null),
                folder: folder_of(file),
            },
            problems,
            secrets: RefCell::new(overlay.values),
            variables: overlay.variables,
        };
        let top = Item { context: &context, pointer: String::new(), value: &document.value };
        let blocks = server_blocks(&top);
        report_duplicates(&top, &blocks);
        if blocks.is_empty() {
            self.without_servers.push(without_servers(&top, role));
        } else {
            self.has_servers = true;
            read_servers(&mut self.servers, &mut self.locations, &blocks);
            if blocks.iter().all(|block| block.object().is_some_and(Map::is_empty)) {
                top.warn("Config file has no servers defined");
            }
        }
        if role == Role::Whole {
            Fields::read(&context, "", &overlay.members, |at| {
                // Who has tools or models needs no servers.
                self.has_servers |= at.has("tools") || at.has("resources") || at.has("models");
                self.read_fields(at);
            });
        }
        check_references(&mut self.servers, &self.groups, &top, &blocks);
        problems.borrow_mut().sort_by_line(before);
    }

    /// Reads everything at the top of the file; the servers were read before.
    pub(crate) fn read_fields(&mut self, at: &mut Fields<'_>) {
        at.ignore(OF_CLIENTS);
        // Names such as `editor.fontSize` are settings of VS Code and its kin. One that starts with a field of ours is warned of
        // all the same.
        at.ignore_if(|name, _| name.contains('.'));
        at.item("$schema", "The schema of this file, for editors.", || json!({"type": "string"}));
        for name in SERVER_BLOCKS {
            at.item(name, "The MCP servers, by name.", servers_schema);
        }
        let about = "Inputs of VS Code's, filled in from the environment.";
        at.item("inputs", about, || json!({"type": "array", "items": {"type": "object"}}));
        let about = "What happens when two servers have a tool of the same name: nobody has it, each has its server's \
                     name in front, or the first server has it.";
        at.set("clash", about, &mut self.clash);
        let about =
            "What happens when the entry of a server is invalid: that server is left out, or nothing starts.";
        at.set("onInvalidServer", about, &mut self.on_invalid_server);
        at.set("groups", "Named sets of tools.", &mut self.groups);
        self.read_registry(at);
        let own = at.known.len();
        self.service = Some(service::read(at, &mut self.key_variables));
        for name in at.known.iter().skip(own) {
            let mut value = at.members.get(*name).cloned().unwrap_or_default();
            // One client has its servers there.
            if let (&"mcp", Value::Object(members)) = (name, &mut value) {
                members.retain(|name, value| {
                    !SERVER_BLOCKS.contains(&name.as_str())
                        && name != "inputs"
                        && !is_of_opencode(name, value)
                });
            }
            if !value.is_null() && value != json!({}) {
                self.settings.insert((*name).to_owned(), Secret::new(value.to_string()));
            }
        }
    }

    /// Reads the tools of the file itself. They are offered as those of one more server.
    fn read_registry(&mut self, at: &mut Fields<'_>) {
        let about = "The registry, which holds `tools` and what is registered over HTTP.";
        at.object("registry", about, |at| registry::read_settings(&mut self.registry, at));
        let about = "Resources of the gateway itself, and templates of such.";
        if let Some(item) = at.item("resources", about, registry::resources_schema) {
            let resources = registry::read_resources(&item, self.registry.max_definition_bytes);
            self.registry.resources.extend(resources);
        }
        let about = "Tools of the gateway itself, by name: an HTTP endpoint or a command does the work.";
        let schema = || json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/tool"}});
        let tools = at.item("tools", about, schema);
        if let Some(item) = &tools {
            self.read_tools(item);
        }
        let has_tools =
            tools.is_some_and(|item| item.value.as_object().is_some_and(|tools| !tools.is_empty()));
        if !has_tools && self.registry.resources.is_empty() {
            return;
        }
        let name = &self.registry.name;
        if self.servers.iter().any(|server| server.id.as_str() == name) {
            let text = format!(
                "a server is called \"{name}\", so the tools need another name: set \"registry.name\""
            );
            at.error(if at.has("tools") { "tools" } else { "resources" }, &text);
        } else {
            self.servers.push(UpstreamSpec::registry(name));
        }
    }

    fn read_tools(&mut self, block: &Item<'_>) {
        let (most, bytes) = (self.registry.max_tools, self.registry.max_definition_bytes);
        let mut count = 0;
        for (name, entry) in block.members() {
            count += 1;
            let before = entry.context.problems.borrow().errors.len();
            let tool = read_tool(name, &entry, bytes);
            let problems = entry.context.problems.borrow_mut().errors.split_off(before);
            match tool {
                Some(tool) if problems.is_empty() => self.registry.tools.push(tool),
                // One tool that is wrong must not keep all others from starting.
                _ => self
                    .registry
                    .refused
                    .extend(problems.into_iter().map(|problem| RefusedTool { name: name.clone(), problem })),
            }
        }
        if count > most {
            block.error(&format!("has more than {most} tools; \"registry.maxTools\" allows more"));
        }
    }

    /// Keeps variables with keys of the gateway from programs that it starts.
    fn hide_keys(&mut self, overlay: &Overlay) {
        let of_keys =
            overlay.variables.iter().filter(|(pointer, _)| SECRET_SETTINGS.contains(&pointer.as_str()));
        self.key_variables.extend(of_keys.map(|(_, variable)| variable.clone()));
    }

    pub(crate) fn finish(
        mut self,
        problems: RefCell<Problems>,
        source: ConfigSource,
        environment: &Environment<'_>,
    ) -> Result<GatewayConfig, Problems> {
        let service = self.take_service(&source, environment, &problems);
        let mut problems = problems.into_inner();
        if !self.has_servers {
            problems.errors.append(&mut self.without_servers);
        }
        // Another file has some, but whoever names this one expects to get them.
        let of_another_client = |problem: &Problem| self.client_files.contains(&problem.file);
        problems
            .warnings
            .extend(self.without_servers.iter().filter(|problem| of_another_client(problem)).cloned());
        let invalid: Vec<Problem> =
            self.servers.iter().flat_map(|server| server.problems.iter().cloned()).collect();
        let has_own = !self.registry.tools.is_empty() || !self.registry.resources.is_empty();
        let is_usable =
            |server: &UpstreamSpec| !server.is_off() && (has_own || server.endpoint != Endpoint::Registry);
        let is_in_vain = !invalid.is_empty() && !self.servers.iter().any(is_usable);
        let is_refused = self.on_invalid_server == OnInvalidServer::Fail && !invalid.is_empty();
        if !problems.errors.is_empty() || is_in_vain || is_refused {
            problems.errors.extend(invalid);
            // As a reader goes through the files.
            let index = |file: &String| self.files.iter().position(|known| known == file);
            problems.errors.sort_by_key(|error| (index(&error.file).unwrap_or(usize::MAX), error.line));
            problems.errors.extend(self.registry.refused.into_iter().map(|refused| refused.problem));
            return Err(problems);
        }
        let hidden_env: Arc<[String]> = self.key_variables.into_iter().collect();
        for server in &mut self.servers {
            server.hidden_env = Arc::clone(&hidden_env);
        }
        for tool in &mut self.registry.tools {
            if let ToolHandler::Command(command) = &mut tool.handler {
                command.hidden_env = Arc::clone(&hidden_env);
            }
        }
        let order: Vec<UpstreamId> = self.servers.iter().map(|server| server.id.clone()).collect();
        Ok(GatewayConfig {
            catalogue: CatalogueRules { clash: self.clash, groups: self.groups, order },
            servers: self.servers,
            locations: self.locations,
            registry: self.registry,
            service,
            settings: self.settings,
            source,
            warnings: problems.warnings,
        })
    }

    /// The settings of the gateway itself, as far as they are valid; those of variables if there is no file to read.
    pub(crate) fn take_service(
        &mut self,
        source: &ConfigSource,
        environment: &Environment<'_>,
        problems: &RefCell<Problems>,
    ) -> ServiceConfig {
        let mut service = self.service.take().unwrap_or_else(|| {
            let source = Source { environment, inputs: &Value::Null, folder: None };
            let schema = describe(|at| service::read(at, &mut BTreeSet::new()));
            let overlay = overlay(&schema, &Map::new(), environment);
            self.hide_keys(&overlay);
            let (file, secrets) = ("environment", RefCell::new(overlay.values));
            let (directory, variables) = (Path::new(""), overlay.variables);
            let context = Context { file, directory, document: None, source, problems, secrets, variables };
            Fields::read(&context, "", &overlay.members, |at| service::read(at, &mut self.key_variables))
        });
        service.source = match source {
            ConfigSource::File(_) => "file",
            ConfigSource::Environment => "env",
            ConfigSource::Nothing => "none",
        };
        service
    }
}

/// A tool, unless there are problems.
fn read_tool(name: &str, entry: &Item<'_>, most_bytes: usize) -> Option<ToolSpec> {
    let before = entry.context.problems.borrow().errors.len();
    let mut members = entry.object()?.clone();
    // Only what the gateway itself uses is expanded: a definition is for models, and means what it says.
    if let Some(handler) = entry.value.get("handler") {
        members.insert("handler".to_owned(), entry.inner("handler", handler).expand(false));
    }
    let read = |at: &mut Fields<'_>| registry::read_tool(name, at);
    let tool = Fields::read(entry.context, &entry.pointer, &members, read);
    match &tool {
        Some(tool) if tool.bytes() > most_bytes => entry
            .error(&format!("has more than {most_bytes} bytes; \"registry.maxDefinitionBytes\" allows more")),
        None if entry.context.problems.borrow().errors.len() == before => {
            entry.error(&format!("Tool \"{name}\": the handler is empty"));
        }
        Some(_) | None => {}
    }
    tool
}

/// Reads the text of a file.
type Reader = fn(&str) -> Result<Document, JsoncError>;

/// How a file is written, by the end of its name, and who reads it.
fn notation_of(file: &Path) -> (&'static str, Reader) {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => ("TOML", toml_text::parse),
        Some("yaml" | "yml") => ("YAML", yaml_text::parse),
        _ => ("JSON", Document::parse),
    }
}

/// What `${workspaceFolder}` is: the folder of the file, or the one above if that is an editor's.
fn folder_of(file: &Path) -> Option<&Path> {
    let folder =
        file.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    match folder.file_name().and_then(|name| name.to_str()) {
        Some(".vscode" | ".cursor" | ".zed") => folder.parent(),
        _ => Some(folder),
    }
}
