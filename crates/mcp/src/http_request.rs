//! One request to the endpoint over HTTP.

use bytes::Bytes;
use gateway_protocol::{header, is_modern};
use gateway_runtime::context::RequestContext;
use http::{HeaderMap, Uri};

use crate::endpoint::Slot;

/// One request over HTTP. Whoever mounts the endpoint has checked it and read its body.
#[derive(Debug)]
pub struct HttpRequest {
    /// Who asks.
    pub context: RequestContext,
    /// The group or server that the path names.
    pub name: Option<String>,
    /// Its address.
    pub uri: Uri,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Held until nobody works on it any more.
    pub slot: Option<Slot>,
}

impl HttpRequest {
    /// The version that its header names.
    pub(crate) fn version(&self) -> Option<&str> {
        self.headers.get(&header::PROTOCOL_VERSION)?.to_str().ok()
    }

    /// Whether it says that it is of the modern era.
    pub(crate) fn is_modern(&self) -> bool {
        self.version().is_some_and(is_modern)
    }
}
