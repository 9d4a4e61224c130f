//! Whether the programs of servers exist.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gateway_config::Problem;
use gateway_config::jsonc::Document;
use gateway_notation::pointer;
use gateway_upstream::{Endpoint, UpstreamSpec};

use crate::setup::Setup;

/// The members of a file that hold servers, as JSON Pointers.
const BLOCKS: [&str; 4] = ["/mcpServers", "/servers", "/context_servers", "/mcp/servers"];

/// The search path if PATH is not set.
const USUAL_FOLDERS: &str = "/bin:/usr/bin";

/// A warning for each server whose program is not found.
pub(super) fn missing(setup: &Setup) -> Vec<Problem> {
    let files: Vec<(String, Document)> = setup
        .files
        .iter()
        .filter_map(|path| {
            let document = Document::parse(&std::fs::read_to_string(path).ok()?).ok()?;
            Some((path.display().to_string(), document))
        })
        .collect();
    let used = setup.specs.iter().filter(|spec| !spec.is_off());
    used.filter_map(|spec| Some((spec, reason(spec)?)))
        .map(|(spec, message)| {
            let (file, line, field) = location(spec.id.as_str(), &files);
            Problem { file, line, field, message }
        })
        .collect()
}

/// Why a server's program cannot be started, and what to try.
fn reason(spec: &UpstreamSpec) -> Option<String> {
    let Endpoint::Stdio { command, env, cwd, .. } = &spec.endpoint else { return None };
    let folders = env.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
    let folders = folders.unwrap_or_else(|| USUAL_FOLDERS.into());
    if command.contains('/') {
        let path = cwd.as_deref().unwrap_or(Path::new("")).join(command);
        return (!is_program(&path))
            .then(|| format!("there is no program `{command}`; correct the path, or build it first"));
    }
    let is_there = std::env::split_paths(&folders).any(|folder| is_program(&folder.join(command)));
    (!is_there).then(|| {
        format!("`{command}` is in no folder of PATH; install it, or name the program with its whole path")
    })
}

fn is_program(path: &PathBuf) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Where a server's program is configured.
fn location(id: &str, files: &[(String, Document)]) -> (String, Option<usize>, String) {
    for (file, document) in files {
        for block in BLOCKS {
            let entry = pointer::join(block, id);
            let command = format!("{entry}/command");
            for pointer in [command, entry] {
                if document.value.pointer(&pointer).is_some() {
                    let field = gateway_notation::pointer::dotted(&pointer);
                    return (file.clone(), Some(document.line_of(&pointer)), field);
                }
            }
        }
    }
    ("environment".to_owned(), None, id.to_owned())
}
