//! A reply in the pieces in which models give it, before any wire format.

use serde_json::{Value, json};

use crate::models::delivery::{Delivery, Quirk};
use crate::models::reply::{Arguments, Finish, Part, Reply};

/// Characters of arguments in one piece.
const ARGUMENT_PIECE: usize = 6;
/// Characters of text in one piece, if they have no spaces.
const TEXT_PIECE: usize = 24;

/// One step of a part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fragment {
    /// Which part.
    pub(crate) part: usize,
    pub(crate) step: FragmentStep,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FragmentStep {
    Start,
    Piece(String),
    End,
}

/// The reply with those habits that no wire format is needed for.
pub(crate) fn prepare(reply: &Reply, delivery: &Delivery) -> Reply {
    let mut reply = reply.clone();
    if delivery.has(Quirk::FinishStop) {
        reply.finish = Some(Finish::Stop);
    }
    if delivery.has(Quirk::ThinkTags) {
        for part in &mut reply.parts {
            if let Part::Reasoning { text, .. } = part {
                *part = Part::Text(format!("<think>{text}</think>\n\n"));
            }
        }
    }
    for part in &mut reply.parts {
        let Part::Call(call) = part else { continue };
        if delivery.has(Quirk::NoCallIds) {
            call.id = None;
        }
        if delivery.has(Quirk::EmptyArguments) && call.arguments.json() == json!({}) {
            call.arguments = Arguments::Text(String::new());
        }
    }
    reply
}

/// The fragments of a reply, in the order in which they are sent.
pub(crate) fn fragments(reply: &Reply, delivery: &Delivery) -> Vec<Fragment> {
    let mut all = Vec::new();
    let mut calls = Vec::new();
    for (part, content) in reply.parts.iter().enumerate() {
        let pieces = match content {
            Part::Reasoning { text, .. } | Part::Text(text) => text_pieces(text),
            Part::Call(call) if is_whole(delivery) => vec![call.arguments.text()],
            Part::Call(call) => pieces_of(&call.arguments.text(), ARGUMENT_PIECE),
        };
        let interleaved = matches!(content, Part::Call(_)) && delivery.has(Quirk::Interleaved);
        if interleaved {
            calls.push((part, pieces));
            continue;
        }
        interleave(&std::mem::take(&mut calls), &mut all);
        interleave(&[(part, pieces)], &mut all);
    }
    interleave(&calls, &mut all);
    all
}

/// Whether a call's arguments come in one piece.
pub(crate) fn is_whole(delivery: &Delivery) -> bool {
    delivery.has(Quirk::WholeArguments) || delivery.has(Quirk::ArgumentsAsObject)
}

/// Parts that run beside each other: all begin, their pieces alternate, all end.
fn interleave(parts: &[(usize, Vec<String>)], all: &mut Vec<Fragment>) {
    all.extend(parts.iter().map(|(part, _)| Fragment { part: *part, step: FragmentStep::Start }));
    let longest = parts.iter().map(|(_, pieces)| pieces.len()).max().unwrap_or(0);
    for turn in 0..longest {
        for (part, pieces) in parts {
            if let Some(piece) = pieces.get(turn) {
                all.push(Fragment { part: *part, step: FragmentStep::Piece(piece.clone()) });
            }
        }
    }
    all.extend(parts.iter().map(|(part, _)| Fragment { part: *part, step: FragmentStep::End }));
}

/// Two words at a time.
fn text_pieces(text: &str) -> Vec<String> {
    let words: Vec<String> = text.split_inclusive(' ').flat_map(|word| pieces_of(word, TEXT_PIECE)).collect();
    words.chunks(2).map(<[String]>::concat).collect()
}

fn pieces_of(text: &str, characters: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(characters).map(|piece| piece.iter().collect()).collect()
}

/// The position of a call among the calls.
pub(crate) fn call_index(reply: &Reply, part: usize) -> usize {
    reply.parts.iter().take(part).filter(|part| matches!(part, Part::Call(_))).count()
}

/// Arguments in the form that the wire has text for: an object where the habit says so.
pub(crate) fn arguments(arguments: &Arguments, delivery: &Delivery) -> Value {
    if delivery.has(Quirk::ArgumentsAsObject) { arguments.json() } else { arguments.text().into() }
}
