//! The context of one message, and how far its answer has come.

use std::sync::Arc;

use gateway_protocol::RpcError;
use serde_json::{Map, Value, json};

use crate::definitions::MIRRORED;
use crate::modes::Fault;
use crate::notify::Outbox;
use crate::session::Session;

/// The era of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SpeaksNow {
    #[default]
    Legacy,
    Modern,
}

/// The context of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) era: SpeaksNow,
    /// The legacy connection; `None` in the modern era.
    pub(crate) session: Option<Arc<Session>>,
    /// Where messages that belong to this request go before its answer.
    pub(crate) related: Option<Outbox>,
    /// Its mirrored headers.
    pub(crate) mirrored: Vec<(&'static str, String)>,
    /// The fault that already happened: a redirect is not followed by another.
    pub(crate) behind: Option<Fault>,
}

impl Exchange {
    /// The received mirrored headers, by the arguments that they mirror.
    pub(crate) fn mirrored_arguments(&self) -> Map<String, Value> {
        let value_of = |header: &str| self.mirrored.iter().find(|(name, _)| *name == header);
        let mirrored = MIRRORED.iter().map(|(argument, header)| (*argument, value_of(header)));
        mirrored
            .map(|(argument, found)| (argument.to_owned(), json!(found.map(|(_, value)| value))))
            .collect()
    }
}

/// How far a request has come that did not fail.
#[derive(Debug)]
pub(crate) enum Called {
    /// Its result was appended.
    Done,
    /// It runs as a job; nothing was appended.
    Slow,
}

/// If a request failed, what was appended is void.
pub(crate) type CallResult = Result<Called, RpcError>;
