"""What authors of MCP servers use: check, record and replay, the GitHub Action, the hook of pre-commit, and the guide.

    run.py --bin mcp-tool-gateway [--fixture gateway-fixture] [--cache FOLDER] [--servers-cache FOLDER] [--clients-cache FOLDER]
    run.py --bin … --only 'check,guide'     some parts: check, replay, published, clients, action, hook, guide

The servers and clients are those of servers/ and clients/, which install them into their own caches; this one holds pre-commit. Exit status: 0 good,
1 something fails, 2 wrong usage or a part that does not start.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import guide
import integrations
import sessions
from programs import ROOT, Process, conclude, find_fixture, install_python_packages, print_table

BROKEN = HERE / "broken_server.py"
PARTS = ["check", "replay", "published", "clients", "action", "hook", "guide"]
# How a server is broken, over which transport, what `check` ends with and what it says.
CHECKED = [
    ("good", "stdio", 0, ": 1 tool in 1 dialect, 0 errors"),
    ("bad", "stdio", 1, ": 1 tool in 1 dialect, 1 error"),
    ("empty", "stdio", 0, ": 0 tools in 1 dialect"),
    ("odd", "stdio", 1, "the entry is not a JSON object"),
    ("list-refused", "stdio", 2, "the database is gone (code -32603)"),
    ("list-malformed", "stdio", 2, "expected a sequence"),
    ("exits", "stdio", 2, "exited with status 3; its last words: cannot read config.toml"),
    ("dies-listing", "stdio", 2, "exited with status 4; its last words: out of tools"),
    ("garbage", "stdio", 2, "does not answer"),
    ("silent", "stdio", 2, "does not answer"),
    ("good", "http", 0, ": 1 tool in 1 dialect, 0 errors"),
    ("bad", "http", 1, ": 1 tool in 1 dialect, 1 error"),
    ("list-refused", "http", 2, "the database is gone (code -32603)"),
    ("html", "http", 2, "something that is not MCP"),
    ("error-500", "http", 2, "it answered 500 Internal Server Error: something broke"),
    ("error-401", "http", 2, "it answered 401 Unauthorized; it wants credentials"),
]


def install(cache):
    """Puts pre-commit into the cache, unless it is there: its Python."""
    wanted, stamp = HERE / "requirements.txt", cache / "installed"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        install_python_packages(wanted, cache / "venv")
        stamp.write_text(wanted.read_text())
    return cache / "venv/bin/python"


def run(*command, text=None):
    return subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True)


def serving_broken(stack, mode):
    process = stack.enter_context(Process([sys.executable, str(BROKEN), mode, "--http"]))
    return process.wait_for(r"listening on (\S+)")


def mode_is_mute(mode):
    """Whether a server never answers, so that waiting longer shows nothing more."""
    return mode in ("garbage", "silent")


def checked_servers(arguments):
    """Broken servers, and the fixture in both eras over both transports."""
    rows, failures = [], []

    def judge(name, transport, status, text, *words):
        done = run(arguments.bin, "check", "--to", "openai", "--timeout", "3" if mode_is_mute(name) else "30", *words)
        good = done.returncode == status and text in done.stdout + done.stderr and (status < 2 or not done.stdout)
        rows.append([name, transport, str(done.returncode), "ok" if good else "FAILED"])
        if not good:
            failures.append(f"check, {name} over {transport}: {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")

    for mode, transport, status, text in CHECKED:
        with contextlib.ExitStack() as stack:
            words = ["--", sys.executable, BROKEN, mode] if transport == "stdio" else [serving_broken(stack, mode)]
            judge(mode, transport, status, text, *words)
    for era in ("legacy", "modern"):
        judge(f"fixture, {era}", "stdio", 0, ": 18 tools in 1 dialect, ", "--", arguments.fixture, "stdio", "--era", era)
        with Process([str(arguments.fixture), "http", "--era", era, "--exit-with-stdin"]) as fixture:
            judge(f"fixture, {era}", "http", 0, ": 18 tools in 1 dialect, ", fixture.wait_for(r"listening on (\S+)"))
    print_table([["server", "transport", "status", ""], *rows])
    return failures


def replayed(arguments, folder):
    """A session without a foreign client, its secrets, and calls that were not recorded."""
    calls, cassette = folder / "calls.jsonl", folder / "cassette.json"
    secret = "Hunter2-Of-The-Test"
    calls.write_text(
        '{"name": "add", "arguments": {"a": 1, "b": 2}}\n'
        + json.dumps({"name": "store_value", "arguments": {"key": "password", "value": f"password={secret}"}})
    )
    rows, failures = [], []

    def judge(name, done, status, text):
        good = done.returncode == status and text in done.stdout + done.stderr
        rows.append([name, str(done.returncode), "ok" if good else "FAILED"])
        if not good:
            failures.append(f"{name}: {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")

    for era in ("legacy", "modern"):
        server = ["--", arguments.fixture, "stdio", "--era", era]
        judge(f"record --calls, {era}", run(arguments.bin, "record", "--calls", calls, cassette, *server), 0, "recorded")
        text = cassette.read_text()
        if secret in text or "[redacted]" not in text:
            failures.append(f"the secret is in the cassette, or was not taken out: {text[-1000:]}")
        call = lambda given, words: run(arguments.bin, "call", "--no-validate", *given, *words)
        add = lambda b: ["add", json.dumps({"a": 1.0, "b": b})]
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(Process([arguments.bin, "replay", cassette, "--http"]))
            ways = {
                "stdio": ["--", arguments.bin, "replay", cassette],
                "http": [process.wait_for(r"listening on (\S+)")],
            }
            for way, words in ways.items():
                judge(f"replay {era} over {way}", call(add(2), words), 0, '"3"' if '"3"' in text else "3")
                nearest = "is 4, recorded 2"
                judge(f"replay {era} over {way}, unrecorded", call(add(4), words), 2, nearest)
                other = ["store_value", json.dumps({"key": "password", "value": "password=another"})]
                judge(f"replay {era} over {way}, secret", call(other, words), 0, "content")
    judge("replay of no JSON", run(arguments.bin, "replay", calls), 2, "reading a cassette")
    tools = folder / "tools.json"
    tools.write_text('{"tools": []}')
    judge("replay of no cassette", run(arguments.bin, "replay", tools), 2, "no cassette")
    judge("record without a server", run(arguments.bin, "record", cassette), 2, "no server is named")
    judge("record of no program", run(arguments.bin, "record", folder / "x", "--", "nowhere/x"), 2, "starting `nowhere/x`")
    print_table([["what", "status", ""], *rows])
    return failures


def programs(arguments):
    """A folder with a Python that has the official SDK: that of the published servers."""
    cache = pathlib.Path(arguments.servers_cache).resolve()
    sessions.load("servers").install(cache)
    return cache / "venv/bin"


def action_alone(python):
    """The tests of the action that need no gateway. The Python of pre-commit reads YAML."""
    done = run(python, "-m", "unittest", "-v", ROOT / "integrations/github-action/test_action.py")
    print("\n".join(line for line in done.stderr.splitlines() if " ... " in line or line.startswith("Ran ")))
    return [f"the action's tests: {done.stderr[-3000:]}"] if done.returncode else []


def judge(arguments):
    """Whether anything is wrong."""
    python = install(pathlib.Path(arguments.cache).resolve())
    if arguments.install_only:
        return False
    arguments.bin = pathlib.Path(arguments.bin).resolve()
    arguments.fixture = find_fixture(arguments.fixture)
    parts = arguments.only.split(",") if arguments.only else PARTS
    failures = []

    def take(head, outcome):
        rows, more = outcome
        print_table([head, *rows])
        failures.extend(more)

    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if "check" in parts:
            failures += checked_servers(arguments)
        if "replay" in parts:
            failures += replayed(arguments, folder)
        if "published" in parts or "clients" in parts:
            recording = sessions.Sessions(arguments, stack, folder)
            if "clients" in parts:
                head = ["client", "era", "transport", "entries", "seen", "played alike"]
                take(head, sessions.all_abilities(recording))
            if "published" in parts:
                head = ["server", "package", "client", "played over", "entries", "cassette", "seen", "played alike"]
                take(head, sessions.published_servers(recording, pathlib.Path(arguments.servers_cache).resolve()))
        if "action" in parts:
            url = serving_broken(stack, "good")
            take(["case", "status", ""], integrations.try_action(arguments.bin, python, programs(arguments), BROKEN, url, folder))
            failures += action_alone(python)
        if "hook" in parts:
            take(["case", "status", ""], integrations.try_hook(arguments.bin, python, programs(arguments), BROKEN, folder))
        if "guide" in parts:
            text = ROOT / "docs/guides/servers-that-work-everywhere.md"
            take(["section of the guide", "claims", ""], guide.judge(arguments.bin, text))
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{len(failures)} failures")
    return bool(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway", required="--install-only" not in sys.argv)
    parser.add_argument("--fixture", help="gateway-fixture; built where it is missing")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/authors"))
    parser.add_argument("--servers-cache", default=str(ROOT / "target/servers"), help="that of servers/run.py")
    parser.add_argument("--clients-cache", default=str(ROOT / "target/clients"), help="that of clients/run.py")
    parser.add_argument("--only", help=f"parts, separated by commas: {', '.join(PARTS)}")
    conclude(judge, parser)


if __name__ == "__main__":
    main()
