//! The servers of a file: which members hold them, and what is wrong with one of them.
//!
//! One entry that is wrong must not keep all others from starting. So what is wrong with an entry is kept with its server, and
//! only what is wrong with the file as a whole is an error of the configuration.

use std::collections::BTreeMap;

use gateway_notation::pattern::is_pattern;
use gateway_notation::pointer;
use serde_json::Value;

use crate::catalogue::ToolGroup;
use crate::fields::{Fields, Item, Words};
use crate::problem::Problem;
use crate::server::{is_disabled, read_server};
use crate::spec::{Endpoint, Fallback, UpstreamSpec};

/// Names of the members at the top that hold servers.
pub(crate) const SERVER_BLOCKS: [&str; 3] = ["mcpServers", "servers", "context_servers"];

/// The name of an entry that has none.
const UNNAMED: &str = "(unnamed)";

/// What becomes of a configuration in which the entry of a server is invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalidServer {
    /// That server is left out, and the others are used.
    #[default]
    Skip,
    /// The configuration is refused.
    Fail,
}

impl Words for OnInvalidServer {
    const WORDS: &'static [(&'static str, Self)] = &[("skip", Self::Skip), ("fail", Self::Fail)];
}

/// The members of a file that hold servers.
pub(crate) fn server_blocks<'a>(top: &Item<'a>) -> Vec<Item<'a>> {
    // VS Code's settings hold the same block one level deeper.
    let names = SERVER_BLOCKS.map(|name| format!("/{name}")).into_iter().chain(["/mcp/servers".to_owned()]);
    let blocks = names.filter_map(|pointer| {
        let value = top.value.pointer(&pointer).filter(|value| !value.is_null())?;
        Some(Item { context: top.context, pointer, value })
    });
    blocks.filter(|block| block.object().is_some()).collect()
}

/// Reports members that stand twice in one object. Those inside an entry of a server are left to [`read_servers`].
pub(crate) fn report_duplicates(top: &Item<'_>, blocks: &[Item<'_>]) {
    let is_of_entry = |pointer: &str| blocks.iter().any(|block| is_inside(pointer, &block.pointer));
    let Some(document) = top.context.document else { return };
    for pointer in document.duplicates.iter().filter(|pointer| !is_of_entry(pointer)) {
        top.context.error(pointer, TWICE);
    }
}

const TWICE: &str = "stands here twice; keep one of them";

fn is_inside(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Adds the servers of all blocks.
pub(crate) fn read_servers(servers: &mut Vec<UpstreamSpec>, blocks: &[Item<'_>]) {
    for (name, entry) in blocks.iter().flat_map(Item::present_members) {
        if let Some(known) = servers.iter_mut().find(|server| server.id.as_str() == name) {
            // Nobody can say which of them is meant.
            let text = format!("Server \"{name}\" is configured twice");
            refuse(known, [entry.context.problem(&entry.pointer, &text)]);
        } else {
            servers.push(read_entry(name, &entry));
        }
    }
}

/// Finds servers that are named but do not exist.
pub(crate) fn check_references(
    servers: &mut [UpstreamSpec],
    groups: &BTreeMap<String, ToolGroup>,
    top: &Item<'_>,
    blocks: &[Item<'_>],
) {
    let entries = || blocks.iter().flat_map(Item::members);
    let find = |name: &str| servers.iter().find(|server| server.id.as_str() == name);
    let exists = |name: &str| find(name).is_some() || entries().any(|(known, _)| known == name);
    let mut wrong = Vec::new();
    for (name, entry) in entries() {
        let Some(Fallback::Server(fallback)) = find(name).and_then(|server| server.fallback.as_ref()) else {
            continue;
        };
        let at = entry.inner("fallback", entry.value);
        if !exists(fallback.as_str()) {
            let text = format!("no server is called \"{fallback}\"");
            wrong.push((name, at.context.problem(&at.pointer, &text)));
        } else if find(fallback.as_str()).is_some_and(|server| server.disabled) {
            at.warn(&format!("server \"{fallback}\" is disabled"));
        }
    }
    for (name, group) in groups {
        let missing = group.servers.iter().find(|pattern| !is_pattern(pattern) && !exists(pattern));
        if let Some(missing) = missing {
            let text = format!("no server is called \"{missing}\"");
            top.context.warn(&pointer::join("/groups", name), &text);
        }
    }
    for (name, problem) in wrong {
        if let Some(server) = servers.iter_mut().find(|server| server.id.as_str() == name) {
            refuse(server, [problem]);
        }
    }
}

/// The server of an entry, with what is wrong with it.
fn read_entry(name: &str, entry: &Item<'_>) -> UpstreamSpec {
    let context = entry.context;
    let before = context.problems.borrow().errors.len();
    let mut server =
        UpstreamSpec::new(if name.trim().is_empty() { UNNAMED } else { name }, Endpoint::Invalid);
    if name.trim().is_empty() {
        entry.error("a server needs a name");
    }
    let document = context.document.map(|document| document.duplicates.as_slice()).unwrap_or_default();
    let own = |pointer: &&String| **pointer == entry.pointer || is_inside(pointer, &entry.pointer);
    for pointer in document.iter().filter(own) {
        context.error(pointer, TWICE);
    }
    if let Some(members) = entry.object()
        && let Value::Object(members) = entry.expand(is_disabled(members))
    {
        let id = server.id.clone();
        server = Fields::read(context, &entry.pointer, &members, |at| read_server(id.as_str(), at));
    }
    let mut problems = context.problems.borrow_mut();
    let found = problems.errors.split_off(before);
    if server.disabled {
        // Nobody uses it, so that it need not be right.
        problems.warnings.extend(found);
    } else if !found.is_empty() {
        refuse(&mut server, found);
    }
    server
}

/// Makes a server one that is not connected to, with the reasons.
fn refuse(server: &mut UpstreamSpec, problems: impl IntoIterator<Item = Problem>) {
    server.endpoint = Endpoint::Invalid;
    server.problems.extend(problems);
}
