"""How the asynchronous client sends requests: attempts, answers and streams."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator
from typing import Any, Callable, Mapping

from ._answers import OBJECT, Attempts, Kinds, Metadata, Policy, event_error, excerpt, http_error, parse_as, read, with_metadata
from ._events import Event, EventReader
from ._httpx import AsyncStream, AsyncTransport
from ._requests import Address, Request, build, check_time, merge_headers
from .errors import GatewayError, InvalidAnswerError, InvalidRequestError, NetworkError, RequestTimeoutError

JSON = ("application/json",)
EVENTS = "text/event-stream"
# The name of the event that a whole answer is taken for.
ANSWER = "answer"


class AsyncCore:
    """The gateway at `url`.

    `timeout` is what one attempt may take, in seconds, and `deadline` what all attempts of a request may take together. A request is sent again up to `max_retries` times,
    after `retry_delay` seconds, each time `retry_backoff` times as long: where no connection was made; and where the connection broke or the gateway answered with 5xx,
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

    async def _call(
        self, name: str, given: Mapping[str, Any], *, body: Any = None, accepts: tuple[str, ...] = JSON, kinds: Kinds = OBJECT, may_be_empty: bool = False
    ) -> Any:
        """What an operation answers; sent again where that is safe."""
        request = self._build(name, given, body, ", ".join(accepts))
        attempts = Attempts(self._policy, request, time.monotonic())
        while True:
            replayed = False
            try:
                head, content = await self._transport.send(request, attempts.begin(time.monotonic()))
                replayed = head.about(request).replayed
                return read(request, head, content, accepts, kinds, may_be_empty=may_be_empty)
            except GatewayError as error:
                delay = attempts.delay_after(error, time.monotonic(), replayed)
            await asyncio.sleep(delay)

    def _build(self, name: str, given: Mapping[str, Any], body: Any, accept: str, keyed: bool = True) -> Request:
        headers = merge_headers(self._headers, given.get("headers") or {})
        return build(name, {**given, "headers": headers}, body=body, accept=accept, keyed=keyed)

    def _stream_request(self, name: str, given: Mapping[str, Any], body: Any = None) -> Request:
        return self._build(name, given, body, EVENTS, keyed=False)

    async def _begin(self, request: Request, seconds: float | None, accepts: tuple[str, ...]) -> AsyncStream:
        """A stream whose head says that it is one, or that the whole answer follows."""
        stream = await self._transport.open(request, seconds)
        if stream.head.status == 200 and stream.head.media_type() in accepts:
            return stream
        try:
            content = await stream.read()
        finally:
            await stream.aclose()
        if not 200 <= stream.head.status < 300:
            raise http_error(request, stream.head, content)
        text = f"{request.method} {request.target}: expected a stream of events, got {stream.head.media_type() or 'no content type'} with {excerpt(content)}"
        raise InvalidAnswerError(text, status=stream.head.status, correlation_id=request.correlation_id)

    async def _open(self, request: Request, attempts: Attempts, accepts: tuple[str, ...] = (EVENTS,)) -> AsyncStream:
        """The same; sent again as other requests are."""
        while True:
            try:
                return await self._begin(request, attempts.begin(time.monotonic()), accepts)
            except GatewayError as error:
                delay = attempts.delay_after(error, time.monotonic())
            await asyncio.sleep(delay)

    async def _events(self, request: Request, *, ends: bool = True) -> AsyncGenerator[Event, None]:
        """The events of a stream that runs tools, or of one that nobody can resume: it is never asked for twice once it has begun. Where the whole answer comes instead of a
        stream, as from a proxy that knows none, it is the one event."""
        attempts = Attempts(self._policy, request, time.monotonic())
        stream = await self._open(request, attempts, (EVENTS, *JSON) if ends else (EVENTS,))
        reader = EventReader()
        try:
            if stream.head.media_type() != EVENTS:
                content = await stream.read()
                parse_as(OBJECT, content, request, stream.head)
                yield Event(ANSWER, content.decode("utf-8", "replace"), None)
                return
            # A stream that ends only with the gateway has no deadline once it has begun.
            async for piece in stream.pieces(lambda: attempts.left(attempts.timeout, time.monotonic()) if ends else attempts.timeout):
                for event in reader.feed(piece):
                    if event.data == "[DONE]":
                        return
                    yield event
        except GatewayError as error:
            error.correlation_id = error.correlation_id or request.correlation_id
            if ends and isinstance(error, RequestTimeoutError) and attempts.is_late(time.monotonic()):
                attempts.late(error)
            raise
        finally:
            await stream.aclose()
        if ends:
            raise NetworkError("Network error: the stream ended before its last event", correlation_id=request.correlation_id)

    async def _chunks(self, name: str, given: Mapping[str, Any], body: Any = None) -> AsyncGenerator[Any, None]:
        """The values of a stream that ends with `[DONE]`; an event with an error is raised."""
        request = self._stream_request(name, given, body)
        async for event in self._events(request):
            value = event.json_or_text() if event.name == "error" else event.json()
            if event.name == "error" or (isinstance(value, dict) and value.get("error")):
                raise event_error(value, request.correlation_id)
            yield value
            if event.name == ANSWER:
                return

    async def _watched(self, name: str, given: Mapping[str, Any], on_event: Callable[[str, Any], None]) -> Any:
        """What an operation answers as its last event; the ones before go to `on_event`."""
        request = self._stream_request(name, given)
        async for event in self._events(request):
            if event.name == "error":
                raise event_error(event.json_or_text(), request.correlation_id)
            if event.name in ("result", ANSWER):
                return with_metadata(event.object(), Metadata(200, {}, request.correlation_id))
            on_event(event.name, event.json())
        raise NetworkError("Network error: the stream ended without a result", correlation_id=request.correlation_id)

    async def _followed(self, name: str, given: Mapping[str, Any], last: str | None) -> AsyncGenerator[Any, None]:
        """The entries of a stream. It begins as other requests do, and is resumed where it broke off as often as it breaks."""
        request = self._build(name, {**given, "last_event_id": last}, None, EVENTS)
        attempts = Attempts(self._policy, request, time.monotonic())
        stream = await self._open(request, attempts)
        outage: Attempts | None = None
        can_resume = True
        while True:
            reader = EventReader()
            try:
                async for piece in stream.pieces(lambda: self._patience(attempts.timeout)):
                    for event in reader.feed(piece):
                        if event.name == "error":
                            raise event_error(event.json_or_text(), request.correlation_id)
                        if event.name == "message":
                            outage, can_resume, last = None, bool(event.id), event.id or last
                            yield event.object()
                broken: GatewayError = NetworkError("Network error: the stream ended")
            except NetworkError as error:
                broken = error
            except GatewayError as error:
                error.correlation_id = error.correlation_id or request.correlation_id
                raise
            finally:
                await stream.aclose()
            outage = outage or Attempts(self._policy, request, time.monotonic())
            while True:
                broken.correlation_id = broken.correlation_id or request.correlation_id
                if not can_resume:
                    # Asked for again it would begin anew, with entries that were given already.
                    broken.args = (f"{broken.args[0]}; its entries have no ids, so that it cannot be resumed",)
                    raise broken
                delay = outage.delay_before_resuming(broken, time.monotonic())
                await asyncio.sleep(delay)
                request = self._build(name, {**given, "last_event_id": last}, None, EVENTS)
                try:
                    stream = await self._begin(request, outage.left(outage.timeout, time.monotonic()), (EVENTS,))
                    break
                except GatewayError as error:
                    broken = error

    @staticmethod
    def _patience(timeout: float | None) -> float | None:
        # The gateway sends a heartbeat every 30 seconds: a stream is quiet for longer only where it is broken.
        return None if timeout is None else max(timeout, 45)
