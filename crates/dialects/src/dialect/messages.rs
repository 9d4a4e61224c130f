//! How calls and results travel in a dialect.

use serde::Deserialize;

use super::Protocol;

/// How calls and results travel.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MessageRules {
    /// Which API carries them.
    pub protocol: Protocol,
}
