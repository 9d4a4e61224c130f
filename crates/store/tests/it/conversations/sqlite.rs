//! Conversations in SQLite, in a file and in memory.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use gateway_store::conversations::{self, ConversationOptions, FILE_NAME, Location};

use super::backend::{Backend, Store, TestClock, append, create, get, named, texts};

/// A database in a directory of its own.
struct File {
    directory: tempfile::TempDir,
}

impl File {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

impl Backend for File {
    async fn open(&self, options: &ConversationOptions) -> Store {
        conversations::open(&Location::Directory(self.path()), options).await.unwrap()
    }
}

mod file {
    super::super::contract_tests!(std::future::ready(super::File::new()), #[cfg(unix)]);
    super::super::contract_tests!(opened again: std::future::ready(super::File::new()), #[cfg(unix)]);
}

mod memory {
    super::super::contract_tests!(std::future::ready(super::Memory::new()), #[cfg(unix)]);
}

/// A database in memory. It is the same for everybody who opens it.
#[derive(Default)]
struct Memory(Mutex<Option<Store>>);

impl Memory {
    fn new() -> Self {
        Self::default()
    }
}

impl Backend for Memory {
    async fn open(&self, options: &ConversationOptions) -> Store {
        // Other options need another store, and it has no other place to be.
        let known = self.0.lock().unwrap().clone();
        if let Some(store) = known {
            return store;
        }
        let store = conversations::open(&Location::Memory, options).await.unwrap();
        *self.0.lock().unwrap() = Some(Arc::clone(&store));
        store
    }
}

#[tokio::test]
async fn a_store_in_memory_forgets() {
    let options = TestClock::new().options();
    let first = conversations::open(&Location::Memory, &options).await.unwrap();
    let id = create(&first, &named("a"), "t", &[]).await;
    let second = conversations::open(&Location::Memory, &options).await.unwrap();
    assert!(second.get(&named("a"), id).await.unwrap().is_none());
}

#[tokio::test]
async fn the_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = File::new();
    let store = file.open(&TestClock::new().options()).await;
    create(&store, &named("a"), "t", &[]).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(file.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(
        (mode(&file.path()), names),
        (0o700, ["", "-shm", "-wal"].map(|end| format!("{FILE_NAME}{end}")).to_vec())
    );
}

#[tokio::test]
async fn a_database_that_somebody_locks_is_an_error_in_time_and_works_again() {
    let file = File::new();
    let mut options = TestClock::new().options();
    let patient = file.open(&options).await;
    options.deadline = std::time::Duration::from_millis(100);
    let store = file.open(&options).await;
    let alice = named("alice");
    let id = create(&patient, &alice, "t", &["1"]).await;
    let other = rusqlite::Connection::open(file.path().join(FILE_NAME)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let update = store.update(&alice, id, conversations::Expected::Version(1), append(&["2"])).await;
    let error = update.unwrap_err();
    assert!(matches!(error, conversations::ConversationError::Timeout { .. }), "{error:?}");
    let path = file.path().join(FILE_NAME);
    assert_eq!(
        error.to_string(),
        format!("conversations in `{}`, updating one: no answer within 100ms", path.display())
    );
    assert_eq!(texts(&get(&patient, &alice, id).await), ["1"], "who reads does not wait for who writes");
    other.execute_batch("ROLLBACK").unwrap();
    drop(store);
    // Whether the late update was made is open; it was made once at most, and the version says so.
    let store = file.open(&TestClock::new().options()).await;
    let whole = get(&store, &alice, id).await;
    assert_eq!(u64::try_from(whole.messages.len()).unwrap(), whole.version);
    store.update(&alice, id, conversations::Expected::Version(whole.version), append(&["3"])).await.unwrap();
}

/// However many expire at once, they are deleted as fast as others are written.
#[tokio::test]
async fn what_has_expired_is_deleted_by_those_who_write() {
    let file = File::new();
    let clock = TestClock::new();
    let mut options = clock.options();
    options.ttl = Some(std::time::Duration::from_hours(1));
    let store = file.open(&options).await;
    for number in 0..250 {
        create(&store, &named("a"), &number.to_string(), &["1"]).await;
    }
    clock.advance(7_200);
    for _ in 0..4 {
        create(&store, &named("a"), "new", &["1"]).await;
    }
    let other = rusqlite::Connection::open(file.path().join(FILE_NAME)).unwrap();
    let count = |table: &str| -> i64 {
        other.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("conversations"), count("messages")), (4, 4));
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "").unwrap();
    let error =
        conversations::open(&Location::Directory(path), &ConversationOptions::default()).await.unwrap_err();
    assert!(matches!(error, conversations::ConversationError::Unavailable { .. }), "{error:?}");
}

const DIRECTORY: &str = "GATEWAY_STORE_KILLED_DIRECTORY";

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn child_that_appends_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let location = Location::Directory(directory.into());
    let store = conversations::open(&location, &ConversationOptions::default()).await.unwrap();
    let id = create(&store, &named("a"), "t", &[]).await;
    let mut out = std::io::stdout();
    writeln!(out, "created {id}").unwrap();
    for number in 1.. {
        let update = append(&[&number.to_string()]);
        store.update(&named("a"), id, conversations::Expected::Version(number), update).await.unwrap();
        writeln!(out, "appended {number}").unwrap();
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let file = File::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["conversations::sqlite::child_that_appends_until_it_is_killed", "--exact", "--nocapture"])
        .env(DIRECTORY, file.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut id, mut acknowledged) = (None, 0);
    for line in lines.by_ref() {
        let line = line.unwrap();
        if let Some(text) = line.strip_prefix("created ") {
            id = Some(text.parse().unwrap());
        } else if let Some(number) = line.strip_prefix("appended ") {
            acknowledged = number.parse().unwrap();
        }
        if acknowledged == 50 {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // It may have gone on until the signal came.
    for line in lines.map_while(Result::ok) {
        acknowledged = line.strip_prefix("appended ").map_or(acknowledged, |number| number.parse().unwrap());
    }
    let store = file.open(&ConversationOptions::default()).await;
    let whole = get(&store, &named("a"), id.expect("it was created")).await;
    let expected: Vec<String> = (1..whole.version).map(|number| number.to_string()).collect();
    assert_eq!(texts(&whole), expected);
    assert!(whole.version > acknowledged, "{} of {acknowledged}", whole.version);
}
