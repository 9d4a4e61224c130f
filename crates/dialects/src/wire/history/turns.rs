//! A conversation as turns in which every call has its result.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Warning;
use super::codec::TranslatedTools;
use super::neutral::{Block, Content, Message, Role, ToolResultBlock, ToolUseBlock};
use crate::wire::results::IdMap;

/// Stands for a result that the conversation does not hold.
const LOST: &str = "No result of this call was recorded.";

/// A turn.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The message that it began with.
    pub(crate) message: usize,
    pub(crate) kind: TurnKind,
}

#[derive(Clone, Debug)]
pub(crate) enum TurnKind {
    System(Vec<Block>),
    User(Vec<Block>),
    /// Ids, names and arguments of calls are the dialect's.
    Assistant(Vec<Block>),
    /// The results of the turn before, in the order of its calls.
    Results(Vec<Reply>),
}

/// A result as the dialect spells it; `result` has the shape of MCP's.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) result: Value,
}

/// Splits `messages` into turns; ids, names and arguments are the dialect's afterwards.
pub(crate) fn turns(
    messages: &[Message],
    codec: &TranslatedTools,
    ids: &mut IdMap,
    warnings: &mut Vec<Warning>,
) -> Vec<Turn> {
    ids.reserve(messages.iter().flat_map(call_ids));
    let mut builder =
        Builder { turns: Vec::new(), open: Vec::new(), replies: Vec::new(), codec, ids, warnings };
    for (index, message) in messages.iter().enumerate() {
        builder.add(index, message);
    }
    builder.flush_replies();
    builder.turns
}

fn call_ids(message: &Message) -> impl Iterator<Item = &str> + Clone {
    let blocks: &[Block] = match &message.content {
        Content::Blocks(blocks) => blocks,
        Content::Text(_) | Content::Other(_) => &[],
    };
    blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call.id.as_str()),
        Block::ToolResult(result) => Some(result.tool_use_id.as_str()),
        Block::Text(_)
        | Block::Image(_)
        | Block::Audio(_)
        | Block::Resource(_)
        | Block::Thinking(_)
        | Block::Opaque(_)
        | Block::Other(_) => None,
    })
}

struct OpenCall {
    original: String,
    wire: String,
    name: String,
    answered: bool,
}

struct Builder<'b> {
    turns: Vec<Turn>,
    /// The calls of the last assistant turn.
    open: Vec<OpenCall>,
    replies: Vec<(usize, Reply)>,
    codec: &'b TranslatedTools,
    ids: &'b mut IdMap,
    warnings: &'b mut Vec<Warning>,
}

impl Builder<'_> {
    fn add(&mut self, message: usize, given: &Message) {
        let mut others = Vec::new();
        for block in given.content.blocks() {
            match block {
                Block::ToolResult(result) => self.add_result(message, result, &mut others),
                other => others.push(other),
            }
        }
        if others.is_empty() {
            return;
        }
        // Another result of the same turn may still come after a system message or in the next tool message.
        match &given.role {
            Role::System => self.turns.push(Turn { message, kind: TurnKind::System(others) }),
            Role::Assistant => self.add_assistant(message, others),
            Role::User => self.add_user(message, others),
            Role::Tool => {
                self.warn(message, "a tool message without a result is sent as the user's");
                self.add_user(message, others);
            }
            Role::Other(name) => {
                self.warn(message, format!("unknown role `{name}` is sent as the user's"));
                self.add_user(message, others);
            }
        }
    }

    fn add_user(&mut self, message: usize, blocks: Vec<Block>) {
        self.flush_replies();
        let blocks = self.without_calls(message, blocks);
        if !blocks.is_empty() {
            self.answer_lost(message);
            self.turns.push(Turn { message, kind: TurnKind::User(blocks) });
        }
    }

    /// Only the model calls tools: a call by anyone else is sent as text.
    fn without_calls(&mut self, message: usize, blocks: Vec<Block>) -> Vec<Block> {
        blocks
            .into_iter()
            .map(|block| match block {
                Block::ToolUse(call) => {
                    self.warn(message, "a call outside an assistant message is sent as text");
                    Block::text(&format!("Call of `{}`: {}", call.name, call.input))
                }
                other => other,
            })
            .collect()
    }

    fn add_assistant(&mut self, message: usize, blocks: Vec<Block>) {
        self.flush_replies();
        self.answer_lost(message);
        let mut uses: HashMap<String, usize> = HashMap::new();
        let mut written = Vec::with_capacity(blocks.len());
        for block in blocks {
            let Block::ToolUse(call) = block else {
                written.push(block);
                continue;
            };
            let count = uses.entry(call.id.clone()).or_default();
            let wire = if *count == 0 {
                self.ids.wire(&call.id)
            } else {
                self.warn(message, format!("call id `{}` is used twice", call.id));
                self.ids.wire(&format!("{}\u{0}{count}", call.id))
            };
            *count += 1;
            let name = self.codec.wire_name(&call.name);
            let mut input = self.codec.encode(&call.name, &call.input);
            if input.is_null() {
                input = json!({});
            } else if !input.is_object() {
                self.warn(message, format!("arguments of `{}` are no object", call.name));
                input = json!({"raw": input});
            }
            self.open.push(OpenCall {
                original: call.id,
                wire: wire.clone(),
                name: name.clone(),
                answered: false,
            });
            written.push(Block::ToolUse(ToolUseBlock { id: wire, name, input, ..call }));
        }
        self.turns.push(Turn { message, kind: TurnKind::Assistant(written) });
    }

    fn add_result(&mut self, message: usize, block: ToolResultBlock, others: &mut Vec<Block>) {
        let position = self.open.iter().position(|call| !call.answered && call.original == block.tool_use_id);
        let Some((position, call)) = position.and_then(|at| self.open.get_mut(at).map(|call| (at, call)))
        else {
            let id = &block.tool_use_id;
            self.warn(message, format!("result `{id}` answers no open call and is sent as text"));
            others.push(Block::text("Result of an earlier tool call:"));
            let content = as_mcp(block).get("content").cloned().unwrap_or_default();
            others.extend(serde_json::from_value::<Vec<Block>>(content).unwrap_or_default());
            return;
        };
        call.answered = true;
        let reply = Reply { id: call.wire.clone(), name: call.name.clone(), result: as_mcp(block) };
        self.replies.push((position, reply));
        if self.replies.len() == 1 {
            self.turns.push(Turn { message, kind: TurnKind::Results(Vec::new()) });
        }
    }

    /// Puts the collected results into their turn.
    fn flush_replies(&mut self) {
        if self.replies.is_empty() {
            return;
        }
        let mut replies = std::mem::take(&mut self.replies);
        let turn = self.turns.iter_mut().rfind(|turn| matches!(turn.kind, TurnKind::Results(_)));
        let message = turn.as_ref().map_or(0, |turn| turn.message);
        for (position, call) in self.open.iter().enumerate().filter(|(_, call)| !call.answered) {
            self.warnings.push(Warning { message, text: format!("call `{}` has no result", call.original) });
            replies.push((position, lost(call)));
        }
        replies.sort_by_key(|(position, _)| *position);
        self.open.clear();
        if let Some(turn) = turn {
            turn.kind = TurnKind::Results(replies.into_iter().map(|(_, reply)| reply).collect());
        }
    }

    /// Answers the calls of the last turn, none of which has a result although the conversation goes on.
    fn answer_lost(&mut self, message: usize) {
        if self.open.is_empty() {
            return;
        }
        for call in &self.open {
            self.warnings.push(Warning { message, text: format!("call `{}` has no result", call.original) });
        }
        let replies = self.open.drain(..).map(|call| lost(&call)).collect();
        self.turns.push(Turn { message, kind: TurnKind::Results(replies) });
    }

    fn warn(&mut self, message: usize, text: impl Into<String>) {
        self.warnings.push(Warning { message, text: text.into() });
    }
}

fn lost(call: &OpenCall) -> Reply {
    Reply {
        id: call.wire.clone(),
        name: call.name.clone(),
        result: json!({"content": [{"type": "text", "text": LOST}], "isError": true}),
    }
}

/// The result in the shape of MCP's.
fn as_mcp(block: ToolResultBlock) -> Value {
    let failed = block.status.as_deref() == Some("error") || block.error.is_some();
    let mut content: Vec<Value> =
        block.content.blocks().iter().filter_map(|block| serde_json::to_value(block).ok()).collect();
    if content.is_empty()
        && let Some(error) = &block.error
    {
        let message = error.get("message").unwrap_or(error);
        let text = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
        content.push(json!({"type": "text", "text": text}));
    }
    let mut result = json!({"content": content, "isError": failed});
    if let (Some(structured), Some(members)) = (block.structured, result.as_object_mut()) {
        members.insert("structuredContent".into(), structured);
    }
    result
}
