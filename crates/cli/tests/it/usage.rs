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
fn a_servers_command_without_its_dashes_brings_the_whole_line() {
    let hint = "tip: a server's command goes after `--`: mcp-tool-gateway tools -- npx -y x\n";
    refused(&["tools", "npx", "-y", "x"], "", &["unexpected argument '-y'", hint]);
    let hint = "tip: a server's command goes after `--`: mcp-tool-gateway tools -- npx @a/b\n";
    refused(&["tools", "npx", "@a/b"], "", &[hint]);
    let hint = "a server's command goes after `--`: mcp-tool-gateway check --to openai -- uvx -p 3 b";
    refused(&["check", "--to", "openai", "uvx", "-p", "3", "b"], "", &[hint]);
    let misspelled = run(&["tools", "--jsn"], "");
    assert!(misspelled.stderr.contains("a similar argument exists: '--json'"), "{}", misspelled.stderr);
    assert!(!misspelled.stderr.contains("a server's command"), "{}", misspelled.stderr);
}

#[test]
fn a_call_without_words_says_what_is_missing() {
    refused(&["call"], "", &["no tool is named: call [SERVER] TOOL [ARGUMENTS]", "lists the tools"]);
    refused(&["call", "demo", "add", "a=1", "b"], "", &["expected key=value", "`b`"]);
}

#[test]
fn help_names_every_command_and_the_exit_statuses() {
    let help = run(&["--help"], "");
    assert_eq!(help.status, 0);
    for word in [
        "serve",
        "tools",
        "call",
        "chat",
        "servers",
        "logs",
        "convert",
        "check",
        "record",
        "replay",
        "demo",
        "dialects",
        "tokens",
        "arguments",
        "approvals",
        "detect",
        "completions",
        "man",
        "Exit status: 0 good, 1 findings, 2",
    ] {
        assert!(help.stdout.contains(word), "{word}: {}", help.stdout);
    }
}
