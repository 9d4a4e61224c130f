//! What keeps panics of the engine from other languages.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::EngineError;

/// Lets no panic into a language that knows none. Nothing that the work has in its hands is used afterwards.
pub(crate) fn shielded<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(EngineError::internal("the engine broke off at this input; please report it"))
    })
}
