//! Keeping what ran here, where the caller comes back.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::history::Message;
use gateway_runtime::context::RequestContext;
use gateway_runtime::lock::locked;

use super::CompletionError;
use super::signing::SIGNED;
use super::turns::{Stopped, Turns};
use super::write::CallsAs;
use crate::error::AgentError;
use crate::run::{AgentRequest, Finished, Journal, Stop};

/// What it takes to keep a turn.
pub(super) struct Keeping {
    pub(super) turns: Turns,
    pub(super) context: RequestContext,
    /// How many messages the request has.
    pub(super) messages: usize,
    /// The continuation that it brought.
    pub(super) after: Option<String>,
    /// Whether the caller's tools came as `functions`.
    pub(super) has_functions: bool,
}

/// What the caller needs to know of a turn.
pub(super) struct Kept {
    /// With what it goes on, where a bound was reached.
    pub(super) continuation: Option<String>,
    /// How its own calls are written.
    pub(super) calls: CallsAs,
}

impl Keeping {
    /// Keeps what ran here while the caller has to run calls of its own, or before a bound was reached. A turn without anything of ours
    /// needs no keeping: what the caller is given is all of it.
    pub(super) async fn keep(&self, finished: &mut Finished) -> Result<Kept, AgentError> {
        let mut kept = Kept { continuation: None, calls: CallsAs::ToolCalls };
        match finished.stop {
            // A `function_call` has no id to come back with. So only a turn in which nothing ran here is written as one.
            Stop::CallersTurn if self.is_one_function(finished) => kept.calls = CallsAs::FunctionCall,
            Stop::CallersTurn if self.is_plain(finished) => {}
            Stop::CallersTurn => {
                let added = std::mem::take(&mut finished.added);
                let calls = &mut finished.handed_back;
                self.turns.keep(&self.context, added, calls, self.after.clone()).await?;
            }
            Stop::Limit(_) | Stop::Stuck(_) => {
                let mut added = std::mem::take(&mut finished.added);
                // The last one is not the model's: it says that a bound was reached.
                added.pop();
                kept.continuation = self.keep_stopped(added, finished.text.clone()).await;
            }
            Stop::Answered | Stop::Cut(_) => {}
        }
        Ok(kept)
    }

    /// Whether the caller knows `function_call` only, and that says all.
    fn is_one_function(&self, finished: &Finished) -> bool {
        let is_all = finished.handed_back.len() == 1 && finished.added.len() == 1;
        self.has_functions && is_all && self.after.is_none()
    }

    /// Whether what the caller is given comes back as all that the model needs.
    fn is_plain(&self, finished: &Finished) -> bool {
        let mut calls = finished.handed_back.iter();
        // An id that looks like ours would be refused when it comes back.
        let has_own_ids = calls.all(|call| !call.id.as_str().starts_with(SIGNED));
        finished.is_plain && has_own_ids && self.after.is_none()
    }

    /// The continuation of a turn that stopped; `None` if nothing ran, or if it cannot be kept: the caller has its answer all the same.
    async fn keep_stopped(&self, added: Vec<Message>, text: String) -> Option<String> {
        if added.is_empty() {
            return self.after.clone();
        }
        let stopped = Stopped { messages: self.messages, text };
        match self.turns.keep_stopped(&self.context, added, stopped, self.after.clone()).await {
            Ok(continuation) => Some(continuation),
            Err(error) => {
                tracing::warn!(%error, "A turn that stopped cannot be continued.");
                None
            }
        }
    }

    /// An error with what it takes to go on, where calls ran before it.
    pub(super) async fn interrupted(&self, error: AgentError, journal: &Collected) -> CompletionError {
        let is_between_rounds =
            matches!(error, AgentError::Limit(_) | AgentError::Model(_) | AgentError::Empty { .. });
        let continuation =
            if is_between_rounds { self.keep_stopped(journal.take(), String::new()).await } else { None };
        match continuation {
            Some(continuation) => CompletionError::Interrupted { error, continuation },
            None => error.into(),
        }
    }
}

/// What was said so far, for requests that come to no end.
#[derive(Debug, Default)]
pub(super) struct Collected(Mutex<Vec<Message>>);

impl Collected {
    fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *locked(&self.0))
    }
}

impl Journal for Collected {
    fn write<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        locked(&self.0).push(message.clone());
        std::future::ready(Ok(())).boxed()
    }
}

/// The request with a journal that collects what is said.
pub(super) fn journalled(request: AgentRequest) -> (Arc<Collected>, AgentRequest) {
    let journal = Arc::new(Collected::default());
    let request = AgentRequest { journal: Some(Arc::clone(&journal) as Arc<dyn Journal>), ..request };
    (journal, request)
}
