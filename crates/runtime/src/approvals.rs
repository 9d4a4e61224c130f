//! Which calls run, which are refused, and which wait until somebody approves them.
//!
//! A caller over MCP who can answer questions is asked itself, unless `approver` says that only admins decide. For all others,
//! plain HTTP callers too, the call waits for somebody with an admin key: the list is `GET /approvals`, the answer `POST /approvals/{id}`. A call that was not approved in
//! time is refused, but can go on: once it is approved, the same call of the same caller runs, once. Where its server answers
//! with a question instead of a result, the call that brings the answers belongs to it, and is one call too.
//!
//! A request that brings an [`ApprovalHandler`](crate::approval_handler::ApprovalHandler) is decided there and nowhere else: it is made by whoever runs the gateway.

use std::sync::{Mutex, MutexGuard};

use gateway_config::ApprovalConfig;
use gateway_notation::pattern;
use gateway_protocol::{RawJson, printable};
use gateway_upstream::{Approval, CatalogueTool};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::canonical::{Members, canonical};
use crate::context::RequestContext;
use crate::digest::digest_of;
use crate::lock::locked;
use crate::owner::Owner;
use crate::questions::quoted;

/// Characters of the arguments that people are shown. Whoever calls is not asked about more than that.
const SHOWN: usize = 20_000;

/// What somebody decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody has decided.
    Open,
    /// It may run, once.
    Approved,
    /// It may not run.
    Denied,
}

/// Calls that wait for somebody with an admin key, and calls that somebody approved and nobody has made yet.
#[derive(Debug, Default)]
pub struct Approvals {
    waiting: Mutex<Vec<Waiting>>,
    /// Approved calls whose servers want to know something first.
    asked_back: Mutex<Vec<AskedBack>>,
}

#[derive(Debug)]
struct AskedBack {
    digest: [u8; 32],
    caller: Option<Owner>,
    since: Instant,
}

/// Why a call cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Its caller has so many that wait, which is its share.
    Share(usize),
    /// There is no room for anybody.
    All,
}

#[derive(Debug)]
struct Waiting {
    id: String,
    digest: [u8; 32],
    server: String,
    tool: String,
    arguments: String,
    /// Whether these are all arguments.
    is_whole: bool,
    caller: Option<Owner>,
    since: Instant,
    verdict: watch::Sender<Verdict>,
}

impl Approvals {
    /// The entry of a call in the list; a new one unless the same call waits already.
    pub fn enter(
        &self,
        tool: &CatalogueTool,
        arguments: &RawJson,
        context: &RequestContext,
        config: &ApprovalConfig,
    ) -> Result<(String, watch::Receiver<Verdict>), Full> {
        let digest = call_digest(tool, arguments, context);
        let mut waiting = self.fresh(config);
        if let Some(known) = waiting.iter().find(|known| known.digest == digest) {
            return Ok((known.id.clone(), known.verdict.subscribe()));
        }
        room_for(waiting.iter().map(|one| one.caller.as_ref()), context.caller.as_ref(), config)?;
        let (verdict, receiver) = watch::channel(Verdict::Open);
        let id = new_id().ok_or(Full::All)?;
        let (arguments, is_whole) = shown(arguments);
        waiting.push(Waiting {
            id: id.clone(),
            digest,
            server: tool.server.to_string(),
            tool: tool.name.clone(),
            arguments,
            is_whole,
            caller: context.caller.clone(),
            since: Instant::now(),
            verdict,
        });
        Ok((id, receiver))
    }

    /// Uses an approval up; whether it was still there.
    pub fn take(&self, id: &str) -> bool {
        let mut waiting = locked(&self.waiting);
        let index = waiting.iter().position(|one| one.id == id && *one.verdict.borrow() == Verdict::Approved);
        index.map(|index| waiting.swap_remove(index)).is_some()
    }

    /// Notes that the server of an approved call asks something; what brings the answer need not be approved again, once.
    pub fn note_question(
        &self,
        tool: &CatalogueTool,
        arguments: &RawJson,
        context: &RequestContext,
        config: &ApprovalConfig,
    ) {
        let mut asked = locked(&self.asked_back);
        asked.retain(|one| one.since.elapsed() < config.expiry);
        let caller = context.caller.clone();
        if room_for(asked.iter().map(|one| one.caller.as_ref()), caller.as_ref(), config).is_ok() {
            let digest = call_digest(tool, arguments, context);
            asked.push(AskedBack { digest, caller, since: Instant::now() });
        }
    }

    /// Whether a call brings the answer to such a question; it is used up.
    pub fn is_answer(
        &self,
        tool: &CatalogueTool,
        arguments: &RawJson,
        context: &RequestContext,
        config: &ApprovalConfig,
    ) -> bool {
        let digest = call_digest(tool, arguments, context);
        let mut asked = locked(&self.asked_back);
        let index = asked.iter().position(|one| one.digest == digest && one.since.elapsed() < config.expiry);
        index.map(|index| asked.swap_remove(index)).is_some()
    }

    /// Decides about a call; whether there is one of that id.
    pub fn decide(&self, id: &str, verdict: Verdict, config: &ApprovalConfig) -> bool {
        let mut waiting = self.fresh(config);
        let Some(index) = waiting.iter().position(|one| one.id == id) else { return false };
        let Some(one) = waiting.get(index) else { return false };
        one.verdict.send_replace(verdict);
        if verdict == Verdict::Denied {
            waiting.swap_remove(index);
        }
        true
    }

    /// The list, for people.
    pub fn list(&self, config: &ApprovalConfig) -> Vec<Value> {
        let mut all: Vec<(Instant, Value)> = Vec::new();
        for one in self.fresh(config).iter() {
            let left = config.expiry.saturating_sub(one.since.elapsed());
            let entry = json!({
                "id": one.id,
                "server": one.server,
                "tool": one.tool,
                "arguments": one.arguments,
                "display": prompt(&one.server, &one.tool, &one.arguments),
                "truncated": !one.is_whole,
                "caller": one.caller.as_ref().map(Owner::as_str),
                "approved": *one.verdict.borrow() == Verdict::Approved,
                "expiresInMs": u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            });
            all.push((one.since, entry));
        }
        all.sort_by_key(|(since, _)| *since);
        all.into_iter().map(|(_, entry)| entry).collect()
    }

    /// The list without what is too old.
    fn fresh(&self, config: &ApprovalConfig) -> MutexGuard<'_, Vec<Waiting>> {
        let mut waiting = locked(&self.waiting);
        waiting.retain(|one| one.since.elapsed() < config.expiry);
        waiting
    }
}

/// What the configuration says about a tool. A `deny` stands above everything; then what its server's entry says, then the
/// patterns for all servers.
pub fn policy(config: &ApprovalConfig, tool: &CatalogueTool) -> Approval {
    let everywhere = if config.tools.is_empty() {
        None
    } else {
        let name = format!("{}/{}", tool.server, tool.name);
        let found = config.tools.iter().find(|(wanted, _)| pattern::matches(wanted, &name));
        found.map(|(_, approval)| *approval)
    };
    if tool.approval == Some(Approval::Deny) || everywhere == Some(Approval::Deny) {
        return Approval::Deny;
    }
    let always = tool.always_allow.then_some(Approval::Allow);
    always.or(tool.approval).or(everywhere).unwrap_or(config.default)
}

/// Whether one more call of a caller has room among those of all. Callers without a key have no shares: where none is
/// needed, only this machine reaches us, so that their addresses do not distinguish them either.
fn room_for<'a>(
    callers: impl ExactSizeIterator<Item = Option<&'a Owner>>,
    caller: Option<&Owner>,
    config: &ApprovalConfig,
) -> Result<(), Full> {
    let (all, share) = (callers.len(), config.share());
    if caller.is_some() && callers.filter(|one| *one == caller).count() >= share {
        return Err(Full::Share(share));
    }
    if all >= config.pending { Err(Full::All) } else { Ok(()) }
}

/// What a person decides by: one line each for server, tool and arguments, in this order. Names are quoted and escaped,
/// and arguments are JSON on one line, so that nothing in them can pass for another line. No server's own question begins
/// like this one: those begin with the name of the server.
pub fn prompt(server: &str, tool: &str, arguments: &str) -> String {
    format!(
        "The gateway asks: may this call run?\nServer: {}\nTool: {}\nArguments: {}",
        quoted(server),
        quoted(tool),
        printable(arguments),
    )
}

/// The arguments for people, without the white space between them, in which much can be hidden; and whether that is all.
pub fn shown(arguments: &RawJson) -> (String, bool) {
    let text = canonical(arguments, Members::AsTheyCame);
    let length = text.chars().count();
    if length <= SHOWN {
        return (text, true);
    }
    let begin: String = text.chars().take(SHOWN).collect();
    (format!("{begin} … and {} more characters, not shown", length - SHOWN), false)
}

/// The same for calls that mean the same, however their arguments are spelled.
fn call_digest(tool: &CatalogueTool, arguments: &RawJson, context: &RequestContext) -> [u8; 32] {
    let arguments = canonical(arguments, Members::ByName);
    let caller = context.caller.as_ref().map_or_else(|| "-".to_owned(), |caller| format!("+{caller}"));
    let server = tool.server.as_str();
    digest_of(&[caller.as_bytes(), server.as_bytes(), tool.name.as_bytes(), arguments.as_bytes()])
}

/// Ids cannot be guessed, or whoever may call could learn what others wait for.
fn new_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
