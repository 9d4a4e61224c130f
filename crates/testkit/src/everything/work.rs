//! Requests that are answered later.

use std::time::Duration;

use gateway_protocol::{RpcError, code, method};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Answer, Answered, Asked, ask, flows, held, tasks, text};
use crate::exchange::SpeaksNow;

/// From the least to the most severe.
const LEVELS: &[&str] = &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// How long the tools wait between two notifications.
const PAUSE: Duration = Duration::from_millis(50);

/// A legacy client sets its log level.
pub(super) fn set_level(asked: Asked<'_>) -> Answered {
    let level = asked.message.params.as_ref().and_then(|params| params.level.as_deref());
    let Some(level) = level.filter(|level| LEVELS.contains(level)) else {
        return Err(RpcError::new(code::INVALID_PARAMS, "unknown log level"));
    };
    if let Some(session) = &asked.exchange.session {
        session.client(|client| client.level = Some(level.to_owned()));
    }
    Ok(Answer::Now(json!({})))
}

impl Asked<'_> {
    /// Whether the request is answered later, so that it needs a stream. Flows are in the legacy era, where they ask by requests.
    pub(crate) fn takes_time(self) -> bool {
        let message = self.message;
        let is_legacy = self.era() == SpeaksNow::Legacy;
        let uri = message.params.as_ref().and_then(|params| params.uri.as_deref()).unwrap_or_default();
        let name = message.name().unwrap_or_default();
        match message.method() {
            method::CALL_TOOL => match name {
                "test_tool_with_logging"
                | "test_tool_with_progress"
                | "test_logging_tool"
                | "test_reconnection"
                | "test_held_call"
                | "test_await_held_call"
                | "test_streaming_elicitation" => true,
                "slow_compute" => !self.has_tasks(),
                other => is_legacy && flows::step(other, &self.first_round()).is_some(),
            },
            method::GET_PROMPT => is_legacy && name == "test_input_required_result_prompt",
            method::READ_RESOURCE => is_legacy && uri == "test://input-required",
            _ => false,
        }
    }

    /// Works on a request that takes time; `None` if it was cancelled.
    pub(crate) async fn work(self, cancelled: &CancellationToken) -> Option<Result<Value, RpcError>> {
        // A held call records its cancellation, so it checks by itself.
        let is_held = self.message.name() == Some("test_held_call");
        let result = tokio::select! {
            biased;
            () = cancelled.cancelled(), if !is_held => return None,
            result = self.perform(cancelled) => result?,
        };
        Some(result.map(|mut result| {
            if self.era() == SpeaksNow::Modern && result.get("resultType").is_none() {
                result["resultType"] = json!("complete");
            }
            result
        }))
    }

    async fn perform(self, cancelled: &CancellationToken) -> Option<Result<Value, RpcError>> {
        let name = self.message.name().unwrap_or_default();
        let result = match (name, self.era()) {
            ("test_tool_with_logging" | "test_logging_tool", _) => {
                for (index, line) in
                    ["Tool execution started", "Tool processing data", "Tool execution completed"]
                        .iter()
                        .enumerate()
                {
                    if index > 0 {
                        tokio::time::sleep(PAUSE).await;
                    }
                    self.log("info", line);
                }
                text("Tool with logging executed successfully")
            }
            ("test_tool_with_progress", _) => {
                for done in [0, 50, 100] {
                    if done > 0 {
                        tokio::time::sleep(PAUSE).await;
                    }
                    self.progress(done);
                }
                text("Tool with progress executed successfully")
            }
            ("test_reconnection", _) => {
                if let Some(stream) = &self.exchange.related {
                    stream.hang_up();
                }
                tokio::time::sleep(2 * PAUSE).await;
                text("Reconnection test completed: who reads this came back for it.")
            }
            ("test_held_call", _) => held::hold(self, cancelled).await?,
            ("test_await_held_call", _) => held::wait(self).await,
            ("slow_compute", _) => {
                tokio::time::sleep(tasks::duration_of(name, &self.arguments())).await;
                text(format!("Computed: {}", self.arguments()["label"].as_str().unwrap_or_default()))
            }
            (_, SpeaksNow::Modern) => {
                self.progress(50);
                match ask::drive(self, name) {
                    Ok(Answer::Now(result)) => result,
                    Ok(Answer::Later) => {
                        return Some(Err(RpcError::new(code::INTERNAL_ERROR, "this flow never ends")));
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
            (name, SpeaksNow::Legacy) => {
                let uri = self.message.params.as_ref().and_then(|params| params.uri.as_deref());
                return ask::drive_legacy(self, uri.unwrap_or(name), cancelled).await;
            }
        };
        Some(Ok(result))
    }

    /// Reports progress, if the client asked for it.
    pub(super) fn progress(self, done: u32) {
        let Some((token, stream)) = self.message.progress_token().zip(self.exchange.related.as_ref()) else {
            return;
        };
        let token: Value = serde_json::from_str(token.get()).unwrap_or_default();
        let params = json!({
            "progressToken": token, "progress": done, "total": 100,
            "message": format!("Completed step {done} of 100")
        });
        let note = json!({"jsonrpc": "2.0", "method": method::PROGRESS, "params": params});
        stream.send(note.to_string().as_bytes());
    }

    /// Sends a log message, if the client wants it: a modern request says so itself, a legacy client once.
    fn log(self, level: &str, line: &str) {
        let severity = |level: &str| LEVELS.iter().position(|known| *known == level);
        let least = match self.era() {
            SpeaksNow::Modern => match self.message.meta().and_then(|meta| meta.log_level.as_deref()) {
                Some(level) => severity(level),
                None => return,
            },
            SpeaksNow::Legacy => {
                let session = self.exchange.session.as_ref();
                let level = session.and_then(|session| session.client(|client| client.level.clone()));
                level.and_then(|level| severity(&level))
            }
        };
        if severity(level) < least {
            return;
        }
        let params = json!({"level": level, "logger": "gateway-fixture", "data": line});
        let note = json!({"jsonrpc": "2.0", "method": method::LOG_MESSAGE, "params": params});
        if let Some(stream) = &self.exchange.related {
            stream.send(note.to_string().as_bytes());
        }
    }
}
