//! TLS to servers: it works with an authority that is trusted, and with no other.

use std::process::Command;

use gateway_store::conversations::{self, ConversationOptions, Location};
use gateway_store::{Address, CallLog, Filter, Options};

use crate::services::Server;
use crate::{ids, record, write};

/// What rustls trusts in place of the system's authorities.
const TRUSTED: &str = "SSL_CERT_FILE";

/// Set for the process that trusts the authority: the address of its server.
const ADDRESS: &str = "GATEWAY_TEST_TLS_ADDRESS";

#[test]
#[ignore = "needs scripts/services"]
fn the_log_speaks_tls_with_a_postgresql_that_is_trusted() {
    let server = Server::start("postgres-tls");
    let authority = server.authority.as_deref().unwrap();
    let open = |parameters: &str| {
        let address = Address::postgres(&format!("{}?{parameters}", server.url)).unwrap();
        CallLog::open_postgres(&address, &Options::default())
    };
    let log = open(&format!("sslmode=verify-full&sslrootcert={authority}")).unwrap();
    write(&log, [record(1)]);
    assert_eq!(ids(&log, &Filter::default()), [1]);
    drop(log);
    let error = open("sslmode=verify-full").unwrap_err();
    let chain = with_causes(&error);
    assert!(chain.contains("certificate") && !chain.contains("secret"), "{chain}");
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Which authorities are trusted is the process's choice, so this test runs itself again in another one.
#[test]
#[ignore = "needs scripts/services"]
fn conversations_speak_tls_with_a_redis_that_is_trusted() {
    if let Ok(address) = std::env::var(ADDRESS) {
        return open_redis(&address).unwrap();
    }
    let server = Server::start("redis-tls");
    let authority = server.authority.as_deref().unwrap();
    let error = open_redis(&server.url).unwrap_err();
    assert!(error.contains("certificate") && !error.contains("secret"), "{error}");
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tls::conversations_speak_tls_with_a_redis_that_is_trusted", "--ignored"])
        .env(TRUSTED, authority)
        .env(ADDRESS, &server.url)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && output.contains("1 passed"), "{output}");
}

fn open_redis(address: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let location = Location::Redis(Address::redis(address).unwrap());
        let options = ConversationOptions::default();
        let store = conversations::open(&location, &options).await.map_err(|error| with_causes(&error))?;
        store.ping().await.map_err(|error| with_causes(&error))
    })
}
