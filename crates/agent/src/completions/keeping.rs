//! Keeping what ran here, where the caller comes back.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::history::Message;
use gateway_runtime::context::RequestContext;
use gateway_runtime::lock::locked;

use super::CompletionError;
use super::turns::{Stopped, Turns};
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
}

impl Keeping {
    /// Keeps what ran here while the caller has to run calls of its own, or before a bound was reached; gives the continuation in
    /// that case. A turn without anything of ours needs no keeping: what the caller is given is all of it.
    pub(super) async fn keep(&self, finished: &mut Finished) -> Result<Option<String>, AgentError> {
        match finished.stop {
            Stop::CallersTurn if finished.is_plain && self.after.is_none() => Ok(None),
            Stop::CallersTurn => {
                let added = std::mem::take(&mut finished.added);
                let calls = &mut finished.handed_back;
                self.turns.keep(&self.context, added, calls, self.after.clone()).await?;
                Ok(None)
            }
            Stop::Limit(_) | Stop::Stuck(_) => {
                let mut added = std::mem::take(&mut finished.added);
                // The last one is not the model's: it says that a bound was reached.
                added.pop();
                Ok(self.keep_stopped(added, finished.text.clone()).await)
            }
            Stop::Answered | Stop::Cut(_) => Ok(None),
        }
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
