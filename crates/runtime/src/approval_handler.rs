//! Who decides about the calls of a request while it is under way.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

/// Decides about the calls of one request while it is under way, such as the person at a terminal.
pub trait ApprovalHandler: Debug + Send + Sync {
    /// Whether a call may run. Dropping the future takes the question back.
    fn decide(&self, question: ApprovalQuestion) -> BoxFuture<'_, Decision>;
}

/// A call that somebody has to decide about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalQuestion {
    /// Whose tool it is.
    pub server: String,
    /// Its name there.
    pub tool: String,
    /// What a person decides by: server, tool and arguments, escaped for people, a line each.
    pub display: String,
}

/// What an [`ApprovalHandler`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may run, once.
    Approved,
    /// It may not, for this reason.
    Denied(&'static str),
}
