#!/usr/bin/env python3
"""Real data for the judges: the tools that published MCP servers list, and the JSON Schema test suite.

    capture.py [--out FOLDER] [--jobs N]

Installs the servers of servers.toml, starts each over stdio, writes what it lists to FOLDER/corpus/servers, and takes the packages
away again. The suite goes to FOLDER/json-schema-test-suite. Does nothing where FOLDER already has what this folder describes.
Exit status: 0 good, 1 too few servers answered, 2 nothing could be installed.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, Unusable, conclude, install_node_packages, install_python_packages, pinned_packages

# The suite, as the source distribution of this package carries it.
SUITE = "jsonschema==4.25.1"
# A machine that is busy may leave a server behind; fewer than this are no corpus.
LEAST = 40
# For one server to start and list its tools, in seconds.
PATIENCE = 90
PROTOCOL = "2025-11-25"


def read_list():
    """The servers of the list, each with its registry and version."""
    listed = tomllib.loads((HERE / "servers.toml").read_text())
    versions = pinned_packages(HERE / "requirements.txt")
    npm = [{"registry": "npm", **server} for server in listed["npm"]]
    pypi = [{"registry": "pypi", "version": versions[server["package"]], **server} for server in listed["pypi"]]
    return npm + pypi, listed["before"]


def install_node(servers, before, folder):
    folder.mkdir()
    manifest = folder.parent / "package.json"
    wanted = {server["package"]: server["version"] for server in servers if server["registry"] == "npm"}
    manifest.write_text(json.dumps({"private": True, "dependencies": wanted}))
    install_node_packages(manifest, folder, "--omit=optional", "--omit=peer", "--prefer-dedupe", f"--before={before}")


def install_suite(folder, out):
    """Unpacks the suite out of the source distribution; only that package comes as source, what builds it does not."""
    name = SUITE.split("==")[0]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--no-binary", name, "--dest", folder, SUITE]
    if subprocess.run(command).returncode != 0:
        raise Unusable(f"pip could not download the source of {SUITE}")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    shutil.copytree(next(folder.glob("*/json/tests")), out / "json-schema-test-suite/tests")


def command_of(server, packages):
    """How an installed server is started."""
    if server["registry"] == "pypi":
        return [str(packages / "python/bin" / server.get("command", server["package"]))]
    folder = packages / "node/node_modules" / server["package"]
    programs = json.loads((folder / "package.json").read_text())["bin"]
    if isinstance(programs, str):
        return ["node", str(folder / programs)]
    return ["node", str(folder / programs[server.get("command", next(iter(programs)))])]


def without_network():
    """What to put before a command so that it has no network, if this machine allows that."""
    prefix = ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") and subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return prefix
    return []


class Server:
    """A running server: sends requests and reads their answers, one after the other."""

    def __init__(self, command, home, errors):
        environment = {
            "PATH": f"{pathlib.Path(command[-1]).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        self.process = subprocess.Popen(command, env=environment, cwd=home, start_new_session=True, **pipes)
        self.timer = threading.Timer(PATIENCE, self.kill)
        self.timer.start()
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.kill()
        self.process.wait()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def send(self, method, params, **more):
        message = {"jsonrpc": "2.0", **more, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send(method, params, id=self.count)
        for line in self.process.stdout:
            # Servers log to standard output too.
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict) and message.get("id") == self.count and "method" not in message:
                    if "result" not in message:
                        raise OSError(f"{method} is refused: {message.get('error')}")
                    return message["result"]
        raise OSError(f"no answer to {method}")

    def list_tools(self):
        client = {"name": "corpus", "version": "1"}
        start = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        introduction = self.ask("initialize", start)
        self.send("notifications/initialized", {})
        tools, cursors = [], [None]
        while True:
            page = self.ask("tools/list", {"cursor": cursors[-1]} if cursors[-1] else {})
            tools += page["tools"]
            if not page.get("nextCursor") or page["nextCursor"] in cursors:
                return introduction, tools
            cursors.append(page["nextCursor"])


def capture(server, prefix, packages):
    """What the server lists, in the form of a corpus file, or why it lists nothing."""
    # What a server has started may still write into its home while that is removed.
    home_of_its_own = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with home_of_its_own as home, tempfile.TemporaryFile() as errors:
        given = [text.replace("{folder}", home) for text in server.get("args", [])]
        try:
            with Server([*prefix, *command_of(server, packages), *given], home, errors) as running:
                introduction, tools = running.list_tools()
            if not tools:
                raise OSError("it lists no tools")
        except (OSError, KeyError) as problem:
            errors.seek(0)
            return None, f"{problem!r}; it said: {errors.read().decode(errors='replace')[-300:]!r}"
    facts = {"server": server["package"], **{key: server[key] for key in ("registry", "package", "version")}}
    facts |= {key: introduction.get(key) for key in ("serverInfo", "protocolVersion")}
    return {**facts, "tools": tools}, None


def file_name(package):
    return re.sub(r"[^A-Za-z0-9._-]+", "_", package.replace("@", "")) + ".json"


def capture_all(servers, packages, folder, jobs):
    """Writes what each server lists; returns how many tools there are, and the servers that list none."""
    prefix = without_network()
    folder.mkdir(parents=True)
    tools, silent = 0, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for server, (held, problem) in zip(servers, pool.map(lambda one: capture(one, prefix, packages), servers)):
            if held is None:
                silent.append(f"{server['package']} {server['version']}: {problem}")
            else:
                (folder / file_name(server["package"])).write_text(json.dumps(held, ensure_ascii=False, indent=1) + "\n")
                tools += len(held["tools"])
    return tools, silent


def fill(arguments):
    """Whether too few servers answered."""
    out = pathlib.Path(arguments.out).resolve()
    own = [HERE / name for name in ("servers.toml", "requirements.txt", "capture.py")]
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in own)).hexdigest()
    stamp = out / "complete"
    if stamp.exists() and stamp.read_text() == wanted:
        print(f"{out} is complete: {len(list((out / 'corpus/servers').iterdir()))} servers")
        return False
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    servers, before = read_list()
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        packages = pathlib.Path(scratch)
        (packages / "suite").mkdir()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            parts = [
                pool.submit(install_node, servers, before, packages / "node"),
                pool.submit(install_python_packages, HERE / "requirements.txt", packages / "python"),
                pool.submit(install_suite, packages / "suite", out),
            ]
            for part in parts:
                part.result()
        tools, silent = capture_all(servers, packages, out / "corpus/servers", arguments.jobs)
    for text in silent:
        print(f"not captured: {text}")
    captured = len(servers) - len(silent)
    print(f"{tools} tools of {captured} servers in {out}")
    if not silent:
        stamp.write_text(wanted)
    return captured < LEAST


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=str(ROOT / "target/data"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="servers that run at once")
    conclude(fill, parser)


if __name__ == "__main__":
    main()
