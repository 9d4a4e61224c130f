//! What travels between a model's API and the gateway: calls, streams, results and whole conversations.

pub mod calls;
pub mod history;
pub mod results;
pub mod stream;
