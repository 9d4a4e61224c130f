"""Counts the instructions that one call costs the whole gateway: guard, route, engine, upstream and log.

The gateway runs under callgrind with the fixture server over stdio. The same request is sent FEW times in one run and
MANY times in another; the difference of the totals, divided by the difference of the counts, is the cost of one call
without start and end. What depends on the clock (timers, batches of the log) only ever adds instructions, so the
smallest total of several runs is taken.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FEW, MANY, RUNS = 500, 2_500, 3
PATIENCE = 120

ARGUMENTS = {"a": 15, "b": 27}
JSON = {"content-type": "application/json"}
MCP = {**JSON, "accept": "application/json, text/event-stream"}
LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def rpc(method: str, params: dict) -> dict:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call_tool(_: http.client.HTTPConnection) -> tuple[str, dict, dict]:
    return "/call_tool", JSON, {"server": "one", "tool": "add", "arguments": ARGUMENTS}


def execute(_: http.client.HTTPConnection) -> tuple[str, dict, dict]:
    function = {"name": "add", "arguments": json.dumps(ARGUMENTS)}
    return "/execute", JSON, {"provider": "openai", "call": {"id": "call_1", "type": "function", "function": function}}


def mcp_modern(_: http.client.HTTPConnection) -> tuple[str, dict, dict]:
    headers = {**MCP, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "add"}
    return "/mcp", headers, rpc("tools/call", {"name": "add", "arguments": ARGUMENTS, "_meta": META})


def mcp_legacy(connection: http.client.HTTPConnection) -> tuple[str, dict, dict]:
    client = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    connection.request("POST", "/mcp", json.dumps(rpc("initialize", client)), MCP)
    answer = connection.getresponse()
    answer.read()
    headers = {**MCP, "mcp-protocol-version": LEGACY, "mcp-session-id": answer.headers["mcp-session-id"]}
    return "/mcp", headers, rpc("tools/call", {"name": "add", "arguments": ARGUMENTS})


CALLS = {
    "POST /call_tool": call_tool,
    "POST /execute": execute,
    "MCP legacy tools/call": mcp_legacy,
    "MCP modern tools/call": mcp_modern,
}


def wait_until_ready(connection: http.client.HTTPConnection) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection.request("GET", "/ready")
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            return
        time.sleep(0.05)
    sys.exit(f"the gateway is not ready after {PATIENCE} s")


def total(gateway: Path, fixture: Path, prepare, calls: int) -> int:
    """The instructions of one whole run of the gateway with so many calls."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        server = {"command": str(fixture), "args": ["stdio"], "connect": "eager"}
        config.write_text(json.dumps({"mcpServers": {"one": server}}))
        errors = Path(folder) / "errors"
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(gateway)]
        command += ["serve", "--port", "0", "--config", str(config), "--data", f"{folder}/data"]
        environment = {**os.environ, "TOKIO_WORKER_THREADS": "1", "LOG_LEVEL": "error"}
        with errors.open("w") as sink:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sink, env=environment, text=True)
        try:
            found = None
            for line in process.stdout:
                if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                    break
            if not found:
                sys.exit(f"the gateway did not start:\n{errors.read_text()}")
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)
            wait_until_ready(connection)
            path, headers, body = prepare(connection)
            text = json.dumps(body)
            for _ in range(calls):
                connection.request("POST", path, text, headers)
                answer = connection.getresponse()
                content = answer.read()
                if answer.status != 200 or b"42" not in content:
                    sys.exit(f"POST {path} answered {answer.status}: {content[:500]!r}")
            connection.close()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE)
            process.stdout.close()
        collected = re.search(r"Collected : (\d+)", errors.read_text())
        if not collected:
            sys.exit(f"callgrind counted nothing:\n{errors.read_text()}")
        return int(collected[1])


def counts(gateway: Path, fixture: Path) -> dict[str, int]:
    """The instructions of one call of each kind."""
    found = {}
    for name, prepare in CALLS.items():
        few, many = (min(total(gateway, fixture, prepare, calls) for _ in range(RUNS)) for calls in (FEW, MANY))
        found[name] = (many - few) // (MANY - FEW)
    return found
