//! Where the configuration is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::file::{ConfigSource, GatewayConfig, Parts};
use crate::problem::{Problem, Problems};
use crate::servers::{OnInvalidServer, Role};
use crate::service::ServiceConfig;
use crate::spec::{Endpoint, UpstreamSpec};
use crate::words::split_words;

/// The file that is looked for in the working directory.
pub const CONFIG_FILE: &str = "mcp-gateway-config.json";

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// The file that the user named.
    pub config: Option<PathBuf>,
    /// A further file whose servers are added, such as the one of another client.
    pub mcp_config: Option<PathBuf>,
    /// The working directory.
    pub directory: PathBuf,
    /// What becomes of the configuration if the entry of a server is invalid; as the file says if absent.
    pub on_invalid_server: Option<OnInvalidServer>,
}

/// Finds the configuration and reads it.
///
/// The file that was named, else the one that `MCP_CONFIG_PATH` names, else `mcp-gateway-config.json` in the working
/// directory. A file that was named must exist. Without a file: one server `default` from `MCP_SERVER_COMMAND`, a
/// command line, or from `MCP_SERVER_DIST` and `MCP_BASE_PATH`, a script for `node` (or `MCP_SERVER_RUNTIME`); both with
/// `MCP_LOG_PATH`. Without these: nothing, and a warning.
pub fn load(lookup: &Lookup, environment: &Environment<'_>) -> Result<GatewayConfig, Problems> {
    let problems = RefCell::default();
    let (mut parts, source) = read(lookup, environment, &problems);
    parts.on_invalid_server = lookup.on_invalid_server.unwrap_or(parts.on_invalid_server);
    parts.finish(problems, source, environment)
}

/// The settings of the gateway itself, as far as they are valid: for a command that must work with a broken configuration.
pub fn load_settings(lookup: &Lookup, environment: &Environment<'_>) -> ServiceConfig {
    let problems = RefCell::default();
    let (mut parts, source) = read(lookup, environment, &problems);
    parts.take_service(&source, environment, &problems)
}

fn read(
    lookup: &Lookup,
    environment: &Environment<'_>,
    problems: &RefCell<Problems>,
) -> (Parts, ConfigSource) {
    let mut parts = Parts::default();
    let mut source = ConfigSource::Nothing;
    let named = lookup.config.clone().or_else(|| environment.non_empty("MCP_CONFIG_PATH").map(PathBuf::from));
    let main = named.clone().unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
    let more = lookup.mcp_config.as_ref().map(|more| (more, Role::Servers));
    for (file, role) in [(&main, Role::Whole)].into_iter().chain(more) {
        let path = lookup.directory.join(file);
        match environment.read(&path) {
            Ok(text) => {
                parts.read_file(&lookup.directory, file, &text, role, environment, problems);
                if source == ConfigSource::Nothing {
                    source = ConfigSource::File(path);
                }
            }
            Err(error)
                if role == Role::Whole && named.is_none() && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let problem = Problem::of_file(file, format!("cannot be read: {error}"));
                problems.borrow_mut().errors.push(problem);
            }
        }
    }
    if source == ConfigSource::Nothing
        && problems.borrow().errors.is_empty()
        && let Some(server) = server_of_environment(environment, &mut problems.borrow_mut())
    {
        parts.servers.push(server);
        source = ConfigSource::Environment;
    }
    (parts, source)
}

fn server_of_environment(environment: &Environment<'_>, problems: &mut Problems) -> Option<UpstreamSpec> {
    let log = environment.non_empty("MCP_LOG_PATH");
    let base = environment.non_empty("MCP_BASE_PATH");
    let mut words = match (environment.non_empty("MCP_SERVER_COMMAND"), environment.non_empty("MCP_SERVER_DIST")) {
        (Some(line), _) => {
            let Some(words) = split_words(&line).filter(|words| !words.is_empty()) else {
                let message = "must be a command line with every quote closed";
                problems.errors.push(Problem::of_variable("MCP_SERVER_COMMAND", message));
                return None;
            };
            words
        }
        (None, Some(script)) if base.is_some() => {
            let runtime = environment.non_empty("MCP_SERVER_RUNTIME").unwrap_or_else(|| "node".to_owned());
            vec![runtime, script]
        }
        (None, script) => {
            let message = if script.is_some() {
                "MCP_BASE_PATH is not set beside it, so it is not used"
            } else {
                "no configuration file found, and neither MCP_SERVER_COMMAND nor MCP_SERVER_DIST and MCP_BASE_PATH are set"
            };
            let field = if script.is_some() { "MCP_SERVER_DIST" } else { "" };
            problems.warnings.push(Problem::of_variable(field, message));
            return None;
        }
    }
    .into_iter();
    let command = words.next()?;
    // The variable is there, though empty, where no log is wanted: that is how servers of this kind know it.
    let mut env = BTreeMap::from([("MCP_CALL_LOG".to_owned(), log.clone().unwrap_or_default())]);
    env.extend(base.map(|base| ("BASE_PATH".to_owned(), base)));
    let endpoint = Endpoint::Stdio { command, args: words.collect(), env, cwd: None };
    let mut server = UpstreamSpec::new("default", endpoint);
    server.log_path = log.map(PathBuf::from);
    Some(server)
}
