//! A result that is nothing but text, read without a tree.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};

use super::piece::{Answer, Piece};
use crate::wire::object::object;

/// A result of text blocks, with nothing else that a model could be shown or a change could be about. Most results are just
/// that; whatever else a server may send is no `PlainResult` and is read by [`read_result`](super::read_result), which reads
/// these too.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlainResult<'a> {
    #[serde(borrow)]
    content: Vec<TextBlock<'a>>,
    #[serde(default)]
    is_error: bool,
    #[serde(borrow, default, rename = "resultType")]
    _result_type: Cow<'a, str>,
}

#[derive(Clone, Debug)]
struct TextBlock<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for TextBlock<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            text: Cow<'a, str>,
        }
        let Members { kind, text } = object(deserializer)?;
        if kind == "text" { Ok(Self(text)) } else { Err(D::Error::custom("not a block of text")) }
    }
}

impl<'a> PlainResult<'a> {
    /// Reads a result as it came; `None` says nothing about it but that it is none of these.
    pub fn read(text: &'a str) -> Option<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let found = object(&mut reader).ok()?;
        reader.end().ok().map(|()| found)
    }

    /// Its texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().map(|block| &*block.0)
    }

    /// Whether the tool says that it failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// What [`Answer::read`] gives for the same result.
    pub(super) fn answer(&self) -> Answer<'_> {
        let blocks = self.content.iter().enumerate();
        let pieces = blocks.map(|(index, block)| (index, Piece::Text(Cow::Borrowed(&*block.0)))).collect();
        Answer { pieces, failed: self.is_error, ..Answer::default() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::{Value, json};

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
            r#"{"content":[["text","a"]]}"#,
            r#"{"content":[{"type":{"text":null},"text":"a"}]}"#,
            r#"[[{"type":"text","text":"a"}],true,""]"#,
            r#"{"content":[]} {}"#,
            "{}",
            "[]",
        ] {
            assert!(PlainResult::read(text).is_none(), "{text}");
        }
    }

    /// JSON of the words that results are made of, in any arrangement.
    fn arranged() -> impl Strategy<Value = Value> {
        let word = prop_oneof![Just("text"), Just("a"), Just("image"), Just("")];
        let leaf =
            prop_oneof![word.prop_map(Value::from), any::<bool>().prop_map(Value::from), Just(Value::Null)];
        let key = prop_oneof![Just("content"), Just("type"), Just("text"), Just("isError"), Just("data")];
        leaf.prop_recursive(4, 24, 3, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..3).prop_map(Value::from),
                vec((key.clone(), inner), 0..3).prop_map(|members| members
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_plain_is_read_as_every_result_is(block in arranged(), failed in arranged(), whole in arranged()) {
            let held = json!({"content": [block.clone(), {"type": "text", "text": "a"}], "isError": failed});
            for tree in [json!({"content": [block]}), held, whole] {
                let text = tree.to_string();
                let Some(plain) = PlainResult::read(&text) else { continue };
                let (found, expected) = (plain.answer(), Answer::read(&tree));
                prop_assert_eq!(found.pieces, expected.pieces);
                prop_assert_eq!((found.failed, found.structured), (expected.failed, expected.structured));
            }
        }
    }
}
