//! Which crate may use which, and what the pure crates must not know.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates and the crates of ours that they may use. A crate that is not listed here fails the test.
const ALLOWED: &[(&str, &[&str])] = &[
    ("gateway-notation", &[]),
    ("gateway-regex", &[]),
    ("gateway-dialects", &["gateway-notation", "gateway-regex"]),
    ("gateway-privacy", &["gateway-notation"]),
    ("gateway-protocol", &["gateway-notation"]),
    ("gateway-config", &["gateway-notation", "gateway-privacy", "gateway-protocol"]),
    ("gateway-process", &[]),
    ("gateway-builtin", &["gateway-config", "gateway-process", "gateway-protocol"]),
    (
        "gateway-upstream",
        &["gateway-builtin", "gateway-config", "gateway-notation", "gateway-process", "gateway-protocol"],
    ),
    ("gateway-search", &["gateway-dialects", "gateway-protocol"]),
    ("gateway-store", &["gateway-notation", "gateway-privacy"]),
    ("gateway-cassette", &["gateway-notation", "gateway-protocol"]),
    (
        "gateway-runtime",
        &[
            "gateway-config",
            "gateway-dialects",
            "gateway-notation",
            "gateway-protocol",
            "gateway-search",
            "gateway-store",
            "gateway-upstream",
        ],
    ),
    (
        "gateway-mcp",
        &["gateway-config", "gateway-protocol", "gateway-runtime", "gateway-search", "gateway-upstream"],
    ),
    (
        "gateway-agent",
        &[
            "gateway-builtin",
            "gateway-config",
            "gateway-dialects",
            "gateway-notation",
            "gateway-privacy",
            "gateway-process",
            "gateway-protocol",
            "gateway-runtime",
            "gateway-store",
            "gateway-upstream",
        ],
    ),
    (
        "gateway-service",
        &[
            "gateway-agent",
            "gateway-notation",
            "gateway-mcp",
            "gateway-config",
            "gateway-runtime",
            "gateway-upstream",
            "gateway-search",
            "gateway-store",
            "gateway-dialects",
            "gateway-protocol",
        ],
    ),
    (
        "mcp-tool-gateway",
        &[
            "gateway-agent",
            "gateway-cassette",
            "gateway-config",
            "gateway-notation",
            "gateway-dialects",
            "gateway-mcp",
            "gateway-process",
            "gateway-protocol",
            "gateway-upstream",
            "gateway-store",
            "gateway-runtime",
            "gateway-service",
        ],
    ),
    ("gateway-testkit", &["gateway-protocol", "gateway-dialects"]),
    ("gateway-bench", &["gateway-dialects", "gateway-protocol"]),
    ("gateway-bindings", &["gateway-dialects", "gateway-notation", "gateway-protocol"]),
    ("gateway-python", &["gateway-bindings"]),
    ("gateway-node", &["gateway-bindings"]),
];

/// Crates that reach no runtime, network or clock. The configuration reads files besides.
const PURE: &[&str] = &[
    "gateway-notation",
    "gateway-regex",
    "gateway-bindings",
    "gateway-config",
    "gateway-dialects",
    "gateway-privacy",
    "gateway-protocol",
    "gateway-search",
    "gateway-cassette",
];

/// What no pure crate may depend on, however far down.
const IMPURE: &[&str] = &[
    "tokio",
    "reqwest",
    "axum",
    "hyper",
    "async-std",
    "smol",
    "mio",
    "ureq",
    "chrono",
    "jiff",
    "time",
    "rusqlite",
    "sqlx",
];

/// What the runtime must not use: it has no face, so it knows no HTTP.
const HTTP: &[&str] =
    &["axum", "axum-core", "http", "http-body-util", "hyper", "hyper-util", "reqwest", "tower"];

/// Only tests may use this crate.
const TEST_ONLY: &str = "gateway-testkit";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(workspace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The workspace's crates, as `cargo metadata` has them.
fn packages() -> Vec<Value> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_slice(&metadata).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn no_forbidden_arrow_between_our_crates() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut faults = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        if ["core", "common", "utils"].iter().any(|word| name.ends_with(word)) {
            faults.push(format!("{name}: name the thing"));
        }
        let Some(allowed) = allowed.get(name) else {
            faults.push(format!("{name} is not in the table of this test"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let for_tests = dependency["kind"] == "dev";
            if ours.contains(used) && !allowed.contains(&used) && !(for_tests && used == TEST_ONLY) {
                faults.push(format!("{name} must not use {used}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_runtime_knows_no_http() {
    let packages = packages();
    let runtime = packages.iter().find(|package| package["name"] == "gateway-runtime").unwrap();
    let dependencies = runtime["dependencies"].as_array().unwrap();
    let used = dependencies.iter().map(|dependency| dependency["name"].as_str().unwrap());
    assert_eq!(used.filter(|name| HTTP.contains(name)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn cargo_run_runs_the_gateway() {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_slice(&metadata).unwrap();
    let members = metadata["workspace_default_members"].as_array().unwrap();
    let [only] = members.as_slice() else { panic!("several programs could be meant: {members:?}") };
    assert!(only.as_str().unwrap().contains("crates/cli"), "{only}");
}

#[test]
fn pure_crates_reach_no_runtime_and_no_network() {
    let mut faults = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        if !PURE.contains(&name) {
            continue;
        }
        let tree = cargo(&["tree", "--package", name, "--edges", "normal", "--prefix", "none", "--offline"]);
        let tree = String::from_utf8(tree).unwrap();
        assert!(tree.lines().count() > 1, "{name} has no dependencies at all?");
        for used in tree.lines().filter_map(|line| line.split(' ').next()) {
            if IMPURE.contains(&used) {
                faults.push(format!("{name} reaches {used}"));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// Every source file of the pure crates that exist, with its text up to the unit tests.
fn pure_sources() -> Vec<(PathBuf, String)> {
    let mut left: Vec<PathBuf> = [
        "crates/notation/src",
        "crates/bindings/src",
        "crates/dialects/src",
        "crates/privacy/src",
        "crates/protocol/src",
        "crates/search/src",
        "crates/cassette/src",
    ]
    .iter()
    .map(|folder| workspace().join(folder))
    .collect();
    let mut sources = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            sources.push((path, code));
        }
    }
    assert!(sources.len() > 50, "the sources are not where this test looks");
    sources.sort();
    sources
}

/// Code lines, without comments, that `wrong` holds of.
fn lines_that(wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let root = workspace();
    pure_sources()
        .iter()
        .flat_map(|(path, text)| text.lines().enumerate().map(move |(index, line)| (path, index, line)))
        .filter(|(_, _, line)| {
            wrong(line.trim_start().split("// ").next().unwrap_or_default())
                && !line.trim_start().starts_with("//")
        })
        .map(|(path, index, line)| {
            format!("{}:{}: {}", path.strip_prefix(&root).unwrap_or(path).display(), index + 1, line.trim())
        })
        .collect()
}

/// Whether a line reaches for the clock, files, the network, processes or the terminal.
fn is_impure(line: &str) -> bool {
    let words = [
        "Instant::now",
        "SystemTime",
        "UNIX_EPOCH",
        "std::time::Instant",
        "std::fs",
        "std::net",
        "std::process",
        "std::env::",
        "std::thread",
        "std::io::stdin",
        "std::io::stdout",
        "std::io::stderr",
        "tokio",
        "reqwest",
        "println!",
        "eprintln!",
    ];
    let imported = line.starts_with("use std::{")
        && ["fs", "net", "process", "thread"]
            .iter()
            .any(|module| line.split(['{', ',', '}', ' ', ':', ';']).any(|word| word == *module));
    let clock = line.starts_with("use std::time") && line.contains("Instant");
    words.iter().any(|word| line.contains(word)) || imported || clock
}

#[test]
fn pure_crates_have_no_clock_no_files_no_network_no_processes() {
    for line in [
        "use std::{fs, io};",
        "use std::time::{Duration, Instant};",
        "std::fs::read(path)",
        "SystemTime::now()",
    ] {
        assert!(is_impure(line), "{line}");
    }
    assert_eq!(lines_that(is_impure), Vec::<String>::new());
}

/// Whether a line decides something by a provider's name. Dialects are data: code holds mechanisms only.
fn compares_a_provider(line: &str) -> bool {
    const PROVIDERS: &[&str] = &[
        "openai",
        "azure",
        "gemini",
        "google",
        "vertex",
        "anthropic",
        "claude",
        "bedrock",
        "mistral",
        "cohere",
        "ollama",
        "xai",
        "grok",
        "groq",
        "deepseek",
        "moonshot",
        "kimi",
        "argo",
        "dial",
        "vllm",
        "llamacpp",
        "lmstudio",
        "llama.cpp",
        "gpt",
    ];
    // What an arm of a `match` gives is no comparison; what it takes is one.
    let (line, arm) = line.split_once("=>").map_or((line, false), |(pattern, _)| (pattern, true));
    let compares = arm
        || ["==", "!=", "if ", "match ", "matches!(", "starts_with(", "contains("]
            .iter()
            .any(|word| line.contains(word));
    // The name, or one that begins with it, as a text of its own.
    compares
        && PROVIDERS.iter().any(|name| {
            line.split(&format!("\"{name}"))
                .skip(1)
                .any(|rest| rest.starts_with(['"', '-', '.', '_', ':', '/']))
        })
}

#[test]
fn no_provider_is_named_in_a_comparison() {
    for line in ["if name == \"gemini\" {", "\"openai-chat\" => 1,", "matches!(name, \"groq\" | \"xai\")"] {
        assert!(compares_a_provider(line), "{line}");
    }
    for line in [
        "    \"openai-chat\",",
        "Shape::Own => \"cohere-chat\",",
        "if route == other { google(); }",
        "if key == \"dialect\" {",
    ] {
        assert!(!compares_a_provider(line), "{line}");
    }
    assert_eq!(lines_that(compares_a_provider), Vec::<String>::new());
}
