//! One message and its answer. The turn runs in a task of its own, so that it can be ended well when its caller goes away.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use gateway_config::ConversationsConfig;
use gateway_dialects::stream::Usage;
use gateway_runtime::progress::{Step, until_done};
use gateway_store::conversations::{Conversation, ConversationError, Expected, TurnChange, Update};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::begin::ATTEMPTS;
use super::error::ConversationsError;
use super::journal::{LEASE, TurnJournal, Unfinished, raw};
use super::message::role_of;
use super::repair::{missing_results, repaired};
use super::summary::{self, Summary};
use super::{WAITING, messages_of};
use crate::error::AgentError;
use crate::run::{Agent, AgentRequest, Event, Finished};
use crate::screening::FoundData;
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
            () = out.closed() => Err(AgentError::Gone.into()),
            lost = keep_lease(&journal) => Err(lost.into()),
        };
        match &outcome {
            Ok(finished) => self.complete(finished).await,
            Err(_) => {
                if let Err(error) = self.break_off().await {
                    tracing::warn!(
                        error = described(&error),
                        "A turn that broke off could not be saved whole."
                    );
                }
            }
        }
        // Whoever hears of the end may send the next message, and finds no turn that seems to run.
        drop((self, journal));
        let _ = out.send(TurnEvent::Done(Box::new(outcome))).await;
    }

    async fn answer(&mut self, out: &mpsc::Sender<TurnEvent>) -> Result<Finished, ConversationsError> {
        let summary = self.summary().await;
        let mut request = std::mem::take(&mut self.request);
        request.history = summary::history(&self.messages, summary.as_ref());
        let (sender, events) = mpsc::channel(WAITING);
        let mut steps = pin!(until_done(self.agent.run(request, sender), events));
        let (mut said, most) = (0, self.config.bytes);
        while let Some(step) = steps.next().await {
            match step {
                Step::Message(event) => {
                    if let Event::Text(text) | Event::Reasoning(text) = &event {
                        said += text.len();
                    }
                    // Nobody gets an answer that there is no room for.
                    if said > most {
                        let text =
                            format!("the answer takes more than {most} bytes, and {most} are the most");
                        return Err(ConversationsError::TooLarge(text));
                    }
                    out.send(TurnEvent::Happened(event)).await.map_err(|_| AgentError::Gone)?;
                }
                Step::Done(outcome) => return outcome.map_err(|error| self.failed(error)),
            }
        }
        Err(AgentError::Gone.into())
    }

    /// Why the loop gave no answer. What the store refused is said in its own words.
    fn failed(&self, error: AgentError) -> ConversationsError {
        match error {
            AgentError::Journal(_) => self.journal.failure().unwrap_or(ConversationsError::Store),
            other => other.into(),
        }
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

    /// Ends a turn that gave an answer. The answer is stored, so that nothing which fails from here on is its caller's affair.
    async fn complete(&mut self, finished: &Finished) {
        let Usage { input_tokens, output_tokens, .. } = finished.usage;
        let before =
            |key: &str| self.metadata.get("usage").and_then(|usage| usage[key].as_u64()).unwrap_or(0);
        let total = json!({
            "inputTokens": before("inputTokens") + input_tokens, "outputTokens": before("outputTokens") + output_tokens,
        });
        self.metadata.insert("usage".to_owned(), total);
        self.metadata.remove("personalData");
        if !finished.personal_data.is_empty() {
            let found = finished.personal_data.iter().map(FoundData::to_json).collect();
            self.metadata.insert("personalData".to_owned(), found);
        }
        let release = || Update { turn: TurnChange::Release, ..Update::default() };
        let mut saved = self.journal.update(self.with_metadata(release())).await;
        if let Err(ConversationError::TooLarge { .. }) = saved {
            saved = self.journal.update(release()).await;
        }
        match saved {
            // Somebody may have deleted the conversation since, or taken the turn over.
            Ok(_) | Err(ConversationError::NotFound | ConversationError::Conflict { .. }) => {}
            Err(error) => {
                tracing::warn!(error = described(&error), "The end of a turn could not be saved.");
            }
        }
    }

    /// Ends a turn that gave none: what was said is saved as far as it came, and each call gets a result.
    async fn break_off(&self) -> Result<(), ConversationError> {
        let unfinished = self.journal.unfinished();
        let TurnJournal { store, scope, id, holder, .. } = &*self.journal;
        let mut outcome = Ok(());
        for _ in 0..ATTEMPTS {
            let Some(conversation) = store.get(scope, *id).await? else { return Ok(()) };
            if conversation.turn.as_ref().is_none_or(|turn| turn.holder != **holder) {
                return Ok(());
            }
            // By version: a write that nobody waited for any more may still be made, and then there is less to add.
            let expected = || Expected::Version(conversation.version);
            let (whole, update) = ended(&conversation, unfinished.clone());
            let saved = match store.update(scope, *id, expected(), update).await {
                Err(ConversationError::TooLarge { .. }) => {
                    store.update(scope, *id, expected(), cut_back(&whole)).await
                }
                saved => saved,
            };
            match saved {
                Err(error @ ConversationError::Conflict { .. }) => outcome = Err(error),
                saved => return saved.map(drop),
            }
        }
        outcome
    }

    fn with_metadata(&self, update: Update) -> Update {
        Update { metadata: raw(&self.metadata).ok(), ..update }
    }
}

/// The history of a turn that broke off, and the change that makes the stored one so.
fn ended(conversation: &Conversation, unfinished: Unfinished) -> (Vec<Map<String, Value>>, Update) {
    let Unfinished { stored, pending, heard } = unfinished;
    let mut messages = messages_of(conversation);
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
    (whole, Update { append, turn: TurnChange::Release, ..Update::default() })
}

/// Where there is no room for results, the calls go: a call without a result is refused by every API.
fn cut_back(whole: &[Map<String, Value>]) -> Update {
    let last = whole.iter().rposition(|message| role_of(message) == "assistant").unwrap_or(whole.len());
    let kept = whole.get(..last).unwrap_or_default();
    let replace = Some(kept.iter().filter_map(|message| raw(message).ok()).collect());
    Update { replace, turn: TurnChange::Release, ..Update::default() }
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
