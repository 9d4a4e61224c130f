"""Real MCP clients, unmodified: against the fixture directly, and against the gateway in front of it.

    run.py --bin mcp-tool-gateway       every client, every ability, every way
    run.py                              the fixture only: what the clients can at all
    run.py --only 'python-*'            some clients

Installs the clients that package.json and requirements-*.txt name into the cache folder, once. Exit status: 0 good, 1 something fails
or an ability is missing without a reason in clients.toml, 2 wrong usage or a part that does not start.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, Process, conclude, find_fixture, print_table, serving, wait_until_ready
from published_clients import choose, install_clients, is_meant, run_program

AT_ONCE = 2


@dataclasses.dataclass(frozen=True)
class Way:
    """How a client gets to the fixture: `face` is what the client speaks, `behind` what the gateway does, if there is one."""

    face: str
    behind: str | None = None

    def __str__(self):
        return f"{self.face} to {self.behind}" if self.behind else f"{self.face} directly"


DIRECT = [Way("http"), Way("stdio"), Way("sse")]
THROUGH = [
    Way("http", "http-legacy"),
    Way("http", "http-modern"),
    Way("http", "stdio-legacy"),
    Way("http", "stdio-modern"),
    Way("stdio", "stdio-legacy"),
    Way("stdio", "http-modern"),
    Way("sse", "stdio-legacy"),
    Way("sse", "http-modern"),
]


@dataclasses.dataclass(frozen=True)
class Client:
    """One program and how it speaks."""

    program: str
    era: str
    home: str
    kinds: tuple = ("http", "stdio", "sse")
    # Which ways through the gateway; all where absent.
    through: tuple | None = None

    def goes(self, way):
        return way.face in self.kinds and (way.behind is None or self.through is None or way in self.through)


# The inspector's command line is a process for each request: one way for each face has to do.
FEW_MODERN = (Way("http", "http-legacy"), Way("stdio", "http-modern"))
FEW_LEGACY = (Way("http", "stdio-modern"), Way("stdio", "stdio-legacy"), Way("sse", "http-modern"))

CLIENTS = {
    "typescript-1": Client("typescript_1.mjs", "legacy", "node"),
    "typescript-2": Client("typescript_2.mjs", "modern", "node", ("http", "stdio")),
    "typescript-2 legacy": Client("typescript_2.mjs", "legacy", "node"),
    "python-1": Client("python_1.py", "legacy", "legacy"),
    "python-2": Client("python_2.py", "modern", "modern", ("http", "stdio")),
    "python-2 legacy": Client("python_2.py", "legacy", "modern"),
    "fastmcp": Client("fastmcp_4.py", "modern", "modern", ("http", "stdio")),
    "fastmcp legacy": Client("fastmcp_4.py", "legacy", "modern"),
    "inspector": Client("inspector.mjs", "modern", "node", ("http", "stdio"), FEW_MODERN),
    "inspector legacy": Client("inspector.mjs", "legacy", "node", through=FEW_LEGACY),
    "langchain": Client("langchain_adapter.py", "legacy", "legacy"),
    "openai-agents": Client("openai_agents.py", "modern", "modern", ("http", "stdio")),
    "openai-agents legacy": Client("openai_agents.py", "legacy", "modern", ("sse",)),
}

PROGRESS = [[done, 100, f"Completed step {done} of 100"] for done in (0, 50, 100)]
# What every client must see. None: the same as directly.
ABILITIES = {
    "connect": None,
    "list": None,
    "call": "Hello, Ada!",
    "tool error": [True, "This tool intentionally returns an error for testing"],
    "content": ["text", "image", "resource"],
    "progress": PROGRESS,
    "elicitation": [
        'User response: action=accept, content={"username":"ada","email":"ada@example.org"}',
        "User response: action=decline, content={}",
    ],
    "sampling": "LLM response: heard Hello?",
    "roots": 'Roots: [{"uri":"file:///work","name":"work"}]',
    "logging": ["Tool execution started", "Tool processing data", "Tool execution completed"],
    "resources": [
        ["input-required", "static-binary", "static-text", "watched-resource"],
        "This is the content of the static text resource.",
        '{"id":"7","templateTest":true,"data":"Data for ID: 7"}',
    ],
    "subscribe": [True, "Watched resource content, updated 1 times"],
    "prompts": [
        [
            "test_input_required_result_prompt",
            "test_prompt_with_arguments",
            "test_prompt_with_embedded_resource",
            "test_prompt_with_image",
            "test_simple_prompt",
        ],
        "Prompt with arguments: arg1='a', arg2='b'",
    ],
    "complete": ["paris", "park", "party"],
    "list changed": True,
    "cancel": "was cancelled",
}


class Place:
    """Starts what the ways of one client need; each way has a fixture of its own, since lists change while it is used."""

    def __init__(self, arguments, stack):
        self.arguments = arguments
        self.stack = stack
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def target(self, way, era):
        """The instructions for the client's program."""
        base = {"way": str(way), "kind": way.face, "era": era}
        if way.behind is None:
            return base | self.fixture(way.face, "both")
        transport, _, upstream_era = way.behind.partition("-")
        config = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        entry = {"connect": "eager", "required": True} | self.fixture(transport, upstream_era)
        config.write_text(json.dumps({"mcpServers": {"everything": entry}}))
        if way.face == "stdio":
            return base | {"command": str(self.arguments.bin), "args": ["mcp", "--config", str(config)]}
        _, port = self.stack.enter_context(serving(self.arguments.bin, config, config.with_suffix(".data")))
        wait_until_ready(port)
        return base | {"url": f"http://127.0.0.1:{port}/mcp" + ("/events" if way.face == "sse" else "")}

    def fixture(self, transport, era):
        options = ["--serve", "everything", "--era", era]
        if transport == "stdio":
            return {"command": str(self.arguments.fixture), "args": ["stdio", *options]}
        command = [self.arguments.fixture, transport, *options, "--exit-with-stdin"]
        return {"url": self.stack.enter_context(Process(command)).wait_for(r"listening on (\S+)")}


def try_client(arguments, cache, client, ways):
    """What the client saw: by way, by ability; and what it said if it came to no end."""
    with contextlib.ExitStack() as stack:
        place = Place(arguments, stack)
        targets = [place.target(way, client.era) for way in ways]
        environment = {"HOME": str(place.folder), "LOG_LEVEL": "error"}
        lines, trouble = run_program(HERE, cache, client, [json.dumps(targets)], environment)
    seen = {str(way): {} for way in ways}
    for entry in lines:
        seen[entry["way"]][entry["ability"]] = entry
    return seen, trouble


def judge_cell(name, client, way, ability, seen, direct, notes):
    """`ok`, `–` or `FAILED`, and what is wrong."""
    others = notes.get("also", [])
    excuse = next((one for one in notes.get("cannot", []) if is_meant(one, name, way, ability)), None)
    entry = seen.get(ability)
    if entry is None:
        return ("–", None) if excuse else ("FAILED", "the client says nothing of it, and clients.toml has no reason")
    if excuse:
        return "FAILED", f"clients.toml says that it cannot be, but the client tried: {entry}"
    if "error" in entry:
        return "FAILED", entry["error"]
    expected = client.era if ability == "connect" else ABILITIES[ability]
    if expected is None:
        expected = direct.get(ability, {}).get("seen")
    also = [one["seen"] for one in others if is_meant(one, name, way, ability)]
    if entry["seen"] not in [expected, *also] or not entry["seen"]:
        return "FAILED", f"saw {json.dumps(entry['seen'])} instead of {json.dumps(expected)}"
    return "ok", None


def report(results, ways, notes):
    """Prints the table, a line for each client and ability, and what is wrong; whether anything is."""
    heads = ["client", "ability", *map(str, ways)]
    rows, findings = [heads], []
    count = {"ok": 0, "–": 0, "FAILED": 0}
    for name, (client, seen, trouble) in results.items():
        if trouble:
            findings.append(f"{name}: {trouble}")
        for ability in ABILITIES:
            cells = []
            for way in ways:
                if str(way) not in seen:
                    cells.append("")
                    continue
                direct = seen.get(str(Way(way.face)), {})
                cell, problem = judge_cell(name, client, way, ability, seen[str(way)], direct, notes)
                count[cell] += 1
                cells.append(cell)
                if problem:
                    findings.append(f"{name}, {ability}, {way}: {problem}")
            rows.append([name, ability, *cells])
    print_table(rows)
    print(f"{len(results)} clients: {count['ok']} ok, {count['–']} that the client cannot, {count['FAILED']} failed")
    if len(results) == len(CLIENTS) and len(ways) == len(DIRECT + THROUGH):
        unused = [note for note in notes.get("cannot", []) + notes.get("also", []) if not note.get("used")]
        findings += [f"clients.toml: nobody needs any more: {note['reason']}" for note in unused]
    for text in findings:
        print(f"FAILED: {text}")
    return bool(findings)


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    if not arguments.install_only:
        arguments.fixture = find_fixture(arguments.fixture)
    arguments.bin = pathlib.Path(arguments.bin).resolve() if arguments.bin else None
    notes = tomllib.loads((HERE / "clients.toml").read_text())
    chosen = choose(CLIENTS, arguments.only)
    ways = DIRECT + (THROUGH if arguments.bin else [])
    install_clients(HERE, cache, {client.home for client in chosen.values()})
    if arguments.install_only:
        return False

    def one(entry):
        name, client = entry
        started = time.monotonic()
        seen, trouble = try_client(arguments, cache, client, [way for way in ways if client.goes(way)])
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        return name, (client, seen, trouble)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(pool.map(one, chosen.items()))
    return report(results, ways, notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway; without it only the fixture is used")
    parser.add_argument("--fixture", help="the fixture's binary; else the newest under target/")
    parser.add_argument("--only", help="only clients that match one of these patterns, by commas")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/clients"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
