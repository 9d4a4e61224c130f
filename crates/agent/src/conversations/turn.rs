//! One message and its answer. The turn runs in a task of its own, so that it can be ended well when its caller goes away.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use gateway_config::ConversationsConfig;
use gateway_dialects::stream::Usage;
use gateway_runtime::progress::{Step, until_done};
use gateway_store::conversations::{ConversationError, TurnChange, Update};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::error::ConversationsError;
use super::journal::{LEASE, TurnJournal, Unfinished, raw};
use super::message::role_of;
use super::repair::{missing_results, repaired};
use super::summary::{self, Summary};
use super::{WAITING, members_of};
use crate::error::AgentError;
use crate::run::{Agent, AgentRequest, Event, Finished};
use crate::store::described;

/// How often the lease of a turn is extended while nothing is written.
const EXTEND: Duration = Duration::from_secs(LEASE.as_secs() / 3);

/// What happens in a turn.
#[derive(Debug)]
pub(super) enum TurnEvent {
    /// Something on the way.
    Happened(Event),
    /// The turn is over.
    Done(Box<Result<Finished, ConversationsError>>),
}

/// A turn that may run.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) agent: Agent,
    /// Sums up what is older.
    pub(super) summarizer: Agent,
    pub(super) request: AgentRequest,
    pub(super) journal: Arc<TurnJournal>,
    /// The history, up to the message that is answered.
    pub(super) messages: Vec<Map<String, Value>>,
    pub(super) metadata: Map<String, Value>,
    pub(super) config: ConversationsConfig,
}

impl Turn {
    /// Runs the turn, and ends it whatever happens. Whoever drops the receiver ends the request to the model and the calls that run.
    pub(super) async fn run(mut self, out: mpsc::Sender<TurnEvent>) {
        let journal = Arc::clone(&self.journal);
        let outcome = tokio::select! {
            outcome = self.answer(&out) => outcome,
            () = out.closed() => Err(AgentError::Gone),
            lost = keep_lease(&journal) => Err(AgentError::Journal(described(&lost))),
        };
        let outcome = match outcome {
            Ok(finished) => self.complete(&finished).await.map(|()| finished),
            Err(error) => {
                let saved = match &error {
                    // What may not be passed on may not stand in the way of all that follows either.
                    AgentError::PersonalData(_) if self.journal.is_untouched(self.messages.len()) => {
                        self.take_back().await
                    }
                    _ => self.break_off().await,
                };
                if let Err(error) = saved {
                    tracing::warn!(
                        error = described(&error),
                        "A turn that broke off could not be saved whole."
                    );
                }
                Err(error.into())
            }
        };
        let _ = out.send(TurnEvent::Done(Box::new(outcome))).await;
    }

    async fn answer(&mut self, out: &mpsc::Sender<TurnEvent>) -> Result<Finished, AgentError> {
        let summary = self.summary().await;
        let mut request = std::mem::take(&mut self.request);
        request.history = summary::history(&self.messages, summary.as_ref());
        let (sender, events) = mpsc::channel(WAITING);
        let mut steps = pin!(until_done(self.agent.run(request, sender), events));
        while let Some(step) = steps.next().await {
            match step {
                Step::Message(event) => {
                    out.send(TurnEvent::Happened(event)).await.map_err(|_| AgentError::Gone)?;
                }
                Step::Done(outcome) => return outcome,
            }
        }
        Err(AgentError::Gone)
    }

    /// The summary of the older messages, made anew where they have become too many.
    async fn summary(&mut self) -> Option<Summary> {
        let kept = self
            .metadata
            .get("summary")
            .and_then(|value| serde_json::from_value::<Summary>(value.clone()).ok());
        // Somebody else may have shortened the history.
        let kept = kept.filter(|summary| summary.covers < self.messages.len());
        let Some(cut) = summary::due(&self.messages, kept.as_ref(), &self.config) else { return kept };
        let Some(made) = summary::make(&self.summarizer, &self.messages, kept.as_ref(), cut).await else {
            return kept;
        };
        self.metadata.insert("summary".to_owned(), json!(made));
        if let Err(error) = self.journal.update(self.with_metadata(Update::default())).await {
            tracing::warn!(error = described(&error), "The summary of a conversation could not be kept.");
        }
        Some(made)
    }

    /// Ends a turn that gave an answer.
    async fn complete(&mut self, finished: &Finished) -> Result<(), ConversationsError> {
        let Usage { input_tokens, output_tokens, .. } = finished.usage;
        let before =
            |key: &str| self.metadata.get("usage").and_then(|usage| usage[key].as_u64()).unwrap_or(0);
        let total = json!({
            "inputTokens": before("inputTokens") + input_tokens, "outputTokens": before("outputTokens") + output_tokens,
        });
        self.metadata.insert("usage".to_owned(), total);
        let release = Update { turn: TurnChange::Release, ..Update::default() };
        match self.journal.update(self.with_metadata(release)).await {
            // The answer is stored. Somebody may have deleted the conversation since, or filled it up.
            Ok(_) | Err(ConversationError::NotFound | ConversationError::Conflict { .. }) => Ok(()),
            Err(ConversationError::TooLarge { .. }) => {
                let release = Update { turn: TurnChange::Release, ..Update::default() };
                Ok(self.journal.update(release).await.map(drop)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a turn that gave none: what was said is saved as far as it came, and each call gets a result.
    async fn break_off(&self) -> Result<(), ConversationError> {
        let Unfinished { stored, pending, heard } = self.journal.unfinished();
        let TurnJournal { store, scope, id, holder, .. } = &*self.journal;
        let Some(conversation) = store.get(scope, *id).await? else { return Ok(()) };
        if conversation.turn.as_ref().is_none_or(|turn| turn.holder != *holder) {
            return Ok(());
        }
        let mut messages: Vec<Map<String, Value>> =
            conversation.messages.iter().map(|message| members_of(message)).collect();
        let kept = messages.len();
        let is_written = kept > stored;
        messages.extend(pending.filter(|_| !is_written));
        if !heard.trim().is_empty() {
            let partial = json!({"role": "assistant", "content": heard, "interrupted": true});
            messages.extend(partial.as_object().cloned());
        }
        let missing = missing_results(&messages);
        let whole = repaired(messages, missing);
        let append =
            whole.get(kept..).unwrap_or_default().iter().filter_map(|message| raw(message).ok()).collect();
        let update = Update { append, turn: TurnChange::Release, ..Update::default() };
        match self.journal.update(update).await {
            Err(ConversationError::TooLarge { .. }) => self.cut_back(&whole).await,
            outcome => outcome.map(drop),
        }
    }

    /// Takes back a message that may not be passed on.
    async fn take_back(&self) -> Result<(), ConversationError> {
        let before = self.messages.len().saturating_sub(1);
        let kept = self.messages.iter().take(before).filter_map(|message| raw(message).ok());
        let update = Update { replace: Some(kept.collect()), turn: TurnChange::Release, ..Update::default() };
        self.journal.update(update).await.map(drop)
    }

    /// Where there is no room for results, the calls go: a call without a result is refused by every API.
    async fn cut_back(&self, whole: &[Map<String, Value>]) -> Result<(), ConversationError> {
        let last = whole.iter().rposition(|message| role_of(message) == "assistant").unwrap_or(whole.len());
        let kept = whole.get(..last).unwrap_or_default();
        let replace = Some(kept.iter().filter_map(|message| raw(message).ok()).collect());
        let update = Update { replace, turn: TurnChange::Release, ..Update::default() };
        self.journal.update(update).await.map(drop)
    }

    fn with_metadata(&self, update: Update) -> Update {
        Update { metadata: raw(&self.metadata).ok(), ..update }
    }
}

/// Extends the lease as long as the turn runs. Ends when somebody else has the turn, or nobody.
async fn keep_lease(journal: &TurnJournal) -> ConversationError {
    loop {
        tokio::time::sleep(EXTEND).await;
        match journal.update(Update::default()).await {
            Ok(_) => {}
            // The store may be back before the lease is over.
            Err(error @ (ConversationError::Timeout { .. } | ConversationError::Unavailable { .. })) => {
                tracing::warn!(error = described(&error), "The lease of a turn could not be extended.");
            }
            Err(error) => return error,
        }
    }
}
