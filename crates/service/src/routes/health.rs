//! `/health` and its relatives: whether a call would work.

use std::time::{Duration, Instant};

use axum_core::response::Response;
use futures_util::future::join_all;
use gateway_store::Status;
use gateway_upstream::{RefusedTool, UpstreamHealth, UpstreamState};
use http::{StatusCode, Uri};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::servers::{describe, describe_clash, describe_renamed, hidden_by_clashes};
use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;
use gateway_runtime::context::RequestContext;
use gateway_runtime::parameters::Parameters;

/// How long a probe may take.
const PROBE: Duration = Duration::from_secs(5);

/// `GET /livez`: the process answers.
pub(crate) fn live() -> Response {
    json_response(StatusCode::OK, r#"{"ok":true}"#)
}

/// `GET /ready`: whether to send calls here.
pub(crate) fn ready(gateway: &Gateway, context: &RequestContext, stopping: &CancellationToken) -> Response {
    let servers = gateway.fleet().health();
    let mut reasons = reasons_not_ready(&servers);
    reasons.extend(log_problem(&gateway.log().status()));
    if stopping.is_cancelled() {
        reasons.push("the gateway is stopping".to_owned());
    }
    let is_ready = reasons.is_empty();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut body = json!({"ok": is_ready, "status": if is_ready { "ready" } else { "unavailable" }});
    if !is_ready && may_see_details(gateway, context) {
        body["reasons"] = reasons.into();
    }
    json_response(status, body.to_string())
}

/// Details are for those who could call.
fn may_see_details(gateway: &Gateway, context: &RequestContext) -> bool {
    gateway.config().keys.is_empty() || context.caller.is_some()
}

/// `GET /health`: how the gateway and its servers are.
pub(crate) async fn health(
    gateway: Gateway,
    context: RequestContext,
    uri: Uri,
) -> Result<Response, ApiError> {
    let wants_probe = Parameters::of_query(uri.query()).flag("probe")?;
    let has_details = may_see_details(&gateway, &context);
    let probes = if wants_probe && has_details { probe(&gateway).await } else { Vec::new() };
    let servers = gateway.fleet().health();
    let log = gateway.log().status();
    let mut reasons = reasons_not_ready(&servers);
    let ok = reasons.is_empty();
    reasons.extend(log_problem(&log));
    let refused = gateway.fleet().registry().refused();
    let is_well = |server: &UpstreamHealth| server.ok && server.config_problems.is_empty();
    let config_problems = gateway.config_problems();
    #[cfg(feature = "agent")]
    let (is_open, store_problem) = gateway.state.completions.store().status().await;
    #[cfg(not(feature = "agent"))]
    let store_problem: Option<String> = None;
    let all_well = refused.is_empty()
        && store_problem.is_none()
        && config_problems.is_empty()
        && !log.failing
        && servers.iter().all(|server| is_well(server) || server.state == UpstreamState::Disabled);
    let status = match (ok, all_well) {
        (true, true) => "healthy",
        (true, false) => "degraded",
        (false, _) => "unhealthy",
    };
    let version = env!("CARGO_PKG_VERSION");
    if !has_details {
        #[cfg_attr(not(feature = "agent"), expect(unused_mut, reason = "only the agent adds something"))]
        let mut brief = json!({"ok": ok, "status": status, "version": version});
        #[cfg(feature = "agent")]
        {
            brief["conversation_manager_initialized"] = is_open.into();
        }
        return Ok(json_response(StatusCode::OK, brief.to_string()));
    }
    let described: Vec<Value> = servers
        .iter()
        .map(|server| {
            let mut value = describe(&gateway, server);
            if let Some((_, outcome)) = probes.iter().find(|(name, _)| name == server.id.as_str()) {
                value["probe"] = outcome.clone();
            }
            value
        })
        .collect();
    let uptime = u64::try_from(gateway.state.metrics.uptime().as_millis()).unwrap_or(u64::MAX);
    let mut report = json!({
        "ok": ok,
        "status": status,
        "version": version,
        "uptimeMs": uptime,
        "configSource": gateway.config_source(),
        "serverCount": servers.len(),
        "servers": described,
        "log": {
            "queued": log.queued,
            "written": log.written,
            "waiting": log.waiting,
            "failures": log.failures,
            "failing": log.failing,
            "lastError": log.last_error,
            "bytes": log.database_bytes,
        },
    });
    #[cfg(feature = "agent")]
    {
        report["conversation_manager_initialized"] = is_open.into();
    }
    reasons.extend(store_problem.map(|problem| format!("the store of conversations: {problem}")));
    if !reasons.is_empty() {
        report["reasons"] = reasons.into();
    }
    if !config_problems.is_empty() {
        report["configProblems"] = config_problems.into();
    }
    if let Some(path) = &gateway.log().opened().moved_aside {
        report["log"]["movedAside"] = path.display().to_string().into();
    }
    if !refused.is_empty() {
        let row = |refused: &RefusedTool| json!({"tool": refused.name, "error": refused.problem.to_string()});
        report["refusedTools"] = refused.iter().map(row).collect();
    }
    if let Some(problem) = gateway.fleet().memory_problem() {
        report["memoryProblem"] = problem.into();
    }
    let renamed: Vec<Value> = gateway.fleet().catalogue().renamed().map(describe_renamed).collect();
    if !renamed.is_empty() {
        report["renamedTools"] = renamed.into();
    }
    let catalogue = gateway.fleet().catalogue();
    let clashes: Vec<Value> = hidden_by_clashes(&catalogue).map(describe_clash).collect();
    if !clashes.is_empty() {
        report["clashes"] = clashes.into();
    }
    Ok(json_response(StatusCode::OK, report.to_string()))
}

/// Why a call would not work: a required server is not there, or, without required ones, none is. A gateway without any
/// server is ready: it still converts.
fn reasons_not_ready(servers: &[UpstreamHealth]) -> Vec<String> {
    let why = |server: &UpstreamHealth| {
        let reason = server.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("server `{}` is {}{reason}", server.id, server.state)
    };
    if servers.iter().any(|server| server.required) {
        return servers.iter().filter(|server| server.required && !server.ok).map(why).collect();
    }
    let used: Vec<&UpstreamHealth> =
        servers.iter().filter(|server| server.state != UpstreamState::Disabled).collect();
    if used.is_empty() || used.iter().any(|server| server.ok) {
        return Vec::new();
    }
    used.into_iter().map(why).collect()
}

/// Why the log is not written, while that lasts.
fn log_problem(log: &Status) -> Option<String> {
    let error = log.last_error.as_deref().filter(|_| log.failing)?;
    Some(format!("the call log cannot be written: {error}"))
}

/// Asks every server that is not disabled for a sign of life; idle ones are started for it.
async fn probe(gateway: &Gateway) -> Vec<(String, Value)> {
    let servers = gateway.fleet().health();
    let is_off =
        |server: &UpstreamHealth| matches!(server.state, UpstreamState::Disabled | UpstreamState::Invalid);
    let asked = servers.into_iter().filter(|server| !is_off(server)).map(|server| async move {
        let name = server.id.as_str().to_owned();
        let began = Instant::now();
        let outcome = tokio::time::timeout(PROBE, gateway.fleet().ping(&name)).await;
        let took = began.elapsed().as_secs_f64() * 1_000.0;
        let value = match outcome {
            Ok(Ok(_)) => json!({"ok": true, "durationMs": took}),
            Ok(Err(error)) => json!({"ok": false, "durationMs": took, "error": error.to_string()}),
            Err(_) => {
                json!({"ok": false, "durationMs": took, "error": format!("no answer within {PROBE:?}")})
            }
        };
        (name, value)
    });
    join_all(asked).await
}
