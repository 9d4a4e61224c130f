//! Long histories: the model gets a summary of what is older. The messages themselves stay as they are.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use gateway_config::ConversationsConfig;
use gateway_dialects::history::{Block, Content, Message, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::message::{from_stored, role_of, text_of};
use super::repair::written_results;
use crate::history::History;
use crate::model::Model;
use crate::run::{Agent, AgentRequest, Limits};
use crate::toolbox::NoTools;

/// What the older messages say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    /// How many messages it stands for, from the first on.
    pub(super) covers: usize,
    /// What they say.
    pub(super) text: String,
}

/// How long a model may take for a summary. Without one the turn goes on with the whole history.
const PATIENCE: Duration = Duration::from_mins(1);

/// Characters of one message, and of all, that the model is shown to sum up.
const MESSAGE: usize = 2_000;
const ALL: usize = 60_000;

const INSTRUCTIONS: &str = "You sum up conversations. Write a summary of the conversation that you are shown, in at most 300 words: what \
the user wants, what was found, decided and done, and all names, numbers and other facts that may be asked for later. Write the summary only.";

/// Up to which message a summary is due; `None` if the history is short enough.
pub(super) fn due(
    messages: &[Map<String, Value>],
    summary: Option<&Summary>,
    config: &ConversationsConfig,
) -> Option<usize> {
    let covered = summary.map_or(0, |summary| summary.covers);
    if config.summarize_after == 0 || messages.len().saturating_sub(covered) <= config.summarize_after {
        return None;
    }
    // At a question, so that no result is parted from its call.
    let is_question =
        |message: &Map<String, Value>| role_of(message) == "user" && written_results(message).is_none();
    let latest = messages.len().saturating_sub(config.keep_recent);
    let cut = (covered + 1..=latest).rev().find(|index| messages.get(*index).is_some_and(is_question))?;
    Some(cut)
}

/// The loop that makes summaries with these models.
pub(super) fn summarizer(models: Vec<Arc<dyn Model>>) -> Agent {
    Agent::new(models, Arc::new(NoTools), Limits { time: PATIENCE, ..Limits::default() })
}

/// Asks for a summary up to the message `cut`; `None` if there is none in time.
pub(super) async fn make(
    summarizer: &Agent,
    messages: &[Map<String, Value>],
    before: Option<&Summary>,
    cut: usize,
) -> Option<Summary> {
    let covered = before.map_or(0, |summary| summary.covers);
    let older = messages.get(covered..cut)?;
    let mut question = String::new();
    if let Some(before) = before {
        let _ = write!(question, "Summary of what came before:\n{}\n\n", before.text);
    }
    question.push_str("Conversation:\n");
    question.push_str(&transcript(older));
    let history = History::of_messages(vec![
        Message::new(Role::System, Content::Text(INSTRUCTIONS.to_owned())),
        Message::new(Role::User, Content::Text(question)),
    ]);
    match summarizer.answer(AgentRequest { history, ..AgentRequest::default() }).await {
        Ok(finished) if !finished.text.trim().is_empty() => {
            Some(Summary { covers: cut, text: finished.text.trim().to_owned() })
        }
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "A long conversation could not be summed up.");
            None
        }
    }
}

/// What a model is sent: the instructions, the summary, and what it does not cover.
pub(super) fn history(messages: &[Map<String, Value>], summary: Option<&Summary>) -> History {
    let Some(summary) = summary else {
        return History::of_messages(with_own_ids(messages.iter().map(from_stored).collect()));
    };
    let system = messages.first().filter(|message| role_of(message) == "system").map(text_of);
    let note = format!("Summary of the conversation so far:\n{}", summary.text);
    let first = system.map_or(note.clone(), |system| format!("{system}\n\n{note}"));
    let recent = messages.get(summary.covers..).unwrap_or_default();
    let first = Message::new(Role::System, Content::Text(first));
    let recent = std::iter::once(first).chain(recent.iter().map(from_stored));
    History::of_messages(with_own_ids(recent.collect()))
}

/// A history in which no two calls have the same id. Some models count from one in each reply, and others refuse such a history.
fn with_own_ids(mut messages: Vec<Message>) -> Vec<Message> {
    let mut used: HashSet<String> = HashSet::new();
    // What calls of the last reply are called now.
    let mut renamed: HashMap<String, String> = HashMap::new();
    for message in &mut messages {
        if message.role == Role::Assistant {
            renamed.clear();
        }
        let Content::Blocks(blocks) = &mut message.content else { continue };
        for block in blocks {
            match block {
                Block::ToolUse(call) if !used.insert(call.id.clone()) && !renamed.contains_key(&call.id) => {
                    let free = (2..).map(|number| format!("{}_{number}", call.id));
                    let own = free.into_iter().find(|id| used.insert(id.clone())).unwrap_or_default();
                    renamed.insert(call.id.clone(), own.clone());
                    call.id = own;
                }
                Block::ToolResult(result) => {
                    if let Some(own) = renamed.get(&result.tool_use_id) {
                        result.tool_use_id.clone_from(own);
                    }
                }
                _ => {}
            }
        }
    }
    messages
}

fn transcript(messages: &[Map<String, Value>]) -> String {
    let mut text = String::new();
    for message in messages.iter().filter(|message| role_of(message) != "system") {
        let said: String = text_of(message).chars().take(MESSAGE).collect();
        let _ = write!(text, "{}: {said}", role_of(message));
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let function = &call["function"];
            let arguments: String =
                function["arguments"].as_str().unwrap_or_default().chars().take(MESSAGE).collect();
            let _ = write!(text, " [calls {}({arguments})]", function["name"].as_str().unwrap_or_default());
        }
        text.push('\n');
    }
    let too_many = text.chars().count().saturating_sub(ALL);
    text.chars().skip(too_many).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(count: usize) -> Vec<Map<String, Value>> {
        let role = |index: usize| ["user", "assistant", "tool"][index % 3];
        let message =
            |index| json!({"role": role(index), "content": format!("m{index}")}).as_object().unwrap().clone();
        (0..count).map(message).collect()
    }

    #[test]
    fn a_summary_is_due_above_the_number_and_ends_at_a_question() {
        let mut config = ConversationsConfig::default();
        (config.summarize_after, config.keep_recent) = (10, 4);
        assert_eq!(due(&messages(10), None, &config), None);
        assert_eq!(due(&messages(11), None, &config), Some(6));
        let before = Summary { covers: 6, text: "s".to_owned() };
        assert_eq!(due(&messages(16), Some(&before), &config), None);
        assert_eq!(due(&messages(17), Some(&before), &config), Some(12));
        config.summarize_after = 0;
        assert_eq!(due(&messages(100), None, &config), None);
    }
}
