//! Replies in each provider's shape, whole and streamed.

mod argo;
mod chat;
mod cohere;
mod converse;
mod event_stream;
mod fragments;
mod frame;
mod generate_content;
mod messages;
mod mistral;
mod ollama;
mod responses;

use serde_json::Value;

pub(crate) use frame::{Encoding, Frame, FrameKind};

use super::delivery::{Delivery, Quirk};
use super::reply::Reply;
use super::wire::{Form, Wire};

/// When everything was created: the second of an answer is nobody's business in a test.
const CREATED: u64 = 1_754_000_000;
/// The same for wires that say it in words.
const CREATED_TEXT: &str = "2025-07-31T22:13:20Z";

/// What an answer needs to know of its request.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) wire: Wire,
    pub(crate) form: Form,
    pub(crate) model: String,
    /// Counted from 1, for ids.
    pub(crate) number: usize,
    /// Whether the request asked for usage in the stream.
    pub(crate) include_usage: bool,
    pub(crate) delivery: Delivery,
}

impl Turn {
    fn has(&self, quirk: Quirk) -> bool {
        self.delivery.has(quirk)
    }
}

/// The whole answer.
pub(crate) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let reply = &fragments::prepare(reply, &turn.delivery);
    if turn.has(Quirk::ArgoEnvelope) {
        return argo::whole(reply, turn);
    }
    match turn.form {
        Form::Chat | Form::Functions => chat::whole(reply, turn),
        Form::Responses => responses::whole(reply, turn),
        Form::Ollama => ollama::whole(reply, turn),
        Form::Messages => messages::whole(reply, turn),
        Form::GenerateContent => generate_content::whole(reply, turn),
        Form::Mistral => mistral::whole(reply, turn),
        Form::Cohere => cohere::whole(reply, turn),
        Form::Converse => converse::whole(reply, turn),
    }
}

/// The answer as a stream.
pub(crate) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let reply = &fragments::prepare(reply, &turn.delivery);
    let mut frames = match turn.form {
        Form::Chat | Form::Functions => chat::stream(reply, turn),
        Form::Responses => responses::stream(reply, turn),
        Form::Ollama => ollama::stream(reply, turn),
        Form::Messages => messages::stream(reply, turn),
        Form::GenerateContent => generate_content::stream(reply, turn),
        Form::Mistral => mistral::stream(reply, turn),
        Form::Cohere => cohere::stream(reply, turn),
        Form::Converse => converse::stream(reply, turn),
    };
    if turn.has(Quirk::NoDone) {
        frames.retain(|frame| frame.kind != FrameKind::Done);
    }
    frames
}
