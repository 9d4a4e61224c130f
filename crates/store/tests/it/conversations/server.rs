//! Servers that stall, end and come back.

use std::time::Duration;

use gateway_store::conversations::{self, ConversationError, Expected, Location, Scope};

use super::backend::{TestClock, append, create, named, texts};
use crate::services::Server;

/// A store on a server that is disturbed in every way.
pub(crate) async fn a_server_that_stalls_or_restarts_costs_errors_in_time_and_nothing_else(
    mut server: Server,
    location: Location,
) {
    let clock = TestClock::new();
    let mut options = clock.options();
    options.deadline = crate::LONG;
    let patient = conversations::open(&location, &options).await.unwrap();
    options.deadline = Duration::from_millis(500);
    options.connections = 2;
    let store = eventually(async || conversations::open(&location, &options).await).await;
    let alice = named("alice");
    let id = create(&patient, &alice, "t", &["1"]).await;
    eventually(async || store.get(&alice, id).await).await;

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
    let whole = eventually(async || store.get(&alice, id).await).await.unwrap();
    assert_eq!(texts(&whole), ["1"], "the same store works again");
    patient.update(&alice, id, Expected::Version(1), append(&["2"])).await.unwrap();

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
    let whole = eventually(async || store.get(&Scope::All, id).await).await.unwrap();
    assert_eq!((whole.version, texts(&whole)), (2, vec!["1", "2"]), "nothing is lost");
    patient.update(&alice, id, Expected::Version(2), append(&["3"])).await.unwrap();
}

/// Tries until something works: its deadline is short, and this machine may be slow.
pub(crate) async fn eventually<T>(attempt: impl AsyncFn() -> Result<T, ConversationError>) -> T {
    let until = std::time::Instant::now() + crate::LONG;
    loop {
        match attempt().await {
            Ok(answer) => return answer,
            Err(error) => assert!(std::time::Instant::now() < until, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
