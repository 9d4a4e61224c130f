//! Wrong usage and unreadable input: exit status 2, nothing on standard output, a useful word on standard error.

use crate::run;

#[track_caller]
fn refused(arguments: &[&str], input: &str, words: &[&str]) {
    let run = run(arguments, input);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "{word:?} is not in: {}", run.stderr);
    }
}

#[test]
fn a_missing_file_is_named() {
    for command in [
        &["convert", "--to", "openai"][..],
        &["check"],
        &["tokens"],
        &["arguments", "encode", "--to", "openai", "--jsonl"],
    ] {
        refused(
            &[command, &["nowhere/tools.json"]].concat(),
            "",
            &["error: reading nowhere/tools.json: No such file"],
        );
    }
}

#[test]
fn bad_json_is_reported_with_its_position() {
    refused(
        &["convert", "--to", "openai"],
        "{\"tools\": [",
        &["reading standard input as JSON", "line 1 column 11"],
    );
    refused(&["check"], "not json", &["reading standard input as JSON"]);
}

#[test]
fn json_without_tools_says_what_was_expected() {
    for input in ["{}", "7", "{\"tools\": 7}", "{\"result\": {}}"] {
        refused(&["convert", "--to", "openai"], input, &["holds no tools", "tools/list reply"]);
    }
}

#[test]
fn an_unknown_dialect_brings_suggestions() {
    refused(&["convert", "--to", "opnai"], "[]", &["unknown dialect `opnai`; did you mean `openai`?"]);
    refused(&["check", "--to", "openai,gemni"], "[]", &["unknown dialect `gemni`; did you mean `gemini"]);
    refused(&["dialects", "zzzzzz"], "", &["unknown dialect `zzzzzz`", "lists them all"]);
    refused(&["demo", "--to", "antropic"], "", &["did you mean `anthropic"]);
}

#[test]
fn an_unknown_model_says_what_to_do() {
    refused(
        &["convert", "--model", "acme-large"],
        "[]",
        &["no dialect is known for model `acme-large`", "--to"],
    );
}

#[test]
fn wrong_flags_are_usage_errors() {
    refused(&["convert"], "[]", &["--to"]);
    refused(&["convert", "--to", "openai", "--jsonl", "--document"], "", &["cannot be used with"]);
    refused(&["convert", "--to", "openai", "--inject", "x"], "[]", &["--inject x: expected NAME=JSON"]);
    refused(&["convert", "--to", "openai", "--inject", "x={"], "[]", &["reading the value as JSON"]);
    refused(&["check", "--fail-on", "sometimes"], "[]", &["invalid value 'sometimes'"]);
    refused(&["frobnicate"], "", &["unrecognized subcommand"]);
}

#[test]
fn help_names_every_command_and_the_exit_statuses() {
    let help = run(&["--help"], "");
    assert_eq!(help.status, 0);
    for word in [
        "serve",
        "tools",
        "call",
        "servers",
        "logs",
        "convert",
        "check",
        "demo",
        "dialects",
        "tokens",
        "arguments",
        "Exit status: 0 good, 1 findings, 2",
    ] {
        assert!(help.stdout.contains(word), "{word}: {}", help.stdout);
    }
}
