//! The files of the data directory: their permissions, and what happens to damaged ones.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use gateway_store::{CallLog, FILE_NAME, Filter, LogReader, Options, StoreError};

use crate::{ids, record, write};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The names and permissions of the files in a directory.
fn modes(directory: &Path) -> Vec<(String, u32)> {
    let mut all: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), mode(&entry.path())))
        .collect();
    all.sort();
    all
}

#[test]
fn a_new_directory_and_its_files_are_for_their_owner_only() {
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("data");
    let log = CallLog::open(&directory, &Options::default()).unwrap();
    write(&log, [record(0)]);
    let expected =
        ["calls.db", "calls.db-shm", "calls.db-wal", "calls.lock"].map(|name| (name.to_owned(), 0o600));
    assert_eq!((mode(&directory), modes(&directory)), (0o700, expected.to_vec()));
    assert!(log.opened().notices().is_empty());
}

#[test]
fn permissions_of_older_files_are_corrected() {
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("data");
    drop(CallLog::open(&directory, &Options::default()).unwrap());
    fs::write(directory.join("servers.json"), "{}").unwrap();
    for name in ["calls.db", "calls.lock", "servers.json"] {
        set_mode(&directory.join(name), 0o644);
    }
    set_mode(&directory, 0o755);
    drop(CallLog::open(&directory, &Options::default()).unwrap());
    let expected = ["calls.db", "calls.lock", "servers.json"].map(|name| (name.to_owned(), 0o600));
    assert_eq!((mode(&directory), modes(&directory)), (0o700, expected.to_vec()));
}

#[test]
fn a_directory_with_other_files_keeps_its_permissions() {
    let directory = tempfile::tempdir().unwrap();
    set_mode(directory.path(), 0o755);
    fs::write(directory.path().join("notes.txt"), "").unwrap();
    set_mode(&directory.path().join("notes.txt"), 0o644);
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    assert_eq!(mode(directory.path()), 0o755);
    assert_eq!(mode(&directory.path().join("notes.txt")), 0o644);
    assert_eq!(mode(&directory.path().join(FILE_NAME)), 0o600);
    let notices = log.opened().notices();
    assert!(
        notices.len() == 1 && notices[0].contains(&directory.path().display().to_string()),
        "{notices:?}"
    );
}

/// A directory with a closed log of 3,000 entries.
fn filled() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    write(&log, (0..3000).map(record));
    log.close(crate::LONG).unwrap();
    directory
}

#[test]
fn a_damaged_database_is_moved_aside_and_a_new_log_started() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("garbage", |path| fs::write(path, "no database at all ".repeat(500)).unwrap()),
        ("short garbage", |path| fs::write(path, "no").unwrap()),
        ("cut", |path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(20_000).unwrap()),
        ("header", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[..16].fill(b'x');
            fs::write(path, bytes).unwrap();
        }),
        ("pages", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[4096..20_000].fill(0xa5);
            fs::write(path, bytes).unwrap();
        }),
        ("directory", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (name, damage) in damages {
        let directory = filled();
        let path = directory.path().join(FILE_NAME);
        damage(&path);
        let log = CallLog::open(directory.path(), &Options::default()).unwrap();
        let moved = log.opened().moved_aside.clone().expect(name);
        let file = moved.file_name().unwrap().to_str().unwrap();
        assert!(file.starts_with("calls.db.corrupt-20") && moved.exists(), "{name}: {file}");
        assert!(log.opened().notices()[0].contains(file), "{name}");
        write(&log, [record(1)]);
        assert_eq!(ids(&log, &Filter::default()), [1], "{name}");
        drop(log);
        let log = CallLog::open(directory.path(), &Options::default()).unwrap();
        assert_eq!(log.opened().moved_aside, None, "{name}");
    }
}

#[test]
fn a_newer_database_is_refused_and_stays() {
    let directory = filled();
    let path = directory.path().join(FILE_NAME);
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let error = CallLog::open(directory.path(), &Options::default()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert_eq!(fs::read(&path).unwrap().len(), bytes.len());
}

#[test]
fn an_error_about_a_damaged_database_names_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    fs::write(&path, "no database at all ".repeat(500)).unwrap();
    let error = LogReader::open(directory.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "call log `{}` is damaged; move it away, or start the gateway, which does so",
            path.display()
        )
    );
}

/// The files of a log that was not closed: its entries are only in the write-ahead log.
fn unclosed() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    write(&log, (0..50).map(record));
    let copy = tempfile::tempdir().unwrap();
    for name in [FILE_NAME, "calls.db-wal"] {
        fs::copy(directory.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[test]
fn a_damaged_write_ahead_log_costs_what_it_held_and_no_more() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 5] = [
        ("header", |bytes| bytes[..32].fill(0xa5)),
        ("garbage", |bytes| bytes.fill(0xa5)),
        ("middle", |bytes| {
            let half = bytes.len() / 2;
            bytes[half..half + 100].fill(0xa5);
        }),
        ("cut", |bytes| bytes.truncate(bytes.len() / 2 + 7)),
        ("short", |bytes| bytes.truncate(11)),
    ];
    for (name, damage) in damages {
        let directory = unclosed();
        let path = directory.path().join("calls.db-wal");
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let log = CallLog::open(directory.path(), &Options::default()).unwrap();
        let kept = ids(&log, &Filter::default());
        let first = i64::try_from(kept.len()).unwrap();
        assert_eq!(kept, (1..=first).collect::<Vec<_>>(), "{name}");
        assert!(first < 50, "{name}: {first}");
        write(&log, [record(1)]);
        assert_eq!(ids(&log, &Filter::default()).len(), kept.len() + 1, "{name}");
    }
    // Without damage everything is there.
    let directory = unclosed();
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    assert_eq!(ids(&log, &Filter::default()).len(), 50);
}

#[test]
fn a_locked_database_is_named_and_stays() {
    let directory = filled();
    let path = directory.path().join(FILE_NAME);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = CallLog::open(directory.path(), &Options::default()).unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("call log `{}`, setting up", path.display()));
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    assert_eq!((log.opened().entries, log.opened().moved_aside.clone()), (3000, None));
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_block() {
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    // In place of the database it is moved aside, like a directory.
    let directory = tempfile::tempdir().unwrap();
    pipe(&directory.path().join(FILE_NAME));
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    assert!(log.opened().moved_aside.is_some());
    drop(log);
    // In place of another file it is reported.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("calls.lock");
    pipe(&path);
    let error = CallLog::open(directory.path(), &Options::default()).unwrap_err();
    assert!(matches!(&error, StoreError::Directory { path: named, .. } if *named == path), "{error:?}");
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("calls.db-wal")).unwrap();
    let error = CallLog::open(directory.path(), &Options::default()).unwrap_err();
    let path = directory.path().join(FILE_NAME);
    assert!(matches!(&error, StoreError::File { path: named, .. } if *named == path), "{error:?}");
}
