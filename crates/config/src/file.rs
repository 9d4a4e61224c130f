//! The configuration file: JSON with comments, whose servers are the block that people already have.
//!
//! Accepted as they are: `mcpServers` (Claude, Cursor, Windsurf, Cline, Gemini CLI, Copilot), `servers` and `mcp.servers`
//! (VS Code), `context_servers` (Zed). `clash` and `groups` are ours. Everything else at the top belongs to the service
//! and is handed on as it is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateway_notation::pattern::is_pattern;
use gateway_notation::pointer;
use serde_json::{Map, Value};

use crate::catalogue::{CatalogueRules, ClashPolicy, ToolGroup};
use crate::environment::Environment;
use crate::expand::Source;
use crate::jsonc::Document;
use crate::problems::{ConfigError, ConfigErrors};
use crate::reader::{Notes, Reader};
use crate::spec::{Fallback, UpstreamId, UpstreamSpec};
use crate::tool::{RefusedTool, RegistryConfig, ToolHandler, ToolSpec};
use crate::{fields, registry, server};

/// What is configured.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The servers, in the order of the file, disabled ones included.
    pub servers: Vec<UpstreamSpec>,
    /// Clash policy, groups and the order of the servers.
    pub catalogue: CatalogueRules,
    /// The tools of the file itself, and the settings of the registry. The server that offers them stands in `servers`,
    /// where there are any.
    pub registry: RegistryConfig,
    /// The members of the file that are not about servers and tools, as they are. Empty where there is no file.
    pub rest: Map<String, Value>,
    /// The file, for the lines of what is in `rest`.
    pub document: Option<Document>,
    /// Where all this comes from.
    pub source: ConfigSource,
    /// What should be looked at.
    pub warnings: Vec<ConfigError>,
}

/// The rest may hold secrets, so only its names are shown.
impl fmt::Debug for GatewayConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GatewayConfig")
            .field("servers", &self.servers)
            .field("catalogue", &self.catalogue)
            .field("registry", &self.registry)
            .field("rest", &self.rest.keys().collect::<Vec<_>>())
            .field("source", &self.source)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
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

/// Names of the members at the top that hold servers.
const SERVER_BLOCKS: [&str; 3] = ["mcpServers", "servers", "context_servers"];

/// Names of the other members at the top that are read here.
const OWN: [&str; 8] = ["mcp", "inputs", "clash", "groups", "tools", "resources", "registry", "$schema"];

/// Members at the top that hold keys of the gateway. They are the service's; but the programs that are started for this
/// configuration must not inherit the variables that the keys are taken from.
const KEYS: [&str; 2] = ["apiKeys", "adminKeys"];

/// The member `mcp`, which one client has around its servers, and we for the settings of our endpoint; without the servers.
fn of_endpoint(members: &Map<String, Value>) -> Option<(String, Value)> {
    let mut settings = members.get("mcp")?.as_object()?.clone();
    settings.retain(|name, _| !SERVER_BLOCKS.contains(&name.as_str()) && name != "inputs");
    (!settings.is_empty()).then(|| ("mcp".to_owned(), Value::Object(settings)))
}

/// Reads the text of a configuration file. `file` is how errors name it.
pub fn parse(file: &Path, text: &str, environment: &Environment<'_>) -> Result<GatewayConfig, ConfigErrors> {
    let found = RefCell::default();
    let mut config = Parts::default();
    config.read_file(file, text, Role::Whole, environment, &found);
    config.finish(found.into_inner(), ConfigSource::File(file.to_owned()))
}

/// What has been read so far, from one or more files.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) servers: Vec<UpstreamSpec>,
    clash: Option<ClashPolicy>,
    groups: BTreeMap<String, ToolGroup>,
    registry: RegistryConfig,
    rest: Map<String, Value>,
    document: Option<Document>,
    /// Names of the variables that the gateway's keys are taken from.
    key_variables: BTreeSet<String>,
    /// Files without any servers: an error, unless another file has some.
    without_servers: Vec<ConfigError>,
    has_servers: bool,
}

/// What a file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything in it.
    Whole,
    /// Its servers; the rest belongs to another program.
    Servers,
}

impl Parts {
    pub(crate) fn read_file(
        &mut self,
        file: &Path,
        text: &str,
        role: Role,
        environment: &Environment<'_>,
        found: &RefCell<ConfigErrors>,
    ) {
        let name = file.display().to_string();
        let before = (found.borrow().errors.len(), found.borrow().warnings.len());
        let refuse = |line: Option<usize>, message: String| {
            let problem = ConfigError { file: name.clone(), line, field: String::new(), message };
            found.borrow_mut().errors.push(problem);
        };
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                return refuse(
                    Some(error.line),
                    format!("not JSON: {}, column {}", error.message, error.column),
                );
            }
        };
        let Value::Object(members) = document.value() else {
            return refuse(Some(1), "must be a JSON object".to_owned());
        };
        let notes = Notes { file: &name, document: &document, found, secrets: RefCell::default() };
        for pointer in document.duplicates() {
            notes.error(&pointer, "stands here twice; keep one of them");
        }
        let source = Source {
            environment,
            inputs: members.get("inputs").unwrap_or(&Value::Null),
            folder: folder_of(file),
        };
        let top = Reader { notes: &notes, pointer: String::new(), members };
        let blocks = server_blocks(&top);
        // Who has tools needs no servers.
        self.has_servers |= role == Role::Whole && (top.has("tools") || top.has("resources"));
        if blocks.is_empty() {
            let problem = notes.problem("", "Config file must have a \"servers\" object (or \"mcpServers\")");
            self.without_servers.push(problem);
        }
        self.has_servers |= !blocks.is_empty();
        for block in &blocks {
            self.read_block(block, source);
        }
        if !blocks.is_empty() && blocks.iter().all(|block| block.members.is_empty()) {
            notes.warn("", "Config file has no servers defined");
        }
        if role == Role::Whole {
            self.read_catalogue_rules(&top);
            self.read_registry(&top, source);
        }
        self.check_references(&top, &blocks);
        found.borrow_mut().sort_by_line(before);
        if role == Role::Whole {
            let of_service = |name: &str| !SERVER_BLOCKS.contains(&name) && !OWN.contains(&name);
            let rest = members.iter().filter(|(name, _)| of_service(name));
            self.rest = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
            self.rest.extend(of_endpoint(members));
            let keys = KEYS.iter().filter_map(|name| members.get(*name));
            let texts = keys.flat_map(texts_within);
            self.key_variables.extend(texts.flat_map(|text| source.variables(text)));
            self.document = Some(document);
        }
    }

    fn read_block(&mut self, block: &Reader<'_>, source: Source<'_>) {
        for name in block.members.keys() {
            let Some(entry) = block.object(name) else { continue };
            if name.trim().is_empty() {
                entry.error("", "a server needs a name");
                continue;
            }
            if self.servers.iter().any(|server| server.id.as_str() == name) {
                entry.error("", &format!("Server \"{name}\" is configured twice"));
                continue;
            }
            let expanding = Expanding { source, notes: entry.notes, lenient: fields::is_disabled(&entry) };
            let Some(Value::Object(members)) =
                block.members.get(name).map(|entry_value| expanding.expand(entry_value, &entry.pointer))
            else {
                continue;
            };
            let entry = Reader { notes: entry.notes, pointer: entry.pointer, members: &members };
            self.servers.extend(server::read_server(name, &entry, source.environment));
        }
    }

    /// Reads the tools of the file itself. They are offered as those of one more server.
    fn read_registry(&mut self, top: &Reader<'_>, source: Source<'_>) {
        if let Some(settings) = top.object("registry") {
            registry::read_settings(&settings, &mut self.registry);
        }
        self.registry.resources.extend(registry::read_resources(top, self.registry.max_definition_bytes));
        self.read_tools(top, source);
        let name = self.registry.name.clone();
        let has_entries = top.object("tools").is_some_and(|tools| !tools.members.is_empty())
            || !self.registry.resources.is_empty();
        if !has_entries {
            return;
        }
        if self.servers.iter().any(|server| server.id.as_str() == name) {
            let text = format!(
                "a server is called \"{name}\", so the tools need another name: set \"registry.name\""
            );
            top.error(if top.has("tools") { "tools" } else { "resources" }, &text);
        } else {
            self.servers.push(UpstreamSpec::registry(&name));
        }
    }

    fn read_tools(&mut self, top: &Reader<'_>, source: Source<'_>) {
        let Some(block) = top.object("tools") else { return };
        for name in block.members.keys() {
            let before = top.notes.found.borrow().errors.len();
            let tool = block.object(name).and_then(|entry| read_tool(name, &entry, source));
            let mut problems = top.notes.found.borrow_mut().errors.split_off(before);
            match tool {
                Some(tool) if problems.is_empty() => {
                    self.registry.tools.push(tool);
                    continue;
                }
                None if problems.is_empty() => {
                    let pointer = pointer::join(&block.pointer, name);
                    let text = format!("Tool \"{name}\": the handler is empty");
                    problems.push(top.notes.problem(&pointer, &text));
                }
                Some(_) | None => {}
            }
            self.refuse(name, problems);
        }
        let (most, bytes) = (self.registry.max_tools, self.registry.max_definition_bytes);
        if block.members.len() > most {
            top.error("tools", &format!("has more than {most} tools; \"registry.maxTools\" allows more"));
        }
        let (tools, too_long): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.registry.tools).into_iter().partition(|tool| tool.bytes() <= bytes);
        self.registry.tools = tools;
        for tool in too_long {
            let text = format!("has more than {bytes} bytes; \"registry.maxDefinitionBytes\" allows more");
            let pointer = pointer::join(&block.pointer, &tool.name);
            self.refuse(&tool.name, vec![top.notes.problem(&pointer, &text)]);
        }
    }

    /// Leaves a tool out: one that is wrong must not keep all others from starting.
    fn refuse(&mut self, name: &str, problems: Vec<ConfigError>) {
        let refused = problems.into_iter().map(|problem| RefusedTool { name: name.to_owned(), problem });
        self.registry.refused.extend(refused);
    }

    fn read_catalogue_rules(&mut self, top: &Reader<'_>) {
        let policies =
            [("error", ClashPolicy::Error), ("prefix", ClashPolicy::Prefix), ("first", ClashPolicy::First)];
        self.clash = self.clash.or(top.choice("clash", &policies));
        let groups = top.map_of("groups", |reader, name| {
            if reader.get(name).is_some_and(Value::is_array) {
                return Some(ToolGroup { tools: reader.texts(name)?, ..ToolGroup::default() });
            }
            let inner = reader.object(name)?;
            fields::warn_of_unknown(&inner, fields::GROUP, &["description"]);
            Some(ToolGroup {
                servers: inner.texts("servers").unwrap_or_default(),
                tools: inner.texts("tools").unwrap_or_default(),
                tags: inner.texts("tags").unwrap_or_default(),
            })
        });
        self.groups.extend(groups.unwrap_or_default());
    }

    /// Servers that are named but do not exist.
    fn check_references(&self, top: &Reader<'_>, blocks: &[Reader<'_>]) {
        let exists = |name: &str| {
            self.servers.iter().any(|server| server.id.as_str() == name)
                || blocks.iter().any(|block| block.members.contains_key(name))
        };
        for server in &self.servers {
            let Some(Fallback::Server(fallback)) = &server.fallback else { continue };
            let Some(block) = blocks.iter().find(|block| block.members.contains_key(server.id.as_str()))
            else {
                continue;
            };
            let Some(entry) = block.object(server.id.as_str()) else { continue };
            if !exists(fallback.as_str()) {
                entry.error("fallback", &format!("no server is called \"{fallback}\""));
            } else if self.servers.iter().any(|other| other.id == *fallback && other.disabled) {
                entry.warn("fallback", &format!("server \"{fallback}\" is disabled"));
            }
        }
        for (name, group) in &self.groups {
            let missing = group.servers.iter().find(|pattern| !is_pattern(pattern) && !exists(pattern));
            if let (Some(missing), Some(groups)) = (missing, top.object("groups")) {
                groups.warn(name, &format!("no server is called \"{missing}\""));
            }
        }
    }

    pub(crate) fn finish(
        mut self,
        mut found: ConfigErrors,
        source: ConfigSource,
    ) -> Result<GatewayConfig, ConfigErrors> {
        if !self.has_servers {
            found.errors.extend(self.without_servers);
        }
        if !found.errors.is_empty() {
            found.errors.extend(self.registry.refused.into_iter().map(|refused| refused.problem));
            return Err(found);
        }
        let withheld: Arc<[String]> = self.key_variables.into_iter().collect();
        for server in &mut self.servers {
            server.withheld = Arc::clone(&withheld);
        }
        for tool in &mut self.registry.tools {
            if let ToolHandler::Command(command) = &mut tool.handler {
                command.withhold(Arc::clone(&withheld));
            }
        }
        let order: Vec<UpstreamId> = self.servers.iter().map(|server| server.id.clone()).collect();
        Ok(GatewayConfig {
            catalogue: CatalogueRules { clash: self.clash.unwrap_or_default(), groups: self.groups, order },
            servers: self.servers,
            registry: self.registry,
            rest: self.rest,
            document: self.document,
            source,
            warnings: found.warnings,
        })
    }
}

fn read_tool(name: &str, entry: &Reader<'_>, source: Source<'_>) -> Option<ToolSpec> {
    let expanding = Expanding { source, notes: entry.notes, lenient: false };
    let mut members = entry.members.clone();
    // Only what the gateway itself uses: a definition is for models, and means what it says.
    if let Some(handler) = members.get_mut("handler") {
        *handler = expanding.expand(handler, &format!("{}/handler", entry.pointer));
    }
    let entry = Reader { notes: entry.notes, pointer: entry.pointer.clone(), members: &members };
    registry::read_tool(name, &entry, source.environment)
}

fn server_blocks<'a>(top: &Reader<'a>) -> Vec<Reader<'a>> {
    let mut blocks: Vec<Reader<'a>> = SERVER_BLOCKS.iter().filter_map(|name| top.object(name)).collect();
    // VS Code's settings hold the same block one level deeper.
    let inner = top.get("mcp").filter(|value| value.is_object()).and_then(|_| top.object("mcp"));
    blocks.extend(inner.and_then(|inner| inner.object("servers")));
    blocks
}

/// The texts in a list or by name, and a text itself.
fn texts_within(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Object(members) => members.values().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// What `${workspaceFolder}` is: where the file lies, or above that where it lies in an editor's folder.
fn folder_of(file: &Path) -> Option<&Path> {
    let folder =
        file.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    match folder.file_name().and_then(|name| name.to_str()) {
        Some(".vscode" | ".cursor" | ".zed") => folder.parent(),
        _ => Some(folder),
    }
}

/// Replaces the variables in all texts of a server.
struct Expanding<'a> {
    source: Source<'a>,
    notes: &'a Notes<'a>,
    /// A disabled server need not have its variables.
    lenient: bool,
}

impl Expanding<'_> {
    fn expand(&self, value: &Value, pointer: &str) -> Value {
        match value {
            Value::String(text) => Value::String(self.expand_text(text, pointer)),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.expand(item, &format!("{pointer}/{index}")))
                .collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| {
                    let pointer = pointer::join(pointer, name);
                    (name.clone(), self.expand(member, &pointer))
                })
                .collect::<Map<String, Value>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn expand_text(&self, text: &str, pointer: &str) -> String {
        match self.source.expand(text) {
            Ok(expanded) => {
                self.notes.secrets.borrow_mut().extend(expanded.values);
                expanded.text
            }
            Err(error) if self.lenient => {
                self.notes.warn(pointer, &error.to_string());
                String::new()
            }
            Err(error) => {
                self.notes.error(pointer, &error.to_string());
                text.to_owned()
            }
        }
    }
}
