//! Whether the programs of servers exist.

use std::ffi::OsString;
use std::path::Path;

use gateway_config::{Problem, split_words};
use gateway_upstream::{Endpoint, UpstreamSpec};
use serde_json::json;

/// The search path if PATH is not set.
const USUAL_FOLDERS: &str = "/bin:/usr/bin";

/// A warning for each server whose program is not found. `location` gives where a server's program is configured.
pub(crate) fn missing(specs: &[UpstreamSpec], location: impl Fn(&UpstreamSpec) -> Problem) -> Vec<Problem> {
    let used = specs.iter().filter(|spec| !spec.is_off());
    used.filter_map(|spec| Some(Problem { message: reason(spec)?, ..location(spec) })).collect()
}

/// Why a server's program cannot be started, and what to try.
fn reason(spec: &UpstreamSpec) -> Option<String> {
    let Endpoint::Stdio { command, args, env, cwd } = &spec.endpoint else { return None };
    let folders = env.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
    let folders = folders.unwrap_or_else(|| USUAL_FOLDERS.into());
    let is_path = command.contains('/');
    let is_there = if is_path {
        is_program(&cwd.as_deref().unwrap_or(Path::new("")).join(command))
    } else {
        std::env::split_paths(&folders).any(|folder| is_program(&folder.join(command)))
    };
    if is_there {
        return None;
    }
    // The whole line as other programs take it, which is the usual mistake.
    if let Some([program, first @ ..]) = split_words(command).as_deref()
        && !first.is_empty()
        // The first part of a path with a blank in it is no program either.
        && (!program.contains('/') || is_program(&cwd.as_deref().unwrap_or(Path::new("")).join(program)))
    {
        let args: Vec<&String> = first.iter().chain(args).collect();
        return Some(format!(
            "there is no program `{command}`; no shell splits it, so write \"command\": {}, \"args\": {}",
            json!(program),
            json!(args)
        ));
    }
    Some(if is_path {
        format!("there is no program `{command}`; correct the path, or build it first")
    } else {
        format!("`{command}` is in no folder of PATH; install it, or name the program with its whole path")
    })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
