//! The binary as its users see it: arguments and input in, output and exit status out.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod approvals;
mod arguments;
mod attacks;
mod call;
mod calls;
mod cassettes;
mod chat;
mod check;
mod config;
mod conversations;
mod conversions;
mod convert;
mod demo;
mod dialects;
mod dotenv;
mod history;
mod invalid_servers;
mod left_out;
mod limits;
mod links;
mod logs;
mod mcp;
mod privacy;
mod readme;
mod repeated;
mod sandbox;
mod security;
mod serve;
mod serve_end;
mod serve_reload;
mod servers;
mod servers_accept;
mod shells;
mod stale_lists;
mod stores;
mod strays;
mod terminals;
mod tokens;
mod tools;
mod transform;
mod usage;

use std::path::PathBuf;

use serde_json::Value;

/// What a run of the binary gave.
struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    #[track_caller]
    fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Runs the binary with `input` on standard input.
#[track_caller]
fn run(arguments: &[&str], input: &str) -> Run {
    let output = assert_cmd::cargo::cargo_bin_cmd!("mcp-tool-gateway")
        .args(arguments)
        .current_dir(repository())
        .write_stdin(input)
        .output()
        .unwrap();
    Run {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A file that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}
