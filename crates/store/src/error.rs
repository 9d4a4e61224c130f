//! What can go wrong, named after what the owner of the log can do about it.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the call log could not be opened, read or flushed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The data directory cannot be created or written to.
    #[error("data directory `{path}` cannot be used; check that it exists and can be written to")]
    Directory {
        /// The directory or the file in it.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: std::io::Error,
    },
    /// Another process has this log open.
    #[error("call log `{path}` is in use by another process; stop it or choose another data directory")]
    InUse {
        /// The lock file.
        path: PathBuf,
    },
    /// The file was written by a newer program.
    #[error(
        "call log `{path}` has schema version {found}, this program knows versions up to {known}; \
         use the newer program or another data directory"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The database reported an error.
    #[error("call log, {attempt}")]
    Database {
        /// What was attempted.
        attempt: &'static str,
        /// SQLite's error.
        #[source]
        cause: rusqlite::Error,
    },
    /// The database cannot be read or written.
    #[error("call log `{path}`, {attempt}")]
    File {
        /// The database.
        path: PathBuf,
        /// What was attempted.
        attempt: &'static str,
        /// SQLite's error.
        #[source]
        cause: rusqlite::Error,
    },
    /// The database is damaged.
    #[error("call log `{path}` is damaged; move it away, or start the gateway, which does so")]
    Damaged {
        /// The database.
        path: PathBuf,
    },
    /// The server that keeps the log cannot be reached or used.
    #[error("call log in `{address}`, {attempt}")]
    Server {
        /// The address, without passwords.
        address: String,
        /// What was attempted.
        attempt: &'static str,
        /// Why it failed.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Entries were still queued at the deadline.
    #[error("{entries} entries of the call log are not written yet{}", reason.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Unwritten {
        /// How many entries (and permits handed out) are left.
        entries: usize,
        /// The last error of the writer, if it is failing.
        reason: Option<String>,
    },
    /// A redaction rule is invalid.
    #[error("redaction rule `{rule}`: {problem}")]
    Rule {
        /// The rule as written.
        rule: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl StoreError {
    pub(crate) fn database(attempt: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |cause| Self::Database { attempt, cause }
    }

    /// The same error with the path of the database.
    pub(crate) fn at(self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::Database { cause, .. } if is_damage(&cause) => Self::Damaged { path },
            Self::Database { attempt, cause } => Self::File { path, attempt, cause },
            Self::Newer { found, known, .. } => Self::Newer { path, found, known },
            other => other,
        }
    }

    /// Whether the file is damaged. One that is in use or unreadable is not.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Database { cause, .. } | Self::File { cause, .. } => is_damage(cause),
            _ => false,
        }
    }
}

fn is_damage(cause: &rusqlite::Error) -> bool {
    matches!(cause.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}
