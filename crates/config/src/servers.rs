//! The servers of a file: which members hold them, and what is wrong with one of them.
//!
//! One entry that is wrong must not keep all others from starting. So what is wrong with an entry is kept with its server, and
//! only what is wrong with the file as a whole is an error of the configuration.

use std::collections::BTreeMap;

use gateway_notation::pattern::is_pattern;
use gateway_notation::pointer;
use gateway_notation::spelling::nearest_names;
use serde_json::Value;

use crate::catalogue::ToolGroup;
use crate::fields::{Fields, Item, Words};
use crate::problem::Problem;
use crate::server::{is_disabled, read_server};
use crate::spec::{Endpoint, Fallback, UpstreamId, UpstreamSpec};

/// Names of the members at the top that hold servers.
pub(crate) const SERVER_BLOCKS: [&str; 5] =
    ["mcpServers", "servers", "context_servers", "mcp_servers", GOOSE];

/// Where Goose has its servers.
const GOOSE: &str = "extensions";

/// Types of Goose's extensions that only Goose itself can run.
const INSIDE_GOOSE: [&str; 4] = ["builtin", "platform", "frontend", "inline_python"];

/// The name of an entry that has none.
const UNNAMED: &str = "(unnamed)";

/// What a file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything in it.
    Whole,
    /// Its servers; the rest belongs to another program.
    Servers,
}

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
    let names = SERVER_BLOCKS.map(|name| format!("/{name}")).into_iter();
    // VS Code's settings hold the same block one level deeper, and so does OpenCode; older files of it have no `servers`.
    let names = names.chain(["/mcp/servers", OPENCODE].map(str::to_owned));
    let blocks = names.filter_map(|pointer| {
        let value = top.value.pointer(&pointer).filter(|value| !value.is_null())?;
        // In other programs' files it means anything.
        if pointer.strip_prefix('/') == Some(GOOSE) && !is_of_goose(value) {
            return None;
        }
        Some(Item { context: top.context, pointer, value })
    });
    let is_block = |block: &Item<'_>| match block.pointer.as_str() {
        OPENCODE => entries(block).next().is_some(),
        _ => block.object().is_some(),
    };
    blocks.filter(is_block).collect()
}

/// Where `OpenCode` has its servers, in the object that is also ours.
const OPENCODE: &str = "/mcp";

/// Whether a member of `mcp` is a server of `OpenCode`: nothing of ours there is an object like that.
pub(crate) fn is_of_opencode(name: &str, value: &Value) -> bool {
    let is_ours = SERVER_BLOCKS.contains(&name) || name == "inputs";
    !is_ours
        && value.as_object().is_some_and(|entry| {
            ["type", "command", "url", "enabled"].iter().any(|field| entry.contains_key(*field))
        })
}

/// Whether these are extensions of Goose's: each has a type, and says whether it is enabled.
fn is_of_goose(extensions: &Value) -> bool {
    let is_extension =
        |entry: &Value| entry.get("type").is_some_and(Value::is_string) && entry.get("enabled").is_some();
    extensions.as_object().is_some_and(|all| !all.is_empty() && all.values().all(is_extension))
}

/// Whether an entry is a part of Goose itself.
fn is_inside_goose(entry: &Item<'_>) -> bool {
    let kind = entry.value.get("type").and_then(Value::as_str).unwrap_or_default();
    entry.pointer.starts_with(&format!("/{GOOSE}/")) && INSIDE_GOOSE.contains(&kind)
}

/// The entries of a block.
fn entries<'a>(block: &Item<'a>) -> impl Iterator<Item = (&'a String, Item<'a>)> {
    let is_shared = block.pointer == OPENCODE;
    let members = block.value.as_object().into_iter().flatten();
    let entries = members.filter(move |(name, value)| !is_shared || is_of_opencode(name, value));
    entries.map(|(name, value)| (name, block.inner(name, value))).filter(|(_, entry)| !is_inside_goose(entry))
}

/// Names of the members at the top that a file without servers may have instead.
const INSTEAD: [&str; 3] = ["models", "tools", "resources"];

/// What is wrong with a file that holds no servers.
pub(crate) fn without_servers(top: &Item<'_>, role: Role) -> Problem {
    let (text, instead) = match role {
        Role::Whole => (
            "Config file must have a \"servers\" object (or \"mcpServers\"), \"models\" or \"tools\"",
            &INSTEAD[..],
        ),
        Role::Servers => ("Config file must have a \"servers\" object (or \"mcpServers\")", &[][..]),
    };
    let members = top.value.as_object();
    let misspelt = members.into_iter().flatten().find_map(|(name, value)| {
        let known = SERVER_BLOCKS.iter().chain(instead).copied();
        let nearest = nearest_names(name, known).first().copied()?;
        (value.is_object() && nearest != name).then_some((name, nearest))
    });
    match misspelt {
        Some((name, nearest)) => {
            let text = format!("{text}; `{name}` is not known, did you mean `{nearest}`?");
            top.context.problem(&pointer::join("", name), &text)
        }
        None => top.context.problem("", text),
    }
}

/// Reports members that stand twice in one object. Those inside an entry of a server are left to [`read_servers`].
pub(crate) fn report_duplicates(top: &Item<'_>, blocks: &[Item<'_>]) {
    let is_of_entry = |pointer: &str| {
        let mut entries = blocks.iter().flat_map(entries);
        entries.any(|(_, entry)| *pointer == entry.pointer || is_inside(pointer, &entry.pointer))
    };
    let Some(document) = top.context.document else { return };
    for pointer in document.duplicates.iter().filter(|pointer| !is_of_entry(pointer)) {
        top.context.error(pointer, TWICE);
    }
}

const TWICE: &str = "stands here twice; keep one of them";

fn is_inside(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Where the program or the address of each server stands, as problems without a message.
pub(crate) type Locations = BTreeMap<UpstreamId, Problem>;

/// Fields that say what a server is reached by.
const REACHED_BY: [&str; 8] = ["command", "cmd", "image", "docker", "url", "serverUrl", "httpUrl", "uri"];

/// Adds the servers of all blocks.
pub(crate) fn read_servers(servers: &mut Vec<UpstreamSpec>, locations: &mut Locations, blocks: &[Item<'_>]) {
    for (name, entry) in blocks.iter().flat_map(entries).filter(|(_, entry)| !entry.value.is_null()) {
        if let Some(known) = servers.iter_mut().find(|server| server.id.as_str() == name) {
            // Nobody can say which of them is meant.
            let text = format!("Server \"{name}\" is configured twice");
            refuse(known, [entry.context.problem(&entry.pointer, &text)]);
        } else {
            let server = read_entry(name, &entry);
            let field = REACHED_BY.into_iter().find(|field| entry.value.get(field).is_some());
            let pointer =
                field.map_or_else(|| entry.pointer.clone(), |field| pointer::join(&entry.pointer, field));
            locations.insert(server.id.clone(), entry.context.problem(&pointer, ""));
            servers.push(server);
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
    let entries = || blocks.iter().flat_map(entries);
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
    let own = of_opencode(entry);
    let entry = &Item { context, pointer: entry.pointer.clone(), value: own.as_ref().unwrap_or(entry.value) };
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

/// An entry of `OpenCode` with our own words: its variables are `{env:NAME}` and `{file:path}`, and its time-out is one of
/// listings, in milliseconds. `None` if it is another's.
fn of_opencode(entry: &Item<'_>) -> Option<Value> {
    let is_its_own = matches!(entry.value.get("type").and_then(Value::as_str), Some("local" | "remote"));
    if !is_its_own {
        return None;
    }
    let mut value = with_our_variables(entry.value);
    if let Some(members) = value.as_object_mut()
        && let Some(millis) = members.get("timeout").and_then(Value::as_u64)
    {
        members.remove("timeout");
        members.entry("listTimeout").or_insert_with(|| format!("{millis}ms").into());
    }
    Some(value)
}

fn with_our_variables(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for kind in ["env", "file"] {
                let (own, theirs) = (format!("${{{kind}:"), format!("{{{kind}:"));
                text = text.replace(&own, &theirs).replace(&theirs, &own);
            }
            text.into()
        }
        Value::Array(items) => items.iter().map(with_our_variables).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), with_our_variables(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Makes a server one that is not connected to, with the reasons.
fn refuse(server: &mut UpstreamSpec, problems: impl IntoIterator<Item = Problem>) {
    server.endpoint = Endpoint::Invalid;
    server.problems.extend(problems);
}
