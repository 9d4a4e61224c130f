//! The figures as JSON.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde_json::{Map, Number, Value, json};

use super::window::Sample;
use super::{Metrics, RouteIndex};

impl Metrics {
    /// Requests, errors and latencies. Without `since_ms`: counts since the start and latencies of the last 10,000
    /// requests; with it: both over those of the last 10,000 that came since then.
    pub(crate) fn summary(&self, since_ms: Option<u64>) -> Value {
        let samples = self.window.samples(since_ms.unwrap_or_default());
        let (requests, errors) = match since_ms {
            Some(_) => self.counts_of(&samples),
            None => self.counts(),
        };
        let mut latencies = latency(samples.iter());
        latencies.insert(
            "byProvider".to_owned(),
            grouped(&samples, |sample| Some(self.providers.name(sample.provider?))),
        );
        latencies.insert(
            "byEndpoint".to_owned(),
            grouped(&samples, |sample| Some(endpoint(sample.route).to_owned())),
        );
        json!({
            "requests": requests,
            "errors": errors,
            "latencies": latencies,
            "since": since_ms.unwrap_or(self.started_ms),
        })
    }

    /// Requests and errors since the start.
    fn counts(&self) -> (Value, Value) {
        let (mut requests, mut errors) = (Counts::default(), Counts::default());
        for (index, counters) in self.routes.iter().enumerate() {
            let path = RouteIndex::new(index).names().1;
            requests.add_endpoint(path, counters.total());
            errors.add_endpoint(path, counters.errors.load(Ordering::Relaxed));
        }
        for (provider, counters) in self.providers.all() {
            requests.add_provider(&provider, counters.requests.load(Ordering::Relaxed));
            errors.add_provider(&provider, counters.errors.load(Ordering::Relaxed));
        }
        (requests.into(), errors.into())
    }

    fn counts_of(&self, samples: &[Sample]) -> (Value, Value) {
        let (mut requests, mut errors) = (Counts::default(), Counts::default());
        for sample in samples {
            let provider = sample.provider.map(|index| self.providers.name(index));
            let failed = u64::from(sample.is_error);
            requests.add_endpoint(endpoint(sample.route), 1);
            errors.add_endpoint(endpoint(sample.route), failed);
            if let Some(provider) = provider {
                requests.add_provider(&provider, 1);
                errors.add_provider(&provider, failed);
            }
        }
        (requests.into(), errors.into())
    }
}

fn endpoint(route: u16) -> &'static str {
    RouteIndex(route).names().1
}

/// Counts, in all and by two labels. What was never counted is left out.
#[derive(Default)]
struct Counts {
    total: u64,
    by_provider: BTreeMap<String, u64>,
    by_endpoint: BTreeMap<String, u64>,
}

impl Counts {
    fn add_endpoint(&mut self, endpoint: &str, count: u64) {
        self.total += count;
        if count > 0 {
            *self.by_endpoint.entry(endpoint.to_owned()).or_default() += count;
        }
    }

    fn add_provider(&mut self, provider: &str, count: u64) {
        if count > 0 {
            *self.by_provider.entry(provider.to_owned()).or_default() += count;
        }
    }
}

impl From<Counts> for Value {
    fn from(counts: Counts) -> Self {
        json!({"total": counts.total, "byProvider": counts.by_provider, "byEndpoint": counts.by_endpoint})
    }
}

/// Latencies of each group.
fn grouped(samples: &[Sample], label: impl Fn(&Sample) -> Option<String>) -> Value {
    let mut groups: BTreeMap<String, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        if let Some(label) = label(sample) {
            groups.entry(label).or_default().push(sample);
        }
    }
    groups.into_iter().map(|(label, samples)| (label, Value::Object(latency(samples.into_iter())))).collect()
}

/// Nearest-rank percentiles and the mean, in milliseconds; zeros where there is nothing.
fn latency<'s>(samples: impl Iterator<Item = &'s Sample>) -> Map<String, Value> {
    let mut micros: Vec<u64> = samples.map(|sample| u64::from(sample.micros)).collect();
    micros.sort_unstable();
    let rank = |percent: usize| {
        let rank = (percent * micros.len()).div_ceil(100);
        rank.checked_sub(1).and_then(|index| micros.get(index)).copied().unwrap_or_default()
    };
    let count = u64::try_from(micros.len()).unwrap_or(u64::MAX).max(1);
    let mean = micros.iter().sum::<u64>() / count;
    [("p50", rank(50)), ("p95", rank(95)), ("p99", rank(99)), ("avg", mean)]
        .into_iter()
        .map(|(name, micros)| (name.to_owned(), milliseconds(micros)))
        .collect()
}

fn milliseconds(micros: u64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "figures for people; 2^53 microseconds are 285 years")]
    let value = micros as f64 / 1_000.0;
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{Method, StatusCode};

    use super::*;
    use crate::openapi::{Found, find};

    fn route(path: &str) -> RouteIndex {
        match find(&Method::GET, path) {
            Found::Route(index, _) => RouteIndex::new(index),
            Found::OtherMethods(_) | Found::Nothing => RouteIndex::UNKNOWN,
        }
    }

    #[test]
    fn the_summary_has_counts_and_percentiles() {
        let metrics = Metrics::new(std::sync::Arc::default());
        for number in 1..=100 {
            let status = if number > 98 { StatusCode::BAD_REQUEST } else { StatusCode::OK };
            metrics.request(route("/tools/gemini"), status, Duration::from_millis(number), Some("gemini"));
        }
        metrics.request(route("/health"), StatusCode::OK, Duration::from_millis(7), None);
        metrics.request(route("/nowhere"), StatusCode::NOT_FOUND, Duration::from_millis(7), None);
        let summary = metrics.summary(None);
        let gemini = json!({"p50": 50.0, "p95": 95.0, "p99": 99.0, "avg": 50.5});
        let seven = json!({"p50": 7.0, "p95": 7.0, "p99": 7.0, "avg": 7.0});
        let expected = json!({
            "requests": {
                "total": 102,
                "byProvider": {"gemini": 100},
                "byEndpoint": {"/health": 1, "/tools/{provider}": 100, "other": 1},
            },
            "errors": {"total": 3, "byProvider": {"gemini": 2}, "byEndpoint": {"/tools/{provider}": 2, "other": 1}},
            "latencies": {
                "p50": 49.0, "p95": 95.0, "p99": 99.0, "avg": 49.647,
                "byProvider": {"gemini": gemini},
                "byEndpoint": {"/health": seven, "/tools/{provider}": gemini, "other": seven},
            },
            "since": metrics.started_ms,
        });
        assert_eq!(summary, expected);
        assert_eq!(metrics.summary(Some(0))["requests"], expected["requests"]);
        assert_eq!(metrics.summary(Some(u64::MAX))["requests"]["total"], 0);
    }

    #[test]
    fn nothing_is_zero() {
        let summary = Metrics::new(std::sync::Arc::default()).summary(None);
        assert_eq!(summary["latencies"]["p99"], json!(0.0));
        assert_eq!(summary["requests"], json!({"total": 0, "byProvider": {}, "byEndpoint": {}}));
    }
}
