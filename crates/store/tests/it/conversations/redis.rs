//! Conversations in Redis.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use gateway_store::Address;
use gateway_store::conversations::{
    self, ConversationError, ConversationFilter, ConversationOptions, Expected, Location, NewConversation,
    Scope,
};

use super::backend::{Backend, Store, TestClock, append, create, get, named, texts, titles};
use crate::services::{Server, variable};

/// A database of the server that the tests share.
struct Redis {
    address: String,
    database: String,
}

impl Redis {
    fn new() -> Self {
        let url = variable("GATEWAY_TEST_REDIS_URL");
        let base = url.strip_suffix("/0").unwrap();
        let first = Self { address: url.clone(), database: "0".to_owned() };
        let database = first.call(&["INCR", "test:databases"]);
        Self { address: format!("{base}/{database}"), database }
    }

    fn location(&self) -> Location {
        Location::Redis(Address::redis(&self.address).unwrap())
    }

    /// What Redis answers to a command: the text of it, lists line by line.
    fn call(&self, command: &[&str]) -> String {
        let host = self.address.rsplit_once('@').unwrap().1.split('/').next().unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let mut answer = String::new();
        for command in [&["AUTH", "red@s/secret"], &["SELECT", &self.database][..], command] {
            let mut wire = format!("*{}\r\n", command.len());
            for part in command {
                write!(wire, "${}\r\n{part}\r\n", part.len()).unwrap();
            }
            stream.write_all(wire.as_bytes()).unwrap();
            answer = reply(&mut BufReader::with_capacity(1, &stream));
        }
        answer
    }
}

fn reply(stream: &mut BufReader<&TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let (kind, rest) = line.trim_end().split_at(1);
    match kind {
        "$" if rest == "-1" => "nil".to_owned(),
        "$" => {
            let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
            stream.read_exact(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap().trim_end().to_owned()
        }
        "*" => {
            let all: Vec<String> = (0..rest.parse::<usize>().unwrap()).map(|_| reply(stream)).collect();
            all.join("\n")
        }
        _ => rest.to_owned(),
    }
}

impl Backend for Redis {
    async fn open(&self, options: &ConversationOptions) -> Store {
        conversations::open(&self.location(), options).await.unwrap()
    }

    /// Every expiry comes so much nearer.
    async fn pass(&self, time: Duration) {
        for key in self.call(&["KEYS", "*"]).lines() {
            let left: i64 = self.call(&["PTTL", key]).parse().unwrap();
            if left > 0 {
                let left = left - i64::try_from(time.as_millis()).unwrap();
                self.call(&["PEXPIRE", key, &left.to_string()]);
            }
        }
    }
}

mod contract {
    super::super::contract_tests!(std::future::ready(super::Redis::new()), #[ignore = "needs scripts/services"]);
    super::super::contract_tests!(opened again: std::future::ready(super::Redis::new()), #[ignore = "needs scripts/services"]);
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn other_programs_can_read_what_is_kept() {
    let redis = Redis::new();
    let mut options = TestClock::new().options();
    options.ttl = Some(Duration::from_hours(1));
    let store = redis.open(&options).await;
    let id = create(&store, &named("alice"), "T", &[r#"{"role":"user"}"#]).await;
    assert_eq!(
        redis.call(&["GET", &format!("conversation:{id}")]),
        format!(
            r#"{{"id":"{id}","title":"T","messages":[{{"role":"user"}}],"created_at":"2026-11-03T10:00:00.000000Z","updated_at":"2026-11-03T10:00:00.000000Z","owner":"alice","version":1,"turn":null,"metadata":{{}}}}"#
        )
    );
    assert_eq!(
        redis.call(&["ZRANGE", "conversations:list", "0", "-1", "WITHSCORES"]),
        format!("{id}\n1793700000")
    );
    let left: i64 = redis.call(&["PTTL", &format!("conversation:{id}")]).parse().unwrap();
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    assert!(store.delete(&named("alice"), id).await.unwrap());
    assert_eq!(redis.call(&["DBSIZE"]), "0", "both keys are gone");
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn what_other_programs_write_is_kept_and_their_changes_are_conflicts() {
    let redis = Redis::new();
    let store = redis.open(&TestClock::new().options()).await;
    let id = "6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d";
    let key = format!("conversation:{id}");
    let theirs = |title: &str| {
        format!(
            r#"{{"id": "{id}", "title": "{title}", "messages": [1], "created_at": "2026-11-03T09:00:00", "updated_at": "2026-11-03T09:30:00", "model": 1.0}}"#
        )
    };
    redis.call(&["SET", &key, &theirs("Theirs")]);
    redis.call(&["ZADD", "conversations:list", "1793698200.5", id]);
    let id = id.parse().unwrap();
    assert_eq!(titles(&store, &ConversationFilter::of(Scope::Anonymous)).await, ["Theirs"]);
    assert_eq!(get(&store, &Scope::Anonymous, id).await.version, 1);
    store.update(&Scope::Anonymous, id, Expected::Version(1), append(&["2"])).await.unwrap();
    let value = redis.call(&["GET", &key]);
    assert!(value.contains(r#""messages":[1,2]"#) && value.ends_with(r#","model":1.0}"#), "{value}");
    redis.call(&["SET", &key, &theirs("Changed")]);
    let conflict = store.update(&Scope::Anonymous, id, Expected::Version(2), append(&["3"])).await;
    assert!(matches!(conflict, Err(ConversationError::Conflict { current: 1 })), "{conflict:?}");
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_damaged_value_counts_as_missing() {
    let redis = Redis::new();
    let clock = TestClock::new();
    let store = redis.open(&clock.options()).await;
    let alice = named("alice");
    for damage in ["", "{", "no JSON", "[]", "{\"id\":1}", "\u{0}"] {
        clock.advance(1);
        let id = create(&store, &alice, "damaged", &["1"]).await;
        redis.call(&["SET", &format!("conversation:{id}"), damage]);
        assert!(store.get(&alice, id).await.unwrap().is_none(), "{damage}");
        assert!(!store.delete(&alice, id).await.unwrap(), "{damage}");
        let update = store.update(&alice, id, Expected::Anything, append(&["2"])).await;
        assert!(matches!(update, Err(ConversationError::NotFound)), "{damage}: {update:?}");
        let again = store.create(NewConversation::new(id, alice.owner(), "again")).await;
        assert!(matches!(again, Err(ConversationError::Exists)), "it is not overwritten: {again:?}");
    }
    let whole = create(&store, &alice, "whole", &["1"]).await;
    let other = create(&store, &alice, "another kind of value", &["1"]).await;
    redis.call(&["DEL", &format!("conversation:{other}")]);
    redis.call(&["LPUSH", &format!("conversation:{other}"), "x"]);
    assert!(store.get(&alice, other).await.unwrap().is_none());
    assert!(!store.delete(&alice, other).await.unwrap());
    let again = store.create(NewConversation::new(other, alice.owner(), "again")).await;
    assert!(matches!(again, Err(ConversationError::Exists)), "{again:?}");
    // Scores that are no times come first and last.
    for (score, id) in [("inf", "foo"), ("-inf", "bar"), ("1e300", &*other.to_string())] {
        redis.call(&["ZADD", "conversations:list", score, id]);
    }
    for limit in [1, 50] {
        let filter = ConversationFilter { limit, ..ConversationFilter::of(alice.clone()) };
        assert_eq!(titles(&store, &filter).await, ["whole"]);
        // The answers that follow belong to the commands that follow.
        assert_eq!(texts(&get(&store, &alice, whole).await), ["1"]);
    }
}

/// Nobody has to list conversations for the list not to grow without end.
#[tokio::test]
#[ignore = "needs scripts/services"]
async fn ids_of_values_that_have_expired_are_removed_by_those_who_write() {
    let redis = Redis::new();
    let clock = TestClock::new();
    let mut options = clock.options();
    options.ttl = Some(Duration::from_hours(1));
    let store = redis.open(&options).await;
    let alice = named("alice");
    // Somebody else's stay, and do not stand in the way.
    for number in 0..150 {
        redis.call(&["SET", &format!("conversation:theirs-{number}"), "x"]);
        redis.call(&["ZADD", "conversations:list", "1", &format!("theirs-{number}")]);
    }
    for number in 0..250 {
        create(&store, &alice, &number.to_string(), &[]).await;
    }
    clock.advance(7_200);
    redis.pass(Duration::from_hours(2)).await;
    for _ in 0..5 {
        create(&store, &alice, "new", &[]).await;
    }
    assert_eq!(redis.call(&["ZCARD", "conversations:list"]), "155");
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn an_id_without_a_value_is_skipped_and_removed() {
    let redis = Redis::new();
    let clock = TestClock::new();
    let store = redis.open(&clock.options()).await;
    let alice = named("alice");
    let mut ids = Vec::new();
    for number in 0..200 {
        clock.advance(1);
        ids.push(create(&store, &alice, &number.to_string(), &[]).await);
    }
    for id in &ids[10..190] {
        redis.call(&["DEL", &format!("conversation:{id}")]);
    }
    // Nobody knows what this is, so it stays.
    redis.call(&["ZADD", "conversations:list", "1793700100", "no id"]);
    let filter = ConversationFilter { limit: 3, ..ConversationFilter::of(alice) };
    let expected: Vec<String> = (0..10).chain(190..200).rev().map(|number: u32| number.to_string()).collect();
    assert_eq!(titles(&store, &filter).await, expected);
    assert_eq!(redis.call(&["ZCARD", "conversations:list"]), "21");
    assert_eq!(titles(&store, &filter).await, expected);
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_server_that_stalls_or_restarts_costs_errors_in_time_and_nothing_else() {
    let server = Server::start("redis");
    let location = Location::Redis(Address::redis(&server.url).unwrap());
    super::server::a_server_that_stalls_or_restarts_costs_errors_in_time_and_nothing_else(server, location)
        .await;
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_wrong_password_or_database_is_an_error_without_it() {
    let redis = Redis::new();
    let wrong = redis.address.replace("red%40s%2Fsecret", "hunter2");
    let no_database = format!("{}99999", redis.address);
    for address in [wrong, no_database] {
        let location = Location::Redis(Address::redis(&address).unwrap());
        let error = conversations::open(&location, &ConversationOptions::default()).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(matches!(error, ConversationError::Unavailable { .. }), "{text}");
        assert!(!text.contains("hunter2") && !text.contains("secret"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_at_the_start() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let location = Location::Redis(Address::redis(&format!("redis://:hunter2@127.0.0.1:{port}")).unwrap());
    let error = conversations::open(&location, &ConversationOptions::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("conversations in `redis://127.0.0.1:{port}`, looking whether it works")
    );
}

#[tokio::test]
async fn a_server_that_never_answers_is_an_error_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("redis://:hunter2@{}", listener.local_addr().unwrap());
    let mut options = ConversationOptions::default();
    options.deadline = Duration::from_millis(50);
    let location = Location::Redis(Address::redis(&address).unwrap());
    let error = conversations::open(&location, &options).await.unwrap_err();
    assert!(matches!(error, ConversationError::Timeout { .. }), "{error:?}");
    assert!(!format!("{error:?} {location:?}").contains("hunter2"));
}
