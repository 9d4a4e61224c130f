//! What outlives a request: the call log, and [`conversations`].
//!
//! **What it is.** The call log is a queue in front of one writer thread, which redacts each record, caps it, and writes
//! it in batches to a file that survives `kill -9`, or to a PostgreSQL database; and a reader with filters, pages and a
//! cursor to follow by. A [`Permit`] taken before a call guarantees room for its record, so a full queue is noticed before
//! the call runs and no entry is lost silently. [`jsonl`] reads the logs that MCP servers write themselves.
//!
//! **What it is not.** It knows neither HTTP nor MCP, nor what a call or a message means. The log is not async: the runtime
//! turns a missing permit into a failure, and the service a notification of [`CallLog::on_write`] into an event. It keeps
//! no metrics and makes no decisions about calls.
//!
//! ```
//! use std::time::Duration;
//! use gateway_store::{CallLog, CallRecord, Filter, Options, Outcome};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = CallLog::in_memory(&Options::default())?;
//! let permit = log.try_reserve().ok_or("the call log is full, try again later")?;
//! // … run the call …
//! permit.record(CallRecord {
//!     timestamp: "2026-11-03T10:00:00Z".parse()?,
//!     caller: Some("alice".into()),
//!     server: "demo".into(),
//!     tool: "add".into(),
//!     provider: Some("openai".into()),
//!     input: r#"{"a":1,"b":2,"token":"abc"}"#.into(),
//!     outcome: Outcome::Result(r#"{"content":[{"type":"text","text":"3"}]}"#.into()),
//!     duration: Duration::from_millis(2),
//!     correlation_id: "4bf92f35".into(),
//!     transport: Some("http".into()),
//!     ran_on: None,
//! });
//! log.flush(Duration::from_secs(1))?;
//!
//! let mut filter = Filter::default();
//! filter.tool = Some("ad*".to_owned());
//! let page = log.query(&filter)?;
//! assert_eq!(page.entries.len(), 1);
//! assert_eq!(page.entries[0].call.input, r#"{"a":1,"b":2,"token":"[redacted]"}"#);
//! # Ok(())
//! # }
//! ```

mod address;
mod backend;
mod block;
mod checkpoint;
mod clock;
pub mod conversations;
mod error;
mod files;
pub mod jsonl;
mod log;
mod moment;
mod options;
mod pattern;
mod postgres;
mod postgres_log;
mod query;
mod queue;
mod record;
mod redact;
mod retention;
mod schema;
mod share;
mod sqlite;
mod status;
#[cfg(test)]
mod testing;
mod tls;
mod word_list;
mod writer;

pub use crate::{
    address::{Address, InvalidAddress},
    error::StoreError,
    log::CallLog,
    moment::parse_moment,
    options::Options,
    query::{CallStatus, Filter, LogOwner, LogReader, Page},
    queue::Permit,
    record::{CallRecord, Outcome, StoredRecord, write_json_array},
    redact::{PersonalData, REDACTED, RedactedJson, Redaction, Redactor},
    retention::Retention,
    schema::{FILE_NAME, Opened, PreviousRun},
    status::{Status, Subscription},
    writer::AUDIT,
};
