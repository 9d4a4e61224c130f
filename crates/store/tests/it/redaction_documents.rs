//! The documents of `conformance/redaction`, for the tests of the crate and those inside it.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(crate) struct Secret {
    pub(crate) shape: String,
    pub(crate) document: Value,
    pub(crate) secrets: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Harmless {
    pub(crate) document: Value,
}

pub(crate) fn read<T: for<'a> Deserialize<'a>>(name: &str) -> Vec<T> {
    let path = format!("{}/../../conformance/redaction/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).expect(&path)).expect(&path)
}
