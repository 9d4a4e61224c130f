//! Whole streams, as somebody recorded them: chunks in a list, or the text of server-sent events or of lines.

use serde_json::Value;

use super::{Assembler, Outcome, StreamEvent, StreamOptions, StreamedCall};
use crate::dialect::Protocol;
use crate::wire::calls::{CallError, ReadOptions, Reply, listed_keys};
use crate::wire::format;

/// How many chunks at the start of a stream may be of no known shape, such as those that only keep a connection open.
const UNKNOWN_CHUNKS: usize = 8;

/// What stands for a last chunk.
const DONE: &str = "[DONE]";

/// Reads the text of a streamed reply into its chunks: server-sent events, a JSON document a line, or a JSON list.
///
/// ```
/// use gateway_dialects::calls::{ReadOptions, parse_reply};
/// use gateway_dialects::stream::parse_chunks;
///
/// let text = "data: {\"choices\": [{\"delta\": {\"content\": \"Hel\"}}]}\n\n\
///             data: {\"choices\": [{\"delta\": {\"content\": \"lo\"}}]}\n\ndata: [DONE]\n\n";
/// let reply = parse_reply(&parse_chunks(text)?.into(), &ReadOptions::default())?;
/// assert_eq!(reply.text, "Hello");
/// # Ok::<(), gateway_dialects::calls::CallError>(())
/// ```
pub fn parse_chunks(text: &str) -> Result<Vec<Value>, CallError> {
    let chunks = match crate::json::from_str(text) {
        Ok(Value::Array(chunks)) => chunks,
        Ok(chunk @ Value::Object(_)) => vec![chunk],
        Ok(_) => return Err(unreadable("it is a JSON value that is neither a chunk nor a list of chunks")),
        Err(_) if is_event_text(text) => read_events(text)?,
        Err(_) => read_lines(text)?,
    };
    if chunks.is_empty() {
        return Err(unreadable("it has no chunk"));
    }
    if protocol_of(&chunks).is_none() {
        let keys = chunks.first().and_then(Value::as_object).map(listed_keys).unwrap_or_default();
        return Err(unreadable(&format!("no known API sends chunks with {keys}")));
    }
    Ok(chunks)
}

/// The chunks of a text that can only be a stream; `None` for any other text.
pub(crate) fn recognised_chunks(text: &str) -> Option<Result<Vec<Value>, CallError>> {
    if text.trim_start().starts_with('[') {
        // A list may be one of calls as well.
        let Ok(Value::Array(chunks)) = crate::json::from_str(text) else { return None };
        return protocol_of(&chunks).is_some().then_some(Ok(chunks));
    }
    let is_stream = is_event_text(text) || starts_with_chunk(text);
    is_stream.then(|| parse_chunks(text))
}

/// Whether the first of several lines is a chunk.
fn starts_with_chunk(text: &str) -> bool {
    let first = text.trim().split_once('\n').map(|(first, _)| first).filter(|first| first.starts_with('{'));
    first.and_then(|first| crate::json::from_str(first).ok()).is_some_and(|first| chunk_of(&first).is_some())
}

/// The format whose chunks these are; `None` if they are no stream.
pub fn protocol_of(chunks: &[Value]) -> Option<Protocol> {
    let found = chunks.iter().take(UNKNOWN_CHUNKS).find_map(chunk_of)?;
    let older = format(found).older_calls();
    Some(older.filter(|older| chunks.iter().any(|chunk| is_chunk(*older, chunk))).unwrap_or(found))
}

/// The format whose chunk this is.
fn chunk_of(chunk: &Value) -> Option<Protocol> {
    Protocol::ALL.iter().copied().find(|protocol| is_chunk(*protocol, chunk))
}

fn is_chunk(protocol: Protocol, chunk: &Value) -> bool {
    chunk.as_object().is_some_and(|chunk| format(protocol).is_chunk(chunk))
}

/// Assembles `chunks`, which are of `protocol`.
pub(crate) fn read_chunks(
    chunks: &[Value],
    protocol: Protocol,
    options: &ReadOptions<'_>,
) -> Result<Reply, CallError> {
    let stream = StreamOptions {
        text: options.text.clone(),
        ids_after: options.ids_after,
        // What was sent in one piece is held already.
        argument_limit: usize::MAX,
        ..StreamOptions::default()
    };
    let mut assembler = Assembler::new(protocol, stream);
    let mut reply = Reply { protocol: options.protocol.or(Some(protocol)), ..Reply::default() };
    for chunk in chunks {
        assembler.push(chunk).into_iter().try_for_each(|event| reply.take(event))?;
    }
    assembler.finish().into_iter().try_for_each(|event| reply.take(event))?;
    reply.name_notation();
    Ok(reply)
}

impl Reply {
    /// Adds what a stream brought. An error means that the reply cannot be used: it broke off in a call, or is one.
    pub fn take(&mut self, event: StreamEvent) -> Result<(), CallError> {
        match event {
            StreamEvent::Text(text) => self.text.push_str(&text),
            StreamEvent::Reasoning(text) => self.reasoning.push_str(&text),
            StreamEvent::ReasoningItem(item) => self.reasoning_items.push(item),
            StreamEvent::Signature(signature) => self.signature = Some(signature),
            StreamEvent::Call(StreamedCall { call, outcome: Outcome::Complete }) => self.calls.push(call),
            // Arguments that were cut must not be run, even where they look complete.
            StreamEvent::Call(StreamedCall { call, outcome: Outcome::Limited }) => {
                return Err(unreadable(&format!(
                    "the arguments of the call of `{}` are too long",
                    call.name
                )));
            }
            StreamEvent::Call(StreamedCall { call, outcome: Outcome::Unfinished }) => {
                return Err(unreadable(&format!("it ends in the middle of the call of `{}`", call.name)));
            }
            StreamEvent::Stop(reason) => self.stop = Some(reason),
            StreamEvent::Error(error) => {
                let text = error.get("message").unwrap_or(&error);
                let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
                return Err(unreadable(&format!("it brings an error: {text}")));
            }
            StreamEvent::TooManyCalls(limit) => {
                return Err(unreadable(&format!("it has more than {limit} calls")));
            }
            StreamEvent::Skipped(skipped) => self.skip(skipped),
            StreamEvent::Source(source) => self.source = source,
            StreamEvent::Refused(refused) => self.refused.push(refused),
            StreamEvent::Usage(usage) => self.usage = Some(usage),
        }
        Ok(())
    }

    /// Notes in which notation its calls are written, once all of them are there.
    pub fn name_notation(&mut self) {
        let refused = self.refused.iter().map(|refused| &refused.call);
        self.written = self.calls.iter().chain(refused).find_map(|call| call.written);
    }
}

/// Whether a text is one of server-sent events: it begins with a field, and has data that is JSON.
fn is_event_text(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}'));
    let starts = lines.clone().find(|line| !line.is_empty()).is_some_and(|line| {
        ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field))
    });
    starts && lines.any(|line| data_of(line).is_some_and(|data| data.starts_with(['{', '[']) || data == DONE))
}

fn data_of(line: &str) -> Option<&str> {
    line.strip_prefix("data:").map(|data| data.strip_prefix(' ').unwrap_or(data))
}

/// The data of server-sent events, one document each.
fn read_events(text: &str) -> Result<Vec<Value>, CallError> {
    let mut chunks = Vec::new();
    let mut data = String::new();
    for (index, line) in text.lines().chain(std::iter::once("")).enumerate() {
        let line = line.trim_start_matches('\u{feff}');
        if let Some(more) = data_of(line) {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(more);
        }
        if line.is_empty() {
            chunks.extend(document(&std::mem::take(&mut data), index)?);
        }
    }
    Ok(chunks)
}

fn read_lines(text: &str) -> Result<Vec<Value>, CallError> {
    text.lines().enumerate().filter_map(|(index, line)| document(line, index + 1).transpose()).collect()
}

/// The chunk in `text`, which ends in this line; `None` if there is none.
fn document(text: &str, line: usize) -> Result<Option<Value>, CallError> {
    let text = text.trim();
    if text.is_empty() || text == DONE {
        return Ok(None);
    }
    let chunk = crate::json::from_str(text)
        .map_err(|error| unreadable(&format!("line {line} holds no JSON document: {error}")))?;
    Ok(Some(chunk))
}

fn unreadable(cause: &str) -> CallError {
    CallError::Stream { cause: cause.to_owned() }
}
