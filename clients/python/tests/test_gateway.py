"""Starting and ending the gateway's program."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

import pytest
from cases import CONFIG, COUNTING
from conftest import ROOT

from mcp_tool_gateway import Gateway, GatewayStartError, errors

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
    with pytest.raises(GatewayStartError, match="MCP_TOOL_GATEWAY_BIN=.*absent is no program"):
        Gateway.start()
    monkeypatch.delenv("MCP_TOOL_GATEWAY_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(GatewayStartError, match="install a wheel of mcp-tool-gateway that has it, or set MCP_TOOL_GATEWAY_BIN"):
        Gateway.start()
    with pytest.raises(GatewayStartError, match="is no program"):
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
    assert (absent.returncode, absent.stderr.startswith("mcp_tool_gateway: MCP_TOOL_GATEWAY_BIN=/absent is no program")) == (2, True), absent


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
