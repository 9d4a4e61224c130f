//! What a model is shown of a result.

use gateway_dialects::history::{Block, Content, ToolResultBlock};
use gateway_dialects::results::{neutral_result, read_result};
use gateway_protocol::RawJson;

/// A result as a block of the conversation, with at most `most` characters of text.
pub(super) fn shown_result(id: &str, result: &RawJson, most: usize, note: Option<String>) -> ToolResultBlock {
    let read = read_result(result.as_str());
    let mut block = match serde_json::from_value(neutral_result(id, &read.value)) {
        Ok(Block::ToolResult(block)) => block,
        Ok(_) | Err(_) => empty(id),
    };
    let mut blocks = block.content.blocks();
    cut(&mut blocks, most);
    // Beside texts, data says the same once more, or is too long as well.
    if block.structured.as_ref().is_some_and(|data| data.to_string().len() > most) {
        block.structured = None;
    }
    blocks.extend(note.map(|note| Block::text(&note)));
    block.content = Content::of(blocks);
    block
}

fn empty(id: &str) -> ToolResultBlock {
    ToolResultBlock {
        tool_use_id: id.to_owned(),
        content: Content::Blocks(Vec::new()),
        status: None,
        error: None,
        structured: None,
        extra: serde_json::Map::new(),
    }
}

/// Cuts the texts to `most` characters together: what is over goes out of the middle of the text that goes over it.
fn cut(blocks: &mut Vec<Block>, most: usize) {
    let mut left = most;
    for block in blocks.iter_mut() {
        let Block::Text(text) = block else { continue };
        let count = text.text.chars().count();
        if count <= left {
            left -= count;
            continue;
        }
        let gone = count - left;
        let tail = left / 3;
        let head: String = text.text.chars().take(left - tail).collect();
        let end: String = text.text.chars().skip(count - tail).collect();
        text.text = format!("{head}[… {gone} characters cut …]{end}");
        left = 0;
    }
}

/// The first text of a result, for people.
pub(super) fn first_text(block: &ToolResultBlock) -> String {
    let blocks = block.content.blocks();
    let text = blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    text.or_else(|| block.structured.as_ref().map(ToString::to_string)).unwrap_or_default()
}
