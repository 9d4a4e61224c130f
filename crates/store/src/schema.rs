//! The database file: opening it, its tables and their versions, and the mark of an unclean shutdown.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::{block::Block, error::StoreError, files, word_list::words};

/// The name of the database in the data directory.
pub const FILE_NAME: &str = "calls.db";

/// How long a statement waits for another connection.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Each step migrates the schema from the version of its index to the next one.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        started INTEGER NOT NULL,
        duration INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        provider TEXT,
        caller TEXT,
        correlation TEXT NOT NULL,
        transport TEXT,
        code TEXT,
        error TEXT,
        input TEXT NOT NULL,
        result TEXT
    );
    CREATE TABLE blocks (
        first INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        entries INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        oldest INTEGER NOT NULL,
        newest INTEGER NOT NULL,
        bloom BLOB NOT NULL
    );
    CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
",
    "ALTER TABLE calls ADD COLUMN ran_on TEXT;",
];

/// The tables of the first version and their columns; later versions add to them.
const TABLES: &[(&str, &[&str])] = &[
    (
        "calls",
        words!(
            "id started duration failed server tool provider caller correlation transport code error input \
             result"
        ),
    ),
    ("blocks", &["first", "last", "entries", "failures", "oldest", "newest", "bloom"]),
    ("state", &["name", "value"]),
];

/// Whether entries have the `ran_on` column. A file of the first version is not migrated if it is only read.
pub(crate) fn has_ran_on(connection: &Connection) -> rusqlite::Result<bool> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(version >= 2)
}

/// The newest entry of a version that gave an admin and a caller of the same name the same owner. The owner of such
/// entries is unknown.
const OWNED_AFTER: &str = "owned_after";

/// The id after which owners are known.
pub(crate) fn owned_after(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(state(connection, OWNED_AFTER)?.unwrap_or(i64::MAX))
}

/// How the previous process that had this log open ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousRun {
    /// There was no previous run.
    None,
    /// It closed the log.
    Closed,
    /// It did not close the log: it was killed, or the machine went down.
    Unclean,
}

/// What was found when the log was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opened {
    /// The file; `None` if the log is in memory.
    pub path: Option<PathBuf>,
    /// How the previous run ended.
    pub previous: PreviousRun,
    /// Entries in the log.
    pub entries: i64,
    /// The newest entry's id, zero if there never was one.
    pub last_id: i64,
    /// Where a damaged database was moved to.
    pub moved_aside: Option<PathBuf>,
    /// Warnings about the files, for the operator.
    pub warnings: Vec<String>,
}

impl Opened {
    /// All messages for the operator.
    pub fn notices(&self) -> Vec<String> {
        let moved = self.moved_aside.as_ref().map(|path| {
            format!("the database was damaged and is now `{}`; a new one was started", path.display())
        });
        let lost = (self.previous == PreviousRun::Unclean).then(|| {
            "previous run ended without closing; up to 100 ms / 1,000 entries may be missing".to_owned()
        });
        moved.into_iter().chain(lost).chain(self.warnings.iter().cloned()).collect()
    }
}

/// A writable connection and its lock.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) connection: Connection,
    pub(crate) block: Block,
    pub(crate) opened: Opened,
    pub(crate) lock: Option<Lock>,
}

/// Keeps other processes out for as long as the log is open.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec still shares it.
        let _ = self.0.unlock();
    }
}

/// Opens the log in `directory` for writing, creating it if needed; in memory if `None`.
pub(crate) fn open(directory: Option<&Path>) -> Result<Database, StoreError> {
    let Some(directory) = directory else {
        let connection = Connection::open_in_memory().map_err(StoreError::database("opening in memory"))?;
        return prepare(connection, None);
    };
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |cause| StoreError::Directory { path, cause }
    };
    files::make_directory(directory).map_err(unusable(directory))?;
    let lock_path = directory.join("calls.lock");
    let lock = files::make_file(&lock_path).map_err(unusable(&lock_path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { path: lock_path }),
        Err(TryLockError::Error(cause)) => return Err(StoreError::Directory { path: lock_path, cause }),
    }
    let path = directory.join(FILE_NAME);
    let warnings = files::protect(directory, &lock);
    let open_file = || {
        if files::is_special(&path) || files::is_truncated(&path) {
            return Err(StoreError::Damaged { path: path.clone() });
        }
        // Created here to set its permissions; SQLite gives its side files the same.
        drop(files::make_file(&path).map_err(unusable(&path))?);
        let connection = Connection::open(&path).map_err(StoreError::database("opening the file"))?;
        check_pages(&connection, &path)?;
        prepare(connection, Some(path.clone()))
    };
    let mut database = match open_file() {
        Err(error) if error.is_damage() => {
            let moved = files::move_aside(&path, Timestamp::now()).map_err(unusable(&path))?;
            let mut database = open_file().map_err(|error| error.at(&path))?;
            database.opened.moved_aside = Some(moved);
            database
        }
        other => other.map_err(|error| error.at(&path))?,
    };
    database.lock = Some(Lock(lock));
    database.opened.warnings = warnings;
    Ok(database)
}

/// A database up to this size is checked completely when it is opened; a larger one only where it is read.
const CHECKED_BYTES: u64 = 16 << 20;

fn check_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > CHECKED_BYTES) {
        return Ok(());
    }
    let answer: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(StoreError::database("checking the file"))?;
    if answer == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned() }) }
}

/// Opens the log in a directory for reading.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|cause| StoreError::database("opening for reading")(cause).at(path))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(StoreError::database("setting the busy timeout"))?;
    let found = version(&connection).map_err(|error| error.at(path))?;
    check_version(found, MIGRATIONS).map_err(|error| error.at(path))?;
    check_tables(&connection, path).map_err(|error| error.at(path))?;
    Ok(connection)
}

/// Records a clean shutdown.
pub(crate) fn mark_closed(connection: &Connection) -> rusqlite::Result<()> {
    set_state(connection, "open", 0)
}

fn prepare(connection: Connection, path: Option<PathBuf>) -> Result<Database, StoreError> {
    let setup = StoreError::database("setting up");
    configure(&connection).map_err(setup)?;
    check_tables(&connection, path.as_deref().unwrap_or(Path::new("")))?;
    migrate(&connection, MIGRATIONS)?;
    let opened = (|| {
        let was_open: Option<i64> = connection
            .query_row("SELECT value FROM state WHERE name = 'open'", [], |row| row.get(0))
            .optional()?;
        set_state(&connection, "open", 1)?;
        if was_open.is_none() {
            // A new log trusts the clock; an older one starts from the time of its newest entry.
            set_state(&connection, "clock", Timestamp::now().as_microsecond())?;
        }
        let block = Block::current(&connection)?;
        if state(&connection, OWNED_AFTER)?.is_none() {
            set_state(&connection, OWNED_AFTER, block.last)?;
        }
        let entries =
            connection.query_row("SELECT coalesce(sum(entries), 0) FROM blocks", [], |row| row.get(0))?;
        let previous = match was_open {
            None => PreviousRun::None,
            Some(0) => PreviousRun::Closed,
            Some(_) => PreviousRun::Unclean,
        };
        let last_id = block.last;
        Ok((Opened { path, previous, entries, last_id, moved_aside: None, warnings: Vec::new() }, block))
    })();
    let (opened, block) = opened.map_err(StoreError::database("reading its state"))?;
    Ok(Database { connection, block, opened, lock: None })
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Takes effect only in a new file; space freed by retention can then be returned in small steps.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Checkpoints wait for the disk, so they run on a thread of their own.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", 64 << 20, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -4096)?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(StoreError::database("reading the schema version"))
}

fn check_version(found: i64, migrations: &[&str]) -> Result<usize, StoreError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    usize::try_from(found).ok().filter(|_| found <= known).ok_or(StoreError::Newer {
        path: PathBuf::new(),
        found,
        known,
    })
}

/// Rejects a database with other tables than ours, whoever created it.
fn check_tables(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let is_new = version(connection)? == 0;
    for (table, columns) in TABLES {
        let found = columns_of(connection, table).map_err(StoreError::database("reading its tables"))?;
        let is_ours = if is_new {
            found.is_empty()
        } else {
            columns.iter().all(|column| found.iter().any(|found| found == column))
        };
        if !is_ours {
            return Err(StoreError::Damaged { path: path.to_owned() });
        }
    }
    Ok(())
}

fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

fn migrate(connection: &Connection, migrations: &[&str]) -> Result<(), StoreError> {
    let done = check_version(version(connection)?, migrations)?;
    for (index, step) in migrations.iter().enumerate().skip(done) {
        let apply = || {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "user_version", i64::try_from(index + 1).unwrap_or(i64::MAX))?;
            transaction.commit()
        };
        apply().map_err(StoreError::database("migrating the schema"))?;
    }
    Ok(())
}

pub(crate) fn state(connection: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT value FROM state WHERE name = ?", [name], |row| row.get(0)).optional()
}

pub(crate) fn set_state(connection: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO state (name, value) VALUES (?, ?)", params![name, value])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);";
    const SECOND: &str = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 5;";

    #[test]
    fn an_older_schema_is_brought_up_to_date_and_keeps_its_rows() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &[FIRST]).unwrap();
        assert_eq!(version(&connection).unwrap(), 1);
        migrate(&connection, &[FIRST, SECOND]).unwrap();
        migrate(&connection, &[FIRST, SECOND]).unwrap();
        assert_eq!(version(&connection).unwrap(), 2);
        let row: (i64, i64) =
            connection.query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, (1, 5));
    }

    #[test]
    fn a_step_that_fails_leaves_the_schema_as_it_was() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &[FIRST]).unwrap();
        let broken = "CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER);";
        assert!(matches!(migrate(&connection, &[FIRST, broken]), Err(StoreError::Database { .. })));
        assert_eq!(version(&connection).unwrap(), 1);
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1);
    }

    #[test]
    fn a_log_of_the_first_version_can_be_read_and_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let log = crate::CallLog::open(directory.path(), &crate::Options::default()).unwrap();
        log.try_reserve().unwrap().record(crate::testing::record("demo", "add"));
        log.close(Duration::from_secs(30)).unwrap();
        drop(log);
        let first = Connection::open(&path).unwrap();
        first.execute_batch("ALTER TABLE calls DROP COLUMN ran_on; PRAGMA user_version = 1;").unwrap();
        drop(first);
        let reader = crate::LogReader::open(directory.path()).unwrap();
        let read = || reader.query(&crate::Filter::default()).unwrap().entries;
        let before = read();
        assert_eq!((before.len(), &before[0].call.ran_on), (1, &None));
        drop(open(Some(directory.path())).unwrap());
        assert_eq!(read(), before);
        assert_eq!(version(&open_reader(&path).unwrap()).unwrap(), 2);
    }

    #[test]
    fn entries_from_before_admins_had_names_of_their_own_are_no_callers() {
        let directory = tempfile::tempdir().unwrap();
        let open_log = || crate::CallLog::open(directory.path(), &crate::Options::default()).unwrap();
        let call = || {
            let mut call = crate::testing::record("demo", "add");
            call.caller = Some("ann".into());
            call
        };
        let log = open_log();
        log.try_reserve().unwrap().record(call());
        log.close(Duration::from_secs(30)).unwrap();
        drop(log);
        let older = Connection::open(directory.path().join(FILE_NAME)).unwrap();
        older.execute("DELETE FROM state WHERE name = ?", [OWNED_AFTER]).unwrap();
        drop(older);
        for _ in 0..2 {
            let log = open_log();
            log.try_reserve().unwrap().record(call());
            log.flush(Duration::from_secs(30)).unwrap();
        }
        let log = open_log();
        let ids = |owner: Option<crate::LogOwner>| {
            let filter = crate::Filter { owner, ..crate::Filter::default() };
            log.query(&filter).unwrap().entries.iter().map(|entry| entry.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(Some(crate::LogOwner::Named("ann".into()))), [2, 3]);
        assert_eq!(ids(None), [1, 2, 3]);
    }

    #[test]
    fn a_database_with_other_tables_is_damaged() {
        for sql in [
            "CREATE TABLE calls (x INTEGER);",
            "CREATE TABLE state (name TEXT, value INTEGER); PRAGMA user_version = 1;",
            "CREATE TABLE calls (id INTEGER PRIMARY KEY); PRAGMA user_version = 2;",
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(FILE_NAME);
            Connection::open(&path).unwrap().execute_batch(sql).unwrap();
            assert!(matches!(open_reader(&path), Err(StoreError::Damaged { .. })), "{sql}");
            let database = open(Some(directory.path())).unwrap();
            assert!(database.opened.moved_aside.is_some(), "{sql}");
        }
    }

    #[test]
    fn an_error_of_a_statement_is_no_damage() {
        let connection = Connection::open_in_memory().unwrap();
        let cause = connection.prepare("SELECT x FROM nowhere").unwrap_err();
        assert!(!StoreError::database("reading entries")(cause).is_damage());
    }

    #[test]
    fn a_child_that_is_being_started_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(Some(directory.path())).unwrap();
        let inherited = database.lock.as_ref().unwrap().0.try_clone().unwrap();
        assert!(matches!(open(Some(directory.path())), Err(StoreError::InUse { .. })));
        drop(database);
        open(Some(directory.path())).unwrap();
        drop(inherited);
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, &[FIRST, SECOND]).unwrap();
        assert!(matches!(migrate(&connection, &[FIRST]), Err(StoreError::Newer { found: 2, known: 1, .. })));
    }
}
