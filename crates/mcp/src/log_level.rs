//! How much a log message matters (RFC 5424).

use gateway_protocol::RawJson;
use serde::{Deserialize, Serialize};

use crate::params::member;

/// The weight of a log message; the lightest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Debug,
    #[default]
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// The level of a message; one that names none is an ordinary one.
    pub(crate) fn of_message(params: Option<&RawJson>) -> Self {
        member(params, "level").unwrap_or_default()
    }
}
