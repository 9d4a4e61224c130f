//! The database file of conversations.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::files;

/// The name of the database in the data directory. It is not the log's: that one is bounded as a whole, is moved aside
/// when it is damaged, and does not wait for the disk.
pub const FILE_NAME: &str = "conversations.db";

/// How long a statement waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(4);

/// Each step migrates the schema from the version of its index to the next one.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE conversations (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        owner TEXT,
        title TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        version INTEGER NOT NULL,
        turn TEXT,
        metadata TEXT NOT NULL,
        message_count INTEGER NOT NULL,
        message_bytes INTEGER NOT NULL
    );
    CREATE INDEX conversations_by_update ON conversations (updated_at, id);
    CREATE INDEX conversations_by_owner ON conversations (owner, updated_at, id);
    CREATE TABLE messages (
        conversation INTEGER NOT NULL,
        position INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (conversation, position)
    );
    CREATE TABLE kept (key TEXT PRIMARY KEY, value BLOB NOT NULL, expires_at INTEGER NOT NULL);
    CREATE INDEX kept_by_expiry ON kept (expires_at);
"];

/// Why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("data directory cannot be used; check that it exists and can be written to")]
    Directory(#[source] std::io::Error),
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    #[error("the file is damaged")]
    Damaged,
    #[error("schema version {found} is newer than {known}")]
    Newer { found: i64, known: i64 },
}

impl OpenError {
    fn is_damage(&self) -> bool {
        match self {
            Self::Damaged => true,
            Self::Database(cause) => matches!(
                cause.sqlite_error_code(),
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
            ),
            Self::Directory(_) | Self::Newer { .. } => false,
        }
    }
}

/// Opens the database of a directory for writing, creating both if needed. A damaged one is moved aside; its new path is
/// returned too.
pub(super) fn open(directory: &Path) -> Result<(Connection, Option<PathBuf>), OpenError> {
    files::make_directory(directory).map_err(OpenError::Directory)?;
    let path = directory.join(FILE_NAME);
    match open_file(&path) {
        Err(error) if error.is_damage() => {
            let moved = files::move_aside(&path, Timestamp::now()).map_err(OpenError::Directory)?;
            Ok((open_file(&path)?, Some(moved)))
        }
        other => other.map(|connection| (connection, None)),
    }
}

fn open_file(path: &Path) -> Result<Connection, OpenError> {
    if files::is_special(path) || files::is_truncated(path) {
        return Err(OpenError::Damaged);
    }
    // Created here to set its permissions; SQLite gives its side files the same.
    drop(files::make_file(path).map_err(OpenError::Directory)?);
    prepare(Connection::open(path)?)
}

/// A database in memory.
pub(super) fn in_memory() -> Result<Connection, OpenError> {
    prepare(Connection::open_in_memory()?)
}

/// One more connection to an open database, for reading.
pub(super) fn open_reader(directory: &Path) -> Result<Connection, OpenError> {
    let connection = Connection::open(directory.join(FILE_NAME))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", "ON")?;
    Ok(connection)
}

fn prepare(mut connection: Connection) -> Result<Connection, OpenError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Takes effect only in a new file; space of deleted conversations can then be returned in small steps.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // An update is on the disk before it is acknowledged.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    migrate(&mut connection)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    // Another process may start at the same time: the version is read under the lock.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let done = usize::try_from(found).ok().filter(|_| found <= known);
    let done = done.ok_or(OpenError::Newer { found, known })?;
    for step in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_refused_and_a_damaged_file_moved_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let (connection, moved) = open(directory.path()).unwrap();
        assert_eq!(moved, None);
        connection.pragma_update(None, "user_version", 99).unwrap();
        drop(connection);
        assert!(matches!(open(directory.path()), Err(OpenError::Newer { found: 99, known: 1 })));
        for damage in ["no database at all ".repeat(500), "no".to_owned()] {
            std::fs::write(&path, &damage).unwrap();
            let (_, moved) = open(directory.path()).unwrap();
            assert_eq!(std::fs::read_to_string(moved.unwrap()).unwrap(), damage);
        }
    }
}
