"""Published clients of OpenAI's API, unmodified, through `/v1` of the gateway: judged by what their own objects hold.

    run.py --bin mcp-tool-gateway [--model gateway-model] [--cache FOLDER]
    run.py --bin … --only 'openai-*'    some clients

The models behind the gateway are scripted (`gateway-model`) and strict, in several wire formats. Installs the clients that package.json and
requirements-*.txt name into the cache folder, once. Exit status: 0 good, 1 something fails or an ability is missing without a reason in
clients.toml, 2 wrong usage or a part that does not start.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, Process, Unusable, conclude, find_program, pinned_packages, print_table, serving, wait_until_ready
from published_clients import choose, install_clients, is_meant, run_program
from scenarios import BOUND, SCENARIOS

AT_ONCE = 2
# The wire formats behind the gateway, and the kinds of the configuration that speak them.
WAYS = {"chat": "openai", "messages": "anthropic", "generate-content": "gemini"}
MODELS = {"chat": "gpt-4o", "messages": "claude-sonnet-4-5", "generate-content": "gemini-2.5-flash"}


@dataclasses.dataclass(frozen=True)
class Client:
    """One program, the environment that it runs in, and the packages whose versions are printed."""

    program: str
    home: str
    packages: tuple
    arguments: tuple = ()


CLIENTS = {
    "openai-python": Client("openai_python.py", "openai", ("openai",)),
    "openai-node": Client("openai_node.mjs", "node", ("openai",)),
    "langchain": Client("langchain_chat.py", "openai", ("langchain-openai", "langchain-core")),
    "litellm": Client("litellm_client.py", "litellm", ("litellm",)),
    "pydantic-ai": Client("pydantic_agent.py", "openai", ("pydantic-ai-slim",)),
    "ai-sdk": Client("ai_sdk.mjs", "node", ("ai", "@ai-sdk/openai-compatible"), ("compatible",)),
    "ai-sdk openai": Client("ai_sdk.mjs", "node", ("ai", "@ai-sdk/openai"), ("openai",)),
    "curl": Client("curl_client.py", "", ()),
}


def version(client):
    """The versions of a client's packages, as the pinned files have them."""
    if not client.home:
        return subprocess.run(["curl", "--version"], capture_output=True, text=True).stdout.split()[1]
    pinned = pinned_packages(HERE / ("package.json" if client.home == "node" else f"requirements-{client.home}.txt"))
    return ", ".join(f"{name} {pinned[name]}" for name in client.packages)


class Stage:
    """The gateway with a scripted model of its own for each way and ability."""

    def __init__(self, arguments, ways, stack):
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        models = {}
        for way in ways:
            for ability, scenario in SCENARIOS.items():
                if scenario.steps or ability == "models":
                    url = self.serve_model(arguments.model, way, ability, scenario, stack)
                    models[f"{way} {ability}"] = {
                        "kind": WAYS[way],
                        "baseUrl": url,
                        "model": MODELS[way],
                        "apiKey": "none",
                        "retries": 0,
                        **scenario.model,
                    }
        config = self.folder / "config.json"
        servers = {"demo": {"type": "builtin"}}
        loop = {"maxRounds": BOUND}
        config.write_text(json.dumps({"mcpServers": servers, "models": models, "loop": loop}))
        _, self.port = stack.enter_context(serving(arguments.bin, config, self.folder / "data"))
        wait_until_ready(self.port)

    def serve_model(self, program, way, ability, scenario, stack):
        script = self.folder / f"{way} {ability}.json"
        script.write_text(json.dumps(scenario.script()))
        command = [program, "--wire", way, "--script", script, "--record", self.record(way, ability)]
        return stack.enter_context(Process(command)).wait_for(r'"url":"([^"]+)"')

    def record(self, way, ability):
        return self.folder / f"{way} {ability}.jsonl"

    def recorded(self, way, ability):
        """The requests that a model got."""
        path = self.record(way, ability)
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def count_calls(self):
        """How many calls of tools the gateway's log has."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/logs?limit=1000", timeout=30) as answer:
            return len(json.load(answer))


def steps_of(way, body):
    """The calls and results of a conversation in any wire format, in their order."""
    steps = []
    call = lambda name: steps.append(["call", name])
    result = lambda content: steps.append(["result", text_of(content)])
    for message in body.get("messages") or body.get("contents") or []:
        if way == "chat":
            for one in message.get("tool_calls") or []:
                call(one["function"]["name"])
            if message["role"] == "tool":
                result(message["content"])
        elif way == "messages":
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block["type"] == "tool_use":
                    call(block["name"])
                elif block["type"] == "tool_result":
                    result(block["content"])
        else:
            for part in message["parts"]:
                if "functionCall" in part:
                    call(part["functionCall"]["name"])
                elif "functionResponse" in part:
                    result(part["functionResponse"]["response"])
    return steps


def text_of(content):
    """The text of a result; of the demo's, which are JSON, the number in it."""
    if isinstance(content, list):
        content = "".join(block.get("text", "") for block in content)
    if isinstance(content, dict):
        content = content.get("output", content)
    with contextlib.suppress(json.JSONDecodeError):
        content = json.loads(content) if isinstance(content, str) else content
    content = content["result"] if isinstance(content, dict) and "result" in content else content
    return content if isinstance(content, str) else json.dumps(content)


def run_client(arguments, cache, client, ways):
    """What the client saw: by way and ability; what the models were sent; and what it said if it came to no end."""
    with contextlib.ExitStack() as stack:
        stage = Stage(arguments, ways, stack)
        abilities = {
            ability: list(scenario.seen) if isinstance(scenario.seen, dict) else []
            for ability, scenario in SCENARIOS.items()
        }
        order = {"base_url": f"http://127.0.0.1:{stage.port}/v1", "ways": ways, "abilities": abilities}
        environment = {"HOME": str(stage.folder), "NO_PROXY": "127.0.0.1"}
        lines, trouble = run_program(HERE, cache, client, [json.dumps(order), *client.arguments], environment)
        seen = {(line["way"], line["ability"]): line for line in lines}
        runs = sum(SCENARIOS[ability].runs for _, ability in seen)
        if trouble is None and stage.count_calls() != runs:
            trouble = f"the gateway ran {stage.count_calls()} calls instead of {runs}"
        sent = {(way, ability): stage.recorded(way, ability) for way, ability in seen}
    return seen, sent, trouble


def judge_cell(name, way, ability, entry, requests, notes):
    """`ok`, `–` or `FAILED`, and what is wrong."""
    scenario = SCENARIOS[ability]
    excuse = next((one for one in notes.get("cannot", []) if is_meant(one, name, way, ability)), None)
    if entry is None:
        return ("–", None) if excuse else ("FAILED", "the client says nothing of it, and clients.toml has no reason")
    if excuse:
        return "FAILED", f"clients.toml says that it cannot be, but the client tried: {entry}"
    if "error" in entry:
        return "FAILED", entry["error"]
    expected = scenario.seen
    if isinstance(expected, dict) and "status" in expected:
        raised = [one["seen"] for one in notes["raises"] if is_meant(one, name, way, ability)]
        expected = expected | (raised[0] if raised else {"class": "nothing that clients.toml names"})
    also = [one["seen"] for one in notes.get("also", []) if is_meant(one, name, way, ability)]
    wanted = [expected, *(expected | other for other in also)]
    if entry["seen"] not in wanted:
        return "FAILED", f"saw {json.dumps(entry['seen'])} instead of {json.dumps(expected)}"
    if len(requests) != scenario.requests:
        return "FAILED", f"the model got {len(requests)} requests instead of {scenario.requests}"
    if scenario.history is not None:
        steps = steps_of(way, requests[-1]["body"])
        if steps != scenario.history:
            return "FAILED", f"the model was sent {json.dumps(steps)} instead of {json.dumps(scenario.history)}"
    return "ok", None


def report(results, ways, notes):
    """Prints the table, a line for each ability, and what is wrong; whether anything is."""
    rows, findings = [["ability", "model", *results]], []
    count = {"ok": 0, "–": 0, "FAILED": 0}
    for ability in SCENARIOS:
        for way in ways:
            cells = []
            for name, (seen, sent, _) in results.items():
                key = (way, ability)
                cell, problem = judge_cell(name, way, ability, seen.get(key), sent.get(key, []), notes)
                count[cell] += 1
                cells.append(cell)
                if problem:
                    findings.append(f"{name}, {ability}, {way}: {problem}")
            rows.append([ability, way, *cells])
    print_table(rows)
    for name in results:
        print(f"{name}: {version(CLIENTS[name])}")
    findings += [f"{name}: {trouble}" for name, (_, _, trouble) in results.items() if trouble]
    print(f"{len(results)} clients: {count['ok']} ok, {count['–']} that the client cannot, {count['FAILED']} failed")
    if len(results) == len(CLIENTS):
        unused = [note for kind in notes.values() for note in kind if not note.get("used")]
        findings += [f"clients.toml: nobody needs any more: {note}" for note in unused]
    for text in findings:
        print(f"FAILED: {text}")
    return bool(findings)


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    notes = tomllib.loads((HERE / "clients.toml").read_text())
    chosen = choose(CLIENTS, arguments.only)
    install_clients(HERE, cache, {client.home for client in chosen.values()})
    if arguments.install_only:
        return False
    if not arguments.bin:
        raise Unusable("--bin names the gateway")
    arguments.bin = pathlib.Path(arguments.bin).resolve()
    arguments.model = find_program("gateway-model", arguments.model)
    ways = list(WAYS)

    def one(entry):
        name, client = entry
        started = time.monotonic()
        outcome = run_client(arguments, cache, client, ways)
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        return name, outcome

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(pool.map(one, chosen.items()))
    return report(results, ways, notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway")
    parser.add_argument("--model", help="the scripted model's binary; else the newest under target/")
    parser.add_argument("--only", help="only clients that match one of these patterns, by commas")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/openai-clients"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
