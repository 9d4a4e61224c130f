//! Attacks on the binary, as a hostile server or a hostile caller would carry them out. The expensive ones are for `scripts/soak`.

use gateway_testkit::attack_path;
use gateway_testkit::hostile::{ATTACKS, Attack, Cost, Programs};

#[track_caller]
fn holds(name: &str) {
    let programs = Programs {
        gateway: assert_cmd::cargo::cargo_bin!("mcp-tool-gateway").to_owned(),
        attack: attack_path().unwrap(),
    };
    let attack = Attack::find(name).unwrap();
    let verdict = attack.run(&programs);
    assert!(verdict.held, "expected: {}; seen: {}", attack.expected, verdict.seen);
}

macro_rules! attacks {
    ($($test:ident: $name:literal,)*) => {
        pub(crate) const TESTED: &[&str] = &[$($name),*];

        $(
            #[test]
            fn $test() {
                holds($name);
            }
        )*
    };
}

attacks! {
    prose: "prose",
    injected_call_tool: "injected-call-tool",
    injected_mcp_legacy: "injected-mcp-legacy",
    injected_mcp_modern: "injected-mcp-modern",
    hidden_parameter: "hidden-parameter",
    repeated_in_bodies: "repeated-in-bodies",
    second_description: "second-description",
    overridden_description: "overridden-description",
    second_name: "second-name",
    prefixed_name: "prefixed-name",
    name_of_server_down: "name-of-server-down",
    accept_without_admin: "accept-without-admin",
    accept_other_fingerprint: "accept-other-fingerprint",
    truncated_memory: "truncated-memory",
    terminal_tools: "terminal-tools",
    terminal_servers: "terminal-servers",
    terminal_check: "terminal-check",
    terminal_call: "terminal-call",
    terminal_logs: "terminal-logs",
    terminal_serve: "terminal-serve",
    terminal_context: "terminal-context",
    file_modes: "file-modes",
    corrupt_log: "corrupt-log",
    file_size_limit: "file-size-limit",
    parent_environment: "parent-environment",
    shared_owner: "shared-owner",
    logs_of_others: "logs-of-others",
    own_approval: "own-approval",
    forged_question: "forged-question",
    nameless_question: "nameless-question",
    unlogged_reads: "unlogged-reads",
    secrets_in_clear: "secrets-in-clear",
    deep_result: "deep-result",
    handler_environment: "handler-environment",
    evicted_session: "evicted-session",
    departed_idempotent: "departed-idempotent",
    departed_session: "departed-session",
    other_origin: "other-origin",
    refused_requests: "refused-requests",
    garbled_answer: "garbled-answer",
    stray_after_end: "stray-after-end",
    stray_after_kill: "stray-after-kill",
}

#[test]
fn every_cheap_attack_is_tested() {
    let cheap = ATTACKS.iter().filter(|attack| attack.cost == Cost::Cheap);
    assert_eq!(TESTED, cheap.map(|attack| attack.name).collect::<Vec<_>>());
}
