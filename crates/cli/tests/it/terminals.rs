//! No text of a server or a caller acts on a terminal, forges a line or hides what it says.

use std::io::Write as _;

use gateway_testkit::eventually_blocking;
use serde_json::{Value, json};

use crate::Run;
use crate::sandbox::{DEADLINE, Gateway, Sandbox, free_port};

/// Escapes, bell, NUL, a line of its own, DEL, C1, bidirectional and invisible characters.
const HOSTILE: &str =
    "a\u{1b}[2J\u{1b}]0;x\u{7}\u{0}b\r\nFAKE\u{7f}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}z";

/// A server all of whose words are hostile.
const SERVER: &str = r#"
import json, sys
H = json.loads(sys.argv[1])
schema = {"type": "object", "properties": {H: {"type": "string", "description": H}}, "required": [H], "x" + H: H}
tools = [{"name": name, "title": H, "description": H, "inputSchema": schema} for name in ["good", "bad", H]]
tools[0]["inputSchema"] = tools[1]["inputSchema"] = {"type": "object"}
print(H, file=sys.stderr, flush=True)
if len(sys.argv) > 2:
    sys.exit(3)
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if id is None:
        continue
    answer = {"jsonrpc": "2.0", "id": id}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": H, "version": H}, "instructions": H}
    elif method == "tools/list":
        answer["result"] = {"tools": tools}
    elif method == "tools/call" and message["params"]["name"] != "bad":
        answer["result"] = {"content": [{"type": "text", "text": H}], "structuredContent": {H: H}}
    else:
        answer["error"] = {"code": -32601 if method != "tools/call" else -32000, "message": H}
    print(json.dumps(answer, ensure_ascii=False), flush=True)
"#;

fn server(more: &[&str]) -> Value {
    let words = json!(HOSTILE).to_string();
    let args: Vec<&str> = ["-u", "-c", SERVER, &words].into_iter().chain(more.iter().copied()).collect();
    json!({"command": "python3", "args": args, "connect": "eager", "env": {"PYTHONUTF8": "1"}})
}

/// What is wrong with a text that a person sees, if anything.
fn fault(text: &str) -> Option<String> {
    let is_bad = |letter: char| match letter {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => true,
        letter => letter.is_control(),
    };
    if let Some(letter) = text.chars().find(|letter| is_bad(*letter)) {
        return Some(format!("holds {letter:?}"));
    }
    text.lines().find(|line| line.starts_with("FAKE")).map(|_| "has a forged line".to_owned())
}

#[track_caller]
fn check(arguments: &[&str], run: &Run, faults: &mut Vec<String>) {
    assert!(!run.stdout.is_empty() || !run.stderr.is_empty(), "{arguments:?} said nothing");
    for (stream, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        faults.extend(fault(text).map(|fault| format!("{stream} of {arguments:?} {fault}: {text:?}")));
    }
}

/// Runs the binary on a terminal; both streams are one there.
fn run_on_terminal(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    type_on_terminal(sandbox, arguments, "")
}

/// The same while somebody types.
fn type_on_terminal(sandbox: &Sandbox, arguments: &[&str], keys: &str) -> Run {
    let program = sandbox.command(arguments);
    let spawn = "import os, pty, sys; os.environ['TERM'] = 'dumb'; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut child = std::process::Command::new("python3")
        .args(["-c", spawn])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(sandbox.folder())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(keys.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    // A terminal makes two characters of each line end.
    let stdout = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    Run { status: output.status.code().unwrap(), stdout, stderr: String::from_utf8(output.stderr).unwrap() }
}

#[test]
fn commands_show_hostile_text_escaped() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {"s": server(&[])}}));
    sandbox.write("dead.json", &json!({"mcpServers": {"dead": server(&["exit"])}}).to_string());
    let schema = json!({"type": "object", "properties": {HOSTILE: {"type": "string", "description": HOSTILE, "x": HOSTILE}}});
    let tools: Vec<Value> = [HOSTILE, "\u{1b}[31m", ""]
        .iter()
        .map(|name| json!({"name": name, "title": HOSTILE, "description": HOSTILE, "inputSchema": schema}))
        .collect();
    sandbox.write("tools.json", &json!(tools).to_string());
    sandbox.write("lines", &format!("{}\n", tools[0]));
    sandbox.write("schema.json", &schema.to_string());
    let call = json!({"tool": tools[0], "arguments": {HOSTILE: 5, "other": HOSTILE}});
    sandbox.write("calls", &format!("{call}\n"));
    let commands: &[&[&str]] = &[
        &["tools"],
        &["tools", "--json"],
        &["tools", "--to", "gemini"],
        &["tools", "--to", "openai-strict"],
        &["servers"],
        &["servers", "--json"],
        &["call", "s", "good", "{}"],
        &["call", "s", "good", "{}", "--result", "rich"],
        &["call", "s", "good", "{}", "--result", "first-text", "--json"],
        &["call", "s", "bad", "{}"],
        &["call", "s", "goof", "{}"],
        &["call", "s", "a\u{1b}[2J\u{1b}]0;x\u{7}b", "{}"],
        &["call", "--config", "dead.json", "dead", "good", "{}"],
        &["tools", "--config", "dead.json"],
        &["servers", "--config", "dead.json"],
        &["check", "tools.json"],
        &["check", "--details", "tools.json"],
        &["check", "--format", "json", "tools.json"],
        &["check", "--format", "sarif", "tools.json"],
        &["check", "--format", "markdown", "tools.json"],
        &["convert", "--to", "openai", "tools.json"],
        &["convert", "--to", "gemini", "--jsonl", "lines"],
        &["transform", "--to", "gemini", "schema.json"],
        &["arguments", "decode", "--to", "gemini", "--jsonl", "calls"],
        &["arguments", "encode", "--to", "openai-strict", "--jsonl", "calls"],
        &["tokens", "tools.json"],
        &["dialects", HOSTILE_NAME],
        &["dialects"],
        &["demo"],
    ];
    let mut faults = Vec::new();
    for arguments in commands {
        check(arguments, &sandbox.run(arguments), &mut faults);
        check(arguments, &run_on_terminal(&sandbox, arguments), &mut faults);
    }
    // A program gets the original text of a result; a person gets it escaped.
    let text = ["call", "s", "good", "{}", "--result", "first-text"];
    assert_eq!(sandbox.run(&text).stdout, format!("{HOSTILE}\n"));
    let on_terminal = run_on_terminal(&sandbox, &text).stdout;
    // Line ends of a result stay.
    faults.extend(fault(&on_terminal.replace("\nFAKE", "")).map(|fault| format!("{fault}: {on_terminal:?}")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// An argument cannot hold NUL.
const HOSTILE_NAME: &str = "a\u{1b}[2J\u{7}\u{9b}\u{202e}\u{200b}";

#[test]
fn the_gateway_and_its_log_show_hostile_text_escaped() {
    for json in [false, true] {
        let sandbox = Sandbox::new();
        let port = free_port();
        let servers = json!({"s": server(&[]), "dead": server(&["exit"])});
        sandbox.configure(&json!({"port": port, "dataDirectory": "data", "mcpServers": servers}));
        let flags: &[&str] = if json { &["serve", "--json"] } else { &["serve"] };
        let mut gateway = Gateway::start(sandbox.command(flags));
        gateway.line("dead");
        gateway.post("/call_tool", &json!({"server": "s", "tool": HOSTILE, "arguments": {HOSTILE: HOSTILE}}));
        gateway.post("/call_tool", &json!({"server": "s", "tool": "bad", "arguments": {HOSTILE: HOSTILE}}));
        gateway.post("/call_tool", &json!({"server": "s", "tool": format!("no{HOSTILE}"), "arguments": {}}));
        let is_written = || gateway.get("/logs").as_array().is_some_and(|entries| entries.len() >= 2);
        eventually_blocking(DEADLINE, "the entries", is_written).unwrap();
        let mut faults = Vec::new();
        for arguments in [&["logs"][..], &["logs", "--json"], &["servers", "restart", "dead"]] {
            check(arguments, &sandbox.run(arguments), &mut faults);
            check(arguments, &run_on_terminal(&sandbox, arguments), &mut faults);
        }
        let (_, rest) = gateway.stop();
        let seen = std::mem::take(&mut gateway.running.seen);
        let stdout: Vec<String> = seen.into_iter().chain(rest).collect();
        let run = Run { status: 0, stdout: stdout.join("\n"), stderr: gateway.running.errors() };
        check(flags, &run, &mut faults);
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

#[test]
fn commands_that_read_a_terminal_say_so() {
    let sandbox = Sandbox::new();
    for (arguments, hint) in [
        (
            &["convert", "--to", "gemini", "--report", "report.json"][..],
            "reading standard input from the terminal",
        ),
        (&["tokens"], "reading standard input from the terminal"),
        (&["check"], "reading standard input from the terminal"),
        (&["transform", "--to", "gemini"], "reading standard input from the terminal"),
        (&["mcp"], "waiting for MCP messages on standard input"),
    ] {
        // Ctrl-D.
        let run = type_on_terminal(&sandbox, arguments, "\u{4}");
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(shown.contains(hint), "{arguments:?}: {shown}");
        assert!(!sandbox.run(arguments).stderr.contains(hint), "{arguments:?}: only on a terminal");
    }
}
