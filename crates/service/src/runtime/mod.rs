//! The gateway without a face: what every way in shares.

pub(crate) mod approval;
pub(crate) mod cache;
pub(crate) mod call;
pub(crate) mod canonical;
pub(crate) mod context;
pub(crate) mod failure;
pub(crate) mod gateway;
pub(crate) mod held;
pub(crate) mod lookup;
pub(crate) mod owner;
pub(crate) mod progress;
pub(crate) mod route;
pub(crate) mod scope;
pub(crate) mod system;
pub(crate) mod turn;
pub(crate) mod validators;
