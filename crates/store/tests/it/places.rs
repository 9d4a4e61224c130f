//! Where a log can be kept, and the tests that it passes everywhere.

use gateway_store::{Address, CallLog, LogReader, Options};

use crate::services::new_database;

/// A place for a log, empty at first.
pub(crate) enum Place {
    Memory,
    Directory(tempfile::TempDir),
    Postgres(Address),
}

impl Place {
    fn directory() -> Self {
        Self::Directory(tempfile::tempdir().unwrap())
    }

    fn postgres() -> Self {
        Self::Postgres(Address::postgres(&new_database()).unwrap())
    }

    /// Opens the log of this place.
    pub(crate) fn open(&self, options: &Options) -> CallLog {
        match self {
            Self::Memory => CallLog::in_memory(options),
            Self::Directory(directory) => CallLog::open(directory.path(), options),
            Self::Postgres(address) => CallLog::open_postgres(address, options),
        }
        .unwrap()
    }

    /// Opens the log of this place only for reading.
    pub(crate) fn reader(&self) -> LogReader {
        match self {
            Self::Memory => panic!("nobody else can read it"),
            Self::Directory(directory) => LogReader::open(directory.path()),
            Self::Postgres(address) => LogReader::open_postgres(address),
        }
        .unwrap()
    }
}

/// One test for each of the names, in a place.
macro_rules! tests {
    ($place:expr, #[$attribute:meta], $($module:ident: $name:ident,)*) => {
        $(
            #[test]
            #[$attribute]
            fn $name() {
                crate::$module::$name(&$place);
            }
        )*
    };
}

/// What every log does.
macro_rules! contract {
    ($place:expr, #[$attribute:meta]) => {
        tests!(
            $place, #[$attribute],
            filters: each_filter_finds_its_entries,
            filters: an_entry_is_read_back_unchanged,
            filters: blocks_change_no_answer,
            filters: pages_in_both_directions_cover_everything_once,
            filters: a_page_ends_at_its_byte_limit_and_the_next_continues,
            filters: a_provider_is_found_by_its_other_names_too,
            follow: a_follower_gets_every_entry_once_and_in_order,
            lifecycle: closing_waits_for_a_call_that_still_runs,
            lifecycle: the_status_counts,
            safety: entries_are_redacted,
            safety: a_truncated_value_keeps_its_beginning_and_says_so,
            safety: invalid_json_is_stored_as_text,
            safety: a_picture_is_kept_as_a_note,
            safety: names_can_be_any_text,
        );
    };
}

/// What every log does that can be opened again.
macro_rules! opened_again {
    ($place:expr, #[$attribute:meta]) => {
        tests!(
            $place, #[$attribute],
            lifecycle: dropping_the_log_writes_queued_entries,
            retention: old_entries_are_deleted_at_the_start_and_new_ones_stay,
            retention: an_id_is_never_given_twice,
            retention: only_the_newest_stay_within_a_size,
        );
    };
}

mod memory {
    use super::Place;
    contract!(Place::Memory, #[cfg(unix)]);
}

mod file {
    use super::Place;
    contract!(Place::directory(), #[cfg(unix)]);
    opened_again!(Place::directory(), #[cfg(unix)]);
}

mod postgres {
    use super::Place;
    contract!(Place::postgres(), #[ignore = "needs scripts/services"]);
    opened_again!(Place::postgres(), #[ignore = "needs scripts/services"]);
}
