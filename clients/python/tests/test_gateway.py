"""Starting and ending the gateway's program."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from cases import CONFIG, COUNTING
from conftest import ROOT

from mcp_tool_gateway import Gateway, GatewayStartError, errors
from mcp_tool_gateway._guard import Guard

SOURCE = str(ROOT / "clients/python/src")


def test_it_runs_as_long_as_the_block() -> None:
    gateway = Gateway.start(CONFIG)
    with gateway as client:
        assert client.call_tool("default", "add", {"a": 15, "b": 27})["structuredContent"]["result"] == 42
        assert gateway.process.poll() is None
    assert gateway.process.poll() == 0
    with gateway.client(max_retries=0) as other, pytest.raises(errors.UnreachableError):
        other.health()


def test_an_asynchronous_block_gives_an_asynchronous_client() -> None:
    async def run() -> Any:
        async with Gateway.start(CONFIG) as client:
            return await client.call_tool("default", "add", {"a": 15, "b": 27})

    assert asyncio.run(run())["structuredContent"]["result"] == 42


def test_it_ends_when_the_block_fails() -> None:
    gateway = Gateway.start(CONFIG)
    with pytest.raises(ZeroDivisionError), gateway:
        raise ZeroDivisionError
    assert gateway.process.poll() == 0


def test_its_servers_end_with_it(tmp_path: pathlib.Path) -> None:
    note = tmp_path / "pid"
    script = f"import os, pathlib, runpy; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); runpy.run_path({str(COUNTING)!r}, run_name='__main__')"
    with Gateway.start({"mcpServers": {"counting": {"command": sys.executable, "args": ["-c", script]}}}) as client:
        client.call_tool("counting", "count")
        pid = int(note.read_text())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_configuration_in_a_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps(CONFIG))
    with Gateway.start(path, data=tmp_path / "data") as client:
        assert client.health()["serverCount"] == len(CONFIG["mcpServers"])
    assert (tmp_path / "data").is_dir()


def is_given(command: str, *, config: Any = None, **options: Any) -> str | None:
    """What `--data` is in the command that a configuration starts."""
    with Gateway.start(config, **options):
        pass
    words = pathlib.Path(command).read_text().splitlines()
    return words[words.index("--data") + 1] if "--data" in words else None


def test_a_configured_data_directory_is_kept(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, command = tmp_path / "listening", str(tmp_path / "command")
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {command}\necho listening on http://127.0.0.1:1\nexec sleep 600\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    kept = str(tmp_path / "kept")
    files = {
        "config.json": json.dumps({"dataDirectory": kept}),
        "commented.jsonc": f'{{ // mine\n "dataDirectory": "{kept}" }}',
        "config.toml": f'dataDirectory = "{kept}"\n',
        "config.yaml": f"\ufeffdataDirectory: {kept}\n",
        "none.json": json.dumps({"mcpServers": {"dataDirectory": {"type": "builtin"}}}),
        "other.toml": "[mcpServers]\n",
    }
    for name, text in files.items():
        pathlib.Path(name).write_text(text)
    for name in ("config.json", "commented.jsonc", "config.toml", "config.yaml"):
        assert is_given(command, config=name, binary=program) is None, name
    assert is_given(command, config={"dataDirectory": kept}, binary=program) is None
    assert is_given(command, binary=program, env={"MCP_CONFIG_PATH": "config.toml"}) is None
    assert is_given(command, binary=program, env={"MCP_GATEWAY_DATA": kept}) is None
    assert is_given(command, config={"dataDirectory": kept}, binary=program, data="mine") == "mine"
    for config in ("none.json", "other.toml", {}, None, "absent.json"):
        given = is_given(command, config=config, binary=program)
        assert given is not None and not os.path.exists(given), config
    os.rename("config.json", "mcp-gateway-config.json")
    assert is_given(command, binary=program) is None


def test_the_data_of_a_configured_directory_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps({**CONFIG, "dataDirectory": str(tmp_path / "kept")}))
    for config in (path, json.loads(path.read_text())):
        with Gateway.start(config) as client:
            client.call_tool("default", "add", {"a": 1, "b": 1})
        with Gateway.start(config) as client:
            assert client.logs(limit=1)[0]["tool"] == "add"


def test_options_go_to_the_client() -> None:
    key = "a-key-that-is-long-enough-1"
    with Gateway.start({**CONFIG, "apiKeys": {"ann": key}}, api_key=key) as client:
        assert client.servers()["servers"]
        with type(client)(client.url) as other, pytest.raises(errors.UnauthorizedError):
            other.servers()


def test_a_wrong_configuration_is_shown_in_the_gateway_s_words(tmp_path: pathlib.Path) -> None:
    with pytest.raises(GatewayStartError, match="mcpServer") as caught:
        Gateway.start({"mcpServers": {"x": {"type": "nonsense"}}, "mcpServer": 1}, arguments=["--strict"])
    assert "ended with status" in str(caught.value)
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(GatewayStartError, match="broken.json"):
        Gateway.start(path)
    with pytest.raises(GatewayStartError, match="absent.json"):
        Gateway.start(tmp_path / "absent.json")


def test_a_missing_program_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("MCP_TOOL_GATEWAY_BIN", str(tmp_path / "absent"))
    with pytest.raises(GatewayStartError, match="MCP_TOOL_GATEWAY_BIN=.*absent is not a program"):
        Gateway.start()
    monkeypatch.delenv("MCP_TOOL_GATEWAY_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(GatewayStartError, match="install a wheel of mcp-tool-gateway that has it, or set MCP_TOOL_GATEWAY_BIN"):
        Gateway.start()
    with pytest.raises(GatewayStartError, match="is not a program"):
        Gateway.start(binary=tmp_path)


def test_the_program_of_the_wheel_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    real = os.environ["MCP_TOOL_GATEWAY_BIN"]
    monkeypatch.delenv("MCP_TOOL_GATEWAY_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    os.symlink(real, tmp_path / "mcp-tool-gateway")
    with Gateway.start(CONFIG) as client:
        assert client.health()["ok"] is True


def test_a_program_that_never_listens_is_ended(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "silent"
    program.write_text("#!/bin/sh\necho waiting for nothing\nexec sleep 600\n")
    program.chmod(0o755)
    with pytest.raises(GatewayStartError, match=r"did not listen within 0\.5 s; it said:\nwaiting for nothing") as caught:
        Gateway.start(binary=program, timeout=0.5, arguments=["--key", "sk-very-secret"])
    assert "sk-very-secret" not in str(caught.value)
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(GatewayStartError, match=r"silent serve` ended with status 3") as caught:
        Gateway.start(binary=program, arguments=["--key", "sk-very-secret"])
    assert "sk-very-secret" not in str(caught.value)


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "mcp_tool_gateway", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE})
    assert (run.returncode, run.stdout.split()[0]) == (0, "mcp-tool-gateway"), run
    absent = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE, "MCP_TOOL_GATEWAY_BIN": "/absent"})
    assert (absent.returncode, absent.stderr.startswith("mcp_tool_gateway: MCP_TOOL_GATEWAY_BIN=/absent is not a program")) == (2, True), absent


def test_a_signal_to_the_module_reaches_the_gateway(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    command = [sys.executable, "-m", "mcp_tool_gateway", "serve", "--port", "0", "--config", str(path), "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE}) as process:
        assert process.stdout and "listening on" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_program_that_forgets_to_stop_it_leaves_nothing(tmp_path: pathlib.Path) -> None:
    program = f"""
import os, tempfile
tempfile.tempdir = {str(tmp_path)!r}
from mcp_tool_gateway import Gateway
gateway = Gateway.start({{"mcpServers": {{}}}})
if os.fork() == 0:
    raise SystemExit
os.wait()
print(gateway.process.pid, gateway.client().health()["ok"] and len(os.listdir(tempfile.tempdir)) == 1)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE})
    pid, ok = run.stdout.split()
    assert ok == "True", run.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys, tempfile, threading, time
# Programs that are to outlive their terminal ignore it, and those that they start inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
tempfile.tempdir = sys.argv[1]
from mcp_tool_gateway import Gateway

def start():
    global gateway
    gateway = Gateway.start({"mcpServers": {}}, binary=sys.argv[2])

if sys.argv[3] == "thread":
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
else:
    start()
fork = os.fork() if sys.argv[3] == "fork" else None
if fork == 0:
    os.close(1)
    time.sleep(600)
print(gateway.process.pid, fork or 0, gateway._guard._shell.pid, flush=True)
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return os.system(f"kill -0 {pid} 2>/dev/null") == 0


@pytest.fixture
def listening(tmp_path: pathlib.Path) -> pathlib.Path:
    """A program that listens nowhere, and says that it does."""
    program = tmp_path / "listening"
    program.write_text("#!/bin/sh\necho listening on http://127.0.0.1:1\nexec sleep 600\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "SIGHUP"])
@pytest.mark.parametrize("where", ["main", "thread", "fork"])
def test_a_killed_program_leaves_nothing(listening: pathlib.Path, tmp_path: pathlib.Path, how: str, where: str) -> None:
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "temporary"), str(listening), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE}) as program:
        assert program.stdout
        pid, fork, guard = map(int, program.stdout.readline().split())
        assert is_running(pid) and list((tmp_path / "temporary").iterdir())
        program.send_signal(signal.Signals[how])
    try:
        until(lambda: not is_running(pid) and not list((tmp_path / "temporary").iterdir()) and not is_running(guard))
    finally:
        for one in (pid, fork):
            if one and is_running(one):
                os.kill(one, signal.SIGKILL)


def test_a_killed_program_ends_the_real_gateway_and_its_servers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "temporary").mkdir()
    note = tmp_path / "pid"
    script = f"import os, pathlib, runpy; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); runpy.run_path({str(COUNTING)!r}, run_name='__main__')"
    config = {"mcpServers": {"counting": {"command": sys.executable, "args": ["-c", script]}}}
    text = f"""
import tempfile, time
tempfile.tempdir = {str(tmp_path / "temporary")!r}
from mcp_tool_gateway import Gateway
gateway = Gateway.start({config!r})
gateway.client().call_tool("counting", "count")
print(gateway.process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE}) as program:
        assert program.stdout
        pids = int(program.stdout.readline()), int(note.read_text())
        assert all(map(is_running, pids))
        program.terminate()
    try:
        until(lambda: not any(map(is_running, pids)) and not list((tmp_path / "temporary").iterdir()))
    finally:
        if is_running(pids[0]):
            os.kill(pids[0], signal.SIGTERM)


def test_the_guard_ends_with_the_gateway(listening: pathlib.Path) -> None:
    gateway = Gateway.start(binary=listening)
    shell = gateway._guard._shell
    assert shell is not None and shell.poll() is None
    gateway.stop()
    assert shell.poll() == 0


def test_the_guard_does_not_kill_what_has_the_number_of_a_gateway_that_ended(tmp_path: pathlib.Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        guard = Guard(other.pid, str(tmp_path / "folder"))
        guard.report_end()
        guard._close()
        assert guard._shell is not None and guard._shell.wait(10) == 0
        assert other.poll() is None
        other.kill()


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def test_an_asynchronous_block_ends_without_stopping_other_tasks(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\ntrap 'sleep 0.5; exit 0' TERM\necho listening on http://127.0.0.1:1\nwhile :; do sleep 0.05; done\n")
    program.chmod(0o755)

    async def run() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        async with Gateway.start(binary=program):
            task = asyncio.ensure_future(tick())
            await asyncio.sleep(0)
        task.cancel()
        return ticks

    assert asyncio.run(run()) > 5


def test_nothing_is_left_in_the_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gateway = Gateway.start(CONFIG)
    with gateway as client:
        client.call_tool("default", "add", {"a": 1, "b": 1})
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(GatewayStartError):
        Gateway.start({"mcpServers": 7}, arguments=["--strict"])
    assert list(tmp_path.iterdir()) == []
