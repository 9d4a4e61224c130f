//! Who sends a request over MCP, and what it can do.

use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::outbound::Peer;
use crate::view::View;
use gateway_runtime::capabilities::Capabilities;
use gateway_runtime::context::RequestContext;

/// Whoever sent a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// What it talks to.
    pub(crate) endpoint: Endpoint,
    pub(crate) context: RequestContext,
    /// Whose calls may be taken for each other: a session, or one request of the modern era.
    pub(crate) owner: Arc<str>,
    pub(crate) view: View,
    pub(crate) can: Capabilities,
    pub(crate) reach: Reach,
}

/// How a caller is asked something while its request is at work.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// It gets a request and answers it (legacy).
    Asked(Arc<Peer>),
    /// It gets `input_required` and comes back with the answers (modern).
    Returns,
}

impl Caller {
    /// Whether the results that it gets are those of the modern era.
    pub(crate) fn is_modern(&self) -> bool {
        matches!(self.reach, Reach::Returns)
    }
}
