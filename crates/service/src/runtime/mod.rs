//! The gateway without a face: what every way in shares.

pub(crate) mod approval;
pub(crate) mod cache;
pub(crate) mod call;
pub(crate) mod canonical;
pub(crate) mod capabilities;
pub(crate) mod context;
pub(crate) mod failure;
pub(crate) mod finder;
pub(crate) mod held;
pub(crate) mod in_flight;
pub(crate) mod input;
pub(crate) mod least_recently_used;
pub(crate) mod lists;
pub(crate) mod lookup;
pub(crate) mod metrics;
pub(crate) mod owner;
pub(crate) mod parameters;
pub(crate) mod parked;
pub(crate) mod progress;
pub(crate) mod questions;
pub(crate) mod route;
#[expect(clippy::module_inception, reason = "the type that the folder is named after")]
mod runtime;
pub(crate) mod scope;
pub(crate) mod seal;
pub(crate) mod system;
pub(crate) mod turn;
pub(crate) mod validators;

pub use runtime::Runtime;
