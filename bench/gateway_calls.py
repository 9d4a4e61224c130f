"""Counts the instructions that one call, and one chunk of a streamed answer, costs the whole gateway: guard, route, engine, upstream and log.

The gateway runs under callgrind with the fixture server over stdio. The same request is sent FEW times in one run and
MANY times in another; the difference of the totals, divided by the difference of the counts, is the cost of one call
without start and end. What depends on the clock (timers, batches of the log) only ever adds instructions, so the
smallest total of several runs is taken.

Chunks are counted alike: a model server in this process sends the next one only when the last one has reached the caller, so
that each is read and written by itself.
"""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
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


@contextlib.contextmanager
def counted(gateway: Path, config: dict):
    """The gateway under callgrind: a connection to it, and where its instructions stand afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        errors = Path(folder) / "errors"
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(gateway)]
        command += ["serve", "--port", "0", "--config", str(path), "--data", f"{folder}/data"]
        environment = {**os.environ, "TOKIO_WORKER_THREADS": "1", "LOG_LEVEL": "error"}
        with errors.open("w") as sink:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sink, env=environment, text=True)
        sums = []
        try:
            found = None
            for line in process.stdout:
                if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                    break
            if not found:
                sys.exit(f"the gateway did not start:\n{errors.read_text()}")
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)
            wait_until_ready(connection)
            yield connection, sums
            connection.close()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE)
            process.stdout.close()
        collected = re.search(r"Collected : (\d+)", errors.read_text())
        if not collected:
            sys.exit(f"callgrind counted nothing:\n{errors.read_text()}")
        sums.append(int(collected[1]))


def total(gateway: Path, fixture: Path, prepare, calls: int) -> int:
    """The instructions of one whole run of the gateway with so many calls."""
    server = {"command": str(fixture), "args": ["stdio"], "connect": "eager"}
    with counted(gateway, {"mcpServers": {"one": server}}) as (connection, sums):
        path, headers, body = prepare(connection)
        text = json.dumps(body)
        for _ in range(calls):
            connection.request("POST", path, text, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or b"42" not in content:
                sys.exit(f"POST {path} answered {answer.status}: {content[:500]!r}")
    return sums[0]


class Model(threading.Thread):
    """A model server that streams one answer, a chunk each time that somebody asks for one."""

    def __init__(self, chunks: int):
        super().__init__(daemon=True)
        self.chunks, self.wanted = chunks, threading.Semaphore(1)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self) -> None:
        stream, _ = self.listener.accept()
        with stream, self.listener:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = b""
            while b'"stream":true' not in request.replace(b" ", b""):
                request += stream.recv(1 << 16)
            stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for _ in range(self.chunks):
                self.wanted.acquire()
                stream.sendall(framed(event({"content": "word "}, None)))
            stream.sendall(framed(event({}, "stop")) + framed("data: [DONE]\n\n") + b"0\r\n\r\n")
            # Until the gateway goes away.
            while stream.recv(1 << 16):
                pass


def event(delta: dict, reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n"


def framed(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


def stream_total(gateway: Path, headers: dict, chunks: int) -> int:
    """The instructions of one whole run of the gateway with one answer of so many chunks."""
    model = Model(chunks)
    model.start()
    entry = {"baseUrl": f"http://127.0.0.1:{model.port}/v1", "apiKey": "none"}
    config = {"mcpServers": {"demo": {"type": "builtin"}}, "models": {"m": entry}}
    with counted(gateway, config) as (connection, sums):
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {**JSON, **headers})
        answer = connection.getresponse()
        seen = 0
        for line in answer:
            if b'"word "' in line:
                seen += 1
                model.wanted.release()
        if answer.status != 200 or seen != chunks:
            sys.exit(f"/v1/chat/completions answered {answer.status} with {seen} of {chunks} chunks")
    return sums[0]


STREAMS = {"chunk of /v1, proxy": {"x-gateway-tools": "none"}, "chunk of /v1, loop": {}}


def counts(gateway: Path, fixture: Path) -> dict[str, int]:
    """The instructions of one call of each kind, and of one chunk."""

    def cost(run) -> int:
        few, many = (min(run(count) for _ in range(RUNS)) for count in (FEW, MANY))
        return (many - few) // (MANY - FEW)

    found = {name: cost(lambda calls: total(gateway, fixture, prepare, calls)) for name, prepare in CALLS.items()}
    found |= {name: cost(lambda chunks: stream_total(gateway, headers, chunks)) for name, headers in STREAMS.items()}
    return found
