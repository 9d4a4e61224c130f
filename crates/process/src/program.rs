//! What is started: a program with its environment and its streams.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::table::MARK;

/// The gateway's own keys, where they have no other names. They open the gateway, so no program gets them that is not
/// meant to.
const OWN_KEYS: [&str; 3] = ["MCP_GATEWAY_API_KEY", "MCP_GATEWAY_ADMIN_KEY", "MCP_GATEWAY_KEY"];

/// How often to look whether killed processes are gone: they are not our children, so nobody reports it.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// How to start a process.
#[derive(Debug)]
pub struct Program<'a> {
    /// The program.
    pub command: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Its variables, beside ours.
    pub env: &'a BTreeMap<String, String>,
    /// Its working directory; ours if absent.
    pub cwd: Option<&'a PathBuf>,
    /// Further variables of ours that it does not inherit.
    pub hidden_env: &'a [String],
}

/// The streams of a process.
#[derive(Debug)]
pub struct Streams {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it reports beside that.
    pub stderr: ChildStderr,
}

/// The environment, working directory and group of a program, or of its keeper.
pub(crate) fn prepare(command: &mut Command, program: &Program<'_>, mark: &str) {
    for key in OWN_KEYS.into_iter().chain(program.hidden_env.iter().map(String::as_str)) {
        command.env_remove(key);
    }
    command.envs(program.env).env(MARK, mark).process_group(0);
    if let Some(directory) = program.cwd {
        command.current_dir(directory);
    }
}
