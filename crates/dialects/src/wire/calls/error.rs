//! What can be wrong with a reply.

use crate::arguments::ArgumentError;
use crate::dialect::Protocol;

/// A value out of which no calls can be read. All of them are the caller's to correct.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Something else stands where a call should be.
    #[error("{}: must be an object", invalid(.label))]
    NotObject {
        /// The provider's name.
        label: String,
    },
    /// A call without a usable name.
    #[error("{}: missing or invalid \"name\" field", invalid(.label))]
    Name {
        /// The provider's name.
        label: String,
    },
    /// Arguments that are no JSON object.
    #[error("{}: {cause}", invalid(.label))]
    Arguments {
        /// The provider's name.
        label: String,
        /// What is wrong with them.
        #[source]
        cause: ArgumentError,
    },
    /// An object of no known shape.
    #[error("{}: no tool call and no message in an object with {keys}", invalid(.label))]
    Unknown {
        /// The provider's name.
        label: String,
        /// The object's keys.
        keys: String,
    },
    /// Several providers send this shape; one has to be named.
    #[error("ambiguous tool call: it could be {}; name the provider", names(.candidates))]
    Ambiguous {
        /// The protocols that it could be.
        candidates: Vec<Protocol>,
    },
    /// The text cannot be routed as tool use.
    #[error("Failed to convert JSON to MCP format: {cause}")]
    Json {
        /// What is wrong with it.
        cause: String,
    },
    /// A streamed reply that cannot be assembled.
    #[error("the stream cannot be read: {cause}")]
    Stream {
        /// What is wrong with it.
        cause: String,
    },
    /// Containers inside containers without end.
    #[error("the reply is nested deeper than any provider's")]
    TooDeep,
}

fn invalid(label: &str) -> String {
    if label.is_empty() {
        "Invalid function call".to_owned()
    } else {
        format!("Invalid {label} function call")
    }
}

fn names(candidates: &[Protocol]) -> String {
    candidates.iter().map(|protocol| protocol.dialect()).collect::<Vec<_>>().join(" or ")
}
