"""HTTP by the standard library: a bounded pool of connections that are kept, each attempt with one deadline for all that it reads and writes."""

from __future__ import annotations

import http.client
import io
import os
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any, Callable

from ._answers import Head, pool_is_full, timed_out
from ._clock import Clock
from ._requests import Address, Request, header_in
from .errors import AnswerTooLargeError, GatewayError, InvalidAnswerError, NetworkError, UnreachableError

PIECE = 64 * 1024
HEAD_LIMIT = 256 * 1024


class _TimedSocket:
    """What `http.client` asks of a socket, each time with what is left: a timeout of the socket alone would begin again with every byte."""

    def __init__(self, connected: socket.socket, clock: Clock) -> None:
        self.connected = connected
        self.clock = clock

    def sendall(self, data: Any) -> None:
        self.connected.settimeout(self.clock.left())
        self.connected.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self), PIECE)

    def fileno(self) -> int:
        return self.connected.fileno()

    def close(self) -> None:
        self.connected.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, timed: _TimedSocket) -> None:
        super().__init__()
        self.timed = timed
        # A file of the socket keeps it open until the answer is read.
        self.file = timed.connected.makefile("rb", 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self.timed.connected.settimeout(self.timed.clock.left())
        return self.file.readinto(buffer)

    def close(self) -> None:
        self.file.close()
        super().close()


class _HeadReader:
    """The lines of a head, counted; `http.client` takes the end of the connection for the end of the head."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.size = 0

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self.source.readline(limit)
        # An empty first line is a connection that was closed before it was used again.
        is_cut = not line.endswith(b"\n") and (limit < 0 or len(line) < limit)
        if is_cut and (line or self.size):
            raise http.client.IncompleteRead(line)
        self.size += len(line)
        if self.size > HEAD_LIMIT:
            raise http.client.LineTooLong("head")
        return line

    def close(self) -> None:
        self.source.close()

    def flush(self) -> None:
        pass


class _Response(http.client.HTTPResponse):
    fp: Any

    def begin(self) -> None:
        source = self.fp
        self.fp = _HeadReader(source)
        try:
            super().begin()
        finally:
            if self.fp is not None:
                self.fp = source

    def _read_status(self) -> tuple[str, int, str]:
        """The status of the answer itself: `http.client` passes over 100 alone, and takes another interim one for the answer."""
        # Type checkers do not know these methods of the standard library.
        parent: Any = super()
        while True:
            version, status, reason = parent._read_status()
            if status >= 200 or status in (http.client.CONTINUE, http.client.SWITCHING_PROTOCOLS):
                return version, status, reason
            while self.fp.readline(HEAD_LIMIT).strip():
                pass

    def _read_next_chunk_size(self) -> int:
        parent: Any = super()
        size: int = parent._read_next_chunk_size()
        if size < 0:
            raise ValueError(size)
        return size


class _Connection(http.client.HTTPConnection):
    """A connection with a clock, which each attempt sets."""

    response_class = _Response

    def __init__(self, address: Address, context: ssl.SSLContext | None) -> None:
        super().__init__(address.host, address.port)
        self.context = context
        self.timed: _TimedSocket | None = None

    def connect_within(self, clock: Clock) -> None:
        connected = socket.create_connection((self.host, self.port), clock.left_to_connect())
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context:
                connected.settimeout(clock.left_to_connect())
                connected = self.context.wrap_socket(connected, server_hostname=self.host)
        except BaseException:
            connected.close()
            raise
        self.timed = self.sock = _TimedSocket(connected, clock)

    def set_clock(self, clock: Clock) -> None:
        if self.timed is not None:
            self.timed.clock = clock

    def exchange(self, request: Request, target: str) -> http.client.HTTPResponse:
        has_host = header_in(request.headers, "Host") is not None
        self.putrequest(request.method, target, skip_host=has_host, skip_accept_encoding=True)
        for name, value in request.headers.items():
            self.putheader(name, value)
        if request.body is not None:
            self.putheader("Content-Length", str(len(request.body)))
        self.endheaders(request.body)
        response = self.getresponse()
        length = response.headers.get("content-length")
        if length is not None and not length.strip().isdecimal():
            # `http.client` would read until the connection ends.
            raise http.client.HTTPException(f"content-length: {length}")
        return response

    def is_stale(self) -> bool:
        """Whether the other side has closed it, or says something that nobody asked for."""
        if self.sock is None:
            return True
        try:
            return bool(select.select([self.sock], [], [], 0)[0])
        except (OSError, ValueError):
            return True


class Transport:
    """Sends requests over at most `max_connections` connections at once; threads may share it."""

    def __init__(self, address: Address, *, max_connections: int, max_answer_bytes: int, context: ssl.SSLContext | None) -> None:
        self.address = address
        self.max_answer_bytes = max_answer_bytes
        self.context = (context or ssl.create_default_context()) if address.scheme == "https" else None
        self.max_connections = max_connections
        self.free = threading.BoundedSemaphore(max_connections)
        self.lock = threading.Lock()
        self.idle: list[_Connection] = []
        self.process = os.getpid()
        self.closed = False

    def send(self, request: Request, seconds: float | None) -> tuple[Head, bytes]:
        stream = self.open(request, seconds)
        try:
            return stream.head, stream.read()
        finally:
            stream.close()

    def open(self, request: Request, seconds: float | None) -> Stream:
        """The answer, with its head read."""
        clock = Clock(seconds)
        connection = self._take(clock)
        stream: Stream | None = None
        try:
            if connection.sock is None:
                with _connecting(self.address, clock):
                    connection.connect_within(clock)
            connection.set_clock(clock)
            with _reading(clock):
                response = connection.exchange(request, self.address.prefix + request.target)
            stream = Stream(self, connection, response, clock)
            return stream
        finally:
            if stream is None:
                self._give_back(connection, reusable=False)

    def _take(self, clock: Clock) -> _Connection:
        if self.closed:
            raise GatewayError("this client is closed")
        try:
            left = clock.left_to_connect()
        except TimeoutError:
            left = 0
        if not self.free.acquire(timeout=left):
            raise pool_is_full(self.max_connections)
        with self.lock:
            if self.process != os.getpid():
                # A forked process must not talk on its parent's connections.
                self.idle, self.process = [], os.getpid()
            while self.idle:
                connection = self.idle.pop()
                if not connection.is_stale():
                    return connection
                connection.close()
        return _Connection(self.address, self.context)

    def _give_back(self, connection: _Connection, reusable: bool) -> None:
        with self.lock:
            keep = reusable and not self.closed
            if keep:
                self.idle.append(connection)
        if not keep:
            connection.close()
        self.free.release()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()


class Stream:
    """An answer whose body is read as it comes."""

    def __init__(self, transport: Transport, connection: _Connection, response: http.client.HTTPResponse, clock: Clock) -> None:
        self.transport = transport
        self.connection = connection
        self.response = response
        self.clock = clock
        headers: dict[str, str] = {}
        for name, value in response.getheaders():
            lower = name.lower()
            headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
        self.head = Head(response.status, headers)
        self.open = True
        # Whether all that was read so far could be read.
        self.intact = True

    def pieces(self, patience: Callable[[], float | None] | None = None) -> Iterator[bytes]:
        """The body as it comes, in the time of the attempt; with `patience`, each piece has the time that this gives for it."""
        while True:
            if patience is not None:
                # The socket is shared with the response, also where the connection has given it away.
                self.clock.restart(patience())
            self.intact = False
            with _reading(self.clock):
                piece = self.response.read1(PIECE)
                if not piece and self.response.length:
                    raise http.client.IncompleteRead(b"", self.response.length)
            self.intact = True
            if not piece:
                return
            yield piece

    def read(self) -> bytes:
        parts, size = [], 0
        for piece in self.pieces():
            size += len(piece)
            if size > self.transport.max_answer_bytes:
                raise AnswerTooLargeError(f"the answer is larger than max_answer_bytes={self.transport.max_answer_bytes}", status=self.head.status)
            parts.append(piece)
        return b"".join(parts)

    def close(self) -> None:
        if self.open:
            self.open = False
            # A body that was not read to its end would be taken for the next answer.
            # Up to Python 3.12 a body that was read to its announced length does not count as closed.
            at_end = self.response.isclosed() or self.response.length == 0
            reusable = at_end and self.intact and not self.response.will_close
            self.response.close()
            self.transport._give_back(self.connection, reusable)


class _connecting:
    """Errors of making a connection: nothing was sent."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self.address = address
        self.clock = clock

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, OSError):
            reason = f"no connection within {self.clock.seconds_to_connect:g} s" if isinstance(error, TimeoutError) else (error.strerror or str(error))
            raise UnreachableError(f"Network error: {self.address}: {reason}; is the gateway running?") from error


class _reading:
    """Errors of sending a request and of reading its answer: it may have run."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, TimeoutError):
            raise timed_out(self.clock.seconds) from error
        if isinstance(error, http.client.IncompleteRead):
            raise NetworkError("Network error: the connection ended in the middle of the answer") from error
        if isinstance(error, http.client.RemoteDisconnected):
            raise NetworkError("Network error: the connection ended before the answer") from error
        if isinstance(error, OSError):
            raise NetworkError(f"Network error: {error.strerror or error}") from error
        if isinstance(error, (http.client.HTTPException, ValueError)):
            text = f"what answers does not speak HTTP as a gateway does: {type(error).__name__} {error}".rstrip()
            raise InvalidAnswerError(text) from error
