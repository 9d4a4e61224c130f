//! A conversation as one JSON object, for people and other programs.

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::types::{Conversation, TurnLease};
use crate::record::{write_display, write_string};

/// The conversation as a JSON object, its messages and metadata as they are.
pub(crate) fn write(conversation: &Conversation) -> Vec<u8> {
    let length: usize = conversation.messages.iter().map(|message| message.get().len() + 1).sum();
    let mut out = Vec::with_capacity(512 + length + conversation.metadata.get().len());
    write_display(&mut out, format_args!("{{\"id\":\"{}\",\"title\":", conversation.id));
    write_string(&mut out, &conversation.title);
    out.extend_from_slice(b",\"messages\":");
    write_array(&mut out, conversation.messages.iter().map(|message| &**message));
    write_display(
        &mut out,
        format_args!(
            ",\"created_at\":\"{:.6}\",\"updated_at\":\"{:.6}\",\"owner\":",
            conversation.created_at, conversation.updated_at
        ),
    );
    match &conversation.owner {
        Some(owner) => write_string(&mut out, owner),
        None => out.extend_from_slice(b"null"),
    }
    write_display(&mut out, format_args!(",\"version\":{},\"turn\":", conversation.version));
    match &conversation.turn {
        Some(turn) => write_turn(&mut out, turn),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(conversation.metadata.get().as_bytes());
    out.push(b'}');
    out
}

fn write_array<'a>(out: &mut Vec<u8>, values: impl IntoIterator<Item = &'a RawValue>) {
    out.push(b'[');
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b']');
}

fn write_turn(out: &mut Vec<u8>, turn: &TurnLease) {
    out.extend_from_slice(b"{\"holder\":");
    write_string(out, &turn.holder);
    write_display(out, format_args!(",\"until\":\"{:.6}\"}}", turn.until));
}

/// The lease as JSON text.
pub(crate) fn turn_to_json(turn: &TurnLease) -> String {
    let mut out = Vec::new();
    write_turn(&mut out, turn);
    String::from_utf8(out).unwrap_or_default()
}

/// The lease of a JSON text; `None` if it is none.
pub(crate) fn turn_of_json(json: &str) -> Option<TurnLease> {
    #[derive(serde::Deserialize)]
    struct Turn {
        holder: String,
        until: String,
    }
    let turn: Turn = serde_json::from_str(json).ok()?;
    Some(TurnLease { holder: turn.holder, until: turn.until.parse::<Timestamp>().ok()? })
}

/// `{}`.
pub(crate) fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
