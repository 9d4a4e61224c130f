//! What can go wrong, named after what the caller can do about it.

use std::time::Duration;

use gateway_config::UpstreamId;
use gateway_process::SpawnError;
use gateway_protocol::{RawJson, RpcError};

use crate::last_words::without_last_words;

/// Why a call gave no result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No upstream has this name.
    #[error("no server is called `{name}`")]
    UnknownUpstream {
        /// The name.
        name: String,
    },
    /// The upstream is configured but switched off.
    #[error("Server \"{upstream}\" is disabled and cannot be used")]
    Disabled {
        /// The upstream.
        upstream: UpstreamId,
    },
    /// The entry of the upstream in the configuration is invalid.
    #[error("server `{upstream}` is left out, because its entry in the configuration is invalid: {reason}")]
    Misconfigured {
        /// The upstream.
        upstream: UpstreamId,
        /// Why.
        reason: String,
    },
    /// The upstream has no such tool.
    #[error("server `{upstream}` has no tool `{tool}`")]
    UnknownTool {
        /// The upstream.
        upstream: UpstreamId,
        /// The tool.
        tool: String,
    },
    /// The tool's definition changed and calls are blocked until somebody accepts it.
    #[error(
        "tool `{tool}` of server `{upstream}` is blocked: {reason}; `mcp-tool-gateway servers accept {upstream}` shows its \
         definition, and `mcp-tool-gateway servers accept {upstream} FINGERPRINT` accepts it"
    )]
    Blocked {
        /// The upstream.
        upstream: UpstreamId,
        /// The tool.
        tool: String,
        /// Why.
        reason: String,
    },
    /// The upstream is not there; the call was never sent.
    #[error("server `{upstream}` cannot be reached: {reason}")]
    Unreachable {
        /// The upstream.
        upstream: UpstreamId,
        /// Why.
        reason: String,
    },
    /// The upstream is there, but nobody knows its tools; the call was never sent.
    #[error("the tools of server `{upstream}` cannot be listed: {reason}")]
    Unlisted {
        /// The upstream.
        upstream: UpstreamId,
        /// Why.
        reason: String,
    },
    /// Too many calls in flight; the call was never sent.
    #[error("server `{upstream}` is busy with {in_flight} calls")]
    Busy {
        /// The upstream.
        upstream: UpstreamId,
        /// How many.
        in_flight: usize,
    },
    /// The connection ended after the call was sent; it may have run.
    #[error("server `{upstream}` went away during the call: {reason}")]
    Lost {
        /// The upstream.
        upstream: UpstreamId,
        /// Why.
        reason: String,
    },
    /// No answer in time; the upstream was asked to stop.
    #[error("server `{upstream}` gave no answer within {:?}", whole_milliseconds(*waited))]
    Timeout {
        /// The upstream.
        upstream: UpstreamId,
        /// How long.
        waited: Duration,
    },
    /// The answer was too long to take.
    #[error("server `{upstream}` answered with more than {limit} bytes")]
    TooLong {
        /// The upstream.
        upstream: UpstreamId,
        /// The bound.
        limit: usize,
    },
    /// The tool ran, but there is no room for its result beside those that callers have not taken yet.
    #[error("server `{upstream}` ran the request, but its long result was dropped: {}", NoRoom { limit: *limit })]
    ResultDropped {
        /// The upstream.
        upstream: UpstreamId,
        /// The bound for all results.
        limit: usize,
    },
    /// The answer was not JSON-RPC.
    #[error("server `{upstream}` answered with something that is not a result: {reason}")]
    Malformed {
        /// The upstream.
        upstream: UpstreamId,
        /// What was wrong.
        reason: String,
        /// What came, if it was JSON.
        raw: Option<RawJson>,
    },
    /// The upstream refused the call with a JSON-RPC error.
    #[error("{error}")]
    Refused {
        /// The upstream.
        upstream: UpstreamId,
        /// The error as it came.
        error: RpcError,
    },
}

/// Why a result is dropped, and what to do: one text for results and for the answers that are made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the results in flight already take what they may of {limit} bytes (`limits.resultBytes`); do not repeat a call that must \
     run once; read the other results first, or ask for less"
)]
pub struct NoRoom {
    /// The bound for all results.
    pub limit: usize,
}

impl CallError {
    /// The words for a model: without what the server wrote to its standard error.
    pub fn for_models(&self) -> String {
        let text = self.to_string();
        match self {
            Self::Unreachable { .. } | Self::Unlisted { .. } | Self::Lost { .. } => {
                without_last_words(&text).to_owned()
            }
            Self::UnknownUpstream { .. }
            | Self::Disabled { .. }
            | Self::Misconfigured { .. }
            | Self::UnknownTool { .. }
            | Self::Blocked { .. }
            | Self::Busy { .. }
            | Self::Timeout { .. }
            | Self::TooLong { .. }
            | Self::ResultDropped { .. }
            | Self::Malformed { .. }
            | Self::Refused { .. } => text,
        }
    }

    /// Whether the upstream says that it has no such resource.
    pub fn is_unknown_resource(&self) -> bool {
        matches!(self, Self::Refused { error, .. } if error.is_unknown_resource())
    }

    /// The upstream that it is about, if there is one.
    pub fn upstream(&self) -> Option<&UpstreamId> {
        match self {
            Self::UnknownUpstream { .. } => None,
            Self::Disabled { upstream }
            | Self::Misconfigured { upstream, .. }
            | Self::UnknownTool { upstream, .. }
            | Self::Blocked { upstream, .. }
            | Self::Unreachable { upstream, .. }
            | Self::Unlisted { upstream, .. }
            | Self::Busy { upstream, .. }
            | Self::Lost { upstream, .. }
            | Self::Timeout { upstream, .. }
            | Self::TooLong { upstream, .. }
            | Self::ResultDropped { upstream, .. }
            | Self::Malformed { upstream, .. }
            | Self::Refused { upstream, .. } => Some(upstream),
        }
    }

    /// Whether the tool may have run. Only calls that certainly did not run may be sent again.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::UnknownUpstream { .. }
            | Self::Disabled { .. }
            | Self::Misconfigured { .. }
            | Self::UnknownTool { .. }
            | Self::Blocked { .. }
            | Self::Unreachable { .. }
            | Self::Unlisted { .. }
            | Self::Busy { .. } => false,
            Self::Lost { .. }
            | Self::Timeout { .. }
            | Self::TooLong { .. }
            | Self::ResultDropped { .. }
            | Self::Malformed { .. }
            | Self::Refused { .. } => true,
        }
    }
}

/// Why a connection did not come about.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The program could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The address could not be reached, or refused us.
    #[error("connecting to {url}: {reason}")]
    Http {
        /// The address without its query.
        url: String,
        /// Why.
        reason: String,
    },
    /// The server answered the handshake with an error.
    #[error("the server refused the handshake: {error}")]
    Handshake {
        /// The error.
        error: RpcError,
    },
    /// The server ended or closed its streams before the handshake was over.
    #[error("the server ended before the handshake was over: {reason}")]
    Ended {
        /// What is known: exit status, last lines of standard error.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("no answer to `{step}` within {waited:?}")]
    Timeout {
        /// What was asked.
        step: &'static str,
        /// How long.
        waited: Duration,
    },
    /// The server speaks no version that we speak.
    #[error("the server speaks {offered}, which is not supported")]
    Version {
        /// What it speaks.
        offered: String,
    },
    /// What came was not MCP.
    #[error("the server answered with something that is not MCP: {reason}")]
    NotMcp {
        /// What came.
        reason: String,
    },
}

/// A time as people want to read it.
fn whole_milliseconds(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_whole_milliseconds() {
        let waited = Duration::new(1, 212_881_215);
        let error = CallError::Timeout { upstream: UpstreamId::new("slow"), waited };
        assert_eq!(error.to_string(), "server `slow` gave no answer within 1.212s");
    }
}
