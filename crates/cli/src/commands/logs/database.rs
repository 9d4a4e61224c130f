//! The log of a gateway that is not running, or not reachable.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gateway_config::Secret;
use gateway_store::{Address, FILE_NAME, Filter, LogReader, StoredRecord};

use super::rows::Rows;
use crate::Outcome;
use crate::runtime::EndSignals;

/// How often to poll for new entries: other processes get no notification.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Whether a directory has a call log.
pub(super) fn exists(directory: &Path) -> bool {
    directory.join(FILE_NAME).exists()
}

/// The database in a data directory.
pub(super) fn open(directory: &Path) -> Result<LogReader> {
    if !exists(directory) {
        bail!("there is no call log in {}", directory.display());
    }
    LogReader::open(directory).with_context(|| format!("reading the call log in {}", directory.display()))
}

/// The database at the address in `log.store`.
pub(super) fn open_store(store: &Secret) -> Result<LogReader> {
    let address = Address::postgres(store.expose()).context("reading the address in `log.store`")?;
    LogReader::open_postgres(&address).context("reading the call log at the address in `log.store`")
}

/// Shows the entries of a database.
pub(super) async fn show(
    reader: LogReader,
    follow: bool,
    mut filter: Filter,
    rows: &mut Rows,
) -> Result<Outcome> {
    let mut page = reader.query(&filter)?;
    rows.write(&as_json(&page.entries))?;
    if !follow {
        return Ok(Outcome::Good);
    }
    let mut signals = EndSignals::listen()?;
    loop {
        // On the first page `more` means older entries, which are not followed.
        let behind = page.more && filter.after.is_some();
        filter.after = Some(page.next_after(&filter));
        if !behind {
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                _ = signals.next() => return Ok(Outcome::Good),
            }
        }
        page = reader.query(&filter)?;
        rows.write(&as_json(&page.entries))?;
    }
}

fn as_json(entries: &[StoredRecord]) -> Vec<Vec<u8>> {
    entries.iter().map(StoredRecord::to_json).collect()
}
