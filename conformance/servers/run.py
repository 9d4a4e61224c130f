"""Published MCP servers behind the gateway: started from one configuration, listed in five dialects, called.

    run.py --bin mcp-tool-gateway [--cache FOLDER]

Installs the servers that package.json and requirements.txt name into the cache folder, once.
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
DIALECTS = ["gemini", "openai", "openai-chat-strict", "anthropic", "ollama"]
PATIENCE = 120


def install(cache):
    """Puts the pinned servers into the cache, unless they are there."""
    wanted = (HERE / "package.json").read_text() + (HERE / "requirements.txt").read_text()
    stamp = cache / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    shutil.copy(HERE / "package.json", cache)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"]
    subprocess.run(npm, cwd=cache, check=True)
    subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
    pip = [cache / "venv/bin/pip", "install", "--quiet", "-r", HERE / "requirements.txt"]
    subprocess.run(pip, check=True)
    stamp.write_text(wanted)


class Page(http.server.BaseHTTPRequestHandler):
    """A page on loopback for the server that fetches pages."""

    def do_GET(self):
        body = b"<html><body><p>The answer is 42.</p></body></html>"
        self.send_response(200 if self.path == "/page" else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def over_http(cache, mode):
    """The reference server over one of the HTTP transports: its process and its port."""
    port = free_port()
    command = [cache / "node_modules/.bin/mcp-server-everything", mode]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, **quiet), port


def servers(cache, work, streamable, sse):
    """The configuration: the same block that desktop clients use."""
    node = lambda name: str(cache / "node_modules/.bin" / name)
    return {
        "everything-http": {"url": f"http://127.0.0.1:{streamable}/mcp"},
        "everything-sse": {"url": f"http://127.0.0.1:{sse}/sse"},
        "everything": {"command": node("mcp-server-everything"), "args": ["stdio"]},
        "filesystem": {"command": node("mcp-server-filesystem"), "args": [str(work)]},
        "playwright": {"command": node("playwright-mcp"), "args": ["--headless"]},
        "mongodb": {"command": node("mongodb-mcp-server"), "args": ["--telemetry", "disabled"]},
        "git": {"command": str(cache / "venv/bin/mcp-server-git"), "args": ["--repository", str(work)]},
        "fetch": {"command": str(cache / "venv/bin/mcp-server-fetch"), "args": ["--ignore-robots-txt", "--allow-private-ips"]},
    }


def calls(work, page):
    """One call a server, and what must be in its answer. Two servers need a browser or a database for theirs."""
    return [
        ("everything", "echo", {"message": "hello"}, "hello"),
        ("everything-http", "echo", {"message": "hello"}, "hello"),
        ("everything-sse", "echo", {"message": "hello"}, "hello"),
        ("filesystem", "read_text_file", {"path": str(work / "note.txt")}, "remember the milk"),
        ("git", "git_log", {"repo_path": str(work), "max_count": 1}, "first words"),
        ("fetch", "fetch", {"url": f"http://127.0.0.1:{page}/page"}, "42"),
    ]


def ask(port, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def processes_under(parent):
    """All living processes whose ancestor is `parent`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found, grown = {parent}, True
    while grown:
        more = {child for child, above in parents.items() if above in found} - found
        found, grown = found | more, bool(more)
    return found - {parent}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--cache", default=str(HERE.parent.parent / "target/servers"))
    arguments = parser.parse_args()
    if not shutil.which("npm"):
        sys.exit("npm is not there: published servers need Node 20")
    cache = pathlib.Path(arguments.cache).resolve()
    install(cache)
    failures = []

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        work = folder / "work"
        work.mkdir()
        (work / "note.txt").write_text("remember the milk\n")
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        for git in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first words"]):
            subprocess.run(["git", "-C", work, *git], check=True)
        page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=page.serve_forever, daemon=True).start()
        config = folder / "config.json"
        remote = [over_http(cache, mode) for mode in ("streamableHttp", "sse")]
        config.write_text(json.dumps({"mcpServers": servers(cache, work, *[port for _, port in remote])}))
        command = [arguments.bin, "serve", "--port", "0", "--config", config, "--data", folder / "data"]
        environment = {**os.environ, "LOG_LEVEL": "error"}
        gateway = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            line = gateway.stdout.readline()
            port = int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])
            threading.Thread(target=gateway.stdout.read, daemon=True).start()
            # Lazy servers start with the first list; who is slow to start comes with a later one.
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                ask(port, "/tools")
                health = {server["name"]: server for server in ask(port, "/health")["servers"]}
                if all(server.get("tools") for server in health.values()):
                    break
            for name, server in health.items():
                print(f"{name}: {server['status']}, {server['transport']}, {server.get('era')}, {server.get('tools')} tools {server.get('reason') or ''}")
                if not server.get("tools"):
                    failures.append(f"{name} has no tools: {server.get('reason')}")
            total = sum(server.get("tools") or 0 for server in health.values())
            for dialect in DIALECTS:
                answer = ask(port, f"/tools/{dialect}?report=true")
                rows = answer.pop("report")
                left_out = [row["name"] for row in rows if row["quarantine"]]
                listed = len(next(iter(answer.values())))
                print(f"{dialect}: {listed} of {total} tools, {len(left_out)} left out")
                if listed != total or left_out:
                    failures.append(f"{dialect} lists {listed} of {total} tools; left out: {left_out}")
            for server, tool, given, wanted in calls(work, page.server_address[1]):
                answer = json.dumps(ask(port, "/call_tool", {"server": server, "tool": tool, "arguments": given}))
                good = wanted in answer
                print(f"{server}/{tool}: {'good' if good else answer[:300]}")
                if not good:
                    failures.append(f"{server}/{tool} does not tell {wanted!r}: {answer[:300]}")
            logged = {entry["server"] for entry in ask(port, "/logs")}
            if logged != {call[0] for call in calls(work, 0)}:
                failures.append(f"the log has calls of {sorted(logged)}")
            family = processes_under(gateway.pid)
        finally:
            gateway.send_signal(signal.SIGTERM)
            status = gateway.wait(timeout=PATIENCE)
            page.shutdown()
            for process, _ in remote:
                process.kill()
                process.wait()
        left = [process for process in family if pathlib.Path(f"/proc/{process}").exists()]
        if status != 0 or left:
            failures.append(f"the gateway ended with {status} and left {left}")
        print(f"ended with {status}; {len(family)} processes before, {len(left)} after")
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
