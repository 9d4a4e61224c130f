//! Conversations in PostgreSQL.

use std::time::Duration;

use gateway_store::Address;
use gateway_store::conversations::{self, ConversationError, ConversationOptions, Location};
use sqlx::Connection as _;

use super::backend::{Backend, Store, TestClock, append, create, get, named, texts};
use super::server::eventually;
use crate::services::{Server, execute, new_database};

/// A database of its own.
struct Postgres {
    address: String,
}

impl Postgres {
    fn new() -> Self {
        Self { address: new_database() }
    }

    fn location(&self) -> Location {
        Location::Postgres(Address::postgres(&self.address).unwrap())
    }
}

impl Backend for Postgres {
    async fn open(&self, options: &ConversationOptions) -> Store {
        conversations::open(&self.location(), options).await.unwrap()
    }
}

mod contract {
    super::super::contract_tests!(std::future::ready(super::Postgres::new()), #[ignore = "needs scripts/services"]);
    super::super::contract_tests!(opened again: std::future::ready(super::Postgres::new()), #[ignore = "needs scripts/services"]);
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn gateways_that_start_at_once_set_up_one_schema() {
    let postgres = Postgres::new();
    let options = TestClock::new().options();
    let stores = futures_util::future::join_all((0..8).map(|_| postgres.open(&options))).await;
    let id = create(&stores[0], &named("a"), "t", &[]).await;
    for store in &stores {
        assert_eq!(get(store, &named("a"), id).await.title, "t");
    }
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_newer_schema_is_refused() {
    let postgres = Postgres::new();
    let options = TestClock::new().options();
    drop(postgres.open(&options).await);
    execute(&postgres.address, "UPDATE gateway_schema SET version = 99 WHERE component = 'conversations'");
    let error = conversations::open(&postgres.location(), &options).await.unwrap_err();
    assert!(matches!(error, ConversationError::Newer { found: 99, known: 1, .. }), "{error:?}");
}

/// However many expire at once, they are deleted as fast as others are written; and who writes does not have to care.
#[tokio::test]
#[ignore = "needs scripts/services"]
async fn what_has_expired_is_deleted_by_those_who_write() {
    let postgres = Postgres::new();
    let clock = TestClock::new();
    let mut options = clock.options();
    options.ttl = Some(Duration::from_hours(1));
    let store = postgres.open(&options).await;
    let alice = named("alice");
    for number in 0..250 {
        create(&store, &alice, &number.to_string(), &["1"]).await;
    }
    clock.advance(7_200);
    for _ in 0..4 {
        create(&store, &alice, "new", &["1"]).await;
    }
    let mut other = sqlx::PgConnection::connect(&postgres.address).await.unwrap();
    let count = "SELECT count(*) FROM gateway_conversations";
    let count: i64 = sqlx::query_scalar(count).fetch_one(&mut other).await.unwrap();
    assert_eq!(count, 4);
    // A sweep that fails takes no change with it.
    execute(
        &postgres.address,
        "CREATE FUNCTION refuse() RETURNS trigger AS 'BEGIN RAISE EXCEPTION ''no''; END' LANGUAGE plpgsql",
    );
    let refuse = "CREATE TRIGGER refuse BEFORE DELETE ON gateway_kept EXECUTE FUNCTION refuse()";
    execute(&postgres.address, refuse);
    clock.advance(3_000);
    let id = create(&store, &alice, "kept", &["1"]).await;
    assert_eq!(texts(&get(&store, &alice, id).await), ["1"]);
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_row_that_somebody_locks_is_an_error_in_time() {
    let postgres = Postgres::new();
    let mut options = TestClock::new().options();
    let patient = postgres.open(&options).await;
    options.deadline = Duration::from_millis(200);
    let store = eventually(async || conversations::open(&postgres.location(), &options).await).await;
    let alice = named("alice");
    let id = create(&patient, &alice, "t", &["1"]).await;
    let mut other = sqlx::PgConnection::connect(&postgres.address).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT 1 FROM gateway_conversations FOR UPDATE").execute(&mut other).await.unwrap();
    let late = store.update(&alice, id, conversations::Expected::Version(1), append(&["2"])).await;
    assert!(
        matches!(late, Err(ConversationError::Timeout { .. } | ConversationError::Unavailable { .. })),
        "{late:?}"
    );
    assert_eq!(texts(&get(&patient, &alice, id).await), ["1"], "who reads does not wait");
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    patient.update(&alice, id, conversations::Expected::Version(1), append(&["3"])).await.unwrap();
    assert_eq!(texts(&get(&patient, &alice, id).await), ["1", "3"]);
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_server_that_stalls_or_restarts_costs_errors_in_time_and_nothing_else() {
    let server = Server::start("postgres");
    let location = Location::Postgres(Address::postgres(&server.url).unwrap());
    super::server::a_server_that_stalls_or_restarts_costs_errors_in_time_and_nothing_else(server, location)
        .await;
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn a_wrong_password_or_database_is_an_error_without_it() {
    let postgres = Postgres::new();
    let wrong = postgres.address.replace("pg%40s%2Fsecret", "hunter2");
    let no_database = format!("{}x", postgres.address);
    for address in [wrong, no_database] {
        let location = Location::Postgres(Address::postgres(&address).unwrap());
        let error = conversations::open(&location, &ConversationOptions::default()).await.unwrap_err();
        let text = format!("{error} {error:?} {location:?}");
        assert!(matches!(error, ConversationError::Unavailable { .. }), "{text}");
        assert!(!text.contains("hunter2") && !text.contains("secret"), "{text}");
    }
}

/// A password that stands in the wrong place is shown no more than one in the right one.
#[tokio::test]
async fn parameters_that_are_not_known_are_refused_by_name() {
    for (parameter, part) in [
        ("passwd=hunter2", "unknown parameter `passwd`"),
        ("sslmode=hunter2", "check its port"),
        ("port=hunter2", "check its port"),
    ] {
        let address = Address::postgres(&format!("postgres://me@127.0.0.1:1/x?{parameter}")).unwrap();
        let location = Location::Postgres(address);
        let error = conversations::open(&location, &ConversationOptions::default()).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(part) && !format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_an_error_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("postgres://me:hunter2@{}/x?sslmode=disable", listener.local_addr().unwrap());
    let mut options = ConversationOptions::default();
    options.deadline = Duration::from_millis(50);
    let location = Location::Postgres(Address::postgres(&address).unwrap());
    let error = conversations::open(&location, &options).await.unwrap_err();
    assert!(matches!(error, ConversationError::Timeout { .. }), "{error:?}");
    assert!(!format!("{error:?} {location:?}").contains("hunter2"));
}
