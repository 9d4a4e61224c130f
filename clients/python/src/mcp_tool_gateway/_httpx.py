"""HTTP for asyncio, by httpx or httpx2, whichever is there."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Callable

from ._answers import Head, pool_is_full, timed_out
from ._clock import Clock
from ._requests import Address, Request
from .errors import AnswerTooLargeError, GatewayError, InvalidAnswerError, MissingDependencyError, NetworkError, UnreachableError

LIBRARIES = ("httpx", "httpx2")


def find_library() -> Any:
    for name in LIBRARIES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingDependencyError("AsyncGatewayClient needs httpx or httpx2: pip install 'mcp-tool-gateway[async]'; GatewayClient needs neither")


class Progress:
    """How far an attempt is, by what the library reports of it."""

    def __init__(self) -> None:
        self.is_connecting = False
        self.is_sent = False

    async def report(self, name: str, _info: Any) -> None:
        if name == "connection.connect_tcp.started":
            self.is_connecting = True
        elif name.endswith(".send_request_headers.started"):
            self.is_sent = True


class AsyncTransport:
    """Sends requests over at most `max_connections` connections at once."""

    def __init__(self, address: Address, *, max_connections: int, max_answer_bytes: int, context: ssl.SSLContext | None) -> None:
        self.library = find_library()
        self.address = address
        self.max_answer_bytes = max_answer_bytes
        self.max_connections = max_connections
        limits = self.library.Limits(max_connections=max_connections, max_keepalive_connections=max_connections)
        # The machine's certificates, as for the synchronous client; the library would take those of another package, and where none are needed it takes time to read them.
        verify = context or (ssl.create_default_context() if address.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        # Proxies of the environment and redirects would take keys to other machines.
        self.client = self.library.AsyncClient(
            limits=limits, timeout=None, trust_env=False, follow_redirects=False, verify=verify
        )
        self.closed = False

    async def send(self, request: Request, seconds: float | None) -> tuple[Head, bytes]:
        progress = Progress()

        async def exchange() -> tuple[Head, bytes]:
            stream = await self.begin(request, Clock(None), Clock(seconds).seconds_to_connect, progress)
            try:
                return stream.head, await stream.read()
            finally:
                await stream.aclose()

        # One limit for the whole is cheaper than one for each piece.
        with self.translated(seconds, progress):
            return await asyncio.wait_for(exchange(), seconds)

    async def open(self, request: Request, seconds: float | None) -> AsyncStream:
        """The answer, with its head read."""
        clock, progress = Clock(seconds), Progress()
        with self.translated(seconds, progress):
            return await asyncio.wait_for(self.begin(request, clock, clock.seconds_to_connect, progress), seconds)

    async def begin(self, request: Request, clock: Clock, connecting: float, progress: Progress) -> AsyncStream:
        if self.closed:
            raise GatewayError("this client is closed")
        url = f"{self.address}{request.target}"
        made = self.client.build_request(
            request.method,
            url,
            headers=dict(request.headers),
            content=request.body,
            timeout=self.library.Timeout(None, connect=connecting, pool=connecting),
            extensions={"trace": progress.report},
        )
        # What the library would add by itself: answers are read as they are.
        made.headers["accept-encoding"] = "identity"
        return AsyncStream(self, await self.client.send(made, stream=True), clock)

    def unreached(self, seconds: float | None, progress: Progress) -> UnreachableError:
        """The error of an attempt that ended before anything was sent."""
        if not progress.is_connecting:
            return pool_is_full(self.max_connections)
        return UnreachableError(f"Network error: {self.address}: no connection within {Clock(seconds).seconds_to_connect:g} s; is the gateway running?")

    @contextmanager
    def translated(self, seconds: float | None, progress: Progress | None = None) -> Iterator[None]:
        """The library's errors as ours."""
        library = self.library
        try:
            yield
        # Up to Python 3.10 the one of asyncio is another class.
        except (asyncio.TimeoutError, TimeoutError) as error:
            if progress is not None and not progress.is_sent:
                raise self.unreached(seconds, progress) from error
            raise timed_out(seconds) from error
        except (library.ConnectTimeout, library.PoolTimeout) as error:
            raise self.unreached(seconds, progress or Progress()) from error
        except library.ConnectError as error:
            raise UnreachableError(f"Network error: {self.address}: {error}; is the gateway running?") from error
        except library.RemoteProtocolError as error:
            # The library has one error for answers that end too early and for answers that are no HTTP.
            if any(word in str(error) for word in ("disconnected", "peer closed", "incomplete")):
                raise NetworkError(f"Network error: {error}") from error
            raise InvalidAnswerError(f"what answers does not speak HTTP as a gateway does: {error}") from error
        except (library.TransportError, OSError) as error:
            raise NetworkError(f"Network error: {error or type(error).__name__}") from error
        except library.DecodingError as error:
            raise InvalidAnswerError(f"the answer cannot be decoded: {error}") from error

    async def aclose(self) -> None:
        self.closed = True
        await self.client.aclose()


class AsyncStream:
    """An answer whose body is read as it comes."""

    def __init__(self, transport: AsyncTransport, response: Any, clock: Clock) -> None:
        self.clock = clock
        self.transport = transport
        self.response = response
        self.head = Head(response.status_code, {name.lower(): value for name, value in response.headers.items()})

    async def pieces(self, patience: Callable[[], float | None] | None = None) -> AsyncIterator[bytes]:
        """The body as it comes, in the time of the attempt; with `patience`, each piece has the time that this gives for it."""
        source = self.response.aiter_raw().__aiter__()
        while True:
            if patience is not None:
                self.clock.restart(patience())
            with self.transport.translated(self.clock.seconds):
                try:
                    piece = await asyncio.wait_for(source.__anext__(), self.clock.left())
                except StopAsyncIteration:
                    return
            yield piece

    async def read(self) -> bytes:
        parts, size = [], 0
        async for piece in self.pieces():
            size += len(piece)
            if size > self.transport.max_answer_bytes:
                raise AnswerTooLargeError(f"the answer is larger than max_answer_bytes={self.transport.max_answer_bytes}", status=self.head.status)
            parts.append(piece)
        return b"".join(parts)

    async def aclose(self) -> None:
        await self.response.aclose()
