//! Records for tests.

use std::time::Duration;

use bytes::Bytes;

use crate::record::{CallRecord, Outcome};

pub(crate) fn record(server: &str, tool: &str) -> CallRecord {
    CallRecord {
        timestamp: "2026-11-03T10:00:00Z".parse().unwrap(),
        caller: None,
        server: server.into(),
        tool: tool.into(),
        provider: None,
        input: Bytes::from_static(b"{}"),
        outcome: Outcome::Result(Bytes::from_static(b"{}")),
        duration: Duration::from_millis(1),
        correlation_id: "c".into(),
        transport: None,
        ran_on: None,
    }
}
