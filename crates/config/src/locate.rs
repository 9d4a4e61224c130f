//! Where the configuration is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::file::{ConfigSource, GatewayConfig, Parts, Role};
use crate::problems::{ConfigError, ConfigErrors};
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
}

/// Finds the configuration and reads it.
///
/// The file that was named, else the one that `MCP_CONFIG_PATH` names, else `mcp-gateway-config.json` in the working
/// directory. A file that was named must exist. Without a file: one server `default` from `MCP_SERVER_COMMAND`, a
/// command line, or from `MCP_SERVER_DIST` and `MCP_BASE_PATH`, a script for `node` (or `MCP_SERVER_RUNTIME`); both with
/// `MCP_LOG_PATH`. Without these: nothing, and a warning.
pub fn load(lookup: &Lookup, environment: &Environment<'_>) -> Result<GatewayConfig, ConfigErrors> {
    let found = RefCell::default();
    let mut parts = Parts::default();
    let mut source = ConfigSource::Nothing;
    let named = lookup.config.clone().or_else(|| environment.non_empty("MCP_CONFIG_PATH").map(PathBuf::from));
    let main = named.clone().unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
    match environment.read(&lookup.directory.join(&main)) {
        Ok(text) => {
            parts.read_file(&main, &text, Role::Whole, environment, &found);
            source = ConfigSource::File(lookup.directory.join(&main));
        }
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => refuse(&found, &main, &error),
    }
    if let Some(more) = &lookup.mcp_config {
        match environment.read(&lookup.directory.join(more)) {
            Ok(text) => {
                parts.read_file(more, &text, Role::Servers, environment, &found);
                if source == ConfigSource::Nothing {
                    source = ConfigSource::File(lookup.directory.join(more));
                }
            }
            Err(error) => refuse(&found, more, &error),
        }
    }
    if source == ConfigSource::Nothing
        && found.borrow().errors.is_empty()
        && let Some(server) = server_of_environment(environment, &found)
    {
        parts.servers.push(server);
        source = ConfigSource::Environment;
    }
    parts.finish(found.into_inner(), source)
}

fn refuse(found: &RefCell<ConfigErrors>, file: &Path, error: &io::Error) {
    found.borrow_mut().errors.push(ConfigError {
        file: file.display().to_string(),
        line: None,
        field: String::new(),
        message: format!("cannot be read: {error}"),
    });
}

fn server_of_environment(
    environment: &Environment<'_>,
    found: &RefCell<ConfigErrors>,
) -> Option<UpstreamSpec> {
    let problem = |field: &str, message: &str| ConfigError {
        file: "environment".to_owned(),
        line: None,
        field: field.to_owned(),
        message: message.to_owned(),
    };
    let log = environment.non_empty("MCP_LOG_PATH");
    let base = environment.non_empty("MCP_BASE_PATH");
    let mut words = match (environment.non_empty("MCP_SERVER_COMMAND"), environment.non_empty("MCP_SERVER_DIST")) {
        (Some(line), _) => {
            let Some(words) = split_words(&line).filter(|words| !words.is_empty()) else {
                let message = "must be a command line with every quote closed";
                found.borrow_mut().errors.push(problem("MCP_SERVER_COMMAND", message));
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
            found.borrow_mut().warnings.push(problem(field, message));
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
