//! The parameters of requests and notifications.

use gateway_protocol::{RawJson, RawObject};
use serde::de::DeserializeOwned;

/// One member of the parameters; `None` if it is absent or cannot be read.
pub(crate) fn member<T: DeserializeOwned>(params: Option<&RawJson>, name: &str) -> Option<T> {
    let members = RawObject::parse(params?).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}
