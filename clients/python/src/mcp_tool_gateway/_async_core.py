"""How the asynchronous client sends requests: attempts, answers and streams."""

from __future__ import annotations

import asyncio
import ssl
import time
import uuid
from collections.abc import AsyncGenerator
from typing import Any, Callable, Mapping

from ._answers import Attempts, Metadata, Policy, error_of, http_error, read, with_metadata
from ._events import Event, EventReader
from ._httpx import AsyncStream, AsyncTransport
from ._requests import Address, Request, build, check_time, merge_headers
from .errors import GatewayError, InvalidAnswerError, InvalidRequestError, NetworkError

JSON = ("application/json",)
EVENTS = "text/event-stream"


class AsyncCore:
    """The gateway at `url`.

    `timeout` is what one attempt may take, in seconds, and `deadline` what all attempts of a request may take together. A request is sent again up to `max_retries` times,
    after `retry_delay` seconds, each time `retry_backoff` times as long: where no connection came about; and where the connection broke or the gateway answered with 5xx,
    if the request changes nothing, or carries an idempotency key, which the client makes for each call of a tool. Errors of the caller (4xx) are final.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8787",
        timeout: float | None = 60,
        max_retries: int = 3,
        retry_delay: float = 1,
        retry_backoff: float = 2,
        *,
        deadline: float | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        max_connections: int = 32,
        max_answer_bytes: int = 256 * 1024 * 1024,
        ssl_context: ssl.SSLContext | None = None,
        bytes_for_boto3: bool | None = None,
    ) -> None:
        for name, value, least in (
            ("max_retries", max_retries, 0),
            ("retry_delay", retry_delay, 0),
            ("retry_backoff", retry_backoff, 0),
            ("max_connections", max_connections, 1),
        ):
            # So that a NaN fails, too.
            if not value >= least:
                raise InvalidRequestError(f"{name}={value!r}: expected {least} or more")
        check_time("timeout", timeout)
        check_time("deadline", deadline)
        self.url = url
        self._policy = Policy(timeout, max_retries, retry_delay, retry_backoff, deadline)
        self._headers = merge_headers(headers or {}, {} if api_key is None else {"Authorization": f"Bearer {api_key}"})
        self._bytes_for_boto3 = bytes_for_boto3
        self._transport = AsyncTransport(
            Address.parse(url), max_connections=max_connections, max_answer_bytes=max_answer_bytes, context=ssl_context
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def _call(self, name: str, given: Mapping[str, Any], *, body: Any = None, accepts: tuple[str, ...] = JSON) -> Any:
        """What an operation answers; sent again where that is safe."""
        request = self._build(name, given, body, ", ".join(accepts))
        attempts = Attempts(self._policy, request, time.monotonic())
        while True:
            replayed = False
            try:
                head, content = await self._transport.send(request, attempts.begin(time.monotonic()))
                replayed = head.about(request).replayed
                return read(request, head, content, accepts)
            except GatewayError as error:
                delay = attempts.delay_after(error, time.monotonic(), replayed)
            await asyncio.sleep(delay)

    def _build(self, name: str, given: Mapping[str, Any], body: Any, accept: str, keyed: bool = True) -> Request:
        headers = merge_headers(self._headers, given.get("headers") or {})
        return build(name, {**given, "headers": headers}, body=body, accept=accept, keyed=keyed)

    async def _open(self, request: Request, attempts: Attempts) -> AsyncStream:
        """A stream of events whose head says so; sent again as other requests are."""
        while True:
            try:
                stream = await self._transport.open(request, attempts.begin(time.monotonic()))
                if stream.head.status == 200 and stream.head.media_type() == EVENTS:
                    return stream
                try:
                    content = await stream.read()
                finally:
                    await stream.aclose()
                if not 200 <= stream.head.status < 300:
                    raise http_error(request, stream.head, content)
                text = f"{request.method} {request.target}: expected a stream of events, got {stream.head.media_type() or 'no content type'}"
                raise InvalidAnswerError(text, status=stream.head.status, correlation_id=request.correlation_id)
            except GatewayError as error:
                delay = attempts.delay_after(error, time.monotonic())
            await asyncio.sleep(delay)

    async def _events(self, name: str, given: Mapping[str, Any], *, body: Any = None, ends: bool = True) -> AsyncGenerator[Event, None]:
        """The events of a stream that runs tools, or of one that nobody can resume: it is never asked for twice once it has begun."""
        request = self._build(name, given, body, EVENTS, keyed=False)
        attempts = Attempts(self._policy, request, time.monotonic())
        stream = await self._open(request, attempts)
        reader = EventReader()
        try:
            async for piece in stream.pieces(attempts.timeout):
                for event in reader.feed(piece):
                    if event.data == "[DONE]":
                        return
                    yield event
        except GatewayError as error:
            error.correlation_id = error.correlation_id or request.correlation_id
            raise
        finally:
            await stream.aclose()
        if ends:
            raise NetworkError("Network error: the stream ended before its last event", correlation_id=request.correlation_id)

    async def _chunks(self, name: str, given: Mapping[str, Any], body: Any = None) -> AsyncGenerator[Any, None]:
        """The values of a stream that ends with `[DONE]`; an event with an error is raised."""
        async for event in self._events(name, given, body=body):
            value = event.json()
            if isinstance(value, dict) and value.get("error"):
                raise error_of(value, int(value.get("status") or 500), str(value.get("correlationId") or ""))
            yield value

    async def _watched(self, name: str, given: Mapping[str, Any], on_event: Callable[[str, Any], None]) -> Any:
        """What an operation answers as its last event; the ones before go to `on_event`."""
        correlation_id = str(given.get("correlation_id") or uuid.uuid4())
        async for event in self._events(name, {**given, "correlation_id": correlation_id}):
            value = event.json()
            if event.name == "result":
                return with_metadata(value, Metadata(200, {}, correlation_id))
            if event.name == "error":
                raise error_of(value, int(value.get("status") or 500), correlation_id)
            on_event(event.name, value)
        raise NetworkError("Network error: the stream ended without a result", correlation_id=correlation_id)

    async def _followed(self, name: str, given: Mapping[str, Any], last: str | None) -> AsyncGenerator[Any, None]:
        """The entries of a stream that is resumed where it broke off."""
        while True:
            request = self._build(name, {**given, "last_event_id": last}, None, EVENTS)
            attempts = Attempts(self._policy, request, time.monotonic())
            got_event = False
            while not got_event:
                stream = await self._open(request, attempts)
                reader = EventReader()
                try:
                    async for piece in stream.pieces(self._patience(attempts.timeout)):
                        for event in reader.feed(piece):
                            last, got_event = event.id or last, True
                            yield event.json()
                    broken = NetworkError("Network error: the stream ended")
                except NetworkError as error:
                    broken = error
                finally:
                    await stream.aclose()
                if not got_event:
                    delay = attempts.delay_after(broken, time.monotonic())
                    await asyncio.sleep(delay)

    @staticmethod
    def _patience(timeout: float | None) -> float | None:
        # The gateway sends a heartbeat every 30 seconds: a stream is quiet for longer only where it is broken.
        return None if timeout is None else max(timeout, 45)
