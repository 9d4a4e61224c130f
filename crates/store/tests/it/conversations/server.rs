//! Servers that stall, end and come back.

use std::time::Duration;

use gateway_store::conversations::{self, ConversationError, Expected, Location, Scope};

use super::backend::{Store, TestClock, append, create, get, named, texts};
use crate::services::Server;

/// A store on a server that is disturbed in every way.
pub(crate) async fn a_server_that_stalls_or_restarts_costs_errors_in_time_and_nothing_else(
    mut server: Server,
    location: Location,
) {
    let clock = TestClock::new();
    let mut options = clock.options();
    options.deadline = Duration::from_millis(500);
    options.connections = 2;
    let store = conversations::open(&location, &options).await.unwrap();
    let alice = named("alice");
    let id = create(&store, &alice, "t", &["1"]).await;

    server.order("pause");
    // More at once than there are connections: those that wait for one have a deadline too.
    let reads = futures_util::future::join_all((0..6).map(|_| store.get(&alice, id))).await;
    for read in reads {
        assert!(matches!(read, Err(ConversationError::Timeout { .. })), "{read:?}");
    }
    let ping = store.ping().await.unwrap_err();
    assert!(matches!(ping, ConversationError::Timeout { .. }), "{ping:?}");
    assert!(!format!("{ping} {ping:?}").contains("secret"), "{ping:?}");
    server.order("resume");
    // It may still have to answer those who are gone.
    let mut patient = options.clone();
    patient.deadline = Duration::from_secs(30);
    let other = conversations::open(&location, &patient).await.unwrap();
    until_it_works(&other).await;
    assert_eq!(texts(&get(&store, &alice, id).await), ["1"], "the same store works again");
    store.update(&alice, id, Expected::Version(1), append(&["2"])).await.unwrap();

    server.order("stop");
    let gone = store.get(&alice, id).await.unwrap_err();
    assert!(
        matches!(gone, ConversationError::Unavailable { .. } | ConversationError::Timeout { .. }),
        "{gone:?}"
    );
    assert!(!format!("{gone:?} {store:?} {location:?}").contains("secret"), "{gone:?} {store:?}");
    let refused = conversations::open(&location, &options).await;
    assert!(refused.is_err(), "who starts without a server learns it at once");
    server.order("start");
    until_it_works(&other).await;
    let whole = get(&store, &Scope::All, id).await;
    assert_eq!((whole.version, texts(&whole)), (2, vec!["1", "2"]), "nothing is lost");
    store.update(&alice, id, Expected::Version(2), append(&["3"])).await.unwrap();
}

/// A server that listens again may still be reading its data.
async fn until_it_works(store: &Store) {
    let deadline = std::time::Instant::now() + crate::LONG;
    while let Err(error) = store.ping().await {
        assert!(std::time::Instant::now() < deadline, "{error:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
