"""Ends the gateway's program where this one ends without a chance to do so, as by SIGTERM or SIGKILL."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref

SHELL = "/bin/sh"
# Its input ends when this program ends, however that comes about, and whichever thread has started the gateway. It is a shell, since `sys.executable` need not be Python.
SCRIPT = r"""
trap '' HUP INT TERM
pid=$1
while IFS= read -r word; do
    case $word in
        ended) pid= ;;
        stopped) exit 0 ;;
    esac
done
if [ -n "$pid" ]; then
    kill -TERM "$pid" 2>/dev/null
    waits=0
    while kill -0 "$pid" 2>/dev/null; do
        # In containers nobody may collect what has ended.
        case $(cat "/proc/$pid/stat" 2>/dev/null) in *') Z '*) break ;; esac
        waits=$((waits + 1))
        if [ "$waits" -gt 300 ]; then kill -KILL "$pid"; break; fi
        sleep 0.1 2>/dev/null || sleep 1
    done
fi
rm -rf -- "$2"
"""


class Guard:
    """A shell that waits for the end of this program, and then ends the gateway and removes its folder. Where there is no shell, nothing waits."""

    def __init__(self, pid: int, folder: str) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        if not os.access(SHELL, os.X_OK):
            return
        command = [SHELL, "-c", SCRIPT, "mcp-tool-gateway-guard", str(pid), folder]
        nowhere = subprocess.DEVNULL
        # In a session of its own, so that what a terminal sends to this program does not reach it.
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, cwd="/", start_new_session=True)
            self._close_in_forks()

    def _close_in_forks(self) -> None:
        # A fork would keep the shell waiting. The function cannot be unregistered, so it must not keep this object.
        reference = weakref.ref(self)

        def close() -> None:
            guard = reference()
            if guard is not None:
                guard._close()

        os.register_at_fork(after_in_child=close)

    def _close(self) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError):
                self._shell.stdin.close()

    def _say(self, word: bytes) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._shell.stdin.write(word + b"\n")

    def report_end(self) -> None:
        """The gateway has ended: its number may belong to another process soon."""
        self._say(b"ended")

    def release(self) -> None:
        """Nothing is left to be done."""
        self._say(b"stopped")
        self._close()
        if self._shell is not None:
            self._shell.wait()
