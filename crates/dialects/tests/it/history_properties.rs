//! Properties of conversations: those that every API can carry come back, and reading takes anything.

use gateway_dialects::history::{
    Block, Conversation, HistoryOptions, Message, TranslatedTools, from_dialect, to_dialect,
};
use gateway_dialects::results::IdMap;
use gateway_dialects::{Dialects, Protocol};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::history::{flat, neutral};

/// Conversations that every API can carry: text, calls with object arguments, one text per result.
fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
    let text = "[a-zA-Zäß<>&\"\\\\ ]{0,12}[a-z]";
    let turn = (text, prop::collection::vec(("[a-z-]{1,8}", "[a-z]{1,5}", -5_i64..5, text), 0..4), text);
    prop::collection::vec(turn, 1..4).prop_map(|turns| {
        let mut messages = Vec::new();
        for (index, (question, calls, answer)) in turns.into_iter().enumerate() {
            messages.push(json!({"role": "user", "content": question}));
            if !calls.is_empty() {
                let id = |at: usize| format!("call {index}.{at}");
                messages.push(json!({"role": "assistant", "content": calls.iter().enumerate()
                    .map(|(at, (name, key, number, _))| json!({"type": "tool_use", "id": id(at), "name": name, "input": {key: number}}))
                    .collect::<Vec<_>>()}));
                messages.push(json!({"role": "tool", "content": calls.iter().enumerate()
                    .map(|(at, (.., result))| json!({"type": "tool_result", "tool_use_id": id(at), "content": result}))
                    .collect::<Vec<_>>()}));
            }
            messages.push(json!({"role": "assistant", "content": answer}));
        }
        neutral(Value::Array(messages))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn conversations_come_back(messages in any_conversation()) {
        let dialects = Dialects::builtin();
        for name in ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mistral", "cohere", "ollama",
            "groq", "deepseek", "xai", "dial"] {
            let dialect = dialects.get(name).unwrap();
            let mut ids = IdMap::new(&dialect);
            let (conversation, warnings) =
                to_dialect(&messages, &dialect, &TranslatedTools::default(), &mut ids, &HistoryOptions::default());
            prop_assert_eq!(warnings, vec![], "{}", name);
            let (back, warnings) = from_dialect(&conversation, dialect.messages.protocol, &TranslatedTools::default(), &ids);
            prop_assert_eq!(warnings, vec![], "{}", name);
            let mut expected = flat(&messages);
            if dialect.messages.foreign_signature.is_some() {
                // The placeholder stays on the first call of each turn.
                let mut called = false;
                for (_, block) in &mut expected {
                    match block {
                        Block::ToolUse(call) if !called => {
                            call.signature.clone_from(&dialect.messages.foreign_signature);
                            called = true;
                        }
                        Block::ToolUse(_) => {}
                        _ => called = false,
                    }
                }
            }
            prop_assert_eq!(flat(&back), expected, "{}", name);
        }
    }

    #[test]
    fn reading_never_panics(messages in prop::collection::vec(odd_message(), 0..5)) {
        for protocol in [Protocol::Chat, Protocol::Functions, Protocol::Responses, Protocol::Messages,
            Protocol::GenerateContent, Protocol::Converse, Protocol::CohereChat, Protocol::OllamaChat, Protocol::Mcp] {
            let conversation = Conversation { system: messages.first().cloned(), messages: messages.clone() };
            let ids = IdMap::new(&Dialects::builtin().get("mcp").unwrap());
            let (read, _) = from_dialect(&conversation, protocol, &TranslatedTools::default(), &ids);
            let dialects = Dialects::builtin();
            for name in ["openai-chat", "openai-responses", "openai-functions", "anthropic", "gemini", "bedrock", "ollama"] {
                let dialect = dialects.get(name).unwrap();
                to_dialect(&read, &dialect, &TranslatedTools::default(), &mut IdMap::new(&dialect), &HistoryOptions::default());
            }
        }
    }
}

/// Messages of the right words in the wrong places.
fn odd_message() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "role",
        "type",
        "content",
        "parts",
        "text",
        "tool_calls",
        "function",
        "arguments",
        "id",
        "call_id",
        "name",
        "functionCall",
        "functionResponse",
        "response",
        "output",
        "toolUse",
        "toolResult",
        "tool_use",
        "tool_result",
        "image_url",
        "source",
        "data",
        "base64",
        "assistant",
        "user",
        "tool",
        "model",
        "message",
        "reasoning",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(1)),
        Just(json!("data:image/png;base64,AAAA")),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|entries| {
                Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}
