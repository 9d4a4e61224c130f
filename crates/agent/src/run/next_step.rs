//! What a model that writes its calls as text is asked behind the results.
//!
//! Where calls are native, the API's own template says how to go on. Where they are text, small models stop after the first of several
//! calls, or make the same call again and again: they need a question to answer.

use gateway_dialects::history::{Block, Content, Message, TextBlock};
use serde_json::Map;

/// Characters of a request that are repeated to the model.
const LONGEST: usize = 500;

/// Adds a question to the message with the results of written calls: behind the first results of a request what is left to do, behind later
/// ones the answer. `earlier` says how many results came before.
pub(super) fn ask_for_next_step(results: &mut Message, request: Option<&str>, earlier: usize) {
    let request = request.map(str::trim).filter(|text| !text.is_empty() && text.chars().count() <= LONGEST);
    let question = match (earlier, request) {
        (0, Some(request)) => format!(
            "Is all of this done now: \"{request}\"? If not, call the next function. If so, answer with the values of the results."
        ),
        (0, None) => "Is all of my request done now? If not, call the next function. If so, answer with the values of the results.".to_owned(),
        (_, _) => "Answer my request from these results in a sentence. Call another function only if something is still missing.".to_owned(),
    };
    match &mut results.content {
        Content::Text(text) => {
            text.push_str("\n\n");
            text.push_str(&question);
        }
        Content::Blocks(blocks) => blocks.push(Block::Text(TextBlock { text: question, extra: Map::new() })),
        Content::Other(_) => {}
    }
}
