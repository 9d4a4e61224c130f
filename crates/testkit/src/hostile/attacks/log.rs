//! What the call log must not contain, and what must not make it unreadable.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::hostile::arena::Arena;
use crate::process::eventually_blocking;

const TOOLS: &str =
    r#"[{"name":"t","inputSchema":{"type":"object"}},{"name":"deep","inputSchema":{"type":"object"}}]"#;

/// Documents with a secret each, which contains `Canary`.
fn secrets() -> Vec<Value> {
    let keys = [
        "db_password",
        "userPassword",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "github_token",
        "jwt",
        "bearer",
        "auth",
        "passcode",
        "otp",
        "apikey ",
        "api.key",
    ];
    let mut documents: Vec<Value> = keys.iter().map(|key| json!({*key: "Canary8fK2q9Zx41"})).collect();
    documents.extend([
        json!({"text": "DB_PASSWORD=Canary8fK2q9Zx41"}),
        json!({"text": "export GITHUB_TOKEN=Canary8fK2q9Zx41"}),
        json!({"text": "curl -u admin:Canary8fK2q9Zx41 https://example.com"}),
        json!({"text": "mysql --password Canary8fK2q9Zx41"}),
        json!({"text": "https://Canary8fK2q9Zx41@example.com/repo.git"}),
        json!({"text": "https://example.com/?X-Amz-Signature=Canary8fK2q9Zx41"}),
        json!({"text": "-----BEGIN PRIVATE KEY-----\nCanary8fK2q9Zx41\n-----END PRIVATE KEY-----"}),
        json!({"headers": [{"name": "Authorization", "value": "Canary8fK2q9Zx41"}]}),
        json!({"pairs": [["PASSWORD", "Canary8fK2q9Zx41"]]}),
    ]);
    documents
}

/// Secrets in arguments, and in results that repeat them.
pub(super) fn secrets_in_clear(arena: &Arena) -> Result<String> {
    let (_server, mut gateway) = arena.serve_one(TOOLS, &json!({}), "\"t\"")?;
    let documents = secrets();
    for (index, document) in documents.iter().enumerate() {
        let correlation = format!("secret-{index}");
        let headers = [("content-type", "application/json"), ("x-correlation-id", correlation.as_str())];
        let body = json!({"server": "e", "tool": "t", "arguments": document}).to_string();
        gateway.request("POST", "/call_tool", &headers, &body)?;
    }
    let last = format!("secret-{}", documents.len() - 1);
    let entry = |id: &str| gateway.get(&format!("/logs?correlationId={id}")).map(|answer| answer.text());
    let written = || entry(&last).is_ok_and(|text| text.contains(&last));
    let came = eventually_blocking(Duration::from_secs(10), "the entries", written);
    arena.breach_if(came.is_err(), || "the entries did not come".to_owned());
    let all = gateway.get("/logs?limit=1000")?.json()?;
    let entries = entries_of(&all);
    for (index, document) in documents.iter().enumerate() {
        let id = format!("\"secret-{index}\"");
        let clear = entries.iter().any(|entry| entry.contains(&id) && entry.contains("Canary"));
        arena.breach_if(clear, || format!("{document}"));
    }
    gateway.stop()?;
    for file in arena.path("data").read_dir()? {
        let bytes = std::fs::read(file?.path()).unwrap_or_default();
        let clear = bytes.windows(6).any(|window| window == b"Canary");
        arena.breach_if(clear, || "a file of the data directory has a secret".to_owned());
    }
    Ok(format!("none of {} secrets is in the log", documents.len()))
}

fn entries_of(answer: &Value) -> Vec<String> {
    let list = answer.as_array().or_else(|| {
        let members = answer.as_object()?;
        members.values().find_map(Value::as_array)
    });
    list.into_iter().flatten().map(Value::to_string).collect()
}

/// The nesting depth of a JSON text.
fn depth(text: &[u8]) -> usize {
    let (mut now, mut most, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' if !in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// One result makes the whole log unreadable for common parsers.
pub(super) fn deep_result(arena: &Arena) -> Result<String> {
    let (_server, gateway) = arena.serve_one(TOOLS, &json!({}), "\"t\"")?;
    gateway.call_on("e", "deep", r#"{"levels":5000}"#)?;
    let written = || gateway.get("/logs").is_ok_and(|answer| answer.text().contains("\"deep\""));
    let _ = eventually_blocking(Duration::from_secs(10), "the entry", written);
    let deepest = depth(&gateway.get("/logs")?.body);
    // jq stops at 256 levels in its older versions, Python at about 1,000.
    arena.breach_if(deepest > 250, || format!("/logs is nested {deepest} deep"));
    Ok(format!("/logs is nested {deepest} deep"))
}

/// A command that fails writes its environment into the error.
pub(super) fn handler_environment(arena: &Arena) -> Result<String> {
    let ran = arena.path("ran");
    let code = format!("echo \"token=$TOKEN\" >&2; : > '{}'; exit 3", ran.display());
    let handler = json!({"command": "sh", "args": ["-c", code], "env": {"TOKEN": "toolsecret123"}});
    let tool = json!({"description": "fails", "inputSchema": {"type": "object"}, "handler": handler});
    let gateway = arena.serve(&json!({"tools": {"h": tool}}))?;
    gateway.lists("\"h\"");
    let answer = gateway.call("h", "{}")?.text();
    arena.breach_if(!ran.exists(), || format!("the command did not run: {answer}"));
    arena.breach_if(answer.contains("toolsecret123"), || "the answer has the value".to_owned());
    let written = || gateway.get("/logs").is_ok_and(|answer| answer.text().contains("\"h\""));
    let _ = eventually_blocking(Duration::from_secs(10), "the entry", written);
    let logged = gateway.get("/logs")?.text().contains("toolsecret123");
    arena.breach_if(logged, || "the log has the value".to_owned());
    Ok("the value is hidden".to_owned())
}
