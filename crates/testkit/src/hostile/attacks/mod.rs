//! The attacks, by subject.

mod definitions;
mod files;
mod floods;
mod load;
mod log;
mod members;
mod names;
mod people;
mod prose;
mod strays;
mod terminal;

use anyhow::Result;
use serde_json::Value;

use super::arena::Arena;
use super::caller::{Answer, Caller};
use super::session::Session;
use super::{Attack, Attempt, Cost};

/// Most resident memory of the gateway under any flood.
pub(crate) const MEMORY: u64 = 300 << 20;

const fn cheap(name: &'static str, expected: &'static str, attempt: Attempt) -> Attack {
    Attack { name, expected, cost: Cost::Cheap, attempt }
}

const fn expensive(name: &'static str, expected: &'static str, attempt: Attempt) -> Attack {
    Attack { name, expected, cost: Cost::Expensive, attempt }
}

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    cheap("prose", "tool use in the text of a reply does not run", prose::prose),
    cheap("injected-call-tool", "a filled-in parameter is not the caller's", members::injected_call_tool),
    cheap("injected-mcp-legacy", "a filled-in parameter is not the caller's", members::injected_mcp_legacy),
    cheap("injected-mcp-modern", "a filled-in parameter is not the caller's", members::injected_mcp_modern),
    cheap("hidden-parameter", "a hidden parameter does not reach the server", members::hidden_parameter),
    cheap("repeated-in-bodies", "bodies with repeated members are refused", members::repeated_in_bodies),
    cheap("second-description", "a second member is a changed definition", members::second_description),
    cheap(
        "overridden-description",
        "the operator's description is the only one",
        members::overridden_description,
    ),
    cheap("second-name", "a tool has one name, and no other has it", members::second_name),
    cheap("prefixed-name", "a server keeps its prefixed names", names::prefixed_name),
    cheap("name-of-server-down", "a server that is down keeps its prefix", names::name_of_server_down),
    cheap(
        "accept-without-admin",
        "only an admin accepts a changed definition",
        definitions::accept_without_admin,
    ),
    cheap(
        "accept-other-fingerprint",
        "only what was reviewed is accepted",
        definitions::accept_other_fingerprint,
    ),
    cheap(
        "truncated-memory",
        "a broken memory of definitions accepts nothing",
        definitions::truncated_memory,
    ),
    cheap("terminal-tools", "`tools` escapes foreign text", terminal::tools),
    cheap("terminal-servers", "`servers` escapes foreign text", terminal::servers),
    cheap("terminal-check", "`check` escapes foreign text", terminal::check),
    cheap("terminal-call", "errors of `call` escape foreign text", terminal::call),
    cheap("terminal-logs", "`logs` escapes foreign text", terminal::logs),
    cheap("terminal-serve", "lines of `serve` escape foreign text", terminal::serve),
    cheap("terminal-context", "the context of tools escapes foreign text", terminal::context),
    cheap("file-modes", "only the owner can read the data directory", files::modes),
    cheap("corrupt-log", "a broken log is named, and the gateway starts", files::corrupt_log),
    cheap("file-size-limit", "a log that cannot grow kills nothing", files::file_size_limit),
    cheap("parent-environment", "`.env` of parent directories is not read", files::parent_environment),
    cheap("shared-owner", "API keys and admin keys share nothing", people::shared_owner),
    cheap("logs-of-others", "a caller reads its own log entries", people::logs_of_others),
    cheap("own-approval", "an admin approves where an admin must", people::own_approval),
    cheap("forged-question", "names of tools cannot forge a question", people::forged_question),
    cheap("nameless-question", "a question names the server that asks", people::nameless_question),
    cheap("unlogged-reads", "reads and prompts are logged", people::unlogged_reads),
    cheap("secrets-in-clear", "secrets are not in the log", log::secrets_in_clear),
    cheap("deep-result", "the log stays readable for common parsers", log::deep_result),
    cheap("handler-environment", "errors of commands hide their environment", log::handler_environment),
    cheap("evicted-session", "nobody evicts the sessions of others", load::evicted_session),
    cheap("departed-idempotent", "calls whose callers left are counted", load::departed_idempotent),
    cheap("departed-session", "calls whose callers left are counted", load::departed_session),
    cheap("other-origin", "pages of other origins run nothing", load::other_origin),
    cheap("refused-requests", "refused requests do not fill the log output", floods::refused_requests),
    cheap("garbled-answer", "an answer that is no UTF-8 fails at once", floods::garbled_answer),
    cheap("stray-after-end", "no process is left after the end", strays::after_end),
    cheap("stray-after-kill", "no process is left after kill -9", strays::after_kill),
    expensive("listing-cursors", "a listing is bounded in bytes", floods::cursors),
    expensive("listing-pages", "a listing is bounded in bytes", floods::pages),
    expensive("big-results", "results of one server leave room for others", floods::big_results),
    expensive("unread-results", "results in flight are bounded", floods::unread_results),
    expensive("many-metrics", "metrics do not grow with tools", floods::many_metrics),
    expensive("check-recursive", "the work of /check is bounded", load::check_recursive),
    expensive("check-alternatives", "the work of /check is bounded", load::check_alternatives),
    expensive("silent-connections", "silent connections make room", load::silent_connections),
    expensive("streams", "streams of one session are bounded", load::streams),
    expensive("workspace-work", "work on one file does not stop others", load::workspace_work),
];

/// What an attack can find broken.
impl Arena {
    fn breach(&self, what: String) {
        self.breaches.borrow_mut().push(what);
    }

    fn breach_if(&self, broken: bool, what: impl FnOnce() -> String) {
        if broken {
            self.breach(what());
        }
    }

    /// A character that can mislead a person at a terminal.
    fn breach_control(&self, whose: &str, text: &[u8]) {
        if let Some(character) = raw_control(text) {
            self.breach(format!("{whose} has {character:?}"));
        }
    }

    /// More memory than it may take. Returns the peak as text.
    fn breach_memory(&self, peak: u64, most: u64) -> String {
        let text = format!("{} MB at the peak", peak >> 20);
        self.breach_if(peak > most, || text.clone());
        text
    }

    /// An answer that is not a success, to a caller who floods nobody.
    fn breach_refusal(&self, answer: &Answer) {
        let status = answer.status;
        self.breach_if(status != 200, || format!("another server's call was answered with {status}"));
    }
}

/// The lists of tools that models get, each with its name.
fn all_lists(caller: &Caller) -> Result<Vec<(&'static str, String)>> {
    let mut lists = Vec::new();
    for path in ["/tools", "/tools/openai", "/tools/anthropic", "/tools/gemini"] {
        lists.push((path, caller.get(path)?.text()));
    }
    let session = Session::open(caller, "/mcp", &serde_json::json!({}))?;
    lists.push(("/mcp", last_message(&session.request("tools/list", "{}")?.text())));
    Ok(lists)
}

/// The message in a body that is JSON or a stream of events.
fn last_message(body: &str) -> String {
    let event = body.lines().rev().find_map(|line| line.strip_prefix("data:"));
    event.unwrap_or(body).trim().to_owned()
}

/// The tools of a list in any format: every object with a name and something that describes it.
fn list_names(text: &str) -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    collect_named(&serde_json::from_str(text)?, &mut found);
    Ok(found)
}

fn collect_named(value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_named(item, found)),
        Value::Object(members) => {
            let described = ["description", "inputSchema", "parameters", "input_schema"];
            match members.get("name").and_then(Value::as_str) {
                Some(name) if described.iter().any(|member| members.contains_key(*member)) => {
                    found.push((name.to_owned(), value.clone()));
                }
                _ => members.values().for_each(|member| collect_named(member, found)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The first character that can mislead a person at a terminal, except line ends and tabs.
fn raw_control(bytes: &[u8]) -> Option<char> {
    let text = String::from_utf8_lossy(bytes);
    text.chars().find(|character| match character {
        '\n' | '\t' => false,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    })
}

/// How many descriptors an attack may open: those of the machine, less some for everything else.
pub(crate) fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1 << 20).saturating_sub(200)
}
