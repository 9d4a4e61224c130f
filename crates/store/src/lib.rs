//! The call log: every call, in SQLite.
