//! What every store of conversations must do.

use std::collections::BTreeSet;
use std::time::Duration;

use gateway_store::conversations::{
    ConversationError, ConversationFilter, ConversationId, Expected, NewConversation, Saved, Scope,
    TurnChange, TurnLease, Update,
};

use super::backend::{Backend, TestClock, append, create, get, named, raw, texts, titles};

pub(crate) async fn a_conversation_is_created_read_renamed_and_deleted(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    store.ping().await.unwrap();
    let alice = named("alice");
    let id = ConversationId::random().unwrap();
    let mut new = NewConversation::new(id, alice.owner(), "First");
    new.messages = vec![raw(r#"{"role":"user", "content":"Hi"}"#)];
    new.metadata = raw(r#"{"model":"m"}"#);
    let created = store.create(new).await.unwrap();
    assert_eq!(created, Saved { version: 1, updated_at: clock.now() });
    let json = |conversation: gateway_store::conversations::Conversation| {
        String::from_utf8(conversation.to_json()).unwrap()
    };
    assert_eq!(
        json(get(&store, &alice, id).await),
        format!(
            r#"{{"id":"{id}","title":"First","messages":[{{"role":"user", "content":"Hi"}}],"created_at":"2026-11-03T10:00:00.000000Z","updated_at":"2026-11-03T10:00:00.000000Z","owner":"alice","version":1,"turn":null,"metadata":{{"model":"m"}}}}"#
        )
    );

    clock.advance(5);
    let update = Update {
        title: Some("Renamed".to_owned()),
        turn: TurnChange::Take(TurnLease { holder: "me".to_owned(), until: clock.after(60) }),
        metadata: Some(raw("[1]")),
        ..append(&["2", "\"three\""])
    };
    let saved = store.update(&alice, id, Expected::Version(1), update).await.unwrap();
    assert_eq!(saved, Saved { version: 2, updated_at: clock.now() });
    assert_eq!(
        json(get(&store, &alice, id).await),
        format!(
            r#"{{"id":"{id}","title":"Renamed","messages":[{{"role":"user", "content":"Hi"}},2,"three"],"created_at":"2026-11-03T10:00:00.000000Z","updated_at":"2026-11-03T10:00:05.000000Z","owner":"alice","version":2,"turn":{{"holder":"me","until":"2026-11-03T10:01:05.000000Z"}},"metadata":[1]}}"#
        )
    );
    let page = store.list(&ConversationFilter::of(alice.clone())).await.unwrap();
    assert_eq!((page.conversations.len(), page.next), (1, None));
    let summary = &page.conversations[0];
    assert_eq!(
        (summary.id, summary.owner.as_deref(), &*summary.title, summary.version, summary.message_count),
        (id, Some("alice"), "Renamed", 2, 3)
    );
    assert_eq!((summary.created_at, summary.updated_at), (clock.after(-5), clock.now()));

    assert!(store.delete(&alice, id).await.unwrap());
    assert!(!store.delete(&alice, id).await.unwrap());
    assert!(store.get(&alice, id).await.unwrap().is_none());
    let missing = store.update(&alice, id, Expected::Anything, append(&["1"])).await;
    assert!(matches!(missing, Err(ConversationError::NotFound)), "{missing:?}");
    assert_eq!(titles(&store, &ConversationFilter::of(alice)).await, [""; 0]);
}

pub(crate) async fn an_id_is_given_once(backend: &impl Backend) {
    let store = backend.open(&TestClock::new().options()).await;
    let alice = named("alice");
    let id = create(&store, &alice, "First", &["1"]).await;
    // Also for others, who must not overwrite what they cannot see.
    for owner in [alice.owner(), None, Some("bob".into())] {
        let again = store.create(NewConversation::new(id, owner, "Second")).await;
        assert!(matches!(again, Err(ConversationError::Exists)), "{again:?}");
    }
    assert_eq!(get(&store, &alice, id).await.title, "First");
}

pub(crate) async fn the_last_updated_is_listed_first(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let alice = named("alice");
    let mut ids = Vec::new();
    for title in ["a", "b", "c", "d"] {
        clock.advance(1);
        ids.push(create(&store, &alice, title, &[]).await);
    }
    let filter = ConversationFilter::of(alice.clone());
    assert_eq!(titles(&store, &filter).await, ["d", "c", "b", "a"]);
    clock.advance(1);
    store.update(&alice, ids[1], Expected::Anything, Update::default()).await.unwrap();
    assert_eq!(titles(&store, &filter).await, ["b", "d", "c", "a"]);
    clock.advance(1);
    store.update(&alice, ids[0], Expected::Anything, append(&["1"])).await.unwrap();
    assert_eq!(
        titles(&store, &ConversationFilter { limit: 1, ..filter.clone() }).await,
        ["a", "b", "d", "c"]
    );
    // A page of none would never end, and one of all could be any size.
    assert_eq!(
        titles(&store, &ConversationFilter { limit: 0, ..filter.clone() }).await,
        ["a", "b", "d", "c"]
    );
    assert_eq!(
        titles(&store, &ConversationFilter { limit: usize::MAX, ..filter }).await,
        ["a", "b", "d", "c"]
    );
}

pub(crate) async fn time_that_stands_still_or_goes_back_keeps_the_order(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let alice = named("alice");
    let id = create(&store, &alice, "a", &[]).await;
    let mut last = clock.now();
    for seconds in [0, 0, -3600, 10] {
        clock.advance(seconds);
        let saved = store.update(&alice, id, Expected::Anything, Update::default()).await.unwrap();
        assert!(saved.updated_at > last, "{saved:?} after {last}");
        last = saved.updated_at;
    }
    // Of conversations with the same time, none is lost between pages.
    let mut expected = BTreeSet::from(["a".to_owned()]);
    for number in 0..9 {
        let title = number.to_string();
        create(&store, &alice, &title, &[]).await;
        expected.insert(title);
    }
    for limit in [1, 2, 4, 20] {
        let found =
            titles(&store, &ConversationFilter { limit, ..ConversationFilter::of(alice.clone()) }).await;
        assert_eq!(found.len(), 10, "pages of {limit}");
        assert_eq!(BTreeSet::from_iter(found), expected, "pages of {limit}");
    }
}

pub(crate) async fn pages_cover_what_is_not_updated_exactly_once(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let alice = named("alice");
    let mut ids = Vec::new();
    for number in 0..30 {
        clock.advance(1);
        ids.push(create(&store, &alice, &number.to_string(), &[]).await);
    }
    let mut filter = ConversationFilter { limit: 4, ..ConversationFilter::of(alice.clone()) };
    let mut found = Vec::new();
    for page_number in 0.. {
        let page = store.list(&filter).await.unwrap();
        found.extend(page.conversations.into_iter().map(|summary| summary.title));
        // Between pages, one that is still to come and one that is over move to the front, and a new one appears.
        for id in [ids[page_number % 5], ids[29 - page_number % 3]] {
            clock.advance(1);
            store.update(&alice, id, Expected::Anything, Update::default()).await.unwrap();
        }
        create(&store, &alice, "new", &[]).await;
        let Some(next) = page.next else { break };
        filter.after = Some(next);
    }
    let once: Vec<String> = (5..27).rev().map(|number| number.to_string()).collect();
    let unchanged: Vec<String> = found.iter().filter(|title| once.contains(title)).cloned().collect();
    assert_eq!(unchanged, once);
    assert_eq!(found.len(), BTreeSet::from_iter(&found).len(), "none is listed twice: {found:?}");
}

pub(crate) async fn a_search_takes_its_text_literally_and_ignores_case(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let alice = named("alice");
    for (title, messages) in [
        ("percent", &[r#"{"content":"50% off_now \\o/"}"#][..]),
        ("fifty", &[r#"{"content":"500 off-now"}"#]),
        ("Crème Brûlée", &[r#"{"content":"dessert"}"#]),
        ("escaped", &[r#"{"content":"\u00dcber \ud83d\ude00 \"quoted\""}"#]),
        ("second message", &["1", r#"{"deep":[{"er":["Needle in a haystack"]}]}"#]),
        (
            "roles",
            &[
                r#"{"role":"tool","content":[{"type":"text","text":"x"}],"tool_call_id":"call_1","id":"a1b2","correlation_id":"c3"}"#,
            ],
        ),
    ] {
        clock.advance(1);
        create(&store, &alice, title, messages).await;
    }
    create(&store, &named("bob"), "bob's", &[r#""needle""#]).await;
    for (text, expected) in [
        ("50%", &["percent"][..]),
        ("off_now", &["percent"]),
        ("\\O/", &["percent"]),
        ("OFF", &["fifty", "percent"]),
        ("CRÈME", &["Crème Brûlée"]),
        ("über 😀", &["escaped"]),
        ("\"QUOTED\"", &["escaped"]),
        ("needle", &["second message"]),
        ("second", &["second message"]),
        ("content", &[]),
        ("tool", &[]),
        ("text", &[]),
        ("call_1", &[]),
        ("a1b2", &[]),
        ("c3", &[]),
        ("%", &["percent"]),
        ("_", &["percent"]),
        ("'; DROP TABLE conversations; --", &[]),
        ("", &["roles", "second message", "escaped", "Crème Brûlée", "fifty", "percent"]),
    ] {
        for limit in [1, 50] {
            let text = Some(text.to_owned());
            let filter =
                ConversationFilter { text: text.clone(), limit, ..ConversationFilter::of(alice.clone()) };
            assert_eq!(titles(&store, &filter).await, expected, "{text:?}, pages of {limit}");
        }
    }
    // What is found follows what is changed.
    let filter = |text: &str| ConversationFilter {
        text: Some(text.to_owned()),
        ..ConversationFilter::of(alice.clone())
    };
    let found = store.list(&filter("needle")).await.unwrap().conversations[0].id;
    let change = Update {
        title: Some("Other".to_owned()),
        replace: Some(vec![raw("\"pin\"")]),
        ..append(&["\"late\""])
    };
    store.update(&alice, found, Expected::Anything, change).await.unwrap();
    for (text, expected) in [
        ("needle", &[][..]),
        ("second", &[]),
        ("OTHER", &["Other"]),
        ("pin", &["Other"]),
        ("late", &["Other"]),
    ] {
        assert_eq!(titles(&store, &filter(text)).await, expected, "{text}");
    }
}

pub(crate) async fn what_is_not_updated_for_long_is_gone(backend: &impl Backend) {
    let clock = TestClock::new();
    let mut options = clock.options();
    options.ttl = Some(Duration::from_hours(1));
    let store = backend.open(&options).await;
    let alice = named("alice");
    let old = create(&store, &alice, "old", &["1"]).await;
    let used = create(&store, &alice, "used", &["1"]).await;
    let pass = async |seconds: u32| {
        clock.advance(i64::from(seconds));
        backend.pass(Duration::from_secs(seconds.into())).await;
    };
    pass(2400).await;
    let saved = store.update(&alice, used, Expected::Version(1), append(&["2"])).await.unwrap();
    pass(1201).await;
    assert!(store.get(&alice, old).await.unwrap().is_none());
    assert_eq!(titles(&store, &ConversationFilter::of(alice.clone())).await, ["used"]);
    let update = store.update(&alice, old, Expected::Anything, append(&["2"])).await;
    assert!(matches!(update, Err(ConversationError::NotFound)), "{update:?}");
    assert!(!store.delete(&alice, old).await.unwrap());
    assert_eq!(get(&store, &alice, used).await.version, saved.version);
    pass(2400).await;
    assert!(store.get(&alice, used).await.unwrap().is_none());
    // An id that is free again can be given again.
    store.create(NewConversation::new(old, alice.owner(), "new")).await.unwrap();
    assert_eq!(texts(&get(&store, &alice, old).await), [""; 0]);
}

pub(crate) async fn a_conversation_has_a_largest_size(backend: &impl Backend) {
    let clock = TestClock::new();
    let mut options = clock.options();
    options.max_bytes = 1000;
    let store = backend.open(&options).await;
    let alice = named("alice");
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let id = create(&store, &alice, "t", &[&text(500)]).await;
    let too_large = store.update(&alice, id, Expected::Version(1), append(&[&text(500)])).await.unwrap_err();
    assert_eq!(too_large.to_string(), "the conversation would take 1067 bytes, and 1000 are the most");
    let whole = get(&store, &alice, id).await;
    assert_eq!((whole.version, texts(&whole)), (1, vec![&*text(500)]), "nothing is lost");
    store.update(&alice, id, Expected::Version(1), append(&[&text(433)])).await.unwrap();
    for update in [
        Update { title: Some("tt".to_owned()), ..Update::default() },
        Update { metadata: Some(raw("123")), ..Update::default() },
        append(&["1"]),
    ] {
        let refused = store.update(&alice, id, Expected::Anything, update).await;
        assert!(matches!(refused, Err(ConversationError::TooLarge { max: 1000, .. })), "{refused:?}");
    }
}

pub(crate) async fn under_a_lower_bound_a_conversation_can_shrink(backend: &impl Backend) {
    let mut options = TestClock::new().options();
    let alice = named("alice");
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let id = create(&backend.open(&options).await, &alice, "t", &[&text(500), &text(400)]).await;
    options.max_bytes = 100;
    let store = backend.open(&options).await;
    let release = Update { turn: TurnChange::Release, ..Update::default() };
    store.update(&alice, id, Expected::Anything, release).await.unwrap();
    let replace = Update { replace: Some(vec![raw(&text(400))]), ..Update::default() };
    store.update(&alice, id, Expected::Anything, replace).await.unwrap();
    assert_eq!(texts(&get(&store, &alice, id).await), [text(400)]);
    let mut new = NewConversation::new(ConversationId::random().unwrap(), None, "t");
    new.messages = vec![raw(&text(101))];
    assert!(matches!(store.create(new).await, Err(ConversationError::TooLarge { max: 100, .. })));
}

pub(crate) async fn owners_see_only_their_own(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let scopes = [named("alice"), named("Alice"), named(""), Scope::Anonymous];
    let mut ids = Vec::new();
    for (number, scope) in scopes.iter().enumerate() {
        clock.advance(1);
        ids.push(create(&store, scope, &number.to_string(), &["\"secret\""]).await);
    }
    for (own, scope) in scopes.iter().enumerate() {
        for (number, id) in ids.iter().enumerate() {
            let found = store.get(scope, *id).await.unwrap();
            assert_eq!(found.is_some(), own == number, "{scope:?} reads {number}");
            if own != number {
                let update = store.update(scope, *id, Expected::Anything, append(&["1"])).await;
                assert!(
                    matches!(update, Err(ConversationError::NotFound)),
                    "{scope:?} writes {number}: {update:?}"
                );
                assert!(!store.delete(scope, *id).await.unwrap(), "{scope:?} deletes {number}");
            }
        }
        for text in [None, Some("secret".to_owned())] {
            let filter = ConversationFilter { text, ..ConversationFilter::of(scope.clone()) };
            assert_eq!(titles(&store, &filter).await, [own.to_string()], "{filter:?}");
        }
    }
    assert_eq!(titles(&store, &ConversationFilter::of(Scope::All)).await, ["3", "2", "1", "0"]);
    for id in ids {
        assert_eq!(get(&store, &Scope::All, id).await.version, 1);
        assert!(store.delete(&Scope::All, id).await.unwrap());
    }
}

const WRITERS: usize = 32;

pub(crate) async fn of_writers_with_one_version_exactly_one_wins(backend: &impl Backend) {
    let options = TestClock::new().options();
    // Two stores, as two gateways have them.
    let stores = [backend.open(&options).await, backend.open(&options).await];
    let alice = named("alice");
    let id = create(&stores[0], &alice, "t", &[]).await;
    let (stores, scope) = (&stores, &alice);
    let write = async move |number: usize, expected: u64| {
        let update = append(&[&number.to_string()]);
        stores[number % 2].update(scope, id, Expected::Version(expected), update).await
    };
    let all = futures_util::future::join_all((0..WRITERS).map(|number| write(number, 1))).await;
    let winners: Vec<usize> = (0..WRITERS).filter(|number| all[*number].is_ok()).collect();
    assert_eq!(winners.len(), 1, "{all:?}");
    for lost in all.iter().filter_map(|answer| answer.as_ref().err()) {
        assert!(matches!(lost, ConversationError::Conflict { current: 2 }), "{lost:?}");
    }
    // Every loser reads the version again until it lands.
    let retry = async |number: usize| {
        let mut expected = 2;
        loop {
            match write(number, expected).await {
                Ok(saved) => return saved.version,
                Err(ConversationError::Conflict { current }) => expected = current,
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    let losers = (0..WRITERS).filter(|number| !winners.contains(number));
    let versions = futures_util::future::join_all(losers.map(retry)).await;
    let expected: BTreeSet<u64> = (3..=33).collect();
    assert_eq!(BTreeSet::from_iter(versions), expected, "each lands at a version of its own");
    let whole = get(&stores[1], &alice, id).await;
    let landed: BTreeSet<usize> = texts(&whole).iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!((whole.version, whole.messages.len(), landed), (33, WRITERS, (0..WRITERS).collect()));
}

pub(crate) async fn writers_that_only_append_all_land(backend: &impl Backend) {
    let options = TestClock::new().options();
    let stores = [backend.open(&options).await, backend.open(&options).await];
    let alice = named("alice");
    let id = create(&stores[0], &alice, "t", &["\"first\""]).await;
    let write = async |number: usize| {
        let update = append(&[&format!("\"{number}a\""), &format!("\"{number}b\"")]);
        stores[number % 2].update(&alice, id, Expected::Anything, update).await.unwrap().version
    };
    let versions = futures_util::future::join_all((0..WRITERS).map(write)).await;
    assert_eq!(BTreeSet::from_iter(versions), (2..=33).collect::<BTreeSet<u64>>());
    let whole = get(&stores[0], &alice, id).await;
    let landed = texts(&whole);
    assert_eq!((landed[0], landed.len()), ("\"first\"", 1 + 2 * WRITERS));
    for pair in landed[1..].chunks(2) {
        assert_eq!(pair[0].replace('a', "b"), pair[1], "messages of one update stay together: {landed:?}");
    }
}

pub(crate) async fn a_turn_is_held_by_one_until_its_time_is_over(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let alice = named("alice");
    let id = create(&store, &alice, "t", &[]).await;
    let lease = |holder: &str, until| TurnLease { holder: holder.to_owned(), until };
    let take = |holder: &str, seconds: i64| Update {
        turn: TurnChange::Take(lease(holder, clock.after(seconds))),
        ..Update::default()
    };
    let holder = |name: &str| Expected::Holder(name.to_owned());
    // Two take it at once, having read the same version.
    let (first, second) = tokio::join!(
        store.update(&alice, id, Expected::Version(1), take("a", 60)),
        store.update(&alice, id, Expected::Version(1), take("b", 60)),
    );
    let (winner, loser) = match (&first, &second) {
        (Ok(_), Err(ConversationError::Conflict { current: 2 })) => ("a", "b"),
        (Err(ConversationError::Conflict { current: 2 }), Ok(_)) => ("b", "a"),
        other => panic!("exactly one wins: {other:?}"),
    };
    // Who reads the new version learns who has it; who ignores that is refused.
    for expected in [Expected::Version(2), Expected::Anything] {
        match store.update(&alice, id, expected, take(loser, 60)).await {
            Err(ConversationError::Held { turn }) => assert_eq!(turn, lease(winner, clock.after(60))),
            other => panic!("{other:?}"),
        }
    }
    // Others may rename it meanwhile, and the holder's answer still lands.
    let rename = Update { title: Some("new".to_owned()), ..Update::default() };
    store.update(&alice, id, Expected::Version(2), rename).await.unwrap();
    let not_held = store.update(&alice, id, holder(loser), append(&["0"])).await;
    assert!(matches!(not_held, Err(ConversationError::Conflict { current: 3 })), "{not_held:?}");
    clock.advance(30);
    let extended = Update { turn: take(winner, 60).turn, ..append(&["1"]) };
    store.update(&alice, id, holder(winner), extended).await.unwrap();
    clock.advance(59);
    let refused = store.update(&alice, id, Expected::Anything, take(loser, 60)).await;
    assert!(matches!(refused, Err(ConversationError::Held { .. })), "{refused:?}");
    // Over time, another takes it, and who was late notices.
    clock.advance(1);
    assert_eq!(get(&store, &alice, id).await.turn, Some(lease(winner, clock.now())));
    store.update(&alice, id, Expected::Version(4), take(loser, 60)).await.unwrap();
    let late = store.update(&alice, id, holder(winner), append(&["2"])).await;
    assert!(matches!(late, Err(ConversationError::Conflict { current: 5 })), "{late:?}");
    let done = Update { turn: TurnChange::Release, ..append(&["3"]) };
    store.update(&alice, id, holder(loser), done).await.unwrap();
    let whole = get(&store, &alice, id).await;
    assert_eq!((whole.turn.clone(), &*whole.title, texts(&whole)), (None, "new", vec!["1", "3"]));
    let free = store.update(&alice, id, holder(loser), append(&["4"])).await;
    assert!(matches!(free, Err(ConversationError::Conflict { current: 6 })), "{free:?}");
}

pub(crate) async fn a_change_is_made_wholly_or_not_at_all(backend: &impl Backend) {
    let store = backend.open(&TestClock::new().options()).await;
    let alice = named("alice");
    let id = create(&store, &alice, "t", &["1"]).await;
    let before = get(&store, &alice, id).await.to_json();
    let change = || Update {
        title: Some("changed".to_owned()),
        replace: Some(Vec::new()),
        metadata: Some(raw("7")),
        turn: TurnChange::Release,
        ..append(&["2"])
    };
    for expected in [
        Expected::Version(0),
        Expected::Version(2),
        Expected::Version(u64::MAX),
        Expected::Holder("me".to_owned()),
    ] {
        let refused = store.update(&alice, id, expected, change()).await;
        assert!(matches!(refused, Err(ConversationError::Conflict { current: 1 })), "{refused:?}");
    }
    assert_eq!(get(&store, &alice, id).await.to_json(), before);
}

pub(crate) async fn messages_can_be_replaced(backend: &impl Backend) {
    let store = backend.open(&TestClock::new().options()).await;
    let alice = named("alice");
    let id = create(&store, &alice, "t", &["1", "2", "3"]).await;
    let replace = |messages: &[&str], more: &[&str]| Update {
        replace: Some(messages.iter().map(|message| raw(message)).collect()),
        ..append(more)
    };
    for (update, expected) in [
        (replace(&["4"], &[]), &["4"][..]),
        (replace(&["5", "6"], &["7"]), &["5", "6", "7"]),
        (append(&["8"]), &["5", "6", "7", "8"]),
        (replace(&[], &[]), &[]),
        (append(&["9"]), &["9"]),
    ] {
        store.update(&alice, id, Expected::Anything, update).await.unwrap();
        assert_eq!(texts(&get(&store, &alice, id).await), expected);
        let page = store.list(&ConversationFilter::of(alice.clone())).await.unwrap();
        assert_eq!(page.conversations[0].message_count, u64::try_from(expected.len()).unwrap());
    }
}

pub(crate) async fn values_are_kept_until_they_expire(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let hour = Duration::from_hours(1);
    assert_eq!(store.kept("a").await.unwrap(), None);
    store.keep("a", b"one", hour).await.unwrap();
    store.keep("b", b"two", 2 * hour).await.unwrap();
    store.keep("a", b"three", hour).await.unwrap();
    assert_eq!(store.kept("a").await.unwrap().as_deref(), Some(&b"three"[..]));
    clock.advance(3601);
    backend.pass(Duration::from_secs(3601)).await;
    assert_eq!(store.kept("a").await.unwrap(), None);
    assert_eq!(store.take("a").await.unwrap(), None);
    assert_eq!(store.kept("b").await.unwrap().as_deref(), Some(&b"two"[..]));
    // They are no conversations.
    assert_eq!(titles(&store, &ConversationFilter::of(Scope::All)).await, [""; 0]);
}

pub(crate) async fn a_value_is_taken_once(backend: &impl Backend) {
    let options = TestClock::new().options();
    let stores = [backend.open(&options).await, backend.open(&options).await];
    stores[0].keep("turn", b"state", Duration::from_mins(1)).await.unwrap();
    let take = async |number: usize| stores[number % 2].take("turn").await.unwrap();
    let mut all = futures_util::future::join_all((0..WRITERS).map(take)).await;
    all.retain(Option::is_some);
    assert_eq!(all, [Some(b"state".to_vec())]);
}

pub(crate) async fn of_several_new_values_the_first_stays(backend: &impl Backend) {
    let clock = TestClock::new();
    let stores = [backend.open(&clock.options()).await, backend.open(&clock.options()).await];
    let hour = Duration::from_hours(1);
    let keep = async |number: usize| {
        let value = number.to_string();
        let is_kept = stores[number % 2].keep_new("key", value.as_bytes(), hour).await.unwrap();
        is_kept.then_some(value)
    };
    let all = futures_util::future::join_all((0..WRITERS).map(keep)).await;
    let kept: Vec<String> = all.into_iter().flatten().collect();
    let [kept] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(stores[0].kept("key").await.unwrap().as_deref(), Some(kept.as_bytes()));
    clock.advance(3601);
    backend.pass(Duration::from_secs(3601)).await;
    // What has expired is not there.
    assert!(stores[1].keep_new("key", b"later", hour).await.unwrap());
    assert_eq!(stores[0].kept("key").await.unwrap().as_deref(), Some(&b"later"[..]));
}

pub(crate) async fn keys_and_values_have_a_largest_size(backend: &impl Backend) {
    let mut options = TestClock::new().options();
    options.max_value_bytes = 100;
    let store = backend.open(&options).await;
    let minute = Duration::from_mins(1);
    store.keep(&"k".repeat(512), &[0; 100], minute).await.unwrap();
    for (key, value) in [(513, 1), (1, 101)] {
        let refused = store.keep(&"k".repeat(key), &vec![0; value], minute).await;
        assert!(matches!(refused, Err(ConversationError::TooLarge { .. })), "{key}, {value}: {refused:?}");
    }
    assert_eq!(store.kept("k").await.unwrap(), None);
}

pub(crate) async fn what_was_written_is_there_after_opening_again(backend: &impl Backend) {
    let clock = TestClock::new();
    let store = backend.open(&clock.options()).await;
    let alice = named("alice");
    let id = create(&store, &alice, "t", &["1"]).await;
    store.update(&alice, id, Expected::Anything, append(&["2"])).await.unwrap();
    store.keep("k", b"v", Duration::from_mins(1)).await.unwrap();
    let before = get(&store, &alice, id).await.to_json();
    let again = backend.open(&clock.options()).await;
    drop(store);
    assert_eq!(get(&again, &alice, id).await.to_json(), before);
    assert_eq!(again.kept("k").await.unwrap().as_deref(), Some(&b"v"[..]));
}
