//! Nothing that a server or a command started outlives it, however it hid and however the gateway ended.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;

use gateway_testkit::{children_of, eventually_blocking, is_alive};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};
use serde_json::{Value, json};

use crate::sandbox::{DEADLINE, Gateway, Sandbox};

/// Starts a process that nothing but its ancestry connects with the server: forked twice, in a session of its own,
/// without an environment, without the server's streams, and deaf to SIGTERM.
const HIDE: &str = r#"
import os, sys
def hide(note):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for stream in range(3):
                os.dup2(os.open("/dev/null", os.O_RDWR), stream)
            script = "trap '' TERM HUP; echo $$ > '" + note + ".draft'; /bin/mv '" + note + ".draft' '" + note + "'; while :; do /bin/sleep 1000; done"
            os.execve("/bin/sh", ["sh", "-c", script], {})
        os._exit(0)
    os.wait()
"#;

/// A server with one tool, which starts such a process.
const SERVER: &str = r#"
import json
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if id is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "hide", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        hide(sys.argv[1])
        result = {"content": [{"type": "text", "text": "hidden"}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"#;

/// The server itself ignores the end of its input and SIGTERM.
const DEAF: &str = "
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True: signal.pause()
";

fn server(note: &Path, hide: &str, more: &str) -> Value {
    let script = format!("import os, sys{hide}{SERVER}{more}");
    json!({"command": "python3", "args": ["-u", "-c", script, note], "connect": "eager", "closeTimeout": 0.2})
}

/// The number of the hidden process, once it runs.
#[track_caller]
fn hidden(note: &Path) -> u32 {
    eventually_blocking(DEADLINE, "the hidden process", || note.exists()).unwrap();
    let pid = std::fs::read_to_string(note).unwrap().trim().parse().unwrap();
    assert!(is_alive(pid));
    pid
}

/// A gateway whose server has started a hidden process.
fn with_stray(sandbox: &Sandbox, more: &str) -> (Gateway, u32) {
    with_hidden(sandbox, HIDE, more)
}

/// The same with another way of hiding.
fn with_hidden(sandbox: &Sandbox, hide: &str, more: &str) -> (Gateway, u32) {
    let note = sandbox.path("note");
    sandbox.configure(&json!({"mcpServers": {"s": server(&note, hide, more)}}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("s: 1 tool");
    gateway.call("s", "hide", &json!({}));
    let stray = hidden(&note);
    (gateway, stray)
}

#[track_caller]
fn gone(pids: &[u32]) {
    let left = || pids.iter().copied().filter(|pid| is_alive(*pid)).collect::<Vec<_>>();
    if eventually_blocking(DEADLINE / 3, "no stray", || left().is_empty()).is_err() {
        let left = left();
        for pid in &left {
            let _ = kill_process(Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap(), Signal::KILL);
        }
        panic!("left behind: {left:?}");
    }
}

#[test]
fn a_stopped_server_leaves_no_hidden_process() {
    let sandbox = Sandbox::new();
    let (mut gateway, stray) = with_stray(&sandbox, "");
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin", "connect": "eager"}}}));
    gateway.line("demo: ");
    gone(&[stray]);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn a_server_that_ends_by_itself_leaves_no_hidden_process() {
    let sandbox = Sandbox::new();
    let (gateway, stray) = with_stray(&sandbox, "");
    let keeper = children_of(gateway.running.pid());
    let server = children_of(keeper[0]);
    assert!(
        server.len() == 2 && server.contains(&stray),
        "the keeper adopts what lost its parent: {server:?}"
    );
    let server = *server.iter().find(|pid| **pid != stray).unwrap();
    kill_process(Pid::from_raw(i32::try_from(server).unwrap()).unwrap(), Signal::KILL).unwrap();
    gone(&[server, stray]);
}

#[test]
fn sigterm_leaves_no_hidden_process() {
    let sandbox = Sandbox::new();
    let (mut gateway, stray) = with_stray(&sandbox, "");
    let keepers = children_of(gateway.running.pid());
    assert_eq!(gateway.stop().0, Some(0));
    // At once: the gateway waits for its keepers.
    assert_eq!((is_alive(stray), is_alive(keepers[0])), (false, false));
}

#[test]
fn a_killed_gateway_leaves_nothing() {
    let sandbox = Sandbox::new();
    let (gateway, stray) = with_stray(&sandbox, DEAF);
    let mut all = children_of(gateway.running.pid());
    all.extend(all.clone().into_iter().flat_map(children_of));
    all.push(stray);
    gateway.running.signal(Signal::KILL);
    gone(&all);
}

/// The gateway adopts what a keeper leaves.
#[test]
fn a_killed_keeper_leaves_nothing() {
    let sandbox = Sandbox::new();
    let (gateway, stray) = with_stray(&sandbox, DEAF);
    let keeper = children_of(gateway.running.pid())[0];
    let mut all = children_of(keeper);
    assert!(all.contains(&stray), "{all:?}");
    all.push(keeper);
    kill_process(Pid::from_raw(i32::try_from(keeper).unwrap()).unwrap(), Signal::KILL).unwrap();
    gone(&all);
    let is_reaped = || all.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists());
    eventually_blocking(DEADLINE, "no zombie", is_reaped).unwrap();
}

/// Shells that prepare something and then become the gateway are common in containers.
#[test]
fn what_was_there_before_the_gateway_is_not_taken_for_a_stray() {
    let sandbox = Sandbox::new();
    let (note, data) = (sandbox.path("note"), sandbox.path("data"));
    sandbox.configure(&json!({"mcpServers": {"s": server(&note, HIDE, DEAF)}}));
    let gateway = assert_cmd::cargo::cargo_bin!("mcp-tool-gateway");
    let mut shell = std::process::Command::new("/bin/sh");
    let script = r#"/bin/sleep 1000 >/dev/null 2>&1 </dev/null & exec "$0" serve --port 0 --data "$1""#;
    shell.args(["-c", script]).arg(gateway).arg(data).env_clear().current_dir(sandbox.folder());
    let mut gateway = Gateway::start(shell);
    gateway.line("s: 1 tool");
    gateway.call("s", "hide", &json!({}));
    let stray = hidden(&note);
    let (keepers, earlier): (Vec<u32>, Vec<u32>) =
        children_of(gateway.running.pid()).into_iter().partition(|pid| !children_of(*pid).is_empty());
    let ([keeper], [earlier]) = (keepers.as_slice(), earlier.as_slice()) else {
        panic!("a keeper and the shell's child: {keepers:?} {earlier:?}");
    };
    let (keeper, earlier) = (*keeper, *earlier);
    kill_process(Pid::from_raw(i32::try_from(keeper).unwrap()).unwrap(), Signal::KILL).unwrap();
    gone(&[keeper, stray]);
    assert_eq!(gateway.stop().0, Some(0));
    let is_spared = is_alive(earlier);
    let _ = kill_process(Pid::from_raw(i32::try_from(earlier).unwrap()).unwrap(), Signal::KILL);
    assert!(is_spared, "the shell's child was ended");
}

/// A process that looks like a keeper of the gateway: it runs the same executable with the same arguments.
const POSES_AS_KEEPER: &str = r#"
import array, socket
def hide(note):
    exe = os.readlink("/proc/%d/exe" % os.getppid())
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            theirs, ours = socket.socketpair()
            ours.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 3))])
            # Held by the process itself, so that it never ends.
            ours.set_inheritable(True)
            os.dup2(theirs.fileno(), 0)
            os.dup2(null, 1)
            os.dup2(null, 2)
            script = "echo $PPID > '" + note + ".draft'; /bin/mv '" + note + ".draft' '" + note + "'; while :; do /bin/sleep 1000; done"
            os.execve(exe, ["mcp-tool-gateway", "__keep", "/bin/sh", "-c", script], {})
        os._exit(0)
    os.wait()
"#;

/// A process that other processes of the same user cannot inspect any more, unless they are root.
const HIDES_ITS_EXECUTABLE: &str = r#"
import ctypes
def hide(note):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
            for stream in range(3):
                os.dup2(os.open("/dev/null", os.O_RDWR), stream)
            import signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            with open(note + ".draft", "w") as file: file.write(str(os.getpid()))
            os.rename(note + ".draft", note)
            while True: signal.pause()
        os._exit(0)
    os.wait()
"#;

#[test]
fn a_killed_keeper_leaves_nothing_that_poses_as_a_keeper_or_hides_its_executable() {
    for hide in [POSES_AS_KEEPER, HIDES_ITS_EXECUTABLE] {
        let sandbox = Sandbox::new();
        let (mut gateway, stray) = with_hidden(&sandbox, hide, DEAF);
        let keeper = children_of(gateway.running.pid())[0];
        let mut all = children_of(keeper);
        assert!(all.contains(&stray), "{all:?}");
        all.extend(children_of(stray));
        kill_process(Pid::from_raw(i32::try_from(keeper).unwrap()).unwrap(), Signal::KILL).unwrap();
        all.push(keeper);
        reaped(&all);
        assert_eq!(gateway.stop().0, Some(0));
    }
}

/// A process that keeps forking and exiting, so that its process id is stale when it is read. It holds a FIFO open, and
/// exits after a while by itself.
const FORKS_AND_ENDS: &str = r#"
import signal, time
def hide(note):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.open(note, os.O_WRONLY)
        for stream in range(3):
            os.dup2(os.open("/dev/null", os.O_RDWR), stream)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if os.fork() != 0: os._exit(0)
        os._exit(0)
    os.wait()
"#;

/// Ends a server with such a process by `end`, and waits until no process holds the FIFO and no zombie is left.
#[track_caller]
fn ends_the_chain(end: impl FnOnce(&Sandbox, &mut Gateway)) {
    let sandbox = Sandbox::new();
    let note = sandbox.path("note");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &note, mode).unwrap();
    let (sender, fifo_closed) = std::sync::mpsc::channel();
    let fifo = note.clone();
    std::thread::spawn(move || sender.send(std::fs::read(fifo).unwrap()));
    sandbox.configure(&json!({"mcpServers": {"s": server(&note, FORKS_AND_ENDS, DEAF)}}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("s: 1 tool");
    gateway.call("s", "hide", &json!({}));
    end(&sandbox, &mut gateway);
    assert_eq!(fifo_closed.recv_timeout(DEADLINE), Ok(Vec::new()), "the chain goes on");
    // A server that was restarted meanwhile is alive.
    let zombies = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", gateway.running.pid())).into_iter().flatten();
        let lists = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("children")));
        let children: Vec<String> = lists.map(Result::unwrap_or_default).collect();
        let pids = children.iter().flat_map(|list| list.split_ascii_whitespace());
        pids.filter(|pid| !is_alive(pid.parse().unwrap())).count()
    };
    eventually_blocking(DEADLINE, "no zombie", || zombies() == 0).unwrap();
}

fn without_server(sandbox: &Sandbox, gateway: &mut Gateway) {
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin", "connect": "eager"}}}));
    gateway.line("demo: ");
}

#[test]
fn a_killed_keeper_leaves_no_process_that_forks_and_ends() {
    ends_the_chain(|_, gateway| {
        let keeper = children_of(gateway.running.pid())[0];
        kill_process(Pid::from_raw(i32::try_from(keeper).unwrap()).unwrap(), Signal::KILL).unwrap();
    });
}

#[test]
fn a_stopped_server_leaves_no_process_that_forks_and_ends() {
    ends_the_chain(without_server);
}

#[test]
fn a_killed_gateway_leaves_no_process_that_forks_and_ends() {
    ends_the_chain(|_, gateway| gateway.running.signal(Signal::KILL));
}

#[track_caller]
fn stop(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::STOP).unwrap();
}

/// Waits until not even zombies are left.
#[track_caller]
fn reaped(pids: &[u32]) {
    gone(pids);
    let is_reaped = || pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists());
    eventually_blocking(DEADLINE, "no zombie", is_reaped).unwrap();
}

/// The keeper and everything below it.
fn kept(gateway: &Gateway) -> Vec<u32> {
    let keeper = children_of(gateway.running.pid());
    keeper.iter().copied().chain(keeper.iter().flat_map(|keeper| children_of(*keeper))).collect()
}

#[test]
fn a_stopped_keeper_ends_with_its_server() {
    let sandbox = Sandbox::new();
    let (mut gateway, stray) = with_stray(&sandbox, DEAF);
    let all = kept(&gateway);
    assert!(all.len() == 3 && all.contains(&stray), "{all:?}");
    stop(all[0]);
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin", "connect": "eager"}}}));
    gateway.line("demo: ");
    reaped(&all);
    assert_eq!(gateway.stop().0, Some(0));
}

/// As a program can do that wants to outlive the gateway.
const STOPS_ITS_KEEPER: &str = "
import signal, threading
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def again():
    while True: os.kill(os.getppid(), signal.SIGSTOP)
threading.Thread(target=again, daemon=True).start()
while True: signal.pause()
";

#[test]
fn a_keeper_that_is_stopped_again_and_again_is_killed_with_everything_below_it() {
    let sandbox = Sandbox::new();
    let (mut gateway, _) = with_stray(&sandbox, STOPS_ITS_KEEPER);
    let all = kept(&gateway);
    assert_eq!(all.len(), 3);
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin", "connect": "eager"}}}));
    gateway.line("demo: ");
    reaped(&all);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn a_killed_gateway_leaves_nothing_below_a_stopped_keeper() {
    let sandbox = Sandbox::new();
    // As in a container whose first process is in the session of the gateway. Otherwise the kernel continues what is stopped
    // there, because its process group becomes an orphan.
    set_child_subreaper(Some(getpid())).unwrap();
    let (gateway, _) = with_stray(&sandbox, DEAF);
    let all = kept(&gateway);
    stop(all[0]);
    gateway.running.signal(Signal::KILL);
    gone(&all);
}

#[test]
fn a_command_of_the_registry_leaves_no_hidden_process() {
    let sandbox = Sandbox::new();
    let (first, second) = (sandbox.path("first"), sandbox.path("second"));
    let tool = |name: &str, note: &Path, more: &str| {
        let started = "import time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n";
        sandbox.write(name, &format!("{HIDE}hide(sys.argv[1])\n{started}{more}"));
        let handler = json!({"command": "python3", "args": [sandbox.path(name), note]});
        json!({"description": "x", "inputSchema": {"type": "object"}, "handler": handler})
    };
    sandbox.configure(&json!({"tools": {
        "ends": tool("ends.py", &first, "print('done')"),
        "stays": tool("stays.py", &second, "time.sleep(1000)"),
    }}));
    let mut gateway = sandbox.serve(&[]);
    let answer = gateway.call("registry", "ends", &json!({}));
    assert_eq!(answer["result"]["content"][0]["text"], "done\n", "{answer}");
    // The call ends when everything that it started is gone.
    let stray: u32 = std::fs::read_to_string(&first).unwrap().trim().parse().unwrap();
    assert!(!is_alive(stray));
    let port = gateway.port;
    let call = std::thread::spawn(move || crate::sandbox::call(port, "registry", "stays", &json!({})));
    let stray = hidden(&second);
    gateway.running.signal(Signal::KILL);
    gone(&[stray]);
    assert!(call.join().is_err(), "the connection breaks");
    let _ = gateway.running.end();
}

#[test]
fn a_cancelled_command_leaves_nothing_below_a_stopped_keeper() {
    let sandbox = Sandbox::new();
    let note = sandbox.path("note");
    sandbox.write("stays.py", &format!("{HIDE}hide(sys.argv[1])\nimport signal\nsignal.pause()"));
    let handler = json!({"command": "python3", "args": [sandbox.path("stays.py"), note]});
    sandbox.configure(&json!({"tools": {
        "stays": {"description": "x", "inputSchema": {"type": "object"}, "handler": handler},
    }}));
    let mut gateway = sandbox.serve(&[]);
    let mut call = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let body = json!({"server": "registry", "tool": "stays", "arguments": {}}).to_string();
    let head =
        "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ";
    write!(call, "{head}{}\r\n\r\n{body}", body.len()).unwrap();
    hidden(&note);
    let all = kept(&gateway);
    assert_eq!(all.len(), 3);
    stop(all[0]);
    // The caller leaves, so the call is cancelled.
    drop(call);
    reaped(&all);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn how_a_program_ended_or_why_it_did_not_start_is_reported_as_without_a_keeper() {
    let sandbox = Sandbox::new();
    let check = |command: &[&str], words: &str| {
        let run = sandbox.run(&[&["tools", "--"], command].concat());
        assert!(run.stderr.contains(words), "{command:?}: {}", run.stderr);
    };
    check(&["/bin/sh", "-c", "exit 7"], "it exited with status 7");
    check(&["/bin/sh", "-c", "kill -SEGV $$"], "it was ended by signal 11");
    check(&["/nowhere/x"], "there is no such file, or its interpreter is missing");
    check(&["no-such-program-anywhere"], "not found on PATH");
    check(&["/etc/passwd"], "it may not be run");
}
