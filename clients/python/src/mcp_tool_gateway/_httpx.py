"""HTTP for asyncio, by httpx or httpx2, whichever is there."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from ._answers import Head, timed_out
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


class AsyncTransport:
    """Sends requests over at most `max_connections` connections at once."""

    def __init__(self, address: Address, *, max_connections: int, max_answer_bytes: int, context: ssl.SSLContext | None) -> None:
        self.library = find_library()
        self.address = address
        self.max_answer_bytes = max_answer_bytes
        self.max_connections = max_connections
        limits = self.library.Limits(max_connections=max_connections, max_keepalive_connections=max_connections)
        # Proxies of the environment and redirects would take keys to other machines.
        self.client = self.library.AsyncClient(
            limits=limits, timeout=None, trust_env=False, follow_redirects=False, verify=context if context is not None else True
        )
        self.closed = False

    async def send(self, request: Request, seconds: float | None) -> tuple[Head, bytes]:
        async def exchange() -> tuple[Head, bytes]:
            stream = await self.open(request, None)
            try:
                return stream.head, await stream.read()
            finally:
                await stream.aclose()

        try:
            return await asyncio.wait_for(exchange(), seconds)
        except asyncio.TimeoutError as error:
            raise timed_out(seconds) from error

    async def open(self, request: Request, seconds: float | None) -> AsyncStream:
        """The answer, with its head read."""
        if self.closed:
            raise GatewayError("this client is closed")
        url = f"{self.address}{request.target}"
        made = self.client.build_request(request.method, url, headers=dict(request.headers), content=request.body)
        # What the library would add by itself: answers are read as they are.
        made.headers["accept-encoding"] = "identity"
        with self.translated(seconds):
            response = await asyncio.wait_for(self.client.send(made, stream=True), seconds)
        return AsyncStream(self, response)

    @contextmanager
    def translated(self, seconds: float | None) -> Iterator[None]:
        """The library's errors as ours."""
        library = self.library
        try:
            yield
        except asyncio.TimeoutError as error:
            raise timed_out(seconds) from error
        except (library.ConnectError, library.ConnectTimeout, library.PoolTimeout) as error:
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

    def __init__(self, transport: AsyncTransport, response: Any) -> None:
        self.transport = transport
        self.response = response
        self.head = Head(response.status_code, {name.lower(): value for name, value in response.headers.items()})

    async def pieces(self, seconds: float | None = None) -> AsyncIterator[bytes]:
        """The body as it comes; with `seconds`, each piece has that time."""
        source = self.response.aiter_raw().__aiter__()
        while True:
            with self.transport.translated(seconds):
                try:
                    piece = await asyncio.wait_for(source.__anext__(), seconds)
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
