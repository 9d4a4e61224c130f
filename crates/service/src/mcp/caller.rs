//! Who sends a request over MCP, and what it can do.

use std::sync::Arc;

use super::face::Face;
use super::out::Peer;
use gateway_runtime::capabilities::Capabilities;
use gateway_runtime::context::RequestContext;

/// Whoever sent a request.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) context: RequestContext,
    /// Whose calls may be taken for each other: a session, or one request of the modern era.
    pub(super) owner: Arc<str>,
    pub(super) face: Face,
    pub(super) can: Capabilities,
    pub(super) reach: Reach,
    /// How calls came to us, for the log.
    pub(super) transport: &'static str,
}

/// How a caller is asked something while its request is at work.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    /// It gets a request and answers it (legacy).
    Asked(Arc<Peer>),
    /// It gets `input_required` and comes back with the answers (modern).
    Returns,
}

impl Caller {
    /// Whether the results that it gets are those of the modern era.
    pub(super) fn is_modern(&self) -> bool {
        matches!(self.reach, Reach::Returns)
    }
}
