//! Files of the gateway: who can read them, and what happens when they are broken.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::hostile::arena::{Arena, Gateway, PATIENCE};
use crate::process::eventually_blocking;

const BIG: &str =
    r#"[{"name":"big","inputSchema":{"type":"object"}},{"name":"t","inputSchema":{"type":"object"}}]"#;

fn check_modes(path: &Path, most: u32, when: &str, arena: &Arena) -> Result<()> {
    let mode = path.metadata()?.permissions().mode() & 0o777;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    arena.breach_if(mode & !most != 0, || format!("{name} has mode {mode:o} {when}"));
    if path.is_dir() {
        for entry in path.read_dir()? {
            check_modes(&entry?.path(), 0o600, when, arena)?;
        }
    }
    Ok(())
}

/// Other users of the machine read the call log.
pub(super) fn modes(arena: &Arena) -> Result<String> {
    let server = arena.server("e", BIG)?;
    let config = json!({"mcpServers": {"e": server.entry()}});
    let data = arena.path("data");
    for when in ["at the first start", "after they were opened to all"] {
        let mut gateway = arena.serve_after("umask 022", &config)?;
        gateway.lists("\"t\"");
        gateway.call_on("e", "t", "{}")?;
        check_modes(&data, 0o700, when, arena)?;
        gateway.stop()?;
        check_modes(&data, 0o700, when, arena)?;
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755))?;
        for entry in data.read_dir()? {
            let path = entry?.path();
            if path.is_file() {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))?;
            }
        }
    }
    Ok("only the owner can read them".to_owned())
}

/// The database of the log is not a database.
pub(super) fn corrupt_log(arena: &Arena) -> Result<String> {
    let server = arena.server("e", BIG)?;
    let config = json!({"mcpServers": {"e": server.entry()}});
    let data = arena.path("data");
    let mut gateway = arena.serve(&config)?;
    gateway.lists("\"t\"");
    gateway.call_on("e", "t", "{}")?;
    gateway.stop()?;
    let whole = std::fs::read(data.join("calls.db"))?;
    let mut wrong_header = whole.clone();
    wrong_header.iter_mut().take(100).for_each(|byte| *byte = 0x55);
    let half = whole.get(..whole.len() / 2 + 100).unwrap_or_default().to_vec();
    let kinds = [
        ("garbage", Some(vec![0xa5; 8192])),
        ("cut off", Some(half)),
        ("header", Some(wrong_header)),
        ("directory", None),
    ];
    for (kind, bytes) in kinds {
        std::fs::remove_dir_all(&data)?;
        std::fs::create_dir(&data)?;
        match bytes {
            Some(bytes) => std::fs::write(data.join("calls.db"), bytes)?,
            None => std::fs::create_dir(data.join("calls.db"))?,
        }
        match arena.serve(&config) {
            Ok(mut gateway) => {
                gateway.stop()?;
                let said = gateway.running.stderr.text() + &gateway.running.stdout.text();
                arena.breach_if(!said.contains("calls.db"), || format!("{kind}: nothing names the file"));
            }
            Err(problem) => arena.breach(format!("{kind}: {problem}")),
        }
    }
    Ok("it starts and names the file".to_owned())
}

/// The log reaches the file size limit.
pub(super) fn file_size_limit(arena: &Arena) -> Result<String> {
    let server = arena.server("e", BIG)?;
    let config = json!({"mcpServers": {"e": server.entry()}});
    let mut gateway = arena.serve_after("ulimit -f 1024", &config)?;
    let caller = gateway.caller.clone();
    caller.lists("\"t\"");
    let mut last = String::new();
    for _ in 0..100 {
        match caller.call_on("e", "big", r#"{"bytes":40000}"#) {
            Ok(answer) => last = answer.status.to_string(),
            Err(problem) => last = problem.to_string(),
        }
        if gateway.running.has_ended() {
            break;
        }
    }
    // The log is written asynchronously: it fails, or the gateway exits.
    let failing = || caller.get("/ready").map_or(true, |answer| answer.status != 200);
    let _ = eventually_blocking(Duration::from_secs(10), "a log that fails", || {
        gateway.running.has_ended() || failing()
    });
    let alive = !gateway.running.has_ended() && caller.get("/livez").is_ok_and(|answer| answer.status == 200);
    arena.breach_if(!alive, || format!("the gateway was killed ({last})"));
    Ok(format!("it lives; the last call was answered with {last}"))
}

/// A `.env` of the directories above names a program.
pub(super) fn parent_environment(arena: &Arena) -> Result<String> {
    let folder = arena.path("a/b");
    std::fs::create_dir_all(&folder)?;
    let marker = arena.path("marker");
    std::fs::write(arena.path(".env"), format!("MCP_SERVER_COMMAND=touch {}\n", marker.display()))?;
    let data = arena.path("data").display().to_string();
    let command = arena.command_in(&folder, &["serve", "--port", "0", "--data", &data]);
    let gateway = Gateway::start(command, &folder)?;
    gateway.get("/tools")?;
    // Without a configuration the demo server answers: then nothing was read from parent directories.
    let demo = || gateway.lists("store") || marker.exists();
    let _ = eventually_blocking(PATIENCE, "a server", demo);
    arena.breach_if(marker.exists(), || "the program of a parent's .env ran".to_owned());
    Ok("it did not run".to_owned())
}
