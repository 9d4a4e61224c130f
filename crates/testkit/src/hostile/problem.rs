//! Why an attack could not be run.

use std::fmt::Display;

/// An attack that could not be run; it says nothing about the gateway.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    /// A problem with a text for people.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("reading JSON: {error}"))
    }
}

/// Adds what was attempted to an error.
pub(crate) trait Attempt<T> {
    fn attempting(self, what: &str) -> Result<T, Problem>;
}

impl<T, E: Display> Attempt<T> for Result<T, E> {
    fn attempting(self, what: &str) -> Result<T, Problem> {
        self.map_err(|error| Problem::new(format!("{what}: {error}")))
    }
}

impl<T> Attempt<T> for Option<T> {
    fn attempting(self, what: &str) -> Result<T, Problem> {
        self.ok_or_else(|| Problem::new(format!("{what}: absent")))
    }
}
