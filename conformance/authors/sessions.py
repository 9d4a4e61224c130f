"""Sessions of published servers and published clients: recorded, then played to the same client, which has to see the same."""

import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
CONFORMANCE = HERE.parent
sys.path[:0] = [str(CONFORMANCE), str(CONFORMANCE / "servers")]
from programs import Process, Unusable, pinned_packages
from published_clients import run_program

# What stands where a secret was.
REDACTED = "[redacted]"
# How many different packages are recorded and played, in all and by each client.
LEAST_PACKAGES, LEAST_BY_CLIENT = 10, 3


@dataclasses.dataclass(frozen=True)
class Client:
    program: str
    home: str


TOURS = [Client("tour_python_1.py", "legacy"), Client("tour_fastmcp.py", "modern"), Client("tour_typescript_1.mjs", "node")]
# Programs of conformance/clients with all that a client can do: the name, the era, the transport.
ABILITIES = [
    ("python-1", Client("python_1.py", "legacy"), "legacy", "stdio"),
    ("python-2", Client("python_2.py", "modern"), "modern", "http"),
    ("typescript-1", Client("typescript_1.mjs", "node"), "legacy", "http"),
    # Over stdio it asks for the era in a process of its own, and each start of a recorder is a cassette.
    ("typescript-2", Client("typescript_2.mjs", "node"), "modern", "http"),
    ("fastmcp", Client("fastmcp_4.py", "modern"), "modern", "stdio"),
]


def load(folder):
    """The runner of another folder as a module."""
    spec = importlib.util.spec_from_file_location(f"{folder}_run", CONFORMANCE / folder / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Sessions:
    """Records and plays, each into a file of its own."""

    def __init__(self, arguments, stack, folder):
        self.gateway, self.fixture = str(arguments.bin), str(arguments.fixture)
        self.clients = pathlib.Path(arguments.clients_cache).resolve()
        self.stack, self.folder = stack, folder
        self.environment = {"HOME": str(folder), "LOG_LEVEL": "error"}
        for program in HERE.glob("*.mjs"):
            # Node looks for modules beside the program.
            shutil.copy(program, self.clients / "node")

    def recorder(self, stack, cassette, entry):
        """A target that records the server of this entry."""
        if "url" in entry:
            process = stack.enter_context(Process([self.gateway, "record", "--port", "0", cassette, entry["url"]]))
            return {"url": process.wait_for(r"listening on (\S+)")}
        return {
            "command": self.gateway,
            "args": ["record", str(cassette), "--", entry["command"], *entry["args"]],
            "env": {**os.environ, **self.environment, **entry.get("env", {})},
        }

    def player(self, stack, cassette, transport):
        """A target that plays the cassette, and knows nothing else of the server."""
        if transport == "http":
            process = stack.enter_context(Process([self.gateway, "replay", cassette, "--http"]))
            return {"url": process.wait_for(r"listening on (\S+)")}
        return {"command": self.gateway, "args": ["replay", str(cassette)], "env": {**os.environ, **self.environment}}

    def saw(self, here, client, target, name):
        lines, trouble = run_program(here, self.clients, client, [target], self.environment)
        if trouble or not lines:
            raise Unusable(f"{name}: {client.program} {trouble or 'printed nothing'}")
        return lines

    def compare(self, name, here, client, entry, transport, target_of):
        """Records and plays: how much was seen, and what differs."""
        cassette = self.folder / f"{name}-{client.program}.json".replace(" ", "-")
        with contextlib.ExitStack() as stack:
            recorded = self.saw(here, client, target_of(self.recorder(stack, cassette, entry)), f"recording {name}")
        entries = len(json.loads(cassette.read_text())["entries"])
        with contextlib.ExitStack() as stack:
            played = self.saw(here, client, target_of(self.player(stack, cassette, transport)), f"playing {name}")
        return cassette, entries, recorded, list(differences(recorded, played))


def differences(recorded, played, path=""):
    """Where two values differ."""
    if isinstance(recorded, dict) and isinstance(played, dict):
        for key in {**recorded, **played}:
            yield from differences(recorded.get(key), played.get(key), f"{path}/{key}")
    elif isinstance(recorded, list) and isinstance(played, list) and len(recorded) == len(played):
        for index, (one, other) in enumerate(zip(recorded, played)):
            yield from differences(one, other, f"{path}/{index}")
    elif recorded != played and not redacted(recorded, played):
        yield f"{path}: {json.dumps(recorded)[:200]} was recorded, {json.dumps(played)[:200]} played"


def redacted(recorded, played):
    """Whether a text differs only in what looked like a secret."""
    if not isinstance(recorded, str) or not isinstance(played, str) or REDACTED not in played:
        return False
    return re.fullmatch(".+".join(map(re.escape, played.split(REDACTED))), recorded, re.DOTALL) is not None


def failing(package, work, pages):
    """The call that a server has to refuse, and what it says then."""
    calls = {
        "@modelcontextprotocol/server-everything": ("get-sum", {"a": "two"}, "Input validation error"),
        "@modelcontextprotocol/server-filesystem": ("read_text_file", {"path": str(work.parent / "secret.txt")}, "Access denied"),
        "@modelcontextprotocol/server-memory": ("add_observations", {"observations": [{"entityName": "Bob", "contents": ["sings"]}]}, "Bob not found"),
        "@modelcontextprotocol/server-sequential-thinking": ("sequentialthinking", {"thought": "And now?"}, "nextThoughtNeeded"),
        "@playwright/mcp": ("browser_navigate", {}, "url"),
        "mcp-server-calculator": ("calculate", {"expression": "1 / 0"}, "division by zero"),
        "mcp-server-fetch": ("fetch", {"url": f"{pages}/nowhere"}, "404"),
        "mcp-server-git": ("git_show", {"repo_path": str(work), "revision": "nowhere"}, "nowhere"),
        "mcp-server-sqlite": ("create_table", {}, "query"),
        "mcp-server-time": ("get_current_time", {"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        "mongodb-mcp-server": ("find", {"connectionId": "preconfigured"}, "collection"),
    }
    return calls[package] if package else ("no_such_tool", {}, "no_such_tool")


def is_failure(result):
    """Whether a client saw an error: as a text, as the SDKs have results, or as tour_fastmcp.py prints them."""
    if isinstance(result, dict):
        return result.get("isError", False)
    return isinstance(result, str) or result[2]


def wrong_results(seen, wanted):
    """What is wrong with what a client saw; the last call is the one that fails."""
    if not seen["tools"] or len(seen["results"]) != len(wanted):
        yield "the client saw no tools, or not every result"
    for left, (tool, _, expected), result in zip(reversed(range(len(wanted))), wanted, seen["results"]):
        text = json.dumps(result, ensure_ascii=False).replace('\\"', '"')
        if expected not in text:
            yield f"{tool} does not have {expected!r}: {text[:500]}"
        if is_failure(result) != (left == 0):
            yield f"{tool} {'works' if left == 0 else 'fails'}: {text[:500]}"


def published_servers(sessions, cache):
    """Rows and failures of published servers, each with one of three clients."""
    servers = load("servers")
    servers.install(cache)
    work = servers.make_work(sessions.folder)
    pages = sessions.stack.enter_context(servers.serving_pages())
    calls = servers.calls(work, pages)
    configured = servers.servers(sessions.stack, cache, sessions.folder, work)
    pinned = {}
    for named in servers.NAMED:
        pinned.update(pinned_packages(CONFORMANCE / "servers" / named))
    # The older transport is not recorded; behind the gateway it is a server like any other.
    config = sessions.folder / "sse.json"
    config.write_text(json.dumps({"mcpServers": {"everything": configured["everything-sse"]}}))
    configured["everything-sse"] = {"command": sessions.gateway, "args": ["mcp", "--config", str(config), "--group", "everything"]}
    rows, failures, met = [], [], {client.program: set() for client in TOURS}
    for index, (name, entry) in enumerate(sorted(configured.items())):
        client = TOURS[index % len(TOURS)]
        wanted = [(tool, given, text) for server, tool, given, text in calls if server == name]
        if name in ("fastmcp", "sdk"):
            wanted = [(tool, {}, "") for tool in servers.ONCE]
        package = servers.PACKAGES.get(name)
        wanted.append(failing(package, work, pages))
        target_of = lambda target: json.dumps({**target, "calls": [call[:2] for call in wanted]})
        transport = "http" if index % 2 else "stdio"
        cassette, entries, recorded, wrong = sessions.compare(name, HERE, client, entry, transport, target_of)
        wrong += wrong_results(recorded[0], wanted)
        failures += [f"{name}: {one}" for one in wrong[:3]]
        if package and not wrong:
            met[client.program].add(package)
        seen = f"{len(recorded[0]['tools'])} tools, {len(wanted)} results"
        size = f"{cassette.stat().st_size // 1024} KiB"
        version = f"{package} {pinned[package]}" if package else "-"
        rows.append([name, version, client.program, transport, str(entries), size, seen, "FAILED" if wrong else "ok"])
    packages = set().union(*met.values())
    if len(packages) < LEAST_PACKAGES or min(map(len, met.values())) < LEAST_BY_CLIENT:
        failures.append(f"only {len(packages)} different packages were played alike: {met}")
    print(f"{len(packages)} different packages; by client: {', '.join(f'{name} {len(some)}' for name, some in met.items())}")
    return rows, failures


def all_abilities(sessions):
    """The same for clients that do all that they can, in both eras, with the fixture."""
    load("clients").install_clients(CONFORMANCE / "clients", sessions.clients, {"legacy", "modern", "node"})
    rows, failures = [], []
    for name, client, era, transport in ABILITIES:
        options = ["--serve", "everything", "--era", "both"]
        entry = {"command": sessions.fixture, "args": ["stdio", *options]}
        with contextlib.ExitStack() as stack:
            if transport == "http":
                command = [sessions.fixture, "http", *options, "--exit-with-stdin"]
                entry = {"url": stack.enter_context(Process(command)).wait_for(r"listening on (\S+)")}
            target_of = lambda target: json.dumps([{**target, "way": "session", "kind": transport, "era": era}])
            _, entries, recorded, wrong = sessions.compare(
                name, CONFORMANCE / "clients", client, entry, transport, target_of
            )
        broken = [line["ability"] for line in recorded if "error" in line]
        if broken or len(recorded) < 10:
            wrong.append(f"recording, {broken} failed; {len(recorded)} abilities were tried")
        failures += [f"{name}: {one}" for one in wrong[:5]]
        rows.append([name, era, transport, str(entries), f"{len(recorded)} abilities", "FAILED" if wrong else "ok"])
    return rows, failures
