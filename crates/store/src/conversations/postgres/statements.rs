//! What is read and written, inside a transaction that the caller has begun.
//!
//! Texts that are not JSON already (titles, owners, keys) are kept as JSON texts: PostgreSQL's own cannot have a NUL.

use serde_json::value::RawValue;
use sqlx::{
    AssertSqlSafe, Row as _,
    postgres::{PgConnection, PgRow},
};

use super::super::{
    document,
    error::ConversationError,
    head::{Head, Size},
    id::ConversationId,
    options::ConversationOptions,
    page::{ConversationFilter, ConversationPage, Filling},
    search,
    types::{Conversation, Expected, NewConversation, Saved, Scope, Update},
};

/// Each step migrates the schema from the version of its index to the next one. `title_texts` and `texts` are what is searched.
pub(super) const MIGRATIONS: &[&str] = &[r#"
    CREATE TABLE gateway_conversations (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        owner text COLLATE "C",
        title text NOT NULL,
        title_texts text NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        version bigint NOT NULL,
        turn text,
        metadata text NOT NULL,
        message_count bigint NOT NULL,
        message_bytes bigint NOT NULL
    );
    CREATE INDEX gateway_conversations_by_update ON gateway_conversations (updated_at, id);
    CREATE INDEX gateway_conversations_by_owner ON gateway_conversations (md5(owner), updated_at, id);
    CREATE TABLE gateway_messages (
        conversation bigint NOT NULL REFERENCES gateway_conversations (number) ON DELETE CASCADE,
        position bigint NOT NULL,
        body text NOT NULL,
        texts text NOT NULL,
        PRIMARY KEY (conversation, position)
    );
    CREATE TABLE gateway_kept (key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, expires_at bigint NOT NULL);
    CREATE INDEX gateway_kept_by_expiry ON gateway_kept (expires_at);
"#];

/// Why a transaction was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Refused(#[from] ConversationError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// The columns that [`read_head`] reads.
const HEAD: &str =
    "number, id, owner, title, created_at, updated_at, version, turn, metadata, message_count, message_bytes";

pub(super) async fn create(
    connection: &mut PgConnection,
    new: &NewConversation,
    options: &ConversationOptions,
) -> Result<Saved, Fault> {
    let head = Head::of_new(new, options)?;
    sqlx::query("DELETE FROM gateway_conversations WHERE id = $1 AND updated_at < $2")
        .bind(head.id.to_string())
        .bind(options.gone_before())
        .execute(&mut *connection)
        .await?;
    let row = sqlx::query(
        "INSERT INTO gateway_conversations (id, owner, title, title_texts, created_at, updated_at, version, turn, metadata, \
         message_count, message_bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT (id) DO NOTHING RETURNING number",
    )
    .bind(head.id.to_string())
    .bind(head.owner.as_deref().map(literal))
    .bind(literal(&head.title))
    .bind(search::fold(&head.title))
    .bind(head.created_at)
    .bind(head.updated_at)
    .bind(signed(head.version))
    .bind(head.turn.as_ref().map(document::turn_to_json))
    .bind(head.metadata.get())
    .bind(signed(head.messages.count))
    .bind(i64::try_from(head.messages.bytes).unwrap_or(i64::MAX))
    .fetch_optional(&mut *connection)
    .await?;
    let number = row.ok_or(ConversationError::Exists)?.try_get(0)?;
    insert_messages(connection, number, 0, &new.messages).await?;
    Ok(head.saved())
}

pub(super) async fn get(
    connection: &mut PgConnection,
    scope: &Scope,
    id: ConversationId,
    options: &ConversationOptions,
) -> Result<Option<Conversation>, Fault> {
    let Some((number, head)) = find(connection, scope, id, options, "").await? else { return Ok(None) };
    let rows = sqlx::query("SELECT body FROM gateway_messages WHERE conversation = $1 ORDER BY position")
        .bind(number)
        .fetch_all(connection)
        .await?;
    let messages = rows.iter().map(|row| raw(row, 0)).collect::<Result<_, _>>()?;
    Ok(Some(head.with(messages)))
}

/// Conversations that are searched by one statement, so that a page can end between two of them.
const STEP: usize = 64;

pub(super) async fn list(
    connection: &mut PgConnection,
    filter: &ConversationFilter,
    options: &ConversationOptions,
) -> Result<ConversationPage, Fault> {
    let needle = filter.needle().map(|needle| needle.like());
    let (condition, owner) = match &filter.scope {
        Scope::All => ("$4::text IS NULL", None),
        Scope::Anonymous => ("$4::text IS NULL AND owner IS NULL", None),
        // An owner can be longer than an index takes, so that has a hash.
        Scope::Named(name) => ("md5(owner) = md5($4) AND owner = $4", Some(literal(name))),
    };
    let sql = format!(
        "SELECT {HEAD}, $5::text IS NULL OR title_texts LIKE $5 ESCAPE '\\' OR EXISTS (SELECT 1 FROM gateway_messages WHERE \
         conversation = number AND texts LIKE $5 ESCAPE '\\') FROM gateway_conversations WHERE updated_at >= $1 AND \
         (updated_at, id) < ($2, $3) AND {condition} ORDER BY updated_at DESC, id DESC LIMIT $6"
    );
    let step = if needle.is_some() { STEP } else { filter.limit() + 1 };
    let mut page = Filling::new(filter, options.deadline);
    let mut after = filter.after;
    loop {
        let (before, id) = after.map_or((i64::MAX, String::new()), |at| (at.updated_at, at.id.to_string()));
        let rows = sqlx::query(AssertSqlSafe(sql.clone()))
            .bind(options.gone_before())
            .bind(before)
            .bind(id)
            .bind(owner.as_deref())
            .bind(needle.as_deref())
            .bind(i64::try_from(step).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            if page.is_full() {
                return Ok(page.more());
            }
            let (_, head) = read_head(row)?;
            after = Some(head.position());
            page.pass(head.position());
            if row.try_get(11)? {
                page.add(head.summary());
            }
        }
        if rows.len() < step {
            return Ok(page.last());
        }
        if page.is_over() {
            return Ok(page.more());
        }
    }
}

pub(super) async fn update(
    connection: &mut PgConnection,
    scope: &Scope,
    id: ConversationId,
    expected: &Expected,
    update: &Update,
    options: &ConversationOptions,
) -> Result<Saved, Fault> {
    let found = find(connection, scope, id, options, "FOR UPDATE").await?;
    let (number, old) = found.ok_or(ConversationError::NotFound)?;
    let head = old.updated(expected, update, options)?;
    sqlx::query(
        "UPDATE gateway_conversations SET title = $2, title_texts = $3, updated_at = $4, version = $5, turn = $6, metadata = $7, \
         message_count = $8, message_bytes = $9 WHERE number = $1",
    )
    .bind(number)
    .bind(literal(&head.title))
    .bind(search::fold(&head.title))
    .bind(head.updated_at)
    .bind(signed(head.version))
    .bind(head.turn.as_ref().map(document::turn_to_json))
    .bind(head.metadata.get())
    .bind(signed(head.messages.count))
    .bind(i64::try_from(head.messages.bytes).unwrap_or(i64::MAX))
    .execute(&mut *connection)
    .await?;
    let mut position = signed(old.messages.count);
    if let Some(messages) = &update.replace {
        sqlx::query("DELETE FROM gateway_messages WHERE conversation = $1")
            .bind(number)
            .execute(&mut *connection)
            .await?;
        insert_messages(connection, number, 0, messages).await?;
        position = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    }
    insert_messages(connection, number, position, &update.append).await?;
    Ok(head.saved())
}

pub(super) async fn delete(
    connection: &mut PgConnection,
    scope: &Scope,
    id: ConversationId,
    options: &ConversationOptions,
) -> Result<bool, Fault> {
    let Some((number, _)) = find(connection, scope, id, options, "FOR UPDATE").await? else {
        return Ok(false);
    };
    sqlx::query("DELETE FROM gateway_conversations WHERE number = $1")
        .bind(number)
        .execute(connection)
        .await?;
    Ok(true)
}

pub(super) async fn ping(connection: &mut PgConnection) -> Result<(), Fault> {
    sqlx::query("SELECT 1 FROM gateway_conversations LIMIT 1").fetch_optional(connection).await?;
    Ok(())
}

pub(super) async fn keep(
    connection: &mut PgConnection,
    key: &str,
    value: &[u8],
    expires_at: i64,
) -> Result<(), Fault> {
    sqlx::query(
        "INSERT INTO gateway_kept (key, value, expires_at) VALUES ($1, $2, $3) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
    )
    .bind(literal(key))
    .bind(value)
    .bind(expires_at)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn keep_new(
    connection: &mut PgConnection,
    key: &str,
    value: &[u8],
    (now, expires_at): (i64, i64),
) -> Result<bool, Fault> {
    let written = sqlx::query(
        "INSERT INTO gateway_kept (key, value, expires_at) VALUES ($1, $2, $3) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at \
         WHERE gateway_kept.expires_at <= $4",
    )
    .bind(literal(key))
    .bind(value)
    .bind(expires_at)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(written.rows_affected() == 1)
}

pub(super) async fn kept(
    connection: &mut PgConnection,
    key: &str,
    now: i64,
) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "SELECT value FROM gateway_kept WHERE key = $1 AND expires_at > $2";
    let row = sqlx::query(sql).bind(literal(key)).bind(now).fetch_optional(connection).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

pub(super) async fn take(
    connection: &mut PgConnection,
    key: &str,
    now: i64,
) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "DELETE FROM gateway_kept WHERE key = $1 AND expires_at > $2 RETURNING value";
    let row = sqlx::query(sql).bind(literal(key)).bind(now).fetch_optional(connection).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Conversations or values deleted in one step.
const SWEEP_STEP: u32 = 100;

/// Deletes some of what is gone, but nothing that somebody else is at. Whether there may be more of it.
pub(super) async fn sweep(
    connection: &mut PgConnection,
    options: &ConversationOptions,
) -> Result<bool, Fault> {
    let conversations = sqlx::query(
        "DELETE FROM gateway_conversations WHERE number IN \
         (SELECT number FROM gateway_conversations WHERE updated_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(options.gone_before())
    .bind(i64::from(SWEEP_STEP))
    .execute(&mut *connection)
    .await?;
    let values = sqlx::query(
        "DELETE FROM gateway_kept WHERE key IN \
         (SELECT key FROM gateway_kept WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(options.micros())
    .bind(i64::from(SWEEP_STEP))
    .execute(&mut *connection)
    .await?;
    let most = conversations.rows_affected().max(values.rows_affected());
    Ok(most >= u64::from(SWEEP_STEP))
}

async fn insert_messages(
    connection: &mut PgConnection,
    number: i64,
    first: i64,
    messages: &[Box<RawValue>],
) -> Result<(), Fault> {
    if messages.is_empty() {
        return Ok(());
    }
    let bodies: Vec<&str> = messages.iter().map(|message| message.get()).collect();
    let texts: Vec<String> = bodies.iter().map(|body| search::texts_of(body)).collect();
    sqlx::query(
        "INSERT INTO gateway_messages (conversation, position, body, texts) \
         SELECT $1, $2 + nth - 1, body, texts FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS new (body, texts, nth)",
    )
    .bind(number)
    .bind(first)
    .bind(bodies)
    .bind(texts)
    .execute(connection)
    .await?;
    Ok(())
}

/// The head of a conversation that exists in the scope, and its number.
async fn find(
    connection: &mut PgConnection,
    scope: &Scope,
    id: ConversationId,
    options: &ConversationOptions,
    lock: &'static str,
) -> Result<Option<(i64, Head)>, Fault> {
    let sql = format!("SELECT {HEAD} FROM gateway_conversations WHERE id = $1 AND updated_at >= $2 {lock}");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(id.to_string())
        .bind(options.gone_before())
        .fetch_optional(connection)
        .await?;
    let found = row.as_ref().map(read_head).transpose()?;
    Ok(found.filter(|(_, head)| scope.contains(head.owner.as_deref())))
}

fn read_head(row: &PgRow) -> Result<(i64, Head), sqlx::Error> {
    let id: &str = row.try_get(1)?;
    let owner: Option<&str> = row.try_get(2)?;
    let turn: Option<&str> = row.try_get(7)?;
    let count: i64 = row.try_get(9)?;
    let bytes: i64 = row.try_get(10)?;
    let head = Head {
        id: id.parse().map_err(damaged)?,
        owner: owner.map(text).transpose()?.map(Into::into),
        title: text(row.try_get(3)?)?,
        created_at: row.try_get(4)?,
        updated_at: row.try_get(5)?,
        version: u64::try_from(row.try_get::<i64, _>(6)?).unwrap_or(0),
        turn: turn.and_then(document::turn_of_json),
        metadata: raw(row, 8)?,
        messages: Size {
            count: u64::try_from(count).unwrap_or(0),
            bytes: usize::try_from(bytes).unwrap_or(0),
        },
    };
    Ok((row.try_get(0)?, head))
}

fn raw(row: &PgRow, column: usize) -> Result<Box<RawValue>, sqlx::Error> {
    RawValue::from_string(row.try_get(column)?).map_err(damaged)
}

/// A text as JSON.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn text(literal: &str) -> Result<String, sqlx::Error> {
    serde_json::from_str(literal).map_err(damaged)
}

fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
