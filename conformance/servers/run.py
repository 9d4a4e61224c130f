"""Published MCP servers behind the gateway: started from one configuration, listed in five dialects, called.

    run.py --bin mcp-tool-gateway [--cache FOLDER]

Installs the servers that package.json and requirements*.txt name into the cache folder, once. Exit status: 0 good, 1 something fails,
2 wrong usage or a part that does not start.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import browser

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, START, Process, Unusable, conclude, install_node_packages, install_python_packages, serving

DIALECTS = ["gemini", "openai", "openai-chat-strict", "anthropic", "ollama"]
PATIENCE = 120
# What models get of the tools of frameworks.py: the text for OpenAI from FastMCP, from the SDK, and the object for Gemini from both.
ONCE = {
    "number": ("3.0", "3.0", {"result": 3.0}),
    "text": ("hello", "hello", {"result": "hello"}),
    "flag": ("true", "true", {"result": True}),
    "numbers": ("[1.0,2.5]", "1.0\n2.5", {"result": [1.0, 2.5]}),
    "rows": ('[{"a":1},{"a":2}]', '{\n  "a": 1\n}\n{\n  "a": 2\n}', {"result": [{"a": 1}, {"a": 2}]}),
    "nested": ("[[1,2],[3]]", '{"result":[[1,2],[3]]}', {"result": [[1, 2], [3]]}),
    "mapping": ('{"a":1}', '{\n  "a": 1\n}', {"a": 1}),
    "empty": ('{"result":[]}', '{"result":[]}', {"result": []}),
}
# The package that each server comes from; those that are not here are ours.
PACKAGES = {
    "calculator": "mcp-server-calculator",
    "everything": "@modelcontextprotocol/server-everything",
    "everything-http": "@modelcontextprotocol/server-everything",
    "everything-sse": "@modelcontextprotocol/server-everything",
    "fetch": "mcp-server-fetch",
    "filesystem": "@modelcontextprotocol/server-filesystem",
    "git": "mcp-server-git",
    "memory": "@modelcontextprotocol/server-memory",
    "mongodb": "mongodb-mcp-server",
    "playwright": "@playwright/mcp",
    "sequential-thinking": "@modelcontextprotocol/server-sequential-thinking",
    "sqlite": "mcp-server-sqlite",
    "time": "mcp-server-time",
}
NAMED = ("package.json", "requirements.txt", "requirements-legacy.txt")
ORDERS = [{"item": "milk", "count": 2}, {"item": "bread", "count": 3}, {"item": "milk", "count": 5}]


def install(cache):
    """Puts the pinned servers into the cache, unless they are there."""
    wanted = "".join((HERE / name).read_text() for name in (*NAMED, "browser.py"))
    stamp = cache / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        parts = [
            pool.submit(install_node, cache),
            pool.submit(install_python_packages, HERE / "requirements.txt", cache / "venv"),
            pool.submit(install_python_packages, HERE / "requirements-legacy.txt", cache / "legacy"),
        ]
        for part in parts:
            part.result()
    stamp.write_text(wanted)


def install_node(cache):
    # What is optional is large, and mostly programs that the servers do not start.
    install_node_packages(HERE / "package.json", cache, "--omit=optional")
    try:
        browser.unpack(cache)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Unusable(f"the browser could not be unpacked: {problem}") from problem


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages on loopback: one to be fetched, one to be used."""

    texts = {
        "/page": "<p>The answer is 42.</p>",
        "/button": """<h1>Doorbell</h1><p id="bell">nobody is there</p>
            <button onclick="document.getElementById('bell').textContent = 'somebody is there'">Ring</button>""",
    }

    def do_GET(self):
        text = self.texts.get(self.path)
        body = f"<!doctype html><html><body>{text}</body></html>".encode()
        self.send_response(200 if text else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving_pages():
    """The address of the pages."""
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{pages.server_address[1]}"
    finally:
        pages.shutdown()
        pages.server_close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(stack, port, command, **environment):
    """A program that is to listen on that port and runs until the stack is left; returns when it listens."""
    process = stack.enter_context(Process(command, environment, stderr=subprocess.DEVNULL)).process
    deadline = time.monotonic() + START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), START).close()
            return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise Unusable(f"{command[0]} does not start: {error}") from error
        time.sleep(0.1)


def start_everything(stack, cache, mode):
    """The reference server over one of the HTTP transports: its port."""
    port = free_port()
    start(stack, port, [cache / "node_modules/.bin/mcp-server-everything", mode], PORT=str(port))
    return port


def start_database(stack, cache, folder):
    """The database of the mongodb server, in memory: its port."""
    port = free_port()
    files = ["--pid-file", folder / "database.pid", "--log-file", folder / "database.log"]
    start(stack, port, [cache / "venv/bin/nx-27017", "--data-dir", "memory", "--port", str(port), *files])
    return port


def make_work(folder):
    """A folder with a file in a repository, for the servers that look at such."""
    work = folder / "work"
    work.mkdir()
    (work / "note.txt").write_text("remember the milk\n")
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for git in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first words"]):
        subprocess.run(["git", "-C", work, *git], check=True)
    return work


def servers(stack, cache, folder, work):
    """The configuration: the same block that desktop clients use."""
    node = lambda name: str(cache / "node_modules/.bin" / name)
    python = lambda name: str(cache / "venv/bin" / name)
    legacy = lambda name: str(cache / "legacy/bin" / name)
    # Without the sandbox, which needs rights that a container or root may not have; nothing foreign is looked at.
    chromium = ["--headless", "--isolated", "--no-sandbox", "--executable-path", str(browser.launcher(cache))]
    database = f"mongodb://127.0.0.1:{start_database(stack, cache, folder)}/?directConnection=true"
    framework = lambda name: {"command": python("python"), "args": [str(HERE / "frameworks.py"), name]}
    return {
        "everything-http": {"url": f"http://127.0.0.1:{start_everything(stack, cache, 'streamableHttp')}/mcp"},
        "everything-sse": {"url": f"http://127.0.0.1:{start_everything(stack, cache, 'sse')}/sse"},
        "everything": {"command": node("mcp-server-everything"), "args": ["stdio"]},
        "filesystem": {"command": node("mcp-server-filesystem"), "args": [str(work)]},
        "playwright": {
            "command": node("playwright-mcp"),
            "args": [*chromium, "--output-dir", str(folder / "pages")],
            # Its sockets would stand where those of another user may.
            "env": {"TMPDIR": str(folder)},
        },
        "mongodb": {
            "command": node("mongodb-mcp-server"),
            "args": ["--telemetry", "disabled"],
            "env": {"MDB_MCP_CONNECTION_STRING": database},
        },
        "git": {"command": python("mcp-server-git"), "args": ["--repository", str(work)]},
        "fetch": {"command": python("mcp-server-fetch"), "args": ["--ignore-robots-txt", "--allow-private-ips"]},
        "memory": {"command": node("mcp-server-memory"), "args": [], "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}},
        "sequential-thinking": {"command": node("mcp-server-sequential-thinking"), "args": []},
        "time": {"command": python("mcp-server-time"), "args": ["--local-timezone", "Asia/Tokyo"]},
        "calculator": {"command": legacy("mcp-server-calculator"), "args": []},
        "sqlite": {"command": legacy("mcp-server-sqlite"), "args": ["--db-path", str(folder / "orders.db")]},
        "fastmcp": framework("fastmcp"),
        "sdk": framework("sdk"),
    }


def calls(work, pages):
    """In this order: server, tool, arguments, and what must stand in the result, as JSON."""
    orders = {"connectionId": "preconfigured", "database": "shop", "collection": "orders"}
    add = {"_id": "$item", "total": {"$sum": "$count"}}
    ada = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    piano = {"entityName": "Ada", "contents": ["plays the piano"]}
    thought = lambda number, text, more: {"thought": text, "thoughtNumber": number, "totalThoughts": 2, "nextThoughtNeeded": more}
    lunch = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"}
    query = lambda text: {"query": text}
    return [
        ("everything", "echo", {"message": "hello"}, "Echo: hello"),
        ("everything", "get-sum", {"a": 40, "b": 2}, "is 42."),
        ("everything-http", "get-sum", {"a": 2, "b": 40}, "is 42."),
        ("everything-http", "echo", {"message": "hello"}, "Echo: hello"),
        ("everything-sse", "echo", {"message": "hello"}, "Echo: hello"),
        ("everything-sse", "get-sum", {"a": 1, "b": 41}, "is 42."),
        ("filesystem", "read_text_file", {"path": str(work / "note.txt")}, "remember the milk"),
        ("filesystem", "list_directory", {"path": str(work)}, "[FILE] note.txt"),
        ("git", "git_log", {"repo_path": str(work), "max_count": 1}, "first words"),
        ("git", "git_status", {"repo_path": str(work)}, "working tree clean"),
        ("fetch", "fetch", {"url": f"{pages}/page"}, "The answer is 42."),
        ("fetch", "fetch", {"url": f"{pages}/page", "raw": True}, "<p>The answer is 42.</p>"),
        ("memory", "create_entities", {"entities": [ada]}, "writes programs"),
        ("memory", "add_observations", {"observations": [piano]}, "plays the piano"),
        ("memory", "search_nodes", {"query": "piano"}, "Ada"),
        ("sequential-thinking", "sequentialthinking", thought(1, "Count the apples", True), '"thoughtHistoryLength": 1'),
        ("sequential-thinking", "sequentialthinking", thought(2, "There are seven", False), '"thoughtHistoryLength": 2'),
        ("time", "convert_time", lunch, "-3.5h"),
        ("time", "get_current_time", {"timezone": "Asia/Tokyo"}, "+09:00"),
        ("calculator", "calculate", {"expression": "6 * 7"}, "42"),
        ("calculator", "calculate", {"expression": "2 ** 10"}, "1024"),
        ("sqlite", "create_table", query("CREATE TABLE orders (item TEXT, count INTEGER)"), "Table created"),
        ("sqlite", "write_query", query("INSERT INTO orders VALUES ('milk', 2), ('bread', 3)"), "'affected_rows': 2"),
        ("sqlite", "read_query", query("SELECT sum(count) AS total FROM orders"), "'total': 5"),
        ("playwright", "browser_navigate", {"url": f"{pages}/button"}, f"{pages}/button"),
        ("playwright", "browser_snapshot", {}, "nobody is there"),
        ("playwright", "browser_click", {"element": "the button", "target": "button"}, ".click()"),
        ("playwright", "browser_snapshot", {}, "somebody is there"),
        ("playwright", "browser_take_screenshot", {"type": "png", "scale": "css"}, '"mimeType": "image/png"'),
        ("mongodb", "insert-many", {**orders, "documents": ORDERS}, '"insertedCount": 3'),
        ("mongodb", "find", {**orders, "filter": {"count": {"$gt": 4}}}, '[{"item": "milk", "count": 5, "_id": '),
        (
            "mongodb",
            "aggregate",
            {**orders, "pipeline": [{"$group": add}, {"$sort": {"total": -1}}]},
            '[{"_id": "milk", "total": 7}, {"_id": "bread", "total": 3}]',
        ),
    ]


def ask(port, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)


def start_all(port):
    """How many tools there are, and what is wrong. Lazy servers start with the first list; who is slow to start comes with a later one."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ask(port, "/tools")
        health = ask(port, "/health")["servers"]
        if all(server.get("tools") for server in health) or time.monotonic() > deadline:
            break
    for server in health:
        state = [server["status"], server["transport"], server.get("era"), f"{server.get('tools')} tools"]
        print(f"{server['name']}: {', '.join(map(str, state))} {server.get('reason') or ''}".rstrip())
    failures = [f"{server['name']} has no tools: {server.get('reason')}" for server in health if not server.get("tools")]
    return sum(server.get("tools") or 0 for server in health), failures


def list_tools(port, total):
    """What is wrong with the lists."""
    for dialect in DIALECTS:
        answer = ask(port, f"/tools/{dialect}?report=true&limit=off")
        left_out = [row["name"] for row in answer.pop("report") if row["quarantine"]]
        listed = len(next(iter(answer.values())))
        print(f"{dialect}: {listed} of {total} tools, {len(left_out)} left out")
        if listed != total or left_out:
            yield f"{dialect} lists {listed} of {total} tools; left out: {left_out}"


def call_tools(port, wanted_calls):
    """What is wrong with the results."""
    for server, tool, given, wanted in wanted_calls:
        answer = ask(port, "/call_tool", {"server": server, "tool": tool, "arguments": given})
        text = json.dumps(answer, ensure_ascii=False)
        good = "result" in answer and not answer["result"].get("isError") and wanted in text
        print(f"{server}/{tool}: {'good' if good else 'FAILED'}")
        if not good:
            yield f"{server}/{tool} does not contain {wanted!r}: {text[:1000]}"


def check_once(port):
    """What is wrong with results that frameworks write as text and as a value: each is sent once."""
    for tool, (by_fastmcp, by_sdk, value) in ONCE.items():
        for server, text in (("fastmcp", by_fastmcp), ("sdk", by_sdk)):
            name = f"mcp__{server}__{tool}"
            chat = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}}
            turn = ask(port, "/execute", {"provider": "openai-chat", "call": chat})
            sent = [message["content"] for message in turn.get("messages", [])]
            gemini = {"functionCall": {"id": "call_1", "name": name, "args": {}}}
            answer = ask(port, "/execute", {"provider": "gemini", "call": gemini})
            parts = [part for message in answer.get("messages", []) for part in message["parts"]]
            objects = [part["functionResponse"]["response"] for part in parts]
            good = sent == [text] and objects == [value]
            print(f"{server}/{tool} once: {'good' if good else 'FAILED'}")
            if not good:
                yield f"{server}/{tool} is sent as {turn} and {answer}, not as {text!r} and {value}"


def check_log(port, configured, wanted_calls):
    """What is wrong with the log: each call once, and a call for each server."""
    logged = collections.Counter((entry["server"], entry["tool"]) for entry in ask(port, "/logs?limit=1000"))
    if logged != collections.Counter((server, tool) for server, tool, *_ in wanted_calls):
        yield f"the log has other calls: {dict(logged)}"
    if uncalled := configured - {server for server, _ in logged}:
        yield f"never called: {sorted(uncalled)}"


def living():
    """The parent of each living process."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    return parents


def processes_under(parent):
    """All living processes whose ancestor is `parent`."""
    parents, found, grown = living(), {parent}, True
    while grown:
        more = {child for child, above in parents.items() if above in found} - found
        found, grown = found | more, bool(more)
    return found - {parent}


def left_over(family):
    """Which of these processes do not end; a browser's helpers need a moment to see that it is gone."""
    deadline = time.monotonic() + START
    while (left := family & living().keys()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def judge(arguments):
    """Whether anything is wrong."""
    cache = pathlib.Path(arguments.cache).resolve()
    install(cache)
    if arguments.install_only:
        return False
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work = make_work(folder)
        wanted_calls = calls(work, stack.enter_context(serving_pages()))
        configured = servers(stack, cache, folder, work)
        config = folder / "config.json"
        config.write_text(json.dumps({"mcpServers": configured}))
        # Some servers keep files at home.
        with serving(arguments.bin, config, folder / "data", HOME=str(folder)) as (gateway, port):
            total, failures = start_all(port)
            failures += list_tools(port, total)
            failures += call_tools(port, wanted_calls)
            failures += check_once(port)
            twice = [(server, tool) for server in ("fastmcp", "sdk") for tool in ONCE for _ in range(2)]
            failures += check_log(port, set(configured), [*wanted_calls, *twice])
            family = processes_under(gateway.pid)
        left = left_over(family)
        if gateway.returncode != 0 or left:
            failures.append(f"the gateway ended with {gateway.returncode} and left {left}")
        print(f"ended with {gateway.returncode}; {len(family)} processes before, {len(left)} after")
    for failure in failures:
        print(f"FAILED: {failure}")
    return bool(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway", required="--install-only" not in sys.argv)
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/servers"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
