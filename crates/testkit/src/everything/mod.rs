//! A server that offers everything that the official conformance suite requires, in both eras.
//!
//! Everything exists in both eras, even if the suite requires it in only one: what a modern client is asked by an
//! `input_required` result, a legacy client is asked by a request of the server. So a gateway between two eras has
//! something to translate, in either direction.

mod ask;
mod definitions;
mod flows;
mod held;
mod prompts;
mod questions;
mod resources;
mod seal;
mod tasks;
mod tools;
mod work;

use std::sync::atomic::{AtomicU64, Ordering};

use gateway_protocol::{RawJson, RpcError, code, method};
use serde_json::{Value, json};

use crate::exchange::{CallResult, Called, Exchange, SpeaksNow};
use crate::lifecycle;
use crate::message::Message;
use crate::options::Options;
use crate::subscribers::Subscribers;

pub(crate) use held::Held;
pub(crate) use seal::Seal;
pub(crate) use tasks::Tasks;

/// The extension of long-running calls (SEP-2663).
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What changes while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    pub(crate) seal: Seal,
    pub(crate) tasks: Tasks,
    held: Held,
    tool_changes: AtomicU64,
    prompt_changes: AtomicU64,
    resource_changes: AtomicU64,
    resource_updates: AtomicU64,
}

/// One request and its context.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) options: &'a Options,
    pub(crate) subscribers: &'a Subscribers,
    pub(crate) everything: &'a Everything,
    pub(crate) message: &'a Message<'a>,
    pub(crate) exchange: &'a Exchange,
}

/// How a request is answered.
#[derive(Debug)]
enum Answer {
    /// With this result.
    Now(Value),
    /// It takes time, or the client has to be asked first.
    Later,
}

type Answered = Result<Answer, RpcError>;

impl Asked<'_> {
    /// Appends the result of the request to `out`.
    pub(crate) fn respond(self, out: &mut Vec<u8>) -> CallResult {
        match (self.message.method(), self.era()) {
            (method::INITIALIZE, SpeaksNow::Legacy) => {
                remember_client(self.message, self.exchange);
                return lifecycle::initialize(self.options, self.message, out);
            }
            (method::DISCOVER, SpeaksNow::Modern) => {
                lifecycle::discover(self.options, out);
                return Ok(Called::Done);
            }
            _ => {}
        }
        match self.answer()? {
            Answer::Now(result) => {
                // Writing into memory cannot fail.
                let _ = serde_json::to_writer(out, &result);
                Ok(Called::Done)
            }
            Answer::Later => Ok(Called::Slow),
        }
    }

    fn answer(self) -> Answered {
        let method = self.message.method();
        if method == method::PING && self.era() == SpeaksNow::Legacy {
            return Ok(Answer::Now(json!({})));
        }
        lifecycle::check_ready(self.exchange)?;
        match (method, self.era()) {
            (method::LIST_TOOLS, _) => tools::list(self),
            (method::CALL_TOOL, _) => tools::call(self),
            (method::LIST_RESOURCES, _) => resources::list(self),
            (method::LIST_RESOURCE_TEMPLATES, _) => resources::list_templates(self),
            (method::READ_RESOURCE, _) => resources::read(self),
            (method::SUBSCRIBE | method::UNSUBSCRIBE, SpeaksNow::Legacy) => resources::watch(self),
            (method::LIST_PROMPTS, _) => prompts::list(self),
            (method::GET_PROMPT, _) => prompts::get(self),
            (method::COMPLETE, _) => prompts::complete(self),
            (method::SET_LEVEL, SpeaksNow::Legacy) => work::set_level(self),
            (method::GET_TASK | method::UPDATE_TASK | method::CANCEL_TASK, SpeaksNow::Modern) => {
                tasks::handle(self)
            }
            (other, _) => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("method not found: {other}"))),
        }
    }

    fn era(self) -> SpeaksNow {
        self.exchange.era
    }

    /// The client's capabilities: in every modern request, once from a legacy client.
    fn capabilities(self) -> Value {
        match self.era() {
            SpeaksNow::Modern => read(self.message.meta().and_then(|meta| meta.capabilities)),
            SpeaksNow::Legacy => {
                let session = self.exchange.session.as_ref();
                session
                    .map(|session| session.client(|client| client.capabilities.clone()))
                    .unwrap_or_default()
            }
        }
    }

    fn has_tasks(self) -> bool {
        self.era() == SpeaksNow::Modern && self.capabilities()["extensions"][TASKS].is_object()
    }

    /// The state of a flow before its first step.
    fn first_round(self) -> flows::Round {
        flows::Round {
            arguments: self.arguments(),
            capabilities: self.capabilities(),
            ..flows::Round::default()
        }
    }

    fn arguments(self) -> Value {
        serde_json::from_str(self.message.arguments()).unwrap_or_default()
    }

    /// A result that is complete.
    fn complete(self, mut result: Value) -> Answer {
        if self.era() == SpeaksNow::Modern
            && let Some(members) = result.as_object_mut()
        {
            members.insert("resultType".to_owned(), json!("complete"));
        }
        Answer::Now(result)
    }

    /// A complete result with its caching hints (MCP 2026-07-28, SEP-2549).
    fn cacheable(self, mut result: Value, scope: &str) -> Answer {
        if self.era() == SpeaksNow::Modern
            && let Some(members) = result.as_object_mut()
        {
            members.insert("ttlMs".to_owned(), json!(self.options.ttl_ms));
            members.insert("cacheScope".to_owned(), json!(scope));
        }
        self.complete(result)
    }

    /// One page of a list.
    fn page(self, member: &str, entries: Vec<Value>) -> Answered {
        let cursor = self.message.params.as_ref().and_then(|params| params.cursor.as_deref());
        let start: usize = match cursor.map(str::parse) {
            None => 0,
            Some(Ok(start)) => start,
            Some(Err(_)) => return Err(RpcError::new(code::INVALID_PARAMS, "unknown cursor")),
        };
        let size = self.options.page_size.unwrap_or(entries.len()).max(1);
        let end = start.saturating_add(size);
        let mut result = json!({});
        if end < entries.len() {
            result["nextCursor"] = json!(end.to_string());
        }
        result[member] = entries.into_iter().skip(start).take(size).collect();
        Ok(self.cacheable(result, "public"))
    }
}

/// What a legacy client declares once.
fn remember_client(message: &Message<'_>, exchange: &Exchange) {
    let (Some(session), Some(params)) = (&exchange.session, &message.params) else { return };
    let requested = params.protocol_version.as_deref().unwrap_or_default();
    session.client(|client| {
        gateway_protocol::negotiate_legacy(requested).clone_into(&mut client.version);
        client.capabilities = read(params.capabilities);
    });
}

fn read(raw: Option<&serde_json::value::RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// The refusal of a request that the client cannot help with (MCP 2026-07-28, SEP-2575).
fn lacks(capabilities: &Value) -> RpcError {
    RpcError {
        data: RawJson::of(&json!({ "requiredCapabilities": capabilities })).ok(),
        ..RpcError::new(
            code::MISSING_CAPABILITY,
            "the request needs a capability that the client did not declare",
        )
    }
}

/// A result with one text.
fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// A result that reports a failure of the tool.
fn failure(message: impl Into<String>) -> Value {
    let mut result = text(message);
    result["isError"] = json!(true);
    result
}

/// Whether the item that every change adds or removes is present.
fn is_there(changes: &AtomicU64) -> bool {
    changes.load(Ordering::Relaxed) % 2 == 1
}
