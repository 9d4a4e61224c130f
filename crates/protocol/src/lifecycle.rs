//! How a connection begins, in both eras.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::raw::RawJson;
use crate::version::LATEST_LEGACY;

/// Who a program is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Implementation {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version that the server chose.
    pub protocol_version: String,
    /// Its capabilities, as received.
    #[serde(default = "RawJson::empty_object")]
    pub capabilities: RawJson,
    /// Who it is.
    #[serde(default)]
    pub server_info: Implementation,
    /// Its instructions for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// The answer to `server/discover`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// The versions that the server supports.
    pub supported_versions: Vec<String>,
    /// Its capabilities, as received.
    #[serde(default = "RawJson::empty_object")]
    pub capabilities: RawJson,
    /// Its instructions for the model.
    #[serde(default)]
    pub instructions: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: DiscoverMeta,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct DiscoverMeta {
    #[serde(default, rename = "io.modelcontextprotocol/serverInfo")]
    server_info: Option<Implementation>,
}

impl DiscoverResult {
    /// Who the server is.
    pub fn server_info(&self) -> Implementation {
        self.meta.server_info.clone().unwrap_or_default()
    }
}

/// The parameters of `initialize`.
pub fn initialize_params(client: &Implementation, capabilities: &RawJson) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("protocolVersion", json!(LATEST_LEGACY).to_string().into_bytes()),
        ("capabilities", capabilities.as_bytes().to_vec()),
        ("clientInfo", json!(client).to_string().into_bytes()),
    ]
}

/// The `_meta` that every modern request carries.
pub fn modern_meta(
    version: &str,
    client: &Implementation,
    capabilities: &RawJson,
) -> Vec<(&'static str, Vec<u8>)> {
    use crate::write::meta;
    vec![
        (meta::PROTOCOL_VERSION, json!(version).to_string().into_bytes()),
        (meta::CLIENT_CAPABILITIES, capabilities.as_bytes().to_vec()),
        (meta::CLIENT_INFO, json!(client).to_string().into_bytes()),
    ]
}
