//! Why an operation gave no answer.

/// A refused operation: a code that programs compare, and the words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// The code.
    pub code: &'static str,
    /// What was attempted, with which value, and what to try.
    pub message: String,
}
