//! The figures as Prometheus text (format 0.0.4).

use std::fmt::{self, Write as _};
use std::sync::atomic::Ordering;

use gateway_runtime::cache::CacheFigures;
use gateway_runtime::metrics::{BOUNDS, Histogram, OUTCOMES, PersonalDataLabels};

use super::{Metrics, RouteIndex, STATUSES};

/// What is read when somebody asks, instead of being counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauges {
    /// How each server is.
    pub(crate) servers: Vec<ServerGauge>,
    /// Entries of the call log that wait to be written.
    pub(crate) log_waiting: u64,
    pub(crate) log_written: u64,
    pub(crate) log_failures: u64,
    /// The size of the log's database.
    pub(crate) log_bytes: u64,
    /// Personal data that was found in the log: its kind, what became of it, and how often.
    pub(crate) log_personal_data: Vec<(&'static str, &'static str, u64)>,
    /// Requests to models, by what came of them.
    pub(crate) model_requests: Vec<(String, [(&'static str, u64); 3])>,
    /// Tools in the catalogue.
    pub(crate) tools: u64,
    /// Results that are kept.
    pub(crate) cache: CacheFigures,
    /// What long results in flight take of `limits.resultBytes`.
    pub(crate) result_bytes: u64,
    /// What long bodies that are being read take of `limits.bodiesBytes`.
    pub(crate) body_bytes: u64,
}

/// How one server is.
#[derive(Clone, Debug)]
pub(crate) struct ServerGauge {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    pub(crate) is_up: bool,
    pub(crate) in_flight: u64,
    pub(crate) restarts: u64,
    pub(crate) refused_requests: u64,
}

/// One figure of a server.
type Figure = fn(&ServerGauge) -> u64;

/// Writes families of metrics.
struct Text(String);

impl Text {
    /// Begins a family. Its kind is in its name, by the conventions of Prometheus.
    fn family(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") {
            "counter"
        } else if name.ends_with("_duration_seconds") {
            "histogram"
        } else {
            "gauge"
        };
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// A family of one sample without labels.
    fn single(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, help);
        self.sample(name, &[], value);
    }

    /// A family with one sample for each label.
    fn each<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        samples: impl Iterator<Item = (&'l str, u64)>,
    ) {
        self.family(name, help);
        for (word, value) in samples {
            self.sample(name, &[(label, word)], value);
        }
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.line(format_args!("{name}{} {value}", LabelSet(labels)));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing into memory has no way to fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let (counts, micros) = histogram.read();
        let bounds = BOUNDS.iter().map(|bound| Seconds(*bound).to_string()).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(counts) {
            let with_bound: Vec<(&str, &str)> =
                labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.line(format_args!("{name}_bucket{} {count}", LabelSet(&with_bound)));
        }
        self.line(format_args!("{name}_sum{} {}", LabelSet(labels), Seconds(micros)));
        self.line(format_args!(
            "{name}_count{} {}",
            LabelSet(labels),
            counts.last().copied().unwrap_or_default()
        ));
    }
}

/// Microseconds, written as seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest == 0 {
            return write!(formatter, "{whole}");
        }
        let decimals = format!("{rest:06}");
        write!(formatter, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}

struct LabelSet<'l>(&'l [(&'l str, &'l str)]);

impl fmt::Display for LabelSet<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        for (index, (name, value)) in self.0.iter().enumerate() {
            formatter.write_char(if index == 0 { '{' } else { ',' })?;
            write!(formatter, "{name}=\"")?;
            for character in value.chars() {
                match character {
                    '\\' => formatter.write_str("\\\\")?,
                    '"' => formatter.write_str("\\\"")?,
                    '\n' => formatter.write_str("\\n")?,
                    other => formatter.write_char(other)?,
                }
            }
            formatter.write_char('"')?;
        }
        formatter.write_char('}')
    }
}

impl Metrics {
    /// All figures.
    pub(crate) fn prometheus(&self, gauges: &Gauges) -> String {
        let mut text = Text(String::with_capacity(16 << 10));
        self.write_requests(&mut text);
        self.write_providers(&mut text);
        self.write_calls(&mut text);
        self.write_personal_data(&mut text, gauges);
        write_model_requests(&mut text, gauges);
        write_gauges(&mut text, gauges);
        let in_flight = count(self.in_flight.load(Ordering::Relaxed));
        text.single("gateway_requests_in_flight", "Requests at work.", in_flight);
        let streams = count(self.streams.load(Ordering::Relaxed));
        text.single("gateway_log_streams", "Open streams of the call log.", streams);
        let version = [(env!("CARGO_PKG_VERSION"), 1)];
        text.each("gateway_build_info", "The version.", "version", version.into_iter());
        let help = "When the process started, in seconds since 1970.";
        text.single("process_start_time_seconds", help, self.started_ms / 1_000);
        if let Some(bytes) = resident_bytes() {
            text.single("process_resident_memory_bytes", "Memory in use.", bytes);
        }
        text.0
    }

    fn write_requests(&self, text: &mut Text) {
        let name = "gateway_http_requests_total";
        text.family(name, "Requests, by route and status.");
        for (index, counters) in self.routes.iter().enumerate() {
            let (method, route) = RouteIndex::new(index).names();
            for (index, count) in counters.by_status.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let status = STATUSES.get(index).map_or_else(|| "other".to_owned(), u16::to_string);
                    text.sample(name, &[("method", method), ("route", route), ("status", &status)], count);
                }
            }
        }
        let name = "gateway_http_request_duration_seconds";
        text.family(name, "How long requests took.");
        for (index, counters) in self.routes.iter().enumerate() {
            if counters.total() > 0 {
                let (method, route) = RouteIndex::new(index).names();
                text.histogram(name, &[("method", method), ("route", route)], &counters.durations);
            }
        }
    }

    fn write_providers(&self, text: &mut Text) {
        let providers = self.providers.all();
        let requests = providers.iter().map(|(name, of)| (&**name, of.requests.load(Ordering::Relaxed)));
        let help = "Requests that were about a provider.";
        text.each("gateway_provider_requests_total", help, "provider", requests);
        let errors = providers.iter().map(|(name, of)| (&**name, of.errors.load(Ordering::Relaxed)));
        let help = "Those of them with a status of 400 or more.";
        text.each("gateway_provider_request_errors_total", help, "provider", errors);
        let calls = self.calls.calls_of_providers();
        // Who only lists tools has made no calls, which is a figure too.
        let silent = providers.iter().filter(|(name, _)| !calls.iter().any(|(known, _)| known == name));
        let silent = silent.map(|(name, _)| (&**name, 0));
        let all = calls.iter().map(|(name, count)| (&**name, *count)).chain(silent);
        let help = "Tool calls that came in a provider's format.";
        text.each("gateway_provider_calls_total", help, "provider", all);
    }

    fn write_personal_data(&self, text: &mut Text, gauges: &Gauges) {
        let name = "gateway_personal_data_total";
        text.family(name, "Personal data that was found, by where it was and what became of it.");
        let of_log = |(kind, mode, count): &(&'static str, &'static str, u64)| {
            (PersonalDataLabels { face: "log", part: "calls", kind, mode }, *count)
        };
        let of_log = gauges.log_personal_data.iter().map(of_log);
        for (labels, count) in self.calls.personal_data_found().into_iter().chain(of_log) {
            let PersonalDataLabels { face, part, kind, mode } = labels;
            text.sample(name, &[("face", face), ("part", part), ("kind", kind), ("mode", mode)], count);
        }
    }

    fn write_calls(&self, text: &mut Text) {
        let series = self.calls.calls();
        let name = "gateway_calls_total";
        text.family(name, "Tool calls, by outcome.");
        for (server, tool, counters) in &series {
            for (outcome, count) in OUTCOMES.iter().zip(&counters.outcomes) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    text.sample(name, &[("server", server), ("tool", tool), ("outcome", outcome)], count);
                }
            }
        }
        let name = "gateway_call_duration_seconds";
        text.family(name, "How long tool calls took.");
        for (server, tool, counters) in &series {
            text.histogram(name, &[("server", server), ("tool", tool)], &counters.durations);
        }
        let (converted, quarantined) = self.calls.converted();
        text.single("gateway_tools_converted_total", "Tools converted to a provider's format.", converted);
        let help = "Tools left out because no valid form exists.";
        text.single("gateway_tools_quarantined_total", help, quarantined);
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// How often models were asked: beside the requests of callers, also how many rounds those took.
fn write_model_requests(text: &mut Text, gauges: &Gauges) {
    if gauges.model_requests.is_empty() {
        return;
    }
    let name = "gateway_model_requests_total";
    text.family(name, "Requests to models, by what came of them; one that is sent again counts again.");
    for (model, counts) in &gauges.model_requests {
        for (outcome, count) in counts {
            text.sample(name, &[("model", model), ("outcome", outcome)], *count);
        }
    }
}

fn write_gauges(text: &mut Text, gauges: &Gauges) {
    let cache = &gauges.cache;
    for (name, help, value) in [
        ("gateway_tools", "Tools that the servers offer.", gauges.tools),
        ("gateway_log_queue_depth", "Entries of the call log that wait to be written.", gauges.log_waiting),
        ("gateway_log_written_total", "Entries of the call log that are safely written.", gauges.log_written),
        ("gateway_log_failures_total", "Attempts to write the call log that failed.", gauges.log_failures),
        ("gateway_cache_hits_total", "Calls that were answered with a kept result.", cache.hits),
        ("gateway_cache_misses_total", "Calls whose result could have been kept but was not.", cache.misses),
        ("gateway_cache_entries", "Results that are kept.", count(cache.entries)),
        ("gateway_cache_bytes", "Size of the results that are kept.", count(cache.bytes)),
        (
            "gateway_result_bytes",
            "Size of the long results in flight, of `limits.resultBytes`.",
            gauges.result_bytes,
        ),
        (
            "gateway_body_bytes",
            "Size of the long bodies that are being read, of `limits.bodiesBytes`.",
            gauges.body_bytes,
        ),
        ("gateway_log_bytes", "Size of the call log on disk.", gauges.log_bytes),
    ] {
        text.single(name, help, value);
    }
    let name = "gateway_upstream_state";
    text.family(name, "The state of each server.");
    for server in &gauges.servers {
        text.sample(name, &[("server", &server.name), ("state", server.state)], 1);
    }
    let by_server: [(&str, &str, Figure); 4] = [
        ("up", "Whether a call to the server would work.", |server| u64::from(server.is_up)),
        ("in_flight", "Calls that wait for the server's answer.", |server| server.in_flight),
        ("restarts_total", "How often the server was started again.", |server| server.restarts),
        ("requests_refused_total", "Requests of the server that nobody could answer.", |server| {
            server.refused_requests
        }),
    ];
    for (name, help, figure) in by_server {
        let samples = gauges.servers.iter().map(|server| (&*server.name, figure(server)));
        text.each(&format!("gateway_upstream_{name}"), help, "server", samples);
    }
}

/// The memory of this process, where the system shows it.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use http::StatusCode;

    use std::sync::Arc;

    use super::*;

    /// A strict reader of the text format: every sample has a family with a help and a type, no series stands twice.
    fn parse(text: &str) -> BTreeMap<String, f64> {
        let mut families = BTreeSet::new();
        let mut helps = BTreeSet::new();
        let mut samples = BTreeMap::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                assert!(helps.insert(rest.split_once(' ').unwrap().0.to_owned()), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind) && helps.contains(name), "{line}");
                assert!(families.insert(name.to_owned()), "{line}");
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let name = series.split('{').next().unwrap();
                let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
                assert!(
                    families.contains(name) || family.is_some_and(|family| families.contains(family)),
                    "{line}"
                );
                assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
                check_labels(series.strip_prefix(name).unwrap());
                assert!(samples.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{line}");
            }
        }
        samples
    }

    fn check_labels(text: &str) {
        if text.is_empty() {
            return;
        }
        let mut rest = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap();
        while !rest.is_empty() {
            let (name, value) = rest.split_once("=\"").unwrap();
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{text}");
            let mut escaped = false;
            let end = value.find(|character| {
                let is_end = character == '"' && !escaped;
                escaped = character == '\\' && !escaped;
                is_end
            });
            rest = value.split_at(end.unwrap() + 1).1;
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
    }

    #[test]
    fn the_text_parses_and_says_what_was_counted() {
        let metrics = Metrics::new(Arc::default());
        metrics.request(RouteIndex::new(0), StatusCode::OK, Duration::from_micros(200), Some("gemini"));
        metrics.request(RouteIndex::UNKNOWN, StatusCode::IM_A_TEAPOT, Duration::from_secs(100), None);
        metrics.calls.call("we \"ird\\\n", "tool}", Some("gemini"), None, Duration::from_millis(3));
        metrics.calls.call("we \"ird\\\n", "tool}", None, Some("TIMEOUT"), Duration::from_secs(3));
        metrics.calls.conversions(5, 1);
        let labels = PersonalDataLabels { face: "completions", part: "messages", kind: "card", mode: "mask" };
        metrics.calls.personal_data(labels, 2);
        let server = ServerGauge {
            name: "a".to_owned(),
            state: "connected",
            is_up: true,
            in_flight: 2,
            restarts: 3,
            refused_requests: 5,
        };
        let log_personal_data = vec![("email", "mark", 7)];
        let gauges = Gauges { servers: vec![server], log_waiting: 4, log_personal_data, ..Gauges::default() };
        let samples = parse(&metrics.prometheus(&gauges));
        let expected = [
            (r#"gateway_http_requests_total{method="GET",route="/tools",status="200"}"#, 1.0),
            (r#"gateway_http_requests_total{method="other",route="other",status="other"}"#, 1.0),
            (r#"gateway_http_request_duration_seconds_bucket{method="GET",route="/tools",le="0.0001"}"#, 0.0),
            (
                r#"gateway_http_request_duration_seconds_bucket{method="GET",route="/tools",le="0.00025"}"#,
                1.0,
            ),
            (r#"gateway_http_request_duration_seconds_bucket{method="other",route="other",le="60"}"#, 0.0),
            (r#"gateway_http_request_duration_seconds_bucket{method="other",route="other",le="+Inf"}"#, 1.0),
            (r#"gateway_http_request_duration_seconds_sum{method="other",route="other"}"#, 100.0),
            (r#"gateway_calls_total{server="we \"ird\\\n",tool="tool}",outcome="TIMEOUT"}"#, 1.0),
            (r#"gateway_call_duration_seconds_sum{server="we \"ird\\\n",tool="tool}"}"#, 3.003),
            (r#"gateway_provider_calls_total{provider="gemini"}"#, 1.0),
            ("gateway_tools_quarantined_total", 1.0),
            (r#"gateway_upstream_restarts_total{server="a"}"#, 3.0),
            (r#"gateway_upstream_requests_refused_total{server="a"}"#, 5.0),
            (r#"gateway_upstream_state{server="a",state="connected"}"#, 1.0),
            ("gateway_log_queue_depth", 4.0),
            (
                r#"gateway_personal_data_total{face="completions",part="messages",kind="card",mode="mask"}"#,
                2.0,
            ),
            (r#"gateway_personal_data_total{face="log",part="calls",kind="email",mode="mark"}"#, 7.0),
        ];
        for (series, value) in expected {
            assert_eq!(samples.get(series), Some(&value), "{series}");
        }
    }
}
