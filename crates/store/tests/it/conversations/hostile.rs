//! Content that a store might not expect.

use std::time::Duration;

use gateway_store::conversations::{ConversationError, ConversationFilter, Expected, Update};

use super::backend::{Backend, TestClock, append, create, get, named, raw, texts, titles};

pub(crate) async fn every_byte_of_a_message_comes_back(backend: &impl Backend) {
    let store = backend.open(&TestClock::new().options()).await;
    let alice = named("alice");
    let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let long = format!("{{\"content\":\"{}\"}}", "é\\u0000".repeat(120_000));
    let messages = [
        r#""\u0000""#,
        r#"{"content":"\ud800 alone, \udc00 too","\udead":1}"#,
        r#"{ "big" : 123456789012345678901234567890.000, "e":1E400, "z":-0.0 , "dup":1, "dup":2}"#,
        "\"\u{fffd}\u{feff}\u{2028}\"",
        "[ ]",
        "null",
        "\"'; DROP TABLE messages; --\"",
        "\"\\r\\n*3\\r\\n$3\\r\\nDEL\\r\\n\"",
        &deep,
        &long,
    ];
    let id = create(&store, &alice, "t", &messages[..5]).await;
    store.update(&alice, id, Expected::Version(1), append(&messages[5..])).await.unwrap();
    assert_eq!(texts(&get(&store, &alice, id).await), messages);
    let metadata = r#"{"n":1e999,"s":"\u0000\udfff"}"#;
    let update = Update { metadata: Some(raw(metadata)), ..Update::default() };
    store.update(&alice, id, Expected::Version(2), update).await.unwrap();
    let whole = get(&store, &alice, id).await;
    assert_eq!((whole.metadata.get(), texts(&whole)), (metadata, messages.to_vec()));
    let filter = |text: &str| ConversationFilter {
        text: Some(text.to_owned()),
        ..ConversationFilter::of(alice.clone())
    };
    for text in ["alone, ", "drop table", "éé", "\0"] {
        assert_eq!(titles(&store, &filter(text)).await, ["t"], "{text:?}");
    }
}

pub(crate) async fn titles_owners_and_keys_can_be_any_text(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let minute = Duration::from_mins(1);
    for text in [
        "\0",
        "a\0b",
        "\"\\\u{1}\n",
        "{}",
        "é😀\u{10ffff}",
        "*",
        "a b\r\nDEL x",
        "'",
        "",
        "conversations:list",
    ] {
        let scope = named(text);
        let id = create(&store, &scope, text, &["1"]).await;
        let whole = get(&store, &scope, id).await;
        assert_eq!((&*whole.title, whole.owner.as_deref()), (text, Some(text)));
        let turn = gateway_store::conversations::TurnLease { holder: text.to_owned(), until: clock.after(5) };
        let update = Update {
            turn: gateway_store::conversations::TurnChange::Take(turn.clone()),
            title: Some(format!("{text}!")),
            ..Update::default()
        };
        store.update(&scope, id, Expected::Version(1), update).await.unwrap();
        store.update(&scope, id, Expected::Holder(text.to_owned()), Update::default()).await.unwrap();
        assert_eq!(get(&store, &scope, id).await.turn, Some(turn));
        assert_eq!(titles(&store, &ConversationFilter::of(scope)).await, [format!("{text}!")]);
        store.keep(text, text.as_bytes(), minute).await.unwrap();
        assert_eq!(store.kept(text).await.unwrap().as_deref(), Some(text.as_bytes()), "{text:?}");
        assert_eq!(store.take(text).await.unwrap().as_deref(), Some(text.as_bytes()), "{text:?}");
    }
}

pub(crate) async fn many_small_messages_are_bounded_too(backend: &impl Backend) {
    let mut options = TestClock::new().options();
    options.max_bytes = 100_000;
    let store = backend.open(&options).await;
    let alice = named("alice");
    let id = create(&store, &alice, "t", &[]).await;
    let thousand = vec!["1"; 1000];
    for _ in 0..3 {
        store.update(&alice, id, Expected::Anything, append(&thousand)).await.unwrap();
    }
    let refused = store.update(&alice, id, Expected::Anything, append(&thousand)).await;
    assert!(matches!(refused, Err(ConversationError::TooLarge { bytes: 132_003, .. })), "{refused:?}");
    assert_eq!(get(&store, &alice, id).await.messages.len(), 3000);
}

pub(crate) async fn values_are_bytes(backend: &impl Backend) {
    let store = backend.open(&TestClock::new().options()).await;
    let every: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    for value in [&b""[..], b"\0", b"\r\n", &every] {
        store.keep("k", value, Duration::from_mins(1)).await.unwrap();
        assert_eq!(store.kept("k").await.unwrap().as_deref(), Some(value));
    }
}
