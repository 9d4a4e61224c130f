//! Asking an upstream for a sign of life.

use std::time::Duration;

use gateway_protocol::method;
use tokio::time::Instant;

use super::Fleet;
use crate::connection::{Connection, OutgoingRequest};
use crate::error::CallError;

impl Fleet {
    /// Asks an upstream for a sign of life and gives how long that took: `ping` in the legacy era, `server/discover` in
    /// the modern one, which has no `ping`. Any answer counts, also a refusal.
    ///
    /// An upstream that is not there is started, as a call would start it. Asking does not count as use: it keeps no
    /// idle upstream running.
    pub async fn ping(&self, id: &str) -> Result<Duration, CallError> {
        let upstream = self.upstream(id)?;
        let connection = upstream.connected().await?;
        let asked = Instant::now();
        ping(&connection, upstream.spec.restart.ping_timeout).await?;
        Ok(asked.elapsed())
    }
}

/// Asks for a sign of life. Whoever refuses, or has too much to do, is alive.
pub(super) async fn ping(connection: &Connection, wait: Duration) -> Result<(), CallError> {
    // MCP 2026-07-28 has taken `ping` away.
    let asked = if connection.era().is_modern() { method::DISCOVER } else { method::PING };
    match connection.request(OutgoingRequest::new(asked, wait)).await {
        Ok(_) | Err(CallError::Refused { .. } | CallError::Busy { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
