//! Summaries of runs of entries, used instead of indexes.
//!
//! An ordinary index on correlation ids costs more than the rest of writing an entry, because its keys are random.
//! A block covers about a thousand consecutive entries: the times they span and, as a Bloom filter, the names and ids
//! that occur in them. It is written once per batch. A query checks the blocks and reads only those that may match.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::record::{CallRecord, Outcome};

/// Entries of a full block.
const BLOCK_ENTRIES: i64 = 1024;
/// Sixteen bits for each of a block's correlation ids: about one false match in a thousand.
const BLOOM_BYTES: usize = 2048;
const BLOOM_PROBES: u64 = 5;

/// The field that a name in a block's filter belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Server,
    Tool,
    Provider,
    Caller,
    Correlation,
}

/// A run of entries.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    first: i64,
    /// The id of the newest entry.
    pub(crate) last: i64,
    entries: i64,
    failures: i64,
    /// The earliest and latest start of a call, in microseconds.
    oldest: i64,
    newest: i64,
    bloom: Vec<u8>,
}

impl Block {
    fn starting_at(first: i64) -> Self {
        Self {
            first,
            last: first - 1,
            entries: 0,
            failures: 0,
            oldest: i64::MAX,
            newest: i64::MIN,
            bloom: vec![0; BLOOM_BYTES],
        }
    }

    /// The block that the next entry goes to.
    pub(crate) fn current(connection: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT first, last, entries, failures, oldest, newest, bloom FROM blocks ORDER BY first DESC LIMIT 1";
        let found = connection.query_row(sql, [], |row| {
            Ok(Self {
                first: row.get(0)?,
                last: row.get(1)?,
                entries: row.get(2)?,
                failures: row.get(3)?,
                oldest: row.get(4)?,
                newest: row.get(5)?,
                bloom: row.get(6)?,
            })
        });
        Ok(found.optional()?.unwrap_or_else(|| Self::starting_at(1)))
    }

    pub(crate) fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute(
            "INSERT OR REPLACE INTO blocks (first, last, entries, failures, oldest, newest, bloom) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![self.first, self.last, self.entries, self.failures, self.oldest, self.newest, self.bloom],
        )?;
        Ok(())
    }

    /// The block after this one, if this one is full.
    pub(crate) fn successor(&self) -> Option<Self> {
        (self.last - self.first + 1 >= BLOCK_ENTRIES).then(|| Self::starting_at(self.last + 1))
    }

    /// Adds an entry; returns its id.
    pub(crate) fn add(&mut self, record: &CallRecord) -> i64 {
        self.last += 1;
        self.entries += 1;
        self.failures += i64::from(matches!(record.outcome, Outcome::Error { .. }));
        let at = record.timestamp.as_microsecond();
        self.oldest = self.oldest.min(at);
        self.newest = self.newest.max(at);
        for (field, name) in [
            (Field::Server, Some(&record.server)),
            (Field::Tool, Some(&record.tool)),
            (Field::Provider, record.provider.as_ref()),
            (Field::Caller, record.caller.as_ref()),
            (Field::Correlation, Some(&record.correlation_id)),
        ] {
            if let Some(name) = name {
                for (byte, bit) in probes(field, name) {
                    if let Some(byte) = self.bloom.get_mut(byte) {
                        *byte |= bit;
                    }
                }
            }
        }
        self.last
    }
}

/// Whether a name may occur in a block with this filter; `false` is certain.
pub(crate) fn may_contain(bloom: &[u8], field: Field, name: &str) -> bool {
    probes(field, name).all(|(byte, bit)| bloom.get(byte).is_none_or(|byte| byte & bit != 0))
}

fn probes(field: Field, name: &str) -> impl Iterator<Item = (usize, u8)> {
    let hash = hash(field, name);
    let step = (hash >> 32) | 1;
    (0..BLOOM_PROBES).map(move |probe| {
        let bit = hash.wrapping_add(step.wrapping_mul(probe)) % (BLOOM_BYTES as u64 * 8);
        (usize::try_from(bit / 8).unwrap_or(0), 1 << (bit % 8))
    })
}

/// FNV-1a with a final mix. The filters are stored on disk, so this must never change.
fn hash(field: Field, name: &str) -> u64 {
    let tag = match field {
        Field::Server => 1,
        Field::Tool => 2,
        Field::Provider => 3,
        Field::Caller => 4,
        Field::Correlation => 5,
    };
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(mix(0xcbf2_9ce4_8422_2325, tag), mix);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_on_disk_stays_the_same() {
        assert_eq!(hash(Field::Correlation, "c-1"), 12_227_566_613_633_657_535);
        assert_ne!(hash(Field::Server, "a"), hash(Field::Tool, "a"));
    }

    #[test]
    fn a_full_block_finds_its_own_and_few_others() {
        let mut block = Block::starting_at(1);
        let mut record = crate::testing::record("demo", "add");
        for number in 0..BLOCK_ENTRIES {
            assert!(block.successor().is_none());
            record.correlation_id = format!("id-{number}").into();
            assert_eq!(block.add(&record), number + 1);
        }
        assert_eq!(block.successor().map(|next| next.first), Some(BLOCK_ENTRIES + 1));
        assert!((0..BLOCK_ENTRIES).all(|number| may_contain(
            &block.bloom,
            Field::Correlation,
            &format!("id-{number}")
        )));
        assert!(may_contain(&block.bloom, Field::Server, "demo"));
        assert!(!may_contain(&block.bloom, Field::Caller, "demo"));
        let wrong = (0..10_000)
            .filter(|number| may_contain(&block.bloom, Field::Correlation, &format!("no-{number}")))
            .count();
        assert!(wrong < 50, "{wrong} of 10,000");
    }
}
