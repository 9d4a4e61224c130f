"""Programs that the runners of authors/, clients/, examples/, live/, models/, openai_clients/, protocol/, real_model/, selection/, servers/ and of the
clients for Python and TypeScript install, start and end."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
# For anything to start or end, in seconds.
START = 60


class Unusable(Exception):
    """Something that is needed does not work; nothing was judged."""


class Process:
    """A program that runs as long as the block does; what it says on standard error is shown unless `stderr` says otherwise.
    With `own_group` a signal from the terminal reaches only this script, which ends the program itself."""

    def __init__(self, command, environment=None, stderr=None, own_group=False):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **(environment or {})},
            start_new_session=own_group,
        )
        self.lines = []
        self.came = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.came:
                self.lines.append(line.rstrip())
                self.came.notify_all()

    def wait_for(self, pattern):
        """The first group of the first line that has the pattern."""
        find = lambda: next((match for line in list(self.lines) if (match := re.search(pattern, line))), None)
        deadline = time.monotonic() + START
        with self.came:
            while not (match := find()):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise Unusable(f"{self.process.args[0]} does not start; it said: {self.lines}")
                self.came.wait(0.2)
        return match[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(START)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def serving(binary, config, data, **environment):
    """The gateway with that configuration: its process, and the port on which it listens."""
    command = [binary, "serve", "--port", "0", "--config", config, "--data", data]
    with Process(command, {"LOG_LEVEL": "error", **environment}) as gateway:
        yield gateway.process, gateway.wait_for(r"listening on http://127\.0\.0\.1:(\d+)")


def wait_until_ready(port):
    """Returns when the gateway says that all servers it needs are there."""
    deadline = time.monotonic() + START
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=START):
                return
        except (urllib.error.URLError, ConnectionError) as error:
            if time.monotonic() > deadline:
                raise Unusable(f"the gateway does not get ready: {error}") from error
        time.sleep(0.1)


def find_fixture(given):
    """The fixture that was named, else the newest one that was built; builds it where there is none."""
    return find_program("gateway-fixture", given)


def find_program(name, given):
    """The same for any program of the testkit."""
    if given:
        return pathlib.Path(given).resolve()
    built = lambda: list((ROOT / "target").glob(f"*/{name}"))
    if not built():
        build = ["cargo", "build", "--quiet", "-p", "gateway-testkit", "--bin", name]
        if subprocess.run(build, cwd=ROOT).returncode != 0:
            raise Unusable(f"{name} could not be built")
    return max(built(), key=lambda path: path.stat().st_mtime)


def run_to_end(command, folder, environment, limit):
    """Exit status of a program and all that it said; after `limit` seconds it is ended, with what it started."""
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said = process.communicate()[0] + f"\nno end within {limit} s"
    return process.returncode, said


def install_once(folder, wanted, fill):
    """Lets `fill` put into a new folder what is `wanted`, unless that is what the folder has."""
    stamp = folder.with_name(f"{folder.name}.installed")
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    stamp.unlink(missing_ok=True)
    folder.mkdir(parents=True)
    fill(folder)
    stamp.write_text(wanted)


def install_node_packages(manifest, folder, *more):
    """Puts what a package.json names into the folder; no package may run anything meanwhile."""
    if not shutil.which("npm"):
        raise Unusable(f"npm is not there: {manifest.parent.name} needs packages of it")
    shutil.copy(manifest, folder)
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--silent", "--ignore-scripts"]
    if subprocess.run(["npm", "install", *quiet, *more], cwd=folder).returncode != 0:
        raise Unusable(f"npm could not install what {manifest} names")


def install_python_packages(requirements, folder):
    """Makes an environment of what a file names. It names every package with its version, so there is nothing to resolve."""
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    for command in ([sys.executable, "-m", "venv", folder], [*pip, "--no-deps", "-r", requirements]):
        if subprocess.run(command).returncode != 0:
            raise Unusable(f"what {requirements} names could not be installed")


def pinned_packages(path):
    """The versions that a package.json or a file of requirements pins, by package."""
    if path.suffix == ".json":
        return json.loads(path.read_text())["dependencies"]
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return dict(line.split("==") for line in lines if line)


def newest_version(package, python=None):
    """The newest version that npm's registry has of a package, or that of the `python`; `?` if it does not answer."""
    pip = [python, "-m", "pip", "index", "versions", "--disable-pip-version-check", package]
    try:
        said = subprocess.run(pip if python else ["npm", "view", package, "version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    words = said.stdout.split()
    if said.returncode or not words:
        return "?"
    # pip says "name (version)".
    return words[1].strip("()") if python else words[0]


@contextlib.contextmanager
def newest_versions(packages):
    """The newest version of each (package, python) as `newest_version` has it, whole when the block ends: registries answer while it runs."""
    found = {}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        asked = {entry: pool.submit(newest_version, *entry) for entry in packages}
        yield found
        answered, _ = concurrent.futures.wait(asked.values(), START)
        pool.shutdown(wait=False, cancel_futures=True)
        found.update((entry, future.result() if future in answered else "?") for entry, future in asked.items())


@contextlib.contextmanager
def versions_beside_newest(pinned, python=None):
    """Prints, when the block ends, the versions of packages beside the newest of their registry."""
    with newest_versions([(package, python) for package in pinned]) as newest:
        yield
    print_table([["package", "pinned", "newest"], *([package, version, newest[package, python]] for package, version in pinned.items())])


def conclude(judge, parser):
    """Ends with what `judge(arguments)` says, whether something is wrong: 0, or 1 if so, or 2 if nothing could be judged."""
    arguments = parser.parse_args()
    # So that what was started is also ended when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(1 if judge(arguments) else 0)
    except Unusable as problem:
        print(f"run.py: {problem}", file=sys.stderr)
        sys.exit(2)


def print_table(rows):
    """Rows of a table, of which the first is its head, in columns of equal width."""
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
    print()
