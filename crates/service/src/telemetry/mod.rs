//! What the gateway says about itself: one line for each event.
//!
//! As JSON for programs: `{timestamp, level, message, context}`, warnings and errors to standard error, everything
//! else to standard output. As text for people: all to standard error, so that standard output stays for what the command prints.
//!
//! Lines of other libraries are shown from `warn` on. Values under names that look like secrets are never written.

mod line;

use std::io::Write as _;

use gateway_config::LogLevel;
use gateway_runtime::metrics::AUDIT;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

use line::{write_json, write_text};

/// What a line looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For programs.
    Json,
    /// For people.
    #[default]
    Text,
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    }
}

/// Somebody else writes the events of this process already.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("events of this process are written by somebody else already")]
pub struct AlreadyInstalled;

/// Writes all events of this process from now on.
pub fn install(format: LogFormat, level: LogLevel) -> Result<(), AlreadyInstalled> {
    set(Lines { format, level: filter(level), audit: Audit::Written, sink: Standard })
}

/// The same without what auditors need, for a program that shows it in another way.
pub fn install_without_audit(format: LogFormat, level: LogLevel) -> Result<(), AlreadyInstalled> {
    set(Lines { format, level: filter(level), audit: Audit::LeftOut, sink: Standard })
}

fn set(lines: Lines<Standard>) -> Result<(), AlreadyInstalled> {
    tracing::subscriber::set_global_default(Registry::default().with(lines)).map_err(|_| AlreadyInstalled)
}

/// Where lines go.
trait Sink: Send + Sync + 'static {
    fn write(&self, target: Target, line: &[u8]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Output,
    Error,
}

/// The standard streams. A line that cannot be written is lost: there is nowhere to say so.
struct Standard;

impl Sink for Standard {
    fn write(&self, target: Target, line: &[u8]) {
        let _ = match target {
            Target::Output => std::io::stdout().lock().write_all(line),
            Target::Error => std::io::stderr().lock().write_all(line),
        };
    }
}

/// What becomes of the events that auditors need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audit {
    Written,
    LeftOut,
}

/// Turns events into lines.
struct Lines<S> {
    format: LogFormat,
    level: LevelFilter,
    audit: Audit,
    sink: S,
}

impl<S> Lines<S> {
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_ours = target.starts_with("gateway") || target.starts_with("mcp_tool_gateway");
        let level = match target {
            AUDIT if self.audit == Audit::LeftOut => LevelFilter::OFF,
            // What an auditor needs is written at every level.
            AUDIT => self.level.max(LevelFilter::WARN),
            _ if is_ours => self.level,
            _ => self.level.min(LevelFilter::WARN),
        };
        metadata.is_event() && *metadata.level() <= level
    }
}

impl<S: Sink, R: Subscriber> Layer<R> for Lines<S> {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, R>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level.max(LevelFilter::WARN))
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, R>) {
        let level = *event.metadata().level();
        let now = jiff::Timestamp::now();
        let mut line = Vec::with_capacity(256);
        let target = match self.format {
            LogFormat::Json => {
                write_json(&mut line, now, event);
                // The least verbose level is the least.
                if level <= Level::WARN { Target::Error } else { Target::Output }
            }
            LogFormat::Text => {
                write_text(&mut line, now, event);
                Target::Error
            }
        };
        self.sink.write(target, &line);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<(Target, String)>>>);

    impl Sink for Kept {
        fn write(&self, target: Target, line: &[u8]) {
            self.0.lock().unwrap().push((target, String::from_utf8(line.to_vec()).unwrap()));
        }
    }

    fn written(format: LogFormat, level: LogLevel, work: impl FnOnce()) -> Vec<(Target, String)> {
        let kept = Kept::default();
        let layer = Lines { format, level: filter(level), audit: Audit::Written, sink: kept.clone() };
        tracing::subscriber::with_default(Registry::default().with(layer), work);
        std::mem::take(&mut *kept.0.lock().unwrap())
    }

    #[test]
    fn a_json_line_has_message_and_context() {
        let lines = written(LogFormat::Json, LogLevel::Debug, || {
            let provider: Option<&str> = None;
            tracing::debug!(
                correlation = "c-1",
                method = "GET",
                path = "/health",
                status_code = 200_u16,
                duration = 5_u64,
                provider,
                success = true,
                "GET /health {}",
                200
            );
            tracing::error!(upstream = %"files", api_token = "s3cret", reason = ?"a\"b", "Server\ngone.");
        });
        let (target, first) = &lines[0];
        let mut value: Value = serde_json::from_str(first).unwrap();
        let timestamp = value["timestamp"].take();
        assert!(
            timestamp.as_str().is_some_and(|text| text.len() == 24 && text.ends_with('Z')),
            "{timestamp}"
        );
        assert_eq!(
            value,
            json!({
                "timestamp": null,
                "level": "debug",
                "message": "GET /health 200",
                "context": {
                    "correlationId": "c-1", "method": "GET", "path": "/health", "statusCode": 200, "duration": 5, "success": true,
                },
            })
        );
        assert_eq!(*target, Target::Output);
        let (target, second) = &lines[1];
        let value: Value = serde_json::from_str(second).unwrap();
        assert_eq!(
            value["context"],
            json!({"server": "files", "api_token": "[redacted]", "reason": "\"a\\\"b\""})
        );
        assert_eq!(
            (value["level"].as_str(), value["message"].as_str()),
            (Some("error"), Some("Server\ngone."))
        );
        assert_eq!(*target, Target::Error);
        assert!(lines.iter().all(|(_, line)| line.ends_with('\n') && line.matches('\n').count() == 1));
    }

    #[test]
    fn levels_filter_and_other_libraries_are_quiet() {
        let work = || {
            tracing::debug!("one");
            tracing::info!("two");
            tracing::warn!("three");
            tracing::error!("four");
            tracing::info!(target: "hyper", "five");
            tracing::warn!(target: "hyper", "six");
        };
        let count = |level| written(LogFormat::Text, level, work).len();
        assert_eq!(
            [LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error].map(count),
            [5, 4, 3, 1]
        );
    }

    #[test]
    fn auditors_read_every_entry_whatever_the_level() {
        let work = || {
            tracing::warn!("left out");
            tracing::warn!(target: AUDIT, kind = "card", "Personal data found.");
        };
        let lines = written(LogFormat::Text, LogLevel::Error, work);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].1.ends_with("WARN  Personal data found.  kind=card\n"), "{lines:?}");
    }

    #[test]
    fn text_keeps_each_event_on_one_line() {
        let lines = written(LogFormat::Text, LogLevel::Info, || {
            tracing::warn!(server = "a b", attempt = 2, password = "x", "Upstream\r\nrestarted.");
        });
        let (target, line) = &lines[0];
        assert_eq!(*target, Target::Error);
        let (_, rest) = line.split_once(' ').unwrap();
        assert_eq!(rest, "WARN  Upstream\\r\\nrestarted.  server=\"a b\" attempt=2 password=[redacted]\n");
    }
}
