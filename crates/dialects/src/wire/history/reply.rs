//! What a model said in one turn, as a message.

use serde_json::{Map, Value, json};

use super::codec::TranslatedTools;
use super::neutral::{Block, Content, Message, Role, TextBlock, ThinkingBlock, ToolUseBlock};
use super::{Conversation, from_dialect};
use crate::arguments::BadArguments;
use crate::dialect::Dialect;
use crate::wire::calls::{Reply, ToolCall};
use crate::wire::format;
use crate::wire::results::IdMap;

/// The message of the model that `reply` is, for the conversation that goes on. `codec` knows the tools as the model knows them;
/// reasoning is kept as the dialect's API wants it replayed.
pub fn reply_message(reply: &Reply, dialect: &Dialect, codec: &TranslatedTools) -> Message {
    let mut blocks = reasoning(reply, dialect);
    if !reply.text.is_empty() {
        let signature = reply.signature.iter().map(|signature| ("signature".to_owned(), json!(signature)));
        blocks.push(Block::Text(TextBlock { text: reply.text.clone(), extra: signature.collect() }));
    }
    blocks.extend(reply.calls.iter().map(|call| Block::ToolUse(tool_use(call, codec))));
    Message::new(Role::Assistant, Content::of(blocks))
}

/// What the model thought: whole items where the API wants them back, else the text.
fn reasoning(reply: &Reply, dialect: &Dialect) -> Vec<Block> {
    let protocol = dialect.messages.protocol;
    if !reply.reasoning_items.is_empty() {
        let messages = format(protocol).reasoning_messages(&reply.reasoning_items);
        let said = Conversation { system: None, messages };
        let (read, _) = from_dialect(&said, protocol, &TranslatedTools::default(), &IdMap::new(dialect));
        return read.into_iter().flat_map(|message| message.content.blocks()).collect();
    }
    // A signature beside text stays with the text.
    let signature = reply.signature.clone().filter(|_| reply.text.is_empty() && reply.calls.is_empty());
    if reply.reasoning.is_empty() && signature.is_none() {
        return Vec::new();
    }
    vec![Block::Thinking(ThinkingBlock {
        thinking: reply.reasoning.clone(),
        signature,
        origin: Some(protocol.name().to_owned()),
        ..ThinkingBlock::default()
    })]
}

fn tool_use(call: &ToolCall, codec: &TranslatedTools) -> ToolUseBlock {
    let name = codec.mcp_name(&call.name);
    // What could be repaired has run so. The rest was refused, and what is sent back has to be JSON all the same.
    let sent = call
        .arguments_object("", BadArguments::RepairWhole)
        .or_else(|_| call.arguments_object("", BadArguments::Raw))
        .map(|parsed| Value::Object(parsed.object));
    let input = sent.map_or_else(|_| json!({}), |sent| codec.decode(&name, &sent));
    ToolUseBlock {
        id: call.id.as_str().to_owned(),
        name,
        input,
        signature: call.signature.clone(),
        item_id: call.item_id.clone(),
        extra: Map::new(),
    }
}
