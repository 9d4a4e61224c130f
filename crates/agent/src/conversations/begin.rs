//! Beginning a turn: everything that it needs, and the right to run it.

use std::sync::Arc;

use gateway_runtime::context::{RequestContext, random_uuid};
use gateway_store::conversations::{
    Conversation, ConversationError, ConversationId, Expected, Scope, TurnChange, Update,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::ConversationsError;
use super::journal::{TurnJournal, lease, raw};
use super::message::text_of;
use super::repair::{missing_results, repaired};
use super::request::ChatRequest;
use super::turn::Turn;
use super::{Conversations, Inner, members_of, messages_of, prompt, scope_of, summary, with_results};
use crate::completions::WantedTools;
use crate::error::AgentError;
use crate::gateway_tools::GatewayTools;
use crate::model::Model;
use crate::models::ChosenModel;
use crate::run::{Agent, AgentRequest, Journal};
use crate::screening::{Face, Screen};
use crate::toolbox::{NoTools, Toolbox};

/// How often a change is tried again that somebody else was faster with.
pub(super) const ATTEMPTS: usize = 5;

impl Conversations {
    /// Everything that a turn needs. Stores the message with the right to answer it.
    pub(super) async fn begin(
        &self,
        context: RequestContext,
        id: ConversationId,
        mut request: ChatRequest,
        tools: Option<&str>,
    ) -> Result<Turn, ConversationsError> {
        let Inner { runtime, models, results, limits, process, live, .. } = &*self.0;
        let screen = Screen::new(runtime, Face::Conversations, &context);
        if let Some(screen) = &screen {
            // What is stored is what the model gets.
            screen.kept_message(&mut request.message).await?;
        }
        let scope = scope_of(&context);
        let is_empty = self.stored(&scope, id).await?.messages.is_empty() || request.reset_history;
        if let (true, Some(screen), Some(prompt)) = (is_empty, &screen, &mut request.system_prompt) {
            *prompt = screen.kept_text(prompt)?.into_owned();
        }
        let chosen = models.choose(request.model.as_deref(), &runtime.ready_dialects()).await?;
        let gateway_tools = match WantedTools::of_header(tools) {
            WantedTools::None => None,
            WantedTools::Some(mut selection) => {
                selection.budget = chosen.first().map(|model| model.spec.tools.clone()).unwrap_or_default();
                let tools = GatewayTools::new(runtime.clone(), context.clone(), selection);
                // Before anything is stored: a request that is refused leaves nothing behind.
                tools.check_selection().map_err(AgentError::Tools)?;
                Some(tools)
            }
        };
        let system =
            if is_empty { self.system_prompt(&request, &chosen, gateway_tools.as_ref()).await } else { None };
        let holder = live.add(format!("{process}/{}", random_uuid()));
        let (messages, metadata) = self.take_turn((&scope, id), &request, system, &holder).await?;
        let toolbox: Arc<dyn Toolbox> = match gateway_tools {
            Some(tools) => Arc::new(tools),
            None => Arc::new(NoTools),
        };
        let models: Vec<Arc<dyn Model>> =
            chosen.iter().map(|model| Arc::clone(&model.model) as Arc<dyn Model>).collect();
        let store = Arc::clone(self.store().await?);
        let journal =
            TurnJournal::new(store, (scope, id), holder, Arc::clone(&context.correlation), messages.len());
        let journal = Arc::new(journal);
        Ok(Turn {
            agent: Agent::new(models.clone(), toolbox, limits.clone())
                .keeping(Arc::clone(results))
                .screening(screen),
            summarizer: summary::summarizer(models).screening(Screen::masking(
                runtime,
                Face::Conversations,
                &context,
            )),
            request: AgentRequest {
                settings: chosen
                    .first()
                    .map(|model| model.chat_settings(&request.settings))
                    .unwrap_or_default(),
                stream: request.stream,
                owner: context.caller.as_ref().map(ToString::to_string),
                journal: Some(Arc::clone(&journal) as Arc<dyn Journal>),
                ..AgentRequest::default()
            },
            journal,
            messages,
            metadata,
            config: runtime.config().conversations.clone(),
        })
    }

    /// The instructions of an empty conversation.
    async fn system_prompt(
        &self,
        request: &ChatRequest,
        chosen: &[ChosenModel],
        tools: Option<&GatewayTools>,
    ) -> Option<String> {
        let configured = self.0.runtime.config().agent.system_prompt.as_deref();
        let given = request.system_prompt.as_deref().or(configured);
        let names = match (given, tools, chosen.first()) {
            (None, Some(tools), Some(first)) => {
                let questions = [text_of(&request.message)];
                tools.names(first.model.dialect(), &questions).await.unwrap_or_default()
            }
            _ => Vec::new(),
        };
        prompt::system_prompt(given, &names)
    }

    /// Stores a message with the right to answer it, and gives the history up to it and what is noted about the conversation.
    async fn take_turn(
        &self,
        (scope, id): (&Scope, ConversationId),
        request: &ChatRequest,
        system: Option<String>,
        holder: &str,
    ) -> Result<(Vec<Map<String, Value>>, Map<String, Value>), ConversationsError> {
        let store = self.store().await?;
        let (mut current, mut wanted) = (0, request.version);
        for _ in 0..ATTEMPTS {
            let conversation = self.stored(scope, id).await?;
            current = conversation.version;
            if wanted.is_some_and(|version| version != current) {
                return Err(ConversationsError::Conflict { current });
            }
            if self.is_running(&conversation).await? {
                return Err(ConversationsError::Busy);
            }
            let expected = Expected::Version(current);
            if conversation.turn.as_ref().is_some_and(|turn| turn.until > jiff::Timestamp::now()) {
                // Of a process that ended: the store does not know that.
                let release = Update { turn: TurnChange::Release, ..Update::default() };
                match store.update(scope, id, expected, release).await {
                    Ok(saved) => wanted = wanted.map(|_| saved.version),
                    Err(ConversationError::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
                continue;
            }
            let (update, messages) = next_message(&conversation, request, system.as_deref());
            let update = Update { turn: TurnChange::Take(lease(holder)), ..update };
            let begun = |messages| {
                let is_kept = !request.reset_history;
                let metadata = is_kept.then(|| members_of(&conversation.metadata));
                (messages, metadata.unwrap_or_default())
            };
            match store.update(scope, id, expected, update).await {
                Ok(_) => return Ok(begun(messages)),
                Err(ConversationError::Conflict { current: now }) if wanted.is_none() => current = now,
                // Nobody knows whether it is stored. If it is, the turn is ours; else it can be taken again.
                Err(error @ (ConversationError::Timeout { .. } | ConversationError::Unavailable { .. })) => {
                    let now = store.get(scope, id).await.ok().flatten();
                    if now.is_none_or(|now| now.turn.is_none_or(|turn| turn.holder != holder)) {
                        return Err(error.into());
                    }
                    return Ok(begun(messages));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConversationsError::Conflict { current })
    }
}

/// The change that adds a message, and the history after it.
fn next_message(
    conversation: &Conversation,
    request: &ChatRequest,
    system: Option<&str>,
) -> (Update, Vec<Map<String, Value>>) {
    let mut history = if request.reset_history { Vec::new() } else { messages_of(conversation) };
    let missing = missing_results(&history);
    let mut update = with_results(conversation, missing.clone());
    history = repaired(history, missing);
    let mut added = Vec::new();
    if let Some(system) = system.filter(|_| history.is_empty()) {
        added.push(Map::from_iter([
            ("role".to_owned(), "system".into()),
            ("content".to_owned(), system.into()),
        ]));
    }
    // Sent again because it got no answer: it is that message which is answered now.
    let is_retried = added.is_empty() && history.last() == Some(&request.message);
    if !is_retried {
        added.push(request.message.clone());
    }
    let raws = added.iter().filter_map(|message| raw(message).ok());
    if request.reset_history {
        update = Update {
            replace: Some(raws.collect()),
            metadata: RawValue::from_string("{}".to_owned()).ok(),
            ..Update::default()
        };
    } else {
        update.append.extend(raws);
    }
    history.extend(added);
    (update, history)
}
