"""Starts the gateway's program, and ends it."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Any, Mapping, Sequence

from ._guard import Guard
from .async_client import AsyncGatewayClient
from .client import GatewayClient
from .errors import GatewayStartError

if TYPE_CHECKING:
    from typing_extensions import Self

NAME = "mcp-tool-gateway.exe" if os.name == "nt" else "mcp-tool-gateway"
VARIABLE = "MCP_TOOL_GATEWAY_BIN"
LISTENING = re.compile(r"listening on (http://\S+)")
SAID = 20_000
MEMBER = "dataDirectory"


def find_binary() -> str:
    """The program: the one that MCP_TOOL_GATEWAY_BIN names, else the one that was installed with this package, else one on the PATH."""
    if given := os.environ.get(VARIABLE):
        return checked(given, f"{VARIABLE}={given}")
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), sysconfig.get_path("scripts", f"{os.name}_user")]
    for folder in folders:
        candidate = os.path.join(folder, NAME)
        if os.access(candidate, os.X_OK) and not is_script(candidate):
            return candidate
    if found := shutil.which(NAME):
        return found
    raise GatewayStartError(
        f"the program {NAME} is not there: it is not in {folders[0]} and not on the PATH; install a wheel of mcp-tool-gateway that has it, or set {VARIABLE} to its path"
    )


def has_data_folder(config: Mapping[str, Any] | str | os.PathLike[str] | None, environment: Mapping[str, str], arguments: Sequence[str]) -> bool:
    """Whether the caller has said by other means where the gateway's data is."""
    if environment.get("MCP_GATEWAY_DATA") or any(argument.split("=")[0] == "--data" for argument in arguments):
        return True
    if isinstance(config, Mapping):
        return MEMBER in config
    # Where the gateway looks, if no file is named.
    path = pathlib.Path(config or environment.get("MCP_CONFIG_PATH") or "mcp-gateway-config.json")
    try:
        text = path.read_text("utf-8-sig", "replace")
    except OSError:
        # The gateway says what is wrong with it.
        return False
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        # The gateway reads JSON with comments, TOML and YAML, too; there a word has to do.
        return re.search(rf"\b{MEMBER}\b", text) is not None
    return isinstance(found, dict) and MEMBER in found


def is_script(path: str) -> bool:
    """Whether it is a script that would lead back to this package."""
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def checked(path: str, what: str) -> str:
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise GatewayStartError(f"{what} is not a program that can be run; set {VARIABLE} to the path of {NAME}")
    return path


class Gateway:
    """A gateway that runs as long as a block does.

    with Gateway.start({"mcpServers": {"demo": {"type": "builtin"}}}) as client:
        client.call_tool("demo", "add", {"a": 15, "b": 27})

    `async with` gives an `AsyncGatewayClient`. The program listens on a free port of 127.0.0.1, and ends with the servers that it has started; so it does where this program
    is killed (on systems with a shell).
    """

    def __init__(self, process: subprocess.Popen[str], guard: Guard, url: str, folder: str, client: Mapping[str, Any]) -> None:
        self.process = process
        self._guard = guard
        self.url = url
        self._folder = folder
        self._client = client
        self._open: GatewayClient | None = None
        self._open_async: AsyncGatewayClient | None = None
        self._starter = os.getpid()
        atexit.register(self._stop_at_exit)

    @classmethod
    def start(
        cls,
        config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        *,
        binary: str | os.PathLike[str] | None = None,
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
        **client: Any,
    ) -> Self:
        """Starts it with a configuration: a dict, or the path of a file; without one the gateway looks for a file as it always does. `data` is the folder of its log; if absent
        it is the one that is configured (`dataDirectory`, MCP_GATEWAY_DATA), else a temporary one. `port` 0 is any that is free, and `arguments` are more of those that
        `mcp-tool-gateway serve` takes. What else is given goes to the client."""
        program = checked(os.fspath(binary), f"binary={os.fspath(binary)!r}") if binary is not None else find_binary()
        # Not a TemporaryDirectory: that goes away with any process that was forked meanwhile.
        folder = tempfile.mkdtemp(prefix="mcp-tool-gateway-")
        try:
            environment = {**os.environ, **(env or {})}
            command = [program, "serve", "--port", str(port)]
            if data is not None:
                command += ["--data", os.fspath(data)]
            elif not has_data_folder(config, environment, arguments):
                command += ["--data", os.path.join(folder, "data")]
            if isinstance(config, Mapping):
                path = pathlib.Path(folder, "config.json")
                path.write_text(json.dumps(config))
                command += ["--config", str(path)]
            elif config is not None:
                command += ["--config", os.fspath(config)]
            command += arguments
            process, guard, url = launch(command, environment, folder, timeout)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(process, guard, url, folder, client)

    def client(self, **options: Any) -> GatewayClient:
        """One more client of this gateway."""
        return GatewayClient(self.url, **{**self._client, **options})

    def async_client(self, **options: Any) -> AsyncGatewayClient:
        return AsyncGatewayClient(self.url, **{**self._client, **options})

    def stop(self, timeout: float = 30) -> None:
        """Ends the program, and waits until it and its servers are gone."""
        atexit.unregister(self._stop_at_exit)
        end(self.process, timeout)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._guard.release()

    def _stop_at_exit(self) -> None:
        # For programs that end without `stop`; not for their forks, which end earlier.
        if os.getpid() == self._starter:
            self.stop()

    def __enter__(self) -> GatewayClient:
        try:
            self._open = self.client()
        except BaseException:
            self.stop()
            raise
        return self._open

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open.close()
        self.stop()

    async def __aenter__(self) -> AsyncGatewayClient:
        try:
            self._open_async = self.async_client()
        except BaseException:
            await asyncio.to_thread(self.stop)
            raise
        return self._open_async

    async def __aexit__(self, *_: object) -> None:
        if self._open_async is not None:
            await self._open_async.aclose()
        # Its servers may need seconds to end, in which other tasks go on.
        await asyncio.to_thread(self.stop)


class Output:
    """What the program says, read so that it never waits for a reader; the newest part is kept."""

    def __init__(self, process: subprocess.Popen[str], stream: IO[str], guard: Guard) -> None:
        self.process = process
        self.stream = stream
        self.guard = guard
        self.text = ""
        self.url: str | None = None
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.read, name="mcp-tool-gateway output", daemon=True)
        self.thread.start()

    def read(self) -> None:
        for line in self.stream:
            self.text = (self.text + line)[-SAID:]
            if self.url is None and (found := LISTENING.search(line)):
                self.url = found[1]
                self.ready.set()
        self.ready.set()
        self.stream.close()
        self.process.wait()
        self.guard.report_end()


def launch(command: list[str], environment: Mapping[str, str], folder: str, timeout: float) -> tuple[subprocess.Popen[str], Guard, str]:
    """The running program, what ends it with this one, and its address."""
    # Not the arguments, which may hold keys.
    shown = f"`{command[0]} serve`"
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=dict(environment),
        )
    except OSError as error:
        raise GatewayStartError(f"starting {command[0]}: {error}") from error
    assert process.stdout is not None
    guard = Guard(process.pid, folder)
    output = Output(process, process.stdout, guard)
    try:
        output.ready.wait(timeout)
        if output.url is not None:
            return process, guard, output.url
    except BaseException:
        end(process, 5)
        guard.release()
        raise
    if output.ready.is_set():
        status = process.wait()
        output.thread.join(5)
        guard.release()
        raise GatewayStartError(f"{shown} ended with status {status}; it said:\n{output.text.strip()}")
    end(process, 5)
    guard.release()
    raise GatewayStartError(f"{shown} did not listen within {timeout:g} s; it said:\n{output.text.strip()}")


def end(process: subprocess.Popen[str], timeout: float) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
