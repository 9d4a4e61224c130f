//! A result that is nothing but text, read without a tree.

use std::borrow::Cow;

use serde::Deserialize;

use super::piece::{Answer, Piece};

/// A result of text blocks, with nothing else that a model could be shown or a change could be about. Most results are just
/// that; whatever else a server may send is no `PlainResult` and is read by [`read_result`](super::read_result), which reads
/// these too.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlainResult<'a> {
    #[serde(borrow)]
    content: Vec<TextBlock<'a>>,
    #[serde(default)]
    is_error: bool,
    #[serde(borrow, default, rename = "resultType")]
    _result_type: Cow<'a, str>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextBlock<'a> {
    #[serde(rename = "type")]
    _kind: Kind,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
}

impl<'a> PlainResult<'a> {
    /// Reads a result as it came; `None` says nothing about it but that it is none of these.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What [`Answer::read`] gives for the same result.
    pub(super) fn answer(&self) -> Answer<'_> {
        let blocks = self.content.iter().enumerate();
        let pieces = blocks.map(|(index, block)| (index, Piece::Text(Cow::Borrowed(&*block.text)))).collect();
        Answer { pieces, failed: self.is_error, ..Answer::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_result_is_read_as_every_result_is() {
        for text in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":"a \"b\" \u00e4"}],"isError":true}"#,
            r#"{"content":[{"text":"a","type":"text"},{"type":"text","text":""}],"resultType":"complete"}"#,
        ] {
            let (plain, tree) = (PlainResult::read(text).unwrap(), serde_json::from_str(text).unwrap());
            let (found, expected) = (plain.answer(), Answer::read(&tree));
            assert_eq!(found.pieces, expected.pieces, "{text}");
            assert_eq!((found.failed, found.structured), (expected.failed, expected.structured), "{text}");
        }
    }

    #[test]
    fn what_is_more_than_text_is_no_plain_result() {
        for text in [
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":null}"#,
            r#"{"content":[{"type":"text","text":"a"}],"_meta":{"n":1e400}}"#,
            r#"{"content":[{"type":"text","text":"a","annotations":{}}]}"#,
            r#"{"content":[{"type":"image","data":"","mimeType":"image/png"}]}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            r#"{"content":[],"content":[]}"#,
            r#"{"content":"a"}"#,
            r#"{"content":[],"isError":1}"#,
            "{}",
            "[]",
        ] {
            assert!(PlainResult::read(text).is_none(), "{text}");
        }
    }
}
