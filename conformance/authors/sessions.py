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
from programs import Process, Unusable
from published_clients import run_program

# What stands where a secret was.
REDACTED = "[redacted]"


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


def published_servers(sessions, cache):
    """Rows and failures of ten published servers, each with one of three clients."""
    servers = load("servers")
    servers.install(cache)
    work = servers.make_work(sessions.folder)
    calls = servers.calls(work, sessions.stack.enter_context(servers.serving_pages()))
    configured = servers.servers(sessions.stack, cache, sessions.folder, work)
    # The older transport is not recorded; behind the gateway it is a server like any other.
    config = sessions.folder / "sse.json"
    config.write_text(json.dumps({"mcpServers": {"everything": configured["everything-sse"]}}))
    configured["everything-sse"] = {"command": sessions.gateway, "args": ["mcp", "--config", str(config), "--group", "everything"]}
    rows, failures = [], []
    for index, (name, entry) in enumerate(sorted(configured.items())):
        client = TOURS[index % len(TOURS)]
        wanted = [(tool, given) for server, tool, given, _ in calls if server == name]
        if name in ("fastmcp", "sdk"):
            wanted = [(tool, {}) for tool in servers.ONCE]
        expected = [text for server, _, _, text in calls if server == name]
        target_of = lambda target: json.dumps({**target, "calls": wanted})
        transport = "http" if index % 2 else "stdio"
        cassette, entries, recorded, wrong = sessions.compare(name, HERE, client, entry, transport, target_of)
        text = json.dumps(recorded, ensure_ascii=False).replace('\\"', '"')
        wrong += [f"{wanted} is not in what was recorded" for wanted in expected if wanted not in text]
        if not recorded[0]["tools"] or len(recorded[0]["results"]) != len(wanted):
            wrong.append("the client saw no tools, or not every result")
        failures += [f"{name}: {one}" for one in wrong[:3]]
        seen = f"{len(recorded[0]['tools'])} tools, {len(wanted)} results"
        size = f"{cassette.stat().st_size // 1024} KiB"
        rows.append([name, client.program, transport, str(entries), size, seen, "FAILED" if wrong else "ok"])
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
