//! Reading entries.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gateway_notation::pattern::is_pattern;
use jiff::Timestamp;
use sqlx::{
    Postgres as Database, QueryBuilder, Row as _,
    postgres::{PgConnection, PgRow},
};

use super::write::plain;
use crate::{
    postgres::{Access, Postgres},
    query::{CallStatus, Filter, LogOwner, Page, ceiling_microsecond, size},
    record::{CallRecord, Outcome, StoredRecord},
};

/// Entries that are read at once: they can be large, and a page may be full earlier.
const STEP: usize = 100;

/// A page of entries.
pub(super) async fn page(server: &Postgres, filter: &Filter) -> Result<Page, sqlx::Error> {
    let read = async |connection: &mut PgConnection| {
        let last_id: i64 =
            sqlx::query("SELECT last_id FROM gateway_log").fetch_one(&mut *connection).await?.try_get(0)?;
        let mut entries = Vec::new();
        let mut room = filter.max_bytes;
        let (mut after, mut before) = (filter.after.unwrap_or(i64::MIN), filter.before.unwrap_or(i64::MAX));
        // One more than requested shows whether there are more.
        let wanted = filter.limit.saturating_add(1);
        let mut is_full = false;
        while entries.len() < wanted && !is_full {
            let count = (wanted - entries.len()).min(STEP);
            let rows = select(filter, after, before, count).build().fetch_all(&mut *connection).await?;
            for row in &rows {
                let entry = read_entry(row)?;
                if filter.after.is_some() {
                    after = entry.id;
                } else {
                    before = entry.id;
                }
                let size = size(&entry.call);
                if size > room && !entries.is_empty() {
                    is_full = true;
                    break;
                }
                room = room.saturating_sub(size);
                entries.push(entry);
            }
            if rows.len() < count {
                break;
            }
        }
        let more = is_full || entries.len() > filter.limit;
        entries.truncate(filter.limit);
        if filter.after.is_none() {
            entries.reverse();
        }
        Ok(Page { entries, more, last_id })
    };
    server.transaction(Access::Read, read).await
}

fn select(filter: &Filter, after: i64, before: i64, count: usize) -> QueryBuilder<Database> {
    let mut sql = QueryBuilder::new(
        "SELECT id, started, duration, failed, server, tool, provider, caller, correlation, transport, code, error, input, result, \
         ran_on FROM gateway_calls WHERE id > ",
    );
    sql.push_bind(after).push(" AND id < ").push_bind(before);
    for (column, name) in [
        ("server", &filter.server),
        ("tool", &filter.tool),
        ("provider", &filter.provider),
        ("caller", &filter.caller),
        ("correlation", &filter.correlation_id),
    ] {
        let Some(name) = name else { continue };
        sql.push(" AND ").push(column);
        if column == "provider" && !filter.provider_aliases.is_empty() {
            let names: Vec<String> =
                filter.provider_aliases.iter().chain([name]).map(|name| plain(name)).collect();
            sql.push(" = ANY(").push_bind(names).push(")");
        } else if is_pattern(name) {
            sql.push(" LIKE ").push_bind(like(&plain(name))).push(" ESCAPE '\\'");
        } else {
            sql.push(" = ").push_bind(plain(name));
        }
    }
    match &filter.owner {
        Some(LogOwner::Anonymous) => {
            sql.push(" AND caller IS NULL");
        }
        Some(LogOwner::Named(name)) => {
            let name = plain(name);
            sql.push(" AND md5(caller) = md5(")
                .push_bind(name.clone())
                .push(") AND caller = ")
                .push_bind(name);
        }
        None => {}
    }
    match filter.status {
        Some(CallStatus::Ok) => {
            sql.push(" AND NOT failed");
        }
        Some(CallStatus::Error) => {
            sql.push(" AND failed");
        }
        None => {}
    }
    if let Some(since) = filter.since {
        sql.push(" AND started >= ").push_bind(ceiling_microsecond(since));
    }
    if let Some(until) = filter.until {
        sql.push(" AND started < ").push_bind(ceiling_microsecond(until));
    }
    if let Some(text) = &filter.text {
        let text = format!("%{}%", escape(&plain(text).to_ascii_lowercase()));
        // With this collation only ASCII letters are folded, whatever the database is set to.
        for (index, column) in ["input", "result", "error"].into_iter().enumerate() {
            sql.push(if index == 0 { " AND (" } else { " OR " });
            sql.push("lower(")
                .push(column)
                .push(" COLLATE \"C\") LIKE ")
                .push_bind(text.clone())
                .push(" ESCAPE '\\'");
        }
        sql.push(")");
    }
    sql.push(if filter.after.is_some() { " ORDER BY id ASC LIMIT " } else { " ORDER BY id DESC LIMIT " });
    sql.push_bind(i64::try_from(count).unwrap_or(i64::MAX));
    sql
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// A name pattern in SQL's language.
fn like(pattern: &str) -> String {
    escape(pattern).replace('*', "%").replace('?', "_")
}

fn read_entry(row: &PgRow) -> Result<StoredRecord, sqlx::Error> {
    let optional =
        |column: usize| row.try_get::<Option<&str>, _>(column).map(|text| text.map(Arc::<str>::from));
    let json = |column: usize| {
        let text = row.try_get::<Option<String>, _>(column);
        text.map(|text| text.map(Bytes::from))
    };
    let result = json(13)?;
    let outcome = if row.try_get(3)? {
        Outcome::Error { message: optional(11)?.unwrap_or_default(), code: optional(10)?, result }
    } else {
        Outcome::Result(result.unwrap_or_default())
    };
    Ok(StoredRecord {
        id: row.try_get(0)?,
        call: CallRecord {
            timestamp: Timestamp::from_microsecond(row.try_get(1)?).unwrap_or(Timestamp::UNIX_EPOCH),
            caller: optional(7)?,
            server: optional(4)?.unwrap_or_default(),
            tool: optional(5)?.unwrap_or_default(),
            provider: optional(6)?,
            input: json(12)?.unwrap_or_default(),
            outcome,
            duration: Duration::from_micros(u64::try_from(row.try_get::<i64, _>(2)?).unwrap_or(0)),
            correlation_id: optional(8)?.unwrap_or_default(),
            transport: row.try_get::<Option<String>, _>(9)?.map(Into::into),
            ran_on: optional(14)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wildcards_are_special_in_a_pattern() {
        assert_eq!(like("a?%_[b]*\\"), "a_\\%\\_[b]%\\\\");
    }
}
