//! `/servers`: the MCP servers behind the gateway.

use axum_core::response::Response;
use bytes::Bytes;
use gateway_upstream::{
    AcceptError, CallError, Catalogue, CatalogueTool, Clash, ClashOutcome, DefinitionNotice, MalformedTool,
    UpstreamHealth, UpstreamId, UpstreamState, Withheld, without_chatter,
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::members;
use crate::errors::{ApiError, call_status, code, json_response};
use crate::gateway::Gateway;
use crate::openapi::Action;
use gateway_runtime::failure::call_code;
use gateway_runtime::lists::ConversionProblem;
use gateway_runtime::scope::unknown_server;

/// `GET /servers`.
pub(crate) fn list(gateway: &Gateway) -> Response {
    let servers: Vec<Value> =
        gateway.fleet().health().iter().map(|health| reviewed(gateway, health)).collect();
    json_response(StatusCode::OK, json!({"servers": servers}).to_string())
}

/// `POST /servers/{name}/connect`.
pub(crate) async fn connect(gateway: Gateway, name: String) -> Result<Response, ApiError> {
    let name = gateway.server_name(name);
    let outcome = gateway.fleet().connect(&name).await;
    answer(&gateway, &name, outcome)
}

/// `POST /servers/{name}/restart`.
pub(crate) async fn restart(gateway: Gateway, name: String) -> Result<Response, ApiError> {
    let name = gateway.server_name(name);
    let outcome = gateway.fleet().restart(&name).await;
    if outcome.is_ok() {
        tracing::info!(server = name, "Server restarted on request.");
    }
    answer(&gateway, &name, outcome)
}

/// The body of an acceptance.
#[derive(Deserialize)]
struct Acceptance {
    fingerprint: String,
}

/// `POST /servers/{name}/accept`.
pub(crate) async fn accept(gateway: Gateway, name: String, body: Bytes) -> Result<Response, ApiError> {
    let (fleet, name) = (gateway.fleet(), gateway.server_name(name));
    let health = fleet.health_of(&name).ok_or_else(|| not_found(&gateway, &name))?;
    let given: Value = serde_json::from_slice(&body).unwrap_or_default();
    let names = given.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    members::check(Action::AcceptServer, names)?;
    let Acceptance { fingerprint } = serde_json::from_slice(&body).map_err(|error| {
        ApiError::bad_request(format!(
            "reading the body as {{\"fingerprint\": \"…\"}}: {error}; `changedDefinitions` of the server shows the fingerprints"
        ))
    })?;
    let refused = |message| ApiError::new(StatusCode::CONFLICT, code::DEFINITION_CHANGED, message);
    match fleet.accept_definitions(&name, &fingerprint).await {
        Ok(()) => {
            tracing::info!(server = name, fingerprint, "Changed definitions accepted.");
            answer(&gateway, &name, Ok(()))
        }
        Err(AcceptError::Stale { .. }) if health.changed_definitions.is_empty() => {
            Err(refused(format!("no definition of server `{name}` waits for somebody to accept it")))
        }
        Err(error) => Err(refused(error.to_string())
            .with("server", reviewed(&gateway, &fleet.health_of(&name).unwrap_or(health)))),
    }
}

/// One server with the definitions that changed, as they are now.
fn reviewed(gateway: &Gateway, health: &UpstreamHealth) -> Value {
    let mut value = describe(gateway, health);
    let catalogue = gateway.fleet().catalogue();
    let rows = value.get_mut("changedDefinitions").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten() {
        let name = row.get("tool").and_then(Value::as_str).unwrap_or_default();
        let tool = catalogue.get(health.id.as_str(), name);
        // Only what the fingerprint beside it stands for.
        let shown = tool.filter(|tool| row.get("fingerprint") == Some(&tool.fingerprint.hex().into()));
        if let Some(tool) = shown {
            row["definition"] = tool.definition.read().unwrap_or_default();
        }
    }
    value
}

fn answer(gateway: &Gateway, name: &str, outcome: Result<(), CallError>) -> Result<Response, ApiError> {
    let health = gateway.fleet().health_of(name);
    match (outcome, health) {
        (Ok(()), Some(health)) => {
            Ok(json_response(StatusCode::OK, json!({"server": describe(gateway, &health)}).to_string()))
        }
        (Err(CallError::UnknownUpstream { .. }), _) | (Ok(()), None) => Err(not_found(gateway, name)),
        (Err(error), health) => {
            let answer = ApiError::new(call_status(&error), call_code(&error), error.to_string());
            Err(match health {
                Some(health) => answer.with("server", describe(gateway, &health)),
                None => answer,
            })
        }
    }
}

fn not_found(gateway: &Gateway, name: &str) -> ApiError {
    let message = unknown_server(gateway.fleet(), name).message();
    ApiError::new(StatusCode::NOT_FOUND, code::SERVER_NOT_FOUND, message)
}

/// One server for programs and people. Absent facts are left out.
pub(super) fn describe(gateway: &Gateway, health: &UpstreamHealth) -> Value {
    let described = |notice: &DefinitionNotice| {
        let mut value = serde_json::to_value(&notice.change).unwrap_or_default();
        value["blocked"] = notice.blocked.into();
        value["fingerprint"] = notice.shown_fingerprint().into();
        value
    };
    let changes: Vec<Value> = health.changed_definitions.iter().map(described).collect();
    let has_changes = !changes.is_empty();
    let conversions = gateway.lists().conversion_problems(&health.id);
    let conversions: Vec<Value> = conversions.iter().take(CONVERSIONS).map(describe_conversion).collect();
    let malformed: Vec<Value> = health.malformed_tools.iter().map(describe_malformed).collect();
    let mut value = json!({
        "name": health.id.as_str(),
        "transport": health.transport,
        "connected": health.state == UpstreamState::Connected,
        "status": status(health),
        "state": health.state.name(),
        "ok": health.ok,
        "required": health.required,
        "reason": health.reason,
        "configProblems": Some(&health.config_problems).filter(|problems| !problems.is_empty()),
        "era": health.era.as_ref().map(gateway_protocol::Era::version),
        "serverName": health.server.as_ref().map(|(name, _)| name),
        "version": health.server.as_ref().map(|(_, version)| version),
        "tools": health.tools,
        "stale": health.stale.then_some(true),
        "restarts": health.restarts,
        "failures": health.failures,
        "nextAttemptMs": health.next_attempt_ms,
        "inFlight": health.in_flight,
        "process": health.process,
        "malformedTools": (!malformed.is_empty()).then_some(malformed),
        "conversionProblems": (!conversions.is_empty()).then_some(conversions),
        "stderr": Some(last_words(&health.stderr)).filter(|text| !text.is_empty()),
        "changedDefinitions": has_changes.then_some(changes),
        "changesFingerprint": has_changes.then(|| health.changes_fingerprint()),
        "refusedRequests": Some(health.refused_requests).filter(|count| *count > 0),
    });
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, fact| !fact.is_null());
    }
    value
}

/// Tools that providers cannot take that are shown.
const CONVERSIONS: usize = 100;

/// Characters of standard error that are shown.
const STDERR: usize = 1_000;

/// The end of what a server wrote to its standard error, without lines that only inform.
fn last_words(stderr: &str) -> String {
    let words = without_chatter(stderr);
    let surplus = words.chars().count().saturating_sub(STDERR);
    if surplus == 0 { words } else { format!("…{}", words.chars().skip(surplus).collect::<String>()) }
}

fn describe_conversion(problem: &ConversionProblem) -> Value {
    json!({"tool": problem.tool, "providers": problem.dialects, "reason": problem.reason})
}

fn describe_malformed(tool: &MalformedTool) -> Value {
    let mut row = json!({"index": tool.index, "reason": tool.reason});
    if let Some(name) = &tool.name {
        row["tool"] = name.as_str().into();
    }
    row["withheld"] = match tool.withheld {
        Withheld::FromNobody => "no",
        Withheld::FromClients => "mcp",
        Withheld::FromAll => "all",
    }
    .into();
    row
}

/// A tool whose own name is reserved for another server. Without `given` it is only reached by naming its server.
pub(super) fn describe_renamed(tool: &CatalogueTool) -> Value {
    let mut row = json!({
        "server": tool.server.as_str(),
        "tool": tool.name,
        "wanted": tool.name,
        "reservedFor": tool.reserved_for.as_ref().map(UpstreamId::as_str),
    });
    if tool.listed {
        row["given"] = tool.public_name.clone().into();
    }
    row
}

/// The clashes of names that keep tools out of all lists.
pub(super) fn hidden_by_clashes(catalogue: &Catalogue) -> impl Iterator<Item = &Clash> {
    catalogue.clashes().iter().filter(|clash| clash.outcome != ClashOutcome::Prefixed)
}

/// A clash of names. Tools that it keeps out of the lists are only reached by naming their servers.
pub(super) fn describe_clash(clash: &Clash) -> Value {
    let servers: Vec<&str> = clash.servers.iter().map(UpstreamId::as_str).collect();
    let mut described = json!({"tool": clash.name, "servers": servers});
    if clash.outcome == ClashOutcome::FirstWins {
        described["listed"] = servers.first().copied().into();
    }
    described
}

/// The five words that clients know.
fn status(health: &UpstreamHealth) -> &'static str {
    match health.state {
        UpstreamState::Disabled => "disabled",
        UpstreamState::Connecting => "connecting",
        UpstreamState::Connected => "connected",
        UpstreamState::Idle | UpstreamState::Closed => "disconnected",
        UpstreamState::Invalid | UpstreamState::Waiting | UpstreamState::Crashing => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_short_and_no_chatter() {
        assert_eq!(last_words("INFO ready\nreading a: failed\n"), "reading a: failed");
        let long = last_words(&format!("{}end", "ü".repeat(3_000)));
        assert_eq!(
            (long.chars().count(), long.ends_with("üend"), long.starts_with('…')),
            (1_001, true, true)
        );
    }
}
