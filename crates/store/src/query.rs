//! Reading the log: filters, pages and connections.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use gateway_notation::pattern::is_pattern;
use jiff::Timestamp;
use rusqlite::{Connection, Row, params_from_iter, types::Value};

use crate::{
    block::{self, Field},
    error::StoreError,
    pattern,
    record::{CallRecord, Outcome, StoredRecord},
    schema,
};

/// Which entries to read. All conditions must hold; in names `*` matches any text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// The upstream's name or a pattern.
    pub server: Option<String>,
    /// The tool's name or a pattern.
    pub tool: Option<String>,
    /// The dialect's name or a pattern.
    pub provider: Option<String>,
    /// Other names of the same dialect, whose entries match as well. Not patterns.
    pub provider_aliases: Vec<String>,
    /// The caller's name or a pattern.
    pub caller: Option<String>,
    /// Only calls of this caller, regardless of `caller`. Not a pattern.
    pub owner: Option<LogOwner>,
    /// The correlation id or a pattern.
    pub correlation_id: Option<String>,
    /// Only calls with this outcome.
    pub status: Option<CallStatus>,
    /// Only calls that started at this time or later.
    pub since: Option<Timestamp>,
    /// Only calls that started before this time.
    pub until: Option<Timestamp>,
    /// Only entries with this text in input, result or error, ignoring ASCII case. The slowest condition: it reads every
    /// entry that passes the others.
    pub text: Option<String>,
    /// Only entries with a larger id; the page then starts with the first of them instead of ending with the newest.
    pub after: Option<i64>,
    /// Only entries with a smaller id.
    pub before: Option<i64>,
    /// The most entries on a page.
    pub limit: usize,
    /// The approximate size limit of a page (default: 16 MiB); it ends before an entry that would exceed it, but has at
    /// least one.
    pub max_bytes: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            server: None,
            tool: None,
            provider: None,
            provider_aliases: Vec::new(),
            caller: None,
            owner: None,
            correlation_id: None,
            status: None,
            since: None,
            until: None,
            text: None,
            after: None,
            before: None,
            limit: 100,
            max_bytes: 16 << 20,
        }
    }
}

/// Whose calls to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogOwner {
    /// Calls without a caller.
    Anonymous,
    /// Calls of the caller of exactly this name.
    Named(Arc<str>),
}

/// How a call ended, as a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// With a result.
    Ok,
    /// With an error.
    Error,
}

/// A page of entries, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The entries.
    pub entries: Vec<StoredRecord>,
    /// Whether more entries match: newer ones if the filter has `after`, else older ones.
    pub more: bool,
    /// The newest entry of the log when the page was read.
    pub last_id: i64,
}

impl Page {
    /// The `after` for the next page of newer entries, so that none is missed or repeated.
    pub fn next_after(&self, filter: &Filter) -> i64 {
        match (self.entries.last(), filter.after) {
            (Some(last), Some(_)) if self.more => last.id,
            (_, after) => self.last_id.max(after.unwrap_or(0)),
        }
    }
}

/// Reads a log, even while another process writes it.
#[derive(Debug)]
pub struct LogReader {
    source: Source,
}

#[derive(Debug)]
enum Source {
    File { path: PathBuf, idle: Mutex<Vec<Connection>> },
    Memory(Arc<Mutex<Connection>>),
    Server(Arc<dyn ReadLog>),
}

/// A log that is not in SQLite.
pub(crate) trait ReadLog: std::fmt::Debug + Send + Sync {
    /// Reads a page of entries.
    fn query(&self, filter: &Filter) -> Result<Page, StoreError>;
}

/// Idle connections kept for later queries.
const IDLE_CONNECTIONS: usize = 4;

impl LogReader {
    /// Opens the existing log of a data directory for reading only.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(schema::FILE_NAME);
        let idle = Mutex::new(vec![schema::open_reader(&path)?]);
        Ok(Self { source: Source::File { path, idle } })
    }

    pub(crate) fn of_file(path: PathBuf) -> Self {
        Self { source: Source::File { path, idle: Mutex::default() } }
    }

    pub(crate) fn of_memory(connection: Arc<Mutex<Connection>>) -> Self {
        Self { source: Source::Memory(connection) }
    }

    pub(crate) fn of_server(log: Arc<dyn ReadLog>) -> Self {
        Self { source: Source::Server(log) }
    }

    /// Reads the newest matching entries, oldest first; with `after`, the first ones after it.
    pub fn query(&self, filter: &Filter) -> Result<Page, StoreError> {
        let read = |connection: &Connection| {
            read_page(connection, filter).map_err(StoreError::database("reading entries"))
        };
        match &self.source {
            Source::Memory(connection) => read(&connection.lock().unwrap_or_else(PoisonError::into_inner)),
            Source::File { path, idle } => {
                let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let connection = kept.map_or_else(|| schema::open_reader(path), Ok)?;
                let answer = read(&connection)?;
                let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
                if idle.len() < IDLE_CONNECTIONS {
                    idle.push(connection);
                }
                Ok(answer)
            }
            Source::Server(log) => log.query(filter),
        }
    }
}

/// The conditions on single entries, as SQL.
struct Conditions {
    sql: String,
    values: Vec<Value>,
}

impl Conditions {
    fn of(filter: &Filter) -> Self {
        let mut conditions = Self { sql: String::new(), values: Vec::new() };
        for (column, field, name) in names(filter) {
            if matches!(field, Field::Provider) && !filter.provider_aliases.is_empty() {
                conditions.add_providers(name, &filter.provider_aliases);
            } else if is_pattern(name) {
                conditions.add(&format!("{column} GLOB ?"), [pattern::to_glob(name)]);
            } else {
                conditions.add(&format!("{column} = ?"), [name.to_owned()]);
            }
        }
        match &filter.owner {
            Some(LogOwner::Anonymous) => conditions.add("caller IS NULL", [0; 0]),
            Some(LogOwner::Named(name)) => conditions.add("caller = ?", [name.to_string()]),
            None => {}
        }
        match filter.status {
            Some(CallStatus::Ok) => conditions.add("failed = 0", [0; 0]),
            Some(CallStatus::Error) => conditions.add("failed = 1", [0; 0]),
            None => {}
        }
        if let Some(since) = filter.since {
            conditions.add("started >= ?", [ceiling_microsecond(since)]);
        }
        if let Some(until) = filter.until {
            conditions.add("started < ?", [ceiling_microsecond(until)]);
        }
        if let Some(text) = &filter.text {
            let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            let like = "(input LIKE ? ESCAPE '\\' OR result LIKE ? ESCAPE '\\' OR error LIKE ? ESCAPE '\\')";
            conditions.add(like, std::array::from_fn::<_, 3, _>(|_| format!("%{escaped}%")));
        }
        conditions
    }

    /// Entries that have any of the names.
    fn add_providers(&mut self, name: &str, aliases: &[String]) {
        let marks = vec!["?"; aliases.len() + 1].join(", ");
        self.sql.push_str(" AND provider IN (");
        self.sql.push_str(&marks);
        self.sql.push(')');
        let names = std::iter::once(name).chain(aliases.iter().map(String::as_str));
        self.values.extend(names.map(|name| Value::from(name.to_owned())));
    }

    fn add<V: Into<Value>, const N: usize>(&mut self, sql: &str, values: [V; N]) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values.map(Into::into));
    }
}

/// Entries have microsecond precision, so a finer bound is rounded up.
pub(crate) fn ceiling_microsecond(time: Timestamp) -> i64 {
    let micros = time.as_microsecond();
    let exact = time.subsec_nanosecond() % 1000 == 0;
    micros + i64::from(!exact && time.as_nanosecond() > 0)
}

fn read_page(connection: &Connection, filter: &Filter) -> rusqlite::Result<Page> {
    // One transaction, so that blocks, entries and newest id are consistent.
    let transaction = connection.unchecked_transaction()?;
    let last_id = transaction.query_row("SELECT coalesce(max(last), 0) FROM blocks", [], |row| row.get(0))?;
    let order = if filter.after.is_some() { "ASC" } else { "DESC" };
    let after = filter.after.unwrap_or(i64::MIN);
    let before = filter.before.unwrap_or(i64::MAX);
    let names = exact_names(filter);
    // The filter is most of a block's row, so it is read only if there are exact names to look up.
    let mut blocks = transaction.prepare(&format!(
        "SELECT first, last, iif(?1, bloom, NULL) FROM blocks \
         WHERE last > ?2 AND first < ?3 AND newest >= ?4 AND oldest < ?5 AND failures >= ?6 ORDER BY first {order}"
    ))?;
    let mut blocks = blocks.query((
        !names.is_empty(),
        after,
        before,
        filter.since.map_or(i64::MIN, Timestamp::as_microsecond),
        filter.until.map_or(i64::MAX, ceiling_microsecond),
        i64::from(filter.status == Some(CallStatus::Error)),
    ))?;

    let mut conditions = Conditions::of(filter);
    if let Some(LogOwner::Named(_)) = filter.owner {
        conditions.add("id > ?", [schema::owned_after(&transaction)?]);
    }
    let ran_on = if schema::has_ran_on(&transaction)? { "ran_on" } else { "NULL" };
    let mut calls = transaction.prepare(&format!(
        "SELECT id, started, duration, failed, server, tool, provider, caller, correlation, transport, code, error, \
         input, result, {ran_on} FROM calls WHERE id > ? AND id < ?{} ORDER BY id {order} LIMIT ?",
        conditions.sql
    ))?;
    let mut entries = Vec::new();
    let mut room = filter.max_bytes;
    let mut is_full = false;
    // One more than requested shows whether there are more.
    let wanted = filter.limit.saturating_add(1);
    while entries.len() < wanted
        && !is_full
        && let Some(block) = blocks.next()?
    {
        let first: i64 = block.get(0)?;
        let last: i64 = block.get(1)?;
        if let Some(bloom) = block.get_ref(2)?.as_blob_or_null()?
            && !names.iter().all(|(field, name)| block::may_contain(bloom, *field, name))
        {
            continue;
        }
        let values = [Value::from(after.max(first - 1)), Value::from(before.min(last + 1))]
            .into_iter()
            .chain(conditions.values.iter().cloned())
            .chain([Value::from(i64::try_from(wanted - entries.len()).unwrap_or(i64::MAX))]);
        let mut rows = calls.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let entry = read_entry(row)?;
            let size = size(&entry.call);
            if size > room && !entries.is_empty() {
                is_full = true;
                break;
            }
            room = room.saturating_sub(size);
            entries.push(entry);
        }
    }
    let more = is_full || entries.len() > filter.limit;
    entries.truncate(filter.limit);
    if filter.after.is_none() {
        entries.reverse();
    }
    Ok(Page { entries, more, last_id })
}

/// The names that a block must contain, by its Bloom filter. A pattern cannot be looked up there.
fn exact_names(filter: &Filter) -> Vec<(Field, &str)> {
    let owner = match &filter.owner {
        Some(LogOwner::Named(name)) => Some((Field::Caller, &**name)),
        Some(LogOwner::Anonymous) | None => None,
    };
    let exact = names(filter).filter(|(_, field, name)| {
        // One of several names cannot be looked up there either.
        !is_pattern(name) && (filter.provider_aliases.is_empty() || !matches!(field, Field::Provider))
    });
    exact.map(|(_, field, name)| (field, name)).chain(owner).collect()
}

/// The names and patterns of a filter, each with its column and its field in a Bloom filter.
fn names(filter: &Filter) -> impl Iterator<Item = (&'static str, Field, &str)> {
    [
        ("server", Field::Server, &filter.server),
        ("tool", Field::Tool, &filter.tool),
        ("provider", Field::Provider, &filter.provider),
        ("caller", Field::Caller, &filter.caller),
        ("correlation", Field::Correlation, &filter.correlation_id),
    ]
    .into_iter()
    .filter_map(|(column, field, name)| Some((column, field, name.as_deref()?)))
}

/// The approximate size of an entry in a response.
pub(crate) fn size(call: &CallRecord) -> usize {
    /// The names of the members, the times and the ids.
    const FRAME: usize = 256;
    FRAME + call.payload() + call.server.len() + call.tool.len()
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    let optional = |column: usize| -> rusqlite::Result<Option<Arc<str>>> {
        Ok(row.get_ref(column)?.as_str_or_null()?.map(Arc::from))
    };
    let required =
        |column: usize| -> rusqlite::Result<Arc<str>> { Ok(row.get_ref(column)?.as_str()?.into()) };
    let json = |column: usize| -> rusqlite::Result<Option<Bytes>> {
        Ok(row.get_ref(column)?.as_str_or_null()?.map(|text| Bytes::copy_from_slice(text.as_bytes())))
    };
    let failed: bool = row.get(3)?;
    let result = json(13)?;
    let outcome = if failed {
        Outcome::Error { message: optional(11)?.unwrap_or_default(), code: optional(10)?, result }
    } else {
        Outcome::Result(result.unwrap_or_default())
    };
    let duration: i64 = row.get(2)?;
    Ok(StoredRecord {
        id: row.get(0)?,
        call: CallRecord {
            timestamp: Timestamp::from_microsecond(row.get(1)?).unwrap_or(Timestamp::UNIX_EPOCH),
            caller: optional(7)?,
            server: required(4)?,
            tool: required(5)?,
            provider: optional(6)?,
            input: json(12)?.unwrap_or_default(),
            outcome,
            duration: Duration::from_micros(u64::try_from(duration).unwrap_or(0)),
            correlation_id: required(8)?,
            transport: row.get::<_, Option<String>>(9)?.map(Into::into),
            ran_on: optional(14)?,
        },
    })
}
