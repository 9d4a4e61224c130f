//! Messages on standard output while the gateway runs.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use gateway_protocol::printable;
use gateway_service::LogFormat;
use gateway_upstream::{
    ConnectMode, Endpoint, FleetEvent, RefusedTool, UpstreamId, UpstreamSpec, UpstreamState,
};
use serde_json::{Value, json};

use crate::output::{counted, log_line};
use crate::setup::Setup;
use crate::terminal::{Form, errors, output};

/// How many changed definitions of one listing get a line each.
const SHOWN_CHANGES: usize = 10;

/// Writes messages, in plain lines or as JSON. Clones share their state.
#[derive(Clone, Debug)]
pub(super) struct Announcer {
    format: LogFormat,
    last: Arc<Mutex<HashMap<UpstreamId, Last>>>,
}

/// The last message about a server.
#[derive(Debug, Default)]
struct Last {
    state: Option<UpstreamState>,
    reason: Option<String>,
    tools: Option<usize>,
}

impl Announcer {
    pub(super) fn new(format: LogFormat) -> Self {
        Self { format, last: Arc::default() }
    }

    /// The form of everything that is written.
    pub(super) fn format(&self) -> LogFormat {
        self.format
    }

    /// Writes a message, given in both forms.
    pub(super) fn announce(&self, plain: &str, value: &Value) {
        // Reasons are text from servers and must not look like further lines.
        self.write(&printable(plain), value);
    }

    /// Writes that something failed; as JSON on standard error, like every other error.
    pub(super) fn fail(&self, plain: &str, value: &Value) {
        let plain = printable(plain);
        match self.format {
            LogFormat::Json => drop(writeln!(errors(), "{}", log_line("error", &plain, value))),
            LogFormat::Text => self.write(&plain, value),
        }
    }

    fn write(&self, plain: &str, value: &Value) {
        let is_json = self.format == LogFormat::Json;
        let mut stdout = output(Form::json_if(is_json));
        let written = if is_json {
            writeln!(stdout, "{}", log_line("info", plain, value))
        } else {
            writeln!(stdout, "{plain}")
        };
        // A closed standard output is no reason to stop a gateway.
        let _ = written.and_then(|()| stdout.flush());
    }

    /// Writes a message that only people need. It must not contain foreign text, and may have several lines.
    pub(super) fn announce_to_people(&self, plain: &str) {
        if self.format == LogFormat::Text {
            self.write(plain, &Value::Null);
        }
    }

    pub(super) fn listening(&self, url: &str, setup: &Setup) {
        self.announce(&format!("listening on {url}"), &json!({"event": "listening", "url": url}));
        if setup.specs.is_empty() && !setup.service.models.is_empty() {
            self.announce_to_people(
                "models are configured, but no servers, so the models have no tools; \
                 \"mcpServers\": {\"demo\": {\"type\": \"builtin\"}} has some to try",
            );
        }
        if setup.demo_only {
            let service = &setup.service;
            let is_open = service.keys.is_empty() && service.admin_keys.is_empty();
            let key = if is_open { "" } else { " -H 'authorization: Bearer YOUR-KEY'" };
            self.announce_to_people(&format!(
                "nothing is configured, so this is the built-in demo server; try:\n  \
                 curl {url}/tools/gemini{key}\n  \
                 curl {url}/call_tool{key} -H 'content-type: application/json' \
                 -d '{{\"tool\": \"add\", \"arguments\": {{\"a\": 1, \"b\": 2}}}}'"
            ));
        }
    }

    /// Reports tools of the configuration that are left out, and why.
    pub(super) fn refused(&self, refused: &[RefusedTool]) {
        for RefusedTool { name, problem, .. } in refused {
            let value = json!({"event": "tool-refused", "tool": name, "error": problem.to_string()});
            self.announce(&format!("tool {name}: left out: {problem}"), &value);
        }
    }

    /// Reports a server whose new entry is invalid and that goes on under its earlier one.
    pub(super) fn kept(&self, spec: &UpstreamSpec) {
        for problem in &spec.problems {
            let plain = format!("{}: its new entry is invalid, the earlier one stays: {problem}", spec.id);
            let value = json!({
                "event": "entry-refused", "server": spec.id.as_str(), "error": problem.to_string(),
            });
            self.announce(&plain, &value);
        }
    }

    /// Reports the state of a server that does not start by itself.
    pub(super) fn resting(&self, spec: &UpstreamSpec) {
        let (state, text) = if spec.disabled {
            (UpstreamState::Disabled, "")
        } else if spec.endpoint == Endpoint::Invalid {
            let reasons: Vec<String> = spec.problems.iter().map(ToString::to_string).collect();
            return self.server(&spec.id, UpstreamState::Invalid, Some(&reasons.join("; ")), "");
        } else if spec.connect == ConnectMode::Lazy {
            (UpstreamState::Idle, ", starts when it is needed")
        } else {
            return;
        };
        self.server(&spec.id, state, None, text);
    }

    /// Reports what happened to a server, unless that was the last message.
    pub(super) fn event(&self, event: &FleetEvent) {
        match event {
            FleetEvent::State { upstream, state, reason }
                if self.is_news(upstream, *state, reason.as_deref()) =>
            {
                self.server(upstream, *state, reason.as_deref(), "");
            }
            FleetEvent::Listed { upstream, tools } => {
                let before = self.with_last(upstream, |last| last.tools.replace(*tools));
                if before != Some(*tools) {
                    let plain = format!("{upstream}: {}", counted(*tools, "tool"));
                    self.announce(
                        &plain,
                        &json!({"event": "tools", "server": upstream.as_str(), "tools": tools}),
                    );
                }
            }
            FleetEvent::DefinitionsChanged { upstream, notices, more } => {
                for notice in notices.iter().take(SHOWN_CHANGES) {
                    let blocked = if notice.blocked { ", so it is blocked until it is accepted" } else { "" };
                    let plain = format!("{upstream}: {}{blocked}", notice.change);
                    let value = json!({
                        "event": "definition", "server": upstream.as_str(), "tool": notice.change.tool.as_str(),
                        "change": notice.change.to_string(), "blocked": notice.blocked,
                    });
                    self.announce(&plain, &value);
                }
                let more = notices.len().saturating_sub(SHOWN_CHANGES) + more;
                if more > 0 {
                    let plain = format!("{upstream}: {} changed too", counted(more, "definition"));
                    self.announce(
                        &plain,
                        &json!({"event": "definitions", "server": upstream.as_str(), "more": more}),
                    );
                }
            }
            // Notifications are for callers; event kinds added later are ignored.
            _ => {}
        }
    }

    fn server(&self, id: &UpstreamId, state: UpstreamState, reason: Option<&str>, more: &str) {
        let plain = match reason {
            Some(reason) => format!("{id}: {state}: {reason}"),
            None => format!("{id}: {state}{more}"),
        };
        let value =
            json!({"event": "server", "server": id.as_str(), "state": state.name(), "reason": reason});
        self.announce(&plain, &value);
    }

    /// Repeated failures with the same reason are reported once.
    fn is_news(&self, id: &UpstreamId, state: UpstreamState, reason: Option<&str>) -> bool {
        self.with_last(id, |last| {
            let failed = matches!(last.state, Some(UpstreamState::Waiting | UpstreamState::Crashing));
            match state {
                UpstreamState::Connecting => {
                    if failed {
                        return false;
                    }
                    last.reason = None;
                }
                UpstreamState::Connected => {
                    last.reason = None;
                    last.tools = None;
                }
                UpstreamState::Waiting | UpstreamState::Crashing => {
                    let same = last.state == Some(state) && last.reason.as_deref() == reason;
                    last.reason = reason.map(str::to_owned);
                    last.state = Some(state);
                    return !same;
                }
                UpstreamState::Disabled
                | UpstreamState::Invalid
                | UpstreamState::Idle
                | UpstreamState::Closed => {}
            }
            last.state.replace(state) != Some(state)
        })
    }

    fn with_last<T>(&self, id: &UpstreamId, change: impl FnOnce(&mut Last) -> T) -> T {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        change(last.entry(id.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_keeps_failing_is_reported_once() {
        let announcer = Announcer::new(LogFormat::Text);
        let id = UpstreamId::new("files");
        let news = |state, reason| announcer.is_news(&id, state, reason);
        assert!(news(UpstreamState::Connecting, None));
        assert!(news(UpstreamState::Waiting, Some("gone")));
        assert!(!news(UpstreamState::Connecting, None));
        assert!(!news(UpstreamState::Waiting, Some("gone")));
        assert!(news(UpstreamState::Waiting, Some("gone for another reason")));
        assert!(news(UpstreamState::Crashing, Some("gone")));
        assert!(news(UpstreamState::Connected, None));
        assert!(news(UpstreamState::Waiting, Some("gone")));
    }
}
