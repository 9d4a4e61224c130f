//! Conversations in SQLite: one thread that writes, two that read.

mod lock;
mod schema;
mod statements;
mod worker;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::Connection;

pub use self::{lock::DirectoryLock, schema::FILE_NAME};
use self::{
    schema::OpenError,
    statements::Fault,
    worker::{Ended, Worker},
};
use super::{
    Answer, ConversationStore,
    error::ConversationError,
    id::ConversationId,
    options::ConversationOptions,
    page::{ConversationFilter, ConversationPage},
    types::{Conversation, Expected, NewConversation, Saved, Scope, Update},
};

/// Conversations in an SQLite database. Several processes can have the same one open.
#[derive(Debug)]
pub struct SqliteConversations {
    place: Arc<str>,
    options: ConversationOptions,
    writer: Worker,
    /// `None` in memory, where there is only one connection.
    readers: Option<Worker>,
    /// When to look for what is gone, in microseconds.
    sweep_at: Arc<AtomicI64>,
}

/// So that a search does not hold up who only wants one conversation.
const READERS: usize = 2;
const SWEEP_INTERVAL: i64 = 60_000_000;

impl SqliteConversations {
    /// Opens the conversations of a data directory, creating both if needed. A damaged database is moved aside.
    pub async fn open(directory: &Path, options: &ConversationOptions) -> Result<Self, ConversationError> {
        let place = Arc::from(format!("`{}`", directory.join(FILE_NAME).display()));
        let directory = directory.to_owned();
        let open = move || {
            let (writer, moved) = schema::open(&directory)?;
            if let Some(moved) = moved {
                tracing::error!(moved = %moved.display(), "Conversations were damaged; they were moved aside and a new database started.");
            }
            let readers = (0..READERS).map(|_| schema::open_reader(&directory)).collect::<Result<_, _>>()?;
            Ok((writer, Some(readers)))
        };
        Self::start(place, options, open).await
    }

    /// Conversations in memory, discarded when the store is dropped.
    pub async fn in_memory(options: &ConversationOptions) -> Result<Self, ConversationError> {
        Self::start("memory".into(), options, || Ok((schema::in_memory()?, None))).await
    }

    async fn start(
        place: Arc<str>,
        options: &ConversationOptions,
        open: impl FnOnce() -> Result<(Connection, Option<Vec<Connection>>), OpenError> + Send + 'static,
    ) -> Result<Self, ConversationError> {
        let attempt = "opening";
        let unavailable = |cause: Box<dyn std::error::Error + Send + Sync>| ConversationError::Unavailable {
            place: Arc::clone(&place),
            attempt,
            cause,
        };
        // It waits for the disk, and for other processes that start.
        let opened = tokio::task::spawn_blocking(open).await.map_err(|error| unavailable(error.into()))?;
        let (writer, readers) = opened.map_err(|error| match error {
            OpenError::Newer { found, known } => {
                ConversationError::Newer { place: Arc::clone(&place), found, known }
            }
            error => unavailable(error.into()),
        })?;
        let start = |name, connections| Worker::start(name, connections).map_err(|e| unavailable(e.into()));
        let writer = start("conversations", vec![writer])?;
        let readers = readers.map(|readers| start("conversations-read", readers)).transpose()?;
        let sweep_at = Arc::new(AtomicI64::new(i64::MIN));
        Ok(Self { place, options: options.clone(), writer, readers, sweep_at })
    }

    fn read<T: Send + 'static>(
        &self,
        attempt: &'static str,
        work: impl FnOnce(&mut Connection, &ConversationOptions) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        self.run(self.readers.as_ref().unwrap_or(&self.writer), attempt, work)
    }

    fn write<T: Send + 'static>(
        &self,
        attempt: &'static str,
        work: impl FnOnce(&mut Connection, &ConversationOptions) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        let sweep_at = Arc::clone(&self.sweep_at);
        self.run(&self.writer, attempt, move |connection, options| {
            let answer = work(connection, options);
            let now = options.micros();
            if now >= sweep_at.load(Ordering::Relaxed) {
                sweep_at.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
                match statements::sweep(connection, options) {
                    Ok(false) => {}
                    Ok(true) => sweep_at.store(now, Ordering::Relaxed),
                    Err(error) => tracing::warn!(%error, "Old conversations could not be deleted."),
                }
            }
            answer
        })
    }

    fn run<'a, T: Send + 'static>(
        &'a self,
        worker: &'a Worker,
        attempt: &'static str,
        work: impl FnOnce(&mut Connection, &ConversationOptions) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'a, T> {
        let options = self.options.clone();
        let within = options.deadline;
        let place = || Arc::clone(&self.place);
        Box::pin(async move {
            let job = worker.run(Instant::now() + within, move |connection| work(connection, &options));
            let unavailable = |cause| ConversationError::Unavailable { place: place(), attempt, cause };
            match tokio::time::timeout(within, job).await {
                Ok(Ok(Ok(answer))) => Ok(answer),
                Ok(Ok(Err(Fault::Refused(error)))) => Err(error),
                Ok(Ok(Err(Fault::Database(cause)))) => Err(unavailable(cause.into())),
                Ok(Err(Ended)) => Err(unavailable(Ended.into())),
                Err(_) => Err(ConversationError::Timeout { place: place(), attempt, within }),
            }
        })
    }
}

impl ConversationStore for SqliteConversations {
    fn create(&self, new: NewConversation) -> Answer<'_, Saved> {
        self.write("creating one", move |connection, options| statements::create(connection, &new, options))
    }

    fn get<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, Option<Conversation>> {
        let scope = scope.clone();
        self.read("reading one", move |connection, options| statements::get(connection, &scope, id, options))
    }

    fn list<'a>(&'a self, filter: &'a ConversationFilter) -> Answer<'a, ConversationPage> {
        let filter = filter.clone();
        self.read("listing", move |connection, options| statements::list(connection, &filter, options))
    }

    fn update<'a>(
        &'a self,
        scope: &'a Scope,
        id: ConversationId,
        expected: Expected,
        update: Update,
    ) -> Answer<'a, Saved> {
        let scope = scope.clone();
        self.write("updating one", move |connection, options| {
            statements::update(connection, &scope, id, &expected, &update, options)
        })
    }

    fn delete<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, bool> {
        let scope = scope.clone();
        self.write("deleting one", move |connection, options| {
            statements::delete(connection, &scope, id, options)
        })
    }

    fn ping(&self) -> Answer<'_, ()> {
        self.read("looking whether it works", |connection, _| statements::ping(connection))
    }

    fn keep<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, ()> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.write("keeping a value", move |connection, options| {
            options.check_kept(&key, &value)?;
            statements::keep(connection, &key, &value, options.expiry(ttl))
        })
    }

    fn keep_new<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, bool> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.write("keeping a new value", move |connection, options| {
            options.check_kept(&key, &value)?;
            statements::keep_new(connection, &key, &value, (options.micros(), options.expiry(ttl)))
        })
    }

    fn kept<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        let key = key.to_owned();
        self.read("reading a value", move |connection, options| {
            statements::kept(connection, &key, options.micros())
        })
    }

    fn take<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        let key = key.to_owned();
        self.write("taking a value", move |connection, options| {
            statements::take(connection, &key, options.micros())
        })
    }
}
