//! What is read and written, each in one transaction.

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use serde_json::value::RawValue;

use super::super::{
    document,
    error::ConversationError,
    head::{Head, Size},
    id::ConversationId,
    options::ConversationOptions,
    page::{ConversationFilter, ConversationPage, Filling},
    search::Needle,
    types::{Conversation, Expected, NewConversation, Saved, Scope, Update},
};

/// Why a transaction was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Refused(#[from] ConversationError),
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

/// The columns that [`read_head`] reads.
const HEAD: &str =
    "number, id, owner, title, created_at, updated_at, version, turn, metadata, message_count, message_bytes";

pub(super) fn create(
    connection: &mut Connection,
    new: &NewConversation,
    options: &ConversationOptions,
) -> Result<Saved, Fault> {
    let head = Head::of_new(new, options)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let Some((number, old)) = find_any(&transaction, new.id)? {
        if old.updated_at >= options.gone_before() {
            return Err(ConversationError::Exists.into());
        }
        remove(&transaction, number)?;
    }
    transaction.execute(
        "INSERT INTO conversations (id, owner, title, created_at, updated_at, version, turn, metadata, message_count, \
         message_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            head.id.to_string(),
            head.owner.as_deref(),
            head.title,
            head.created_at,
            head.updated_at,
            signed(head.version),
            head.turn.as_ref().map(document::turn_to_json),
            head.metadata.get(),
            signed(head.messages.count),
            i64::try_from(head.messages.bytes).unwrap_or(i64::MAX),
        ],
    )?;
    insert_messages(&transaction, transaction.last_insert_rowid(), 0, &new.messages)?;
    transaction.commit()?;
    Ok(head.saved())
}

pub(super) fn get(
    connection: &mut Connection,
    scope: &Scope,
    id: ConversationId,
    options: &ConversationOptions,
) -> Result<Option<Conversation>, Fault> {
    // One transaction, so that head and messages belong together.
    let transaction = connection.transaction()?;
    let Some((number, head)) = find(&transaction, scope, id, options)? else { return Ok(None) };
    let mut select =
        transaction.prepare("SELECT body FROM messages WHERE conversation = ? ORDER BY position")?;
    let messages = select.query_map([number], |row| raw(row, 0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(head.with(messages)))
}

pub(super) fn list(
    connection: &mut Connection,
    filter: &ConversationFilter,
    options: &ConversationOptions,
) -> Result<ConversationPage, Fault> {
    let needle = filter.needle();
    let transaction = connection.transaction()?;
    let (condition, owner) = match &filter.scope {
        Scope::All => ("?4 IS NULL", None),
        Scope::Anonymous => ("?4 IS NULL AND owner IS NULL", None),
        Scope::Named(name) => ("owner = ?4", Some(&**name)),
    };
    let mut select = transaction.prepare(&format!(
        "SELECT {HEAD} FROM conversations WHERE updated_at >= ?1 AND (updated_at, id) < (?2, ?3) AND {condition} \
         ORDER BY updated_at DESC, id DESC"
    ))?;
    let (before, id) =
        filter.after.map_or((i64::MAX, String::new()), |after| (after.updated_at, after.id.to_string()));
    let mut rows = select.query(params![options.gone_before(), before, id, owner])?;
    let mut page = Filling::new(filter, options.deadline);
    while let Some(row) = rows.next()? {
        if page.is_over() {
            return Ok(page.more());
        }
        let (number, head) = read_head(row)?;
        page.pass(head.position());
        let matches = match &needle {
            Some(needle) => needle.is_in_title(&head.title) || has_message(&transaction, number, needle)?,
            None => true,
        };
        if matches {
            page.add(head.summary());
        }
    }
    Ok(page.last())
}

fn has_message(connection: &Connection, number: i64, needle: &Needle) -> rusqlite::Result<bool> {
    let mut select = connection.prepare("SELECT body FROM messages WHERE conversation = ?")?;
    let mut rows = select.query([number])?;
    while let Some(row) = rows.next()? {
        if needle.is_in_message(row.get_ref(0)?.as_str()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn update(
    connection: &mut Connection,
    scope: &Scope,
    id: ConversationId,
    expected: &Expected,
    update: &Update,
    options: &ConversationOptions,
) -> Result<Saved, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = find(&transaction, scope, id, options)?;
    let (number, old) = found.ok_or(ConversationError::NotFound)?;
    let head = old.updated(expected, update, options)?;
    transaction.execute(
        "UPDATE conversations SET title = ?2, updated_at = ?3, version = ?4, turn = ?5, metadata = ?6, message_count = ?7, \
         message_bytes = ?8 WHERE number = ?1",
        params![
            number,
            head.title,
            head.updated_at,
            signed(head.version),
            head.turn.as_ref().map(document::turn_to_json),
            head.metadata.get(),
            signed(head.messages.count),
            i64::try_from(head.messages.bytes).unwrap_or(i64::MAX),
        ],
    )?;
    let mut position = signed(old.messages.count);
    if let Some(messages) = &update.replace {
        transaction.execute("DELETE FROM messages WHERE conversation = ?", [number])?;
        insert_messages(&transaction, number, 0, messages)?;
        position = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    }
    insert_messages(&transaction, number, position, &update.append)?;
    transaction.commit()?;
    Ok(head.saved())
}

pub(super) fn delete(
    connection: &mut Connection,
    scope: &Scope,
    id: ConversationId,
    options: &ConversationOptions,
) -> Result<bool, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some((number, _)) = find(&transaction, scope, id, options)? else { return Ok(false) };
    remove(&transaction, number)?;
    transaction.commit()?;
    Ok(true)
}

pub(super) fn ping(connection: &Connection) -> Result<(), Fault> {
    connection.query_row("SELECT 1 FROM conversations LIMIT 1", [], |_| Ok(())).optional()?;
    Ok(())
}

pub(super) fn keep(connection: &Connection, key: &str, value: &[u8], expires_at: i64) -> Result<(), Fault> {
    connection.execute(
        "INSERT OR REPLACE INTO kept (key, value, expires_at) VALUES (?, ?, ?)",
        params![key, value, expires_at],
    )?;
    Ok(())
}

pub(super) fn keep_new(
    connection: &Connection,
    key: &str,
    value: &[u8],
    (now, expires_at): (i64, i64),
) -> Result<bool, Fault> {
    let written = connection.execute(
        "INSERT INTO kept (key, value, expires_at) VALUES (?1, ?2, ?3) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at \
         WHERE kept.expires_at <= ?4",
        params![key, value, expires_at, now],
    )?;
    Ok(written == 1)
}

pub(super) fn kept(connection: &Connection, key: &str, now: i64) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "SELECT value FROM kept WHERE key = ? AND expires_at > ?";
    Ok(connection.query_row(sql, params![key, now], |row| row.get(0)).optional()?)
}

pub(super) fn take(connection: &Connection, key: &str, now: i64) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "DELETE FROM kept WHERE key = ? AND expires_at > ? RETURNING value";
    Ok(connection.query_row(sql, params![key, now], |row| row.get(0)).optional()?)
}

/// Conversations or values deleted in one step.
const STEP: i64 = 100;

/// Deletes some of what is gone. Whether there may be more of it.
pub(super) fn sweep(connection: &mut Connection, options: &ConversationOptions) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let gone: Vec<i64> = transaction
        .prepare("SELECT number FROM conversations WHERE updated_at < ? LIMIT ?")?
        .query_map([options.gone_before(), STEP], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for number in &gone {
        remove(&transaction, *number)?;
    }
    let values = transaction.execute(
        "DELETE FROM kept WHERE key IN (SELECT key FROM kept WHERE expires_at <= ? LIMIT ?)",
        [options.micros(), STEP],
    )?;
    transaction.commit()?;
    let mut vacuum = connection.prepare("PRAGMA incremental_vacuum(512)")?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok([gone.len(), values].iter().any(|count| i64::try_from(*count).is_ok_and(|count| count >= STEP)))
}

fn remove(connection: &Connection, number: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM messages WHERE conversation = ?", [number])?;
    connection.execute("DELETE FROM conversations WHERE number = ?", [number])?;
    Ok(())
}

fn insert_messages(
    connection: &Connection,
    number: i64,
    first: i64,
    messages: &[Box<RawValue>],
) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare("INSERT INTO messages (conversation, position, body) VALUES (?, ?, ?)")?;
    for (position, message) in (first..).zip(messages) {
        insert.execute(params![number, position, message.get()])?;
    }
    Ok(())
}

/// The head of a conversation that exists in the scope, and its number.
fn find(
    connection: &Connection,
    scope: &Scope,
    id: ConversationId,
    options: &ConversationOptions,
) -> rusqlite::Result<Option<(i64, Head)>> {
    let found = find_any(connection, id)?;
    Ok(found.filter(|(_, head)| {
        scope.contains(head.owner.as_deref()) && head.updated_at >= options.gone_before()
    }))
}

fn find_any(connection: &Connection, id: ConversationId) -> rusqlite::Result<Option<(i64, Head)>> {
    let mut select = connection.prepare(&format!("SELECT {HEAD} FROM conversations WHERE id = ?"))?;
    select.query_row([id.to_string()], read_head).optional()
}

fn read_head(row: &Row<'_>) -> rusqlite::Result<(i64, Head)> {
    let id = row.get_ref(1)?.as_str()?.parse().map_err(|error| damaged(1, error))?;
    let owner: Option<String> = row.get(2)?;
    let turn: Option<String> = row.get(7)?;
    let head = Head {
        id,
        owner: owner.map(Into::into),
        title: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        version: u64::try_from(row.get::<_, i64>(6)?).unwrap_or(0),
        turn: turn.as_deref().and_then(document::turn_of_json),
        metadata: raw(row, 8)?,
        messages: Size {
            count: u64::try_from(row.get::<_, i64>(9)?).unwrap_or(0),
            bytes: usize::try_from(row.get::<_, i64>(10)?).unwrap_or(0),
        },
    };
    Ok((row.get(0)?, head))
}

fn raw(row: &Row<'_>, column: usize) -> rusqlite::Result<Box<RawValue>> {
    RawValue::from_string(row.get(column)?).map_err(|error| damaged(column, error))
}

fn damaged(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
