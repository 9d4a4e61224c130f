//! Texts of blocks in a JSON document, which are read one after the other.

use super::text::{Token, Tokens, decode};
use crate::counts::Counts;
use crate::detector::Detector;

/// An object or an array that is open.
enum Frame {
    /// With the bytes of the texts of its blocks.
    Array(Vec<(usize, usize)>),
    Object {
        name: String,
        awaits_name: bool,
    },
}

/// The document with what is found only over several blocks of one array masked; `None` if that is nothing. A block is an object
/// with a member `text`, or with one in its `resource`.
pub(super) fn masked(detector: &Detector, document: &str) -> Option<(String, Counts)> {
    let mut counts = Counts::default();
    let mut replaced: Vec<(usize, usize, String)> = Vec::new();
    for texts in arrays(document).into_iter().filter(|texts| texts.len() > 1) {
        let contents: Vec<_> = texts
            .iter()
            .map(|(start, end)| decode(document.get(start + 1..end - 1).unwrap_or_default()))
            .collect();
        let Some((masked, found)) = detector.mask_joined(&contents) else { continue };
        counts.merge(found);
        let changed = texts.iter().zip(contents.iter().zip(masked));
        replaced.extend(
            changed
                .filter(|(_, (before, after))| *before != after)
                .map(|((start, end), (_, after))| (*start, *end, serde_json::Value::from(after).to_string())),
        );
    }
    if replaced.is_empty() {
        return None;
    }
    replaced.sort_unstable();
    let mut output = String::with_capacity(document.len());
    let mut copied = 0;
    for (start, end, text) in replaced {
        output.push_str(document.get(copied..start).unwrap_or_default());
        output.push_str(&text);
        copied = end;
    }
    output.push_str(document.get(copied..).unwrap_or_default());
    Some((output, counts))
}

/// The bytes of the texts of blocks, by the array that the blocks are in.
fn arrays(document: &str) -> Vec<Vec<(usize, usize)>> {
    let mut arrays = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    for (token, start, end) in Tokens::new(document) {
        match token {
            Token::ObjectStart => frames.push(Frame::Object { name: String::new(), awaits_name: true }),
            Token::ArrayStart => frames.push(Frame::Array(Vec::new())),
            Token::End => {
                if let Some(Frame::Array(texts)) = frames.pop() {
                    arrays.push(texts);
                }
            }
            Token::Comma | Token::Colon => {
                if let Some(Frame::Object { awaits_name, .. }) = frames.last_mut() {
                    *awaits_name = token == Token::Comma;
                }
            }
            Token::Text => match frames.as_mut_slice() {
                [.., Frame::Object { name, awaits_name: true }] => {
                    name.clear();
                    name.push_str(document.get(start + 1..end - 1).unwrap_or_default());
                }
                [.., Frame::Array(texts), Frame::Object { name, .. }] if name == "text" => {
                    texts.push((start, end));
                }
                [.., Frame::Array(texts), Frame::Object { name: outer, .. }, Frame::Object { name, .. }]
                    if outer == "resource" && name == "text" =>
                {
                    texts.push((start, end));
                }
                _ => {}
            },
            Token::Number => {}
        }
    }
    arrays
}
