//! Conversations in PostgreSQL.

mod statements;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use sqlx::postgres::PgConnection;

use self::statements::Fault;
use super::{
    Answer, ConversationStore,
    error::ConversationError,
    id::ConversationId,
    options::ConversationOptions,
    page::{ConversationFilter, ConversationPage},
    types::{Conversation, Expected, NewConversation, Saved, Scope, Update},
};
use crate::{
    address::Address,
    postgres::{Access, MigrateError, Postgres},
};

/// Conversations in a PostgreSQL database, in tables whose names begin with `gateway_`. Several gateways can share it.
#[derive(Debug)]
pub struct PostgresConversations {
    place: Arc<str>,
    options: ConversationOptions,
    server: Postgres,
    /// When to look for what is gone, in microseconds.
    sweep_at: AtomicI64,
}

const SWEEP_INTERVAL: i64 = 60_000_000;

impl PostgresConversations {
    /// Connects to a database, and creates the tables if there are none.
    pub async fn open(address: &Address, options: &ConversationOptions) -> Result<Self, ConversationError> {
        let place: Arc<str> = format!("`{address}`").into();
        let attempt = "setting up";
        let unavailable = |cause: Box<dyn std::error::Error + Send + Sync>| ConversationError::Unavailable {
            place: Arc::clone(&place),
            attempt,
            cause,
        };
        let server = Postgres::new(address, options.connections, options.deadline)
            .map_err(|cause| unavailable(cause.into()))?;
        let within = options.deadline;
        let migrated = tokio::time::timeout(within, server.migrate("conversations", statements::MIGRATIONS));
        match migrated.await {
            Err(_) => return Err(ConversationError::Timeout { place, attempt, within }),
            Ok(Err(MigrateError::Newer { found, known })) => {
                return Err(ConversationError::Newer { place, found, known });
            }
            Ok(Err(MigrateError::Database(cause))) => return Err(unavailable(cause.into())),
            Ok(Ok(())) => {}
        }
        Ok(Self { place, options: options.clone(), server, sweep_at: AtomicI64::new(i64::MIN) })
    }

    /// Runs an operation within its deadline.
    fn run<'a, T: Send + 'a>(
        &'a self,
        attempt: &'static str,
        work: impl Future<Output = Result<T, Fault>> + Send + 'a,
    ) -> Answer<'a, T> {
        let within = self.options.deadline;
        Box::pin(async move {
            let place = || Arc::clone(&self.place);
            match tokio::time::timeout(within, work).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(Fault::Refused(error))) => Err(error),
                Ok(Err(Fault::Database(cause))) => {
                    Err(ConversationError::Unavailable { place: place(), attempt, cause: cause.into() })
                }
                Err(_) => {
                    // What one connection waits for in vain, the others do too.
                    self.server.clear();
                    Err(ConversationError::Timeout { place: place(), attempt, within })
                }
            }
        })
    }

    async fn write<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let begun = Instant::now();
        let answer = self.server.transaction(Access::Write, work).await?;
        // In a transaction of its own, and in what is left of the time: whether it works is not the caller's affair.
        let left = self.options.deadline.saturating_sub(begun.elapsed()) / 2;
        if tokio::time::timeout(left, self.sweep()).await.is_err() {
            tracing::warn!("Deleting old conversations takes too long.");
        }
        Ok(answer)
    }

    /// Deletes some of what is gone, once a minute, or again at once if that was not all.
    async fn sweep(&self) {
        let now = self.options.micros();
        if now < self.sweep_at.load(Ordering::Relaxed) {
            return;
        }
        self.sweep_at.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
        let sweep = async |connection: &mut PgConnection| statements::sweep(connection, &self.options).await;
        match self.server.transaction(Access::Write, sweep).await {
            Ok(false) => {}
            Ok(true) => self.sweep_at.store(now, Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "Old conversations could not be deleted."),
        }
    }
}

impl ConversationStore for PostgresConversations {
    fn create(&self, new: NewConversation) -> Answer<'_, Saved> {
        self.run("creating one", async move {
            let create = async |connection: &mut PgConnection| {
                statements::create(connection, &new, &self.options).await
            };
            self.write(create).await
        })
    }

    fn get<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, Option<Conversation>> {
        self.run("reading one", async move {
            let get = async |connection: &mut PgConnection| {
                statements::get(connection, scope, id, &self.options).await
            };
            self.server.transaction(Access::Read, get).await
        })
    }

    fn list<'a>(&'a self, filter: &'a ConversationFilter) -> Answer<'a, ConversationPage> {
        self.run("listing", async move {
            let list = async |connection: &mut PgConnection| {
                statements::list(connection, filter, &self.options).await
            };
            self.server.transaction(Access::Read, list).await
        })
    }

    fn update<'a>(
        &'a self,
        scope: &'a Scope,
        id: ConversationId,
        expected: Expected,
        update: Update,
    ) -> Answer<'a, Saved> {
        self.run("updating one", async move {
            let change = async |connection: &mut PgConnection| {
                statements::update(connection, scope, id, &expected, &update, &self.options).await
            };
            self.write(change).await
        })
    }

    fn delete<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, bool> {
        self.run("deleting one", async move {
            let delete = async |connection: &mut PgConnection| {
                statements::delete(connection, scope, id, &self.options).await
            };
            self.write(delete).await
        })
    }

    fn ping(&self) -> Answer<'_, ()> {
        self.run("looking whether it works", async move {
            self.server.transaction(Access::Read, statements::ping).await
        })
    }

    fn keep<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, ()> {
        self.run("keeping a value", async move {
            self.options.check_kept(key, value)?;
            let expiry = self.options.expiry(ttl);
            let keep =
                async |connection: &mut PgConnection| statements::keep(connection, key, value, expiry).await;
            self.write(keep).await
        })
    }

    fn keep_new<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, bool> {
        self.run("keeping a new value", async move {
            self.options.check_kept(key, value)?;
            let times = (self.options.micros(), self.options.expiry(ttl));
            let keep = async |connection: &mut PgConnection| {
                statements::keep_new(connection, key, value, times).await
            };
            self.write(keep).await
        })
    }

    fn kept<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.run("reading a value", async move {
            let now = self.options.micros();
            let kept = async |connection: &mut PgConnection| statements::kept(connection, key, now).await;
            self.server.transaction(Access::Read, kept).await
        })
    }

    fn take<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.run("taking a value", async move {
            let now = self.options.micros();
            let take = async |connection: &mut PgConnection| statements::take(connection, key, now).await;
            self.write(take).await
        })
    }
}
