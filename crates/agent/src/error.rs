//! Why there is no answer.

use std::time::Duration;

use gateway_config::ModelKind;
use gateway_runtime::failure::Failure;
use serde_json::Value;

/// Why a model gave no reply, or not all of it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}model `{model}`: {failure}", prefix(*.kind))]
pub struct ModelError {
    /// The model, as the configuration calls it.
    pub model: String,
    /// Which API it has, if that is known.
    pub kind: Option<ModelKind>,
    /// What happened.
    #[source]
    pub failure: ModelFailure,
}

/// What an error of an API begins with.
fn prefix(kind: Option<ModelKind>) -> &'static str {
    if kind == Some(ModelKind::Ollama) { "Ollama completion error: " } else { "" }
}

/// What went wrong at a model's API.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFailure {
    /// It cannot be reached, or went away.
    #[error("{0}")]
    Connection(String),
    /// It sent nothing for too long.
    #[error("sent nothing for {0:?}")]
    Timeout(Duration),
    /// It answered with another status than success.
    #[error("answered {status}: {message}")]
    Status {
        /// The status.
        status: u16,
        /// The words of the API.
        message: String,
        /// The error as the API sent it, if it is JSON.
        body: Option<Box<Value>>,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// It sent an error inside of a stream.
    #[error("broke off with an error: {0}")]
    Stream(String),
    /// What it sent cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// The request cannot be written for it.
    #[error("{0}")]
    Request(String),
}

impl ModelFailure {
    /// Whether the same request may be taken later, or by another model.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Timeout(_) | Self::Stream(_) => true,
            Self::Status { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..=599),
            Self::Malformed(_) | Self::Request(_) => false,
        }
    }
}

/// Why the loop gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model gave none.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The tools cannot be listed.
    #[error("listing the tools: {}", .0.message())]
    Tools(Failure),
    /// A bound of the loop was reached, and the configuration says that this is an error.
    #[error("{0}")]
    Limit(String),
    /// The model answered nothing, several times.
    #[error("model `{model}` gave an empty answer {times} times")]
    Empty {
        /// The model.
        model: String,
        /// How often.
        times: usize,
    },
    /// What happens could not be written down, so it did not happen.
    #[error("keeping the conversation: {0}")]
    Journal(String),
    /// A message has personal data in it that may not be passed on; which kinds.
    #[error(
        "the message contains personal data ({0}), which this gateway does not pass on to models; leave it out and send the \
         message again"
    )]
    PersonalData(String),
    /// Nobody listens any more.
    #[error("the caller went away")]
    Gone,
}
