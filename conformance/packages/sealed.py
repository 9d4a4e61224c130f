"""Commands as on a machine that has Python or Node and nothing else: no compiler, and no network while something is installed."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

from programs import ROOT, START, Unusable

# Where scripts/package installs its tools.
TOOLS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "packaging/tools/bin"
# For one command, in seconds.
LIMIT = 300
COMPILERS = ["cargo", "rustc", "cc", "gcc", "g++", "clang", "zig", "make", "ld"]
LISTENING = r"listening on (http://127\.0\.0\.1:\d+)"


class NotRun(Exception):
    """What a check needs cannot be had here; it is neither good nor bad."""


class Sealed:
    """A place of its own for one check: a home, a `PATH` with a few programs, and nothing of this environment."""

    def __init__(self, folder, programs):
        self.folder = folder
        path = folder / "path"
        path.mkdir(parents=True)
        for name, program in programs.items():
            path.joinpath(name).symlink_to(pathlib.Path(program).resolve())
        self.environment = {
            "HOME": str(folder),
            "PATH": str(path),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            "npm_config_offline": "true",
            "npm_config_cache": str(folder / "npm-cache"),
            "npm_config_update_notifier": "false",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }

    def add_to_path(self, folder):
        self.environment["PATH"] = f"{folder}:{self.environment['PATH']}"

    def run(self, *command, folder=None, offline=False, **environment):
        """What the command prints; raises with all that it said if it fails."""
        if found := [name for name in COMPILERS if shutil.which(name, path=self.environment["PATH"])]:
            raise Unusable(f"PATH of the check has {', '.join(found)}")
        command = [*(without_network() if offline else []), *map(str, command)]
        words = {"cwd": folder or self.folder, "env": self.environment | environment, "stdin": subprocess.DEVNULL}
        process = subprocess.Popen(command, **words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True)
        try:
            said, complained = process.communicate(timeout=LIMIT)
        except BaseException:
            # With all that it has started.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        if process.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {process.returncode}: {(said + complained).strip()[-3000:]}")
        return said.strip()

    def start(self, *command, folder=None):
        return Group(list(map(str, command)), folder or self.folder, self.environment)


class Group:
    """A program and all that it starts: a process group of its own, as a shell makes one. None of it outlives the block."""

    def __init__(self, command, folder, environment):
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        self.said = []
        self.more = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.more:
                self.said.append(line.rstrip())
                self.more.notify_all()

    def wait_for(self, pattern):
        """The first group of the first line that has the pattern."""
        deadline = time.monotonic() + START
        with self.more:
            while not (found := next((match[1] for line in self.said if (match := re.search(pattern, line))), None)):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"{self.process.args} does not start; it said: {self.said}")
                self.more.wait(0.2)
        return found

    def end(self, number, everybody):
        """Ends it as a terminal does, by a signal for the whole group, or as a supervisor does, for the first process; and waits for all."""
        if everybody:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        status = self.process.wait(START)
        deadline = time.monotonic() + START
        while self.is_alive():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.process.args} ended with {status}, but left a process behind; it said: {self.said}")
            time.sleep(0.05)
        return status

    def is_alive(self):
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_alive():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def without_network():
    """What starts a command where there is no network at all, if this system lets us."""
    unshare = shutil.which("unshare")
    for words in ([unshare, "--net"], [unshare, "--map-root-user", "--net"]):
        if unshare and subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    return []
