//! What an API lists of its models.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gateway_config::ModelSpec;
use gateway_runtime::lock::locked;
use reqwest::Client;
use serde_json::Value;

use crate::http_model::{Endpoint, headers};

/// How long a list is good for.
const FRESH: Duration = Duration::from_mins(1);

/// How long after a fault the API is asked again.
const AGAIN: Duration = Duration::from_secs(10);

/// How long the API may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of a list.
const LIST_BYTES: usize = 8 << 20;

/// The models of an API, asked for now and then.
#[derive(Debug, Default)]
pub(crate) struct Listing(Mutex<Option<Asked>>);

#[derive(Debug)]
struct Asked {
    at: Instant,
    /// `None` after a fault.
    names: Option<Arc<[String]>>,
}

impl Listing {
    /// The names, in the order of the API and each once; none if it cannot be asked.
    pub(super) async fn get(&self, spec: &ModelSpec, client: &Client, now: Instant) -> Arc<[String]> {
        if let Some(asked) = locked(&self.0).as_ref() {
            let age = now.saturating_duration_since(asked.at);
            match &asked.names {
                Some(names) if age < FRESH => return Arc::clone(names),
                None if age < AGAIN => return Arc::default(),
                Some(_) | None => {}
            }
        }
        let names = tokio::time::timeout(PATIENCE, fetch(spec, client)).await.ok().flatten();
        if names.is_none() {
            tracing::warn!(model = %spec.name, "The models of this entry cannot be listed.");
        }
        let mut held = locked(&self.0);
        // A list that was good once is better than none.
        let names = names.map(Arc::from).or_else(|| held.take().and_then(|asked| asked.names));
        *held = Some(Asked { at: now, names: names.clone() });
        names.unwrap_or_default()
    }

    /// Whether the API could not be asked the last time.
    pub(super) fn is_unknown(&self) -> bool {
        locked(&self.0).as_ref().is_none_or(|asked| asked.names.is_none())
    }
}

/// The names that an API lists; `None` if it cannot be asked.
pub(super) async fn fetch(spec: &ModelSpec, client: &Client) -> Option<Vec<String>> {
    let url = Endpoint::new(spec).ok()?.list_url();
    let response = client.get(url).headers(headers(spec).ok()?).send().await.ok()?;
    let response = response.error_for_status().ok()?;
    if response.content_length().is_some_and(|length| length > LIST_BYTES as u64) {
        return None;
    }
    let mut response = response;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > LIST_BYTES {
            return None;
        }
    }
    names_in(&serde_json::from_slice(&body).ok()?)
}

/// The names in any API's list.
fn names_in(list: &Value) -> Option<Vec<String>> {
    let entries =
        ["data", "models"].iter().find_map(|key| list.get(*key)?.as_array()).or_else(|| list.as_array())?;
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        let name = ["id", "name", "model"].iter().find_map(|key| entry.get(*key)?.as_str());
        let Some(name) = name.or_else(|| entry.as_str()) else { continue };
        let name = name.strip_prefix("models/").unwrap_or(name).to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_apis_are_read() {
        for (list, expected) in [
            (r#"{"object":"list","data":[{"id":"a"},{"id":"b"},{"id":"a"}]}"#, Some(vec!["a", "b"])),
            (r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}"#, Some(vec!["qwen3:8b"])),
            (r#"{"models":[{"name":"models/gemini-2.5-flash"}]}"#, Some(vec!["gemini-2.5-flash"])),
            (r#"["a"]"#, Some(vec!["a"])),
            (r#"{"error":"no"}"#, None),
        ] {
            let found = names_in(&serde_json::from_str(list).unwrap());
            let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{list}");
        }
    }
}
