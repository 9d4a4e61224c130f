//! `completions` and `man`

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::run;

#[test]
fn every_shell_completes_every_command() {
    let help = run(&["--help"], "").stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands: Vec<&str> = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell], "");
        assert_eq!((script.status, script.stderr.as_str()), (0, ""), "{shell}");
        for command in &commands {
            assert!(script.stdout.contains(command), "{shell} does not know {command}");
        }
    }
}

#[test]
fn bash_completes_commands_and_flags() {
    let mut bash = Command::new("bash")
        .args(["--norc", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = run(&["completions", "bash"], "").stdout;
    let (function, _) = script.split_once('(').unwrap();
    let complete = |line: &str| {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let (last, before) = (words.len() - 1, words.len() - 2);
        format!(
            "COMP_WORDS=({}); COMP_CWORD={last}; {function} mcp-tool-gateway {} {}; echo \"${{COMPREPLY[*]}}\"\n",
            words.join(" "),
            words[last],
            words[before],
        )
    };
    let asked = [complete("mcp-tool-gateway det"), complete("mcp-tool-gateway check --fail-on ")].concat();
    bash.stdin.take().unwrap().write_all(format!("{script}\n{asked}").as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().collect::<Vec<_>>(), ["detect", "error warning note never"]);
}

#[test]
fn manual_pages_are_written_for_the_program_and_its_commands() {
    let whole = run(&["man"], "");
    assert_eq!((whole.status, whole.stderr.as_str()), (0, ""));
    assert!(whole.stdout.contains(".TH mcp-tool-gateway 1"), "{}", whole.stdout);
    assert!(whole.stdout.contains(".SH SUBCOMMANDS"), "{}", whole.stdout);
    let restart = run(&["man", "servers", "restart"], "");
    assert!(restart.stdout.contains(".TH mcp-tool-gateway-servers-restart 1"), "{}", restart.stdout);
    assert!(restart.stdout.contains("\\-\\-timeout"), "{}", restart.stdout);
    let wrong = run(&["man", "sreve"], "");
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("no command is called `sreve`; did you mean `serve`?"), "{}", wrong.stderr);
}
