//! A body that is a recorded stream instead of JSON.

use bytes::Bytes;
use gateway_dialects::stream::parse_chunks;
use http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::errors::ApiError;
use gateway_runtime::parameters::Parameters;

/// Types of bodies that are a model's stream.
const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];

/// Whether a type without its parameters is that of a stream.
pub(crate) fn is_stream(media: &str) -> bool {
    STREAMS.iter().any(|stream| media.eq_ignore_ascii_case(stream))
}

/// The request that a body stands for: a stream is the `call`, and the query says what else a body says. `None` for any other
/// body, which stays as it is.
pub(super) fn request_of(
    headers: &HeaderMap,
    query: Option<&str>,
    body: &Bytes,
) -> Result<Option<Bytes>, ApiError> {
    let media = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    if !is_stream(media.split(';').next().unwrap_or_default().trim()) {
        return Ok(None);
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| ApiError::bad_request(format!("reading the stream as UTF-8: {error}")))?;
    let chunks = parse_chunks(text).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let mut request = Map::new();
    request.insert("call".to_owned(), Value::Array(chunks));
    let query = Parameters::of_query(query);
    request.extend(query.get("provider").map(|name| ("provider".to_owned(), name.into())));
    Ok(Some(Value::Object(request).to_string().into()))
}
