"""A gateway that is down, restarting, slow, or answers garbage: each with the error that the README names, for both clients."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from typing import Any

import pytest
from cases import CONFIG, without_waiting
from scripted import Scripted, answer, close, never, repeated, reset, then_close, unused_port

from mcp_tool_gateway import AsyncGatewayClient, Gateway, GatewayClient, errors

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def nothing(*_: Any) -> None:
    """What is done about an event."""


def named(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The model to ask, if there is an argument."""
    return {"model": arguments[0]} if arguments else {}


def sync(url: str, method: str, *arguments: Any, **options: Any) -> Any:
    with GatewayClient(url, **options) as client:
        if method == "watched":
            return client.call_tool("default", "add", {}, on_event=nothing)
        if method == "chatted":
            return list(client.chat("hello", stream=True, **named(arguments)))
        if method == "chat":
            return client.chat("hello", **named(arguments))
        if method == "waiting_for_the_pool":
            # The only connection is taken by a request that is not answered.

            def occupy() -> None:
                with contextlib.suppress(errors.GatewayError):
                    client.health(timeout=5)

            threading.Thread(target=occupy, daemon=True).start()
            while client._transport.free._value > 0:
                pass
            return client.connect_server(*arguments)
        return getattr(client, method)(*arguments)


def asynchronous(url: str, method: str, *arguments: Any, **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncGatewayClient(url, **options) as client:
            if method == "watched":
                return await client.call_tool("default", "add", {}, on_event=nothing)
            if method == "chatted":
                return [chunk async for chunk in client.chat("hello", stream=True, **named(arguments))]
            if method == "chat":
                return await client.chat("hello", **named(arguments))
            if method == "waiting_for_the_pool":
                task = asyncio.ensure_future(client.health(timeout=5))
                await asyncio.sleep(0.1)
                try:
                    return await client.connect_server(*arguments)
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            return await getattr(client, method)(*arguments)

    return asyncio.run(run())


def with_library(name: str) -> Any:
    """The asynchronous client by one of its libraries, as where the other is not installed."""

    def ask(url: str, method: str, *arguments: Any, **options: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, {"httpx": "httpx2", "httpx2": "httpx"}[name], None)
            return asynchronous(url, method, *arguments, **options)

    return ask


both = pytest.mark.parametrize("ask", [sync, with_library("httpx"), with_library("httpx2")], ids=["sync", "httpx", "httpx2"])


def test_without_a_library_the_asynchronous_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(errors.MissingDependencyError, match=r"needs httpx or httpx2: pip install 'mcp-tool-gateway\[async\]'"):
        AsyncGatewayClient()


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
def test_each_library_is_the_one_that_is_used(name: str) -> None:
    with Scripted(answer({"ok": True})) as server:
        assert with_library(name)(server.url, "health") == {"ok": True}
    assert server.asked[0].headers["user-agent"].startswith(f"python-{name}/")
    # Answers are read as they are, so nobody may be asked to compress them.
    assert server.asked[0].headers["accept-encoding"] == "identity"

GARBAGE: dict[str, tuple[Any, type[errors.GatewayError], str]] = {
    "another content type": (answer(b"<html>hello</html>", content_type="text/html"), errors.InvalidAnswerError, "expected application/json, got text/html"),
    "no content type": (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", errors.InvalidAnswerError, "got no content type"),
    "broken JSON": (answer(b'{"ok": tru'), errors.InvalidAnswerError, "the answer is not JSON"),
    "JSON nested too deep": (answer(b"[" * 60_000), errors.InvalidAnswerError, "the answer is not JSON"),
    "bytes that are no text": (answer(b"\xff\xfe\x00"), errors.InvalidAnswerError, "the answer is not JSON"),
    "an empty body": (answer(b""), errors.InvalidAnswerError, "the answer is not JSON"),
    "a compressed body": (answer(gzip.compress(b"{}"), content_encoding="gzip"), errors.InvalidAnswerError, "the answer is not JSON"),
    "a truncated body": (then_close(HEAD + b'content-length: 100\r\n\r\n{"ok":'), errors.NetworkError, "Network error: "),
    "a truncated chunk": (then_close(HEAD + b"transfer-encoding: chunked\r\n\r\n40\r\n{}"), errors.NetworkError, "Network error: "),
    "no last chunk": (then_close(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"), errors.NetworkError, "Network error: "),
    "a truncated head": (then_close(HEAD + b"content-le"), errors.NetworkError, "Network error: "),
    "a truncated status line": (then_close(b"HTTP/1."), errors.NetworkError, "Network error: "),
    "a reset": (reset, errors.NetworkError, "Network error: "),
    "no answer": (close, errors.NetworkError, "Network error: "),
    "no HTTP": (then_close(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), errors.InvalidAnswerError, "does not speak HTTP"),
    "no number as the length": (then_close(HEAD + b"content-length: many\r\n\r\n{}"), errors.GatewayError, "does not speak HTTP"),
    "too large a body": (answer(b" " * 70_000 + b"{}"), errors.AnswerTooLargeError, "larger than max_answer_bytes=65536"),
    "an endless body": (repeated(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"400\r\n" + b" " * 1024 + b"\r\n"), errors.AnswerTooLargeError, "larger than"),
    "endless headers": (repeated(HEAD, b"x-more: " + b"x" * 1000 + b"\r\n"), errors.InvalidAnswerError, "does not speak HTTP"),
    "an endless header": (repeated(HEAD + b"x-more: ", b"x" * 1000), errors.InvalidAnswerError, "does not speak HTTP"),
    "a redirection": (answer(b"", 302, location="http://127.0.0.1:1/"), errors.GatewayHttpError, "Gateway HTTP 302: no body"),
    "an error without JSON": (answer(b"Bad Gateway", 502, content_type="text/plain"), errors.GatewayHttpError, "Gateway HTTP 502: 'Bad Gateway'"),
    "an error of OpenAI's shape": (answer({"error": {"message": "no", "code": "model_not_found"}}, 404), errors.ModelNotFoundError, "Gateway HTTP 404: no"),
    "an error that is a list": (answer([1], 500), errors.GatewayHttpError, "Gateway HTTP 500: '[1]'"),
}


# One of each kind: an object, the result within an object, text or JSON, and a list.
METHODS: dict[str, tuple[Any, ...]] = {
    "health": (),
    "execute": ("gemini", {"name": "add"}),
    "call_tool": ("default", "add", {}),
    "watched": (),
    "route": ({"name": "add"},),
    "logs": (),
}


@both
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage(ask: Any, method: str, kind: str) -> None:
    step, error, text = GARBAGE[kind]
    with Scripted(step) as server, pytest.raises(error) as caught:
        ask(server.url, method, *METHODS[method], max_retries=0, max_answer_bytes=65536, timeout=20)
    assert text in str(caught.value) or (method in ("route", "watched") and "expected" in str(caught.value))
    assert caught.value.correlation_id == server.asked[0].headers["x-correlation-id"]


WRONG_JSON: dict[str, Any] = {"null": None, "a list": [1], "a text": "x", "a number": 5, "a boolean": True}


@both
@pytest.mark.parametrize("method", [*METHODS, "get_tools", "mcp", "conversations", "tools"])
@pytest.mark.parametrize("kind", WRONG_JSON)
def test_json_of_another_kind_is_garbage(ask: Any, method: str, kind: str) -> None:
    if kind == "a list" and method in ("route", "logs", "get_tools", "mcp", "conversations"):
        return
    given = METHODS.get(method, ({"x": 1},) if method == "mcp" else ("openai",) if method == "get_tools" else ())
    with Scripted(answer(WRONG_JSON[kind])) as server, pytest.raises(errors.InvalidAnswerError, match="expected a JSON (object|list)") as caught:
        ask(server.url, method, *given, max_retries=0)
    assert (caught.value.status, caught.value.correlation_id) == (200, server.asked[0].headers["x-correlation-id"])


@both
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("status", [202, 204, 205])
def test_no_content_is_garbage(ask: Any, method: str, status: int) -> None:
    with Scripted(then_close(b"HTTP/1.1 %d Said\r\n\r\n" % status)) as server, pytest.raises(errors.InvalidAnswerError, match="no content|no content type") as caught:
        ask(server.url, method, *METHODS[method], max_retries=0)
    assert (caught.value.status, caught.value.correlation_id) == (status, server.asked[0].headers["x-correlation-id"])


@both
@pytest.mark.parametrize(
    "body",
    [{"results": 5}, {"results": None}, {"results": [5]}, {"results": ["x"]}, {"provider": "bedrock", "messages": 5}, {"provider": "bedrock", "messages": [{"bytes": "!"}]}],
    ids=str,
)
def test_results_that_are_none_are_garbage(ask: Any, body: Any) -> None:
    with Scripted(answer(body)) as server, pytest.raises(errors.InvalidAnswerError) as caught:
        ask(server.url, "execute", "bedrock", {"name": "add"}, max_retries=0, bytes_for_boto3=True)
    assert caught.value.correlation_id == server.asked[0].headers["x-correlation-id"]


@both
@pytest.mark.parametrize("body", [{}, {"messages": 5}, {"messages": [{"bytes": "!"}]}], ids=str)
def test_a_history_that_is_none_is_garbage(ask: Any, body: Any) -> None:
    with Scripted(answer(body)) as server, pytest.raises(errors.InvalidAnswerError):
        ask(server.url, "history", "openai", "bedrock", [], max_retries=0, bytes_for_boto3=True)


@both
def test_what_has_no_answer_gives_none(ask: Any) -> None:
    with Scripted(b"HTTP/1.1 204 No\r\n\r\n") as server:
        assert ask(server.url, "unregister_tool", "x") is None
        assert ask(server.url, "end_mcp_session", "x") is None
    with Scripted(answer(b"", 202)) as server:
        assert ask(server.url, "mcp", {"method": "notifications/initialized"}) is None
        assert ask(server.url, "mcp_send", {"method": "x"}, "session") is None


@both
@pytest.mark.parametrize("value", [{"a": 1}, [1], "<result/>"], ids=str)
def test_what_route_gives_is_kept(ask: Any, value: Any) -> None:
    step = answer(value.encode(), content_type="application/xml") if isinstance(value, str) else answer(value)
    with Scripted(step) as server:
        assert ask(server.url, "route", {"x": 1}) == value


@both
def test_endless_interim_answers_end(ask: Any) -> None:
    """The standard library's parser and those of httpx would read them for ever."""
    expected = errors.InvalidAnswerError if ask is sync else errors.RequestTimeoutError
    with Scripted(repeated(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)) as server, pytest.raises(expected):
        ask(server.url, "health", max_retries=0, timeout=60 if ask is sync else 0.5)


@both
@pytest.mark.parametrize("status", [102, 103, 199])
def test_interim_answers_are_passed_over(ask: Any, status: int) -> None:
    interim = b"HTTP/1.1 %d Hints\r\nlink: </style.css>; rel=preload\r\n\r\n" % status
    with Scripted(interim * 2 + answer({"ok": True})) as server:
        assert ask(server.url, "health", max_retries=0) == {"ok": True}


@both
def test_another_protocol_is_no_answer(ask: Any) -> None:
    with Scripted(answer(b"", 101, upgrade="websocket")) as server, pytest.raises(errors.GatewayError):
        ask(server.url, "health", max_retries=0, timeout=1)


@both
def test_a_truncated_answer_is_asked_for_again(ask: Any) -> None:
    with Scripted(then_close(HEAD + b"content-le"), then_close(HEAD + b"content-length: 9\r\n\r\n{"), answer({"ok": True})) as server:
        assert ask(server.url, "health", retry_delay=0) == {"ok": True}
    assert len(server.asked) == 3


@both
def test_down(ask: Any) -> None:
    with pytest.raises(errors.UnreachableError, match="^Request failed after 4 attempts: Network error: .*is the gateway running"):
        ask(f"http://127.0.0.1:{unused_port()}", "call_tool", "default", "add", {}, retry_delay=0)


@both
def test_slow(ask: Any) -> None:
    with Scripted(never) as server, pytest.raises(errors.RequestTimeoutError, match=r"^Network error: no complete answer within 0\.2 s"):
        ask(server.url, "health", timeout=0.2, max_retries=0)


@both
def test_an_answer_that_drips_is_slow_too(ask: Any) -> None:
    """Each byte comes in time, and the whole does not."""

    def drip(connection: Any) -> None:
        connection.sendall(HEAD + b"content-length: 1000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            # Between two bytes less time passes than the client has for the whole.
            threading.Event().wait(0.02)

    with Scripted(drip) as server, pytest.raises(errors.RequestTimeoutError):
        ask(server.url, "health", timeout=0.3, max_retries=0)


@both
def test_a_deadline_holds_over_all_attempts(ask: Any) -> None:
    with Scripted(answer({"error": "msg"}, 500)) as server:
        with pytest.raises(errors.GatewayHttpError, match="Gateway HTTP 500: msg; no time is left of deadline=5 s$") as caught:
            ask(server.url, "health", deadline=5, retry_delay=0.001, retry_backoff=100_000)
    assert (len(server.asked), caught.value.attempts) == (2, 2)
    with Scripted(never) as server, pytest.raises(errors.RequestTimeoutError, match=r"within 0\.[12]\d* s.*no time is left"):
        ask(server.url, "health", timeout=60, deadline=0.2, max_retries=3, retry_delay=1)
    assert len(server.asked) == 1


@both
def test_a_settled_fault_is_not_asked_for_again(ask: Any) -> None:
    settled = answer({"error": "msg", "code": "SERVER_ERROR"}, 500)
    replayed = answer({"error": "msg"}, 500, idempotent_replayed="true")
    for steps, asked in (((settled,), 1), ((answer({"error": "msg"}, 500), replayed), 2)):
        with Scripted(*steps) as server, pytest.raises(errors.GatewayHttpError):
            ask(server.url, "call_tool", "default", "add", {}, retry_delay=0)
        assert len(server.asked) == asked


@both
def test_retry_after_is_waited_for(ask: Any) -> None:
    with Scripted(answer({"error": "busy", "code": "OVERLOADED"}, 503, retry_after="7")) as server:
        with pytest.raises(errors.OverloadedError, match="no time is left of deadline=5 s") as caught:
            ask(server.url, "health", retry_delay=0, deadline=5)
    assert (len(server.asked), caught.value.retry_after) == (1, 7)


@pytest.mark.parametrize("asked_for", ["864000", "1" + "0" * 20, "9" * 400])
def test_no_wait_is_longer_than_a_minute_because_the_gateway_asks(asked_for: str) -> None:
    with Scripted(answer({"error": "busy"}, 503, retry_after=asked_for), answer({"ok": True})) as server, without_waiting() as delays:
        with GatewayClient(server.url) as client:
            assert client.health() == {"ok": True}
    assert delays == [60]


def test_a_wait_that_the_deadline_does_not_allow_is_not_begun() -> None:
    with Scripted(answer({"error": "busy"}, 503, retry_after="864000")) as server, without_waiting() as delays, GatewayClient(server.url) as client:
        with pytest.raises(errors.GatewayHttpError, match=r"busy; no time is left of deadline=100 s$"):
            client.health(deadline=100)
    assert delays == [60]


def test_a_keyed_request_is_not_repeated_when_the_gateway_may_have_forgotten_the_key() -> None:
    options: dict[str, Any] = {"retry_delay": 200, "retry_backoff": 1, "max_retries": 9}
    fault = answer({"error": "msg"}, 502)
    with Scripted(fault) as server, without_waiting() as delays, GatewayClient(server.url, **options) as client:
        with pytest.raises(errors.GatewayHttpError, match=r"^Request failed after 3 attempts: Gateway HTTP 502: msg; .*9 minutes") as caught:
            client.call_tool("default", "add", {})
        assert (delays, len(server.asked), caught.value.attempts) == ([200, 200], 3, 3)
        # A request without a key has the same effect however late it comes.
        with pytest.raises(errors.GatewayHttpError, match="^Request failed after 10 attempts"):
            client.health()


def test_where_nothing_was_sent_no_key_is_too_old() -> None:
    options: dict[str, Any] = {"retry_delay": 200, "retry_backoff": 1, "max_retries": 9}
    with without_waiting() as delays, GatewayClient(f"http://127.0.0.1:{unused_port()}", **options) as client:
        with pytest.raises(errors.UnreachableError, match="^Request failed after 10 attempts"):
            client.call_tool("default", "add", {})
    assert delays == [200] * 9


def test_many_retries_do_not_overflow() -> None:
    with Scripted(answer({"error": "msg"}, 500)) as server, without_waiting() as delays:
        with GatewayClient(server.url, max_retries=1100, retry_delay=1e-9) as client, pytest.raises(errors.GatewayHttpError, match="after 1101 attempts"):
            client.health()
    assert max(delays) <= 24 * 3600


@pytest.mark.parametrize(
    "options",
    [{"timeout": -5}, {"timeout": 0}, {"timeout": float("nan")}, {"timeout": float("inf")}, {"timeout": 1e10}, {"deadline": -1}, {"retry_delay": float("nan")}, {"retry_backoff": -2}],
    ids=str,
)
def test_times_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match=f"^{next(iter(options))}="):
        GatewayClient(**options)
    if options.keys() <= {"timeout", "deadline"}:
        with Scripted(answer({"ok": True})) as server, GatewayClient(server.url, max_retries=0) as client, pytest.raises(errors.InvalidRequestError):
            client.health(**options)
        assert server.asked == []


@both
def test_certificates_are_those_of_the_machine(ask: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openssl = shutil.which("openssl") or pytest.skip("openssl makes the certificate of this test, and is not there")
    certificate, key = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")
    names = "subjectAltName=IP:127.0.0.1"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=gateway", "-addext", names, "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Scripted(answer({"ok": True}), context=context) as server:
        url = server.url.replace("http:", "https:")
        with pytest.raises(errors.UnreachableError):
            ask(url, "health", max_retries=0)
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        assert ask(url, "health", max_retries=0) == {"ok": True}


@both
def test_restarting(ask: Any, tmp_path: Any) -> None:
    """A gateway that ends and comes back on the same port, while a client keeps asking."""
    port = unused_port()
    first = Gateway.start(CONFIG, data=tmp_path, port=port)
    assert ask(first.url, "health")["ok"] is True
    seen: list[Any] = []
    with GatewayClient(first.url, retry_delay=0.05, retry_backoff=1, max_retries=1000, deadline=60) as client:
        assert client.call_tool("counting", "increment")["structuredContent"]["count"] == 1
        first.stop()
        again = threading.Thread(target=lambda: seen.append(ask(first.url, "call_tool", "counting", "count", retry_delay=0.05, retry_backoff=1, max_retries=1000)))
        again.start()
        second = Gateway.start(CONFIG, data=tmp_path, port=port)
        try:
            again.join(60)
            assert seen[0]["structuredContent"]["count"] == 0
            # The connection that was kept from before is not taken for one that works.
            assert client.call_tool("counting", "increment")["structuredContent"]["count"] == 1
        finally:
            second.stop()


@both
def test_a_call_in_flight_when_the_gateway_ends_is_a_network_error_or_a_result(ask: Any) -> None:
    running = Gateway.start(CONFIG)
    try:
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
        with pytest.raises(errors.NetworkError):
            ask(running.url, "call_tool", "default", "add", {"a": 1, "b": 2}, max_retries=0)
    finally:
        running.stop()


def test_streams_that_break_are_errors() -> None:
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    with Scripted(then_close(stream + b'data: {"choices": []}\n\n')) as server, GatewayClient(server.url) as client:
        chunks = client.chat("hello", stream=True)
        assert next(chunks) == {"choices": []}
        with pytest.raises(errors.NetworkError, match="ended before its last event"):
            next(chunks)
    assert len(server.asked) == 1
    with Scripted(then_close(stream + b"data: {broken\n\n")) as server, GatewayClient(server.url) as client, pytest.raises(errors.StreamError, match="not JSON"):
        next(client.chat("hello", stream=True))
    failure = b'data: {"error": {"message": "why", "type": "server_error", "param": null, "code": "model_error"}}\n\ndata: [DONE]\n\n'
    with Scripted(then_close(stream + failure)) as server, GatewayClient(server.url) as client, pytest.raises(errors.ModelError, match="why"):
        next(client.chat("hello", stream=True))
    event = b'event: error\ndata: {"error":"gone","code":"TIMEOUT","status":504}\n\n'
    with Scripted(then_close(stream + event)) as server, GatewayClient(server.url) as client:
        with pytest.raises(errors.CallTimeoutError, match="^Gateway HTTP 504: gone$"):
            client.call_tool("default", "add", {}, on_event=lambda *_: None)
    assert "idempotency-key" not in server.asked[0].headers


@both
@pytest.mark.parametrize("options", [{"deadline": 0.3}, {"deadline": 0.3, "timeout": None}, {"timeout": 0.3}], ids=str)
def test_a_stream_with_signs_of_life_is_bounded(ask: Any, options: Any) -> None:
    """Each piece comes in time; the deadline is for the whole, and the timeout for each piece."""

    def drip(connection: Any) -> None:
        connection.sendall(EVENT_STREAM)
        for _ in range(100):
            connection.sendall(b": alive\n\n")
            threading.Event().wait(0.02)
        connection.sendall(b'event: result\ndata: {"result": {"content": []}}\n\n')

    given = {"max_retries": 0, **options}
    with Scripted(drip) as server:
        if "deadline" not in options:
            assert ask(server.url, "watched", **given) == {"content": []}
            return
        with pytest.raises(errors.RequestTimeoutError, match=r"no time is left of deadline=0\.3 s$"):
            ask(server.url, "watched", **given)


@both
@pytest.mark.parametrize("options", [{"deadline": 0.3}, {"timeout": 0.3}, {"deadline": 0.3, "timeout": None}], ids=str)
def test_a_body_beside_a_stream_is_bounded(ask: Any, options: Any) -> None:
    """An error, or a whole answer, that begins and does not end."""
    for head in (b"HTTP/1.1 500 No\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n", HEAD + b"content-length: 9\r\n\r\n"):

        def stall(connection: Any, head: bytes = head) -> None:
            connection.sendall(head)
            never(connection)

        with Scripted(stall) as server, pytest.raises(errors.RequestTimeoutError):
            ask(server.url, "watched", **{"max_retries": 0, **options})


@both
def test_a_whole_answer_instead_of_a_stream_is_the_result(ask: Any) -> None:
    """The tool has run: a proxy without streams must not cost its result."""
    result = {"content": [{"type": "text", "text": "42"}]}
    with Scripted(answer({"result": result})) as server:
        assert ask(server.url, "watched") == result
    with Scripted(answer({"id": "1", "choices": []})) as server:
        assert ask(server.url, "chatted") == [{"id": "1", "choices": []}]
    with Scripted(answer({"error": {"message": "why", "code": "model_error"}})) as server, pytest.raises(errors.ModelError, match="why"):
        ask(server.url, "chatted")


EMPTY = {"choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}]}
EMPTY_EVENTS = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
ERROR_EVENT = b'data: {"error": {"message": "no memory"}}\n\n'
# What each model does, how it is asked, and the error.
MODELS: dict[str, tuple[Any, tuple[str, ...], type[errors.GatewayError], str, int]] = {
    "too-long": (answer({"error": {"message": "This model's maximum context length is 9 tokens."}}, 400), ("chat", "chatted"), errors.ContextLengthError, "context_length_exceeded", 400),
    "garbage": (answer(b"<html>hello</html>", content_type="text/html"), ("chat", "chatted"), errors.ModelError, "model_error", 502),
    "broken": (answer(ERROR_EVENT, content_type="text/event-stream"), ("chatted",), errors.ModelError, "model_error", 502),
    "empty": (answer(EMPTY), ("chat",), errors.ModelError, "empty_answer", 500),
    "empty-stream": (answer(EMPTY_EVENTS, content_type="text/event-stream"), ("chatted",), errors.ModelError, "empty_answer", 500),
    "gone": (close, ("chat", "chatted"), errors.ModelError, "model_unreachable", 502),
}


@pytest.fixture(scope="module")
def models() -> Iterator[str]:
    """A gateway with one model for each thing that models do."""
    with contextlib.ExitStack() as stack:
        apis = {name: stack.enter_context(Scripted(step)) for name, (step, *_) in MODELS.items()}
        specs = {name: {"kind": "openai", "baseUrl": f"{api.url}/v1", "model": name, "apiKey": "none", "retries": 0} for name, api in apis.items()}
        yield stack.enter_context(Gateway.start({**CONFIG, "models": specs})).url


@both
def test_a_model_that_is_not_there_has_a_class(ask: Any, models: str) -> None:
    for method in ("model", "chat", "chatted"):
        with pytest.raises(errors.ModelNotFoundError, match="^Gateway HTTP 404: no model is called `zz`") as caught:
            ask(models, method, "zz")
        assert (caught.value.code, caught.value.status, caught.value.body["error"]["param"]) == ("model_not_found", 404, "model")


@both
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_gives_no_answer_has_a_class(ask: Any, models: str, name: str) -> None:
    _, methods, error, code, status = MODELS[name]
    for method in methods:
        with pytest.raises(error) as caught:
            ask(models, method, name)
        assert (type(caught.value), caught.value.code, caught.value.status) == (error, code, status), method


def test_a_model_that_breaks_off_ends_a_stream_with_its_class() -> None:
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"It"},"finish_reason":null}]}\n\n'
    with Scripted(then_close(EVENT_STREAM + chunk)) as api:
        spec = {"kind": "openai", "baseUrl": f"{api.url}/v1", "model": "m", "apiKey": "none"}
        with Gateway.start({"models": {"m": spec}}) as client:
            seen: list[str] = []
            with pytest.raises(errors.ModelError) as caught:
                for chunk in client.chat("hello", stream=True, model="m"):
                    seen.append(chunk["choices"][0]["delta"].get("content", ""))
    assert ("".join(seen), caught.value.code) == ("It", "model_unreachable")


@both
@pytest.mark.parametrize("status", ["INTERNAL", None, -1, [], True], ids=str)
def test_an_error_event_may_say_anything(ask: Any, status: Any) -> None:
    for data in (json.dumps({"error": "gone", "status": status}), '"gone"', "gone"):
        with Scripted(then_close(EVENT_STREAM + b"event: error\ndata: " + data.encode() + b"\n\n")) as server:
            for method in ("watched", "chatted"):
                with pytest.raises(errors.GatewayHttpError, match="^Gateway HTTP 500: gone$") as caught:
                    ask(server.url, method)
                assert caught.value.correlation_id == server.asked[-1].headers["x-correlation-id"]


@both
@pytest.mark.parametrize("timeout", [0.3, None], ids=str)
def test_a_wait_for_a_connection_is_no_wait_for_an_answer(ask: Any, timeout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was sent, so that every request may be sent again."""
    monkeypatch.setattr("mcp_tool_gateway._clock.WITHOUT_TIMEOUT", 0.3)
    with full_backlog() as url, pytest.raises(errors.UnreachableError, match=r"no connection within 0\.3 s; is the gateway running\?"):
        ask(url, "connect_server", "default", timeout=timeout, max_retries=0)
    with Scripted(never) as server, pytest.raises(errors.UnreachableError, match="all 1 connections are in use"):
        ask(server.url, "waiting_for_the_pool", "default", timeout=timeout, max_retries=0, max_connections=1)


@contextlib.contextmanager
def full_backlog() -> Iterator[str]:
    """The address of a listener that takes no more connections."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
            waiting.append(one)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for one in waiting:
            one.close()


EVENT_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
ENTRY = b'id: 7\ndata: {"id": 7}\n\n'


def followed(url: str, count: int, **options: Any) -> list[Any]:
    with GatewayClient(url, timeout=5) as client:
        entries = client.logs(follow=True, **options)
        return [next(entries) for _ in range(count)]


def followed_in_a_task(url: str, count: int, **options: Any) -> list[Any]:
    async def run() -> list[Any]:
        async with AsyncGatewayClient(url, timeout=5) as client:
            seen: list[Any] = []
            async for entry in client.logs(follow=True, **options):
                seen.append(entry)
                if len(seen) == count:
                    break
            return seen

    async def at_once(delay: float) -> None:
        waits.append(delay)

    waits: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp_tool_gateway._async_core.asyncio", types.SimpleNamespace(sleep=at_once))
        return asyncio.run(run())


following = pytest.mark.parametrize("follow", [followed, followed_in_a_task], ids=["sync", "async"])


@following
@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        ({"error": "the log cannot be read"}, errors.GatewayHttpError, "Gateway HTTP 500: the log cannot be read"),
        ({"error": "gone", "code": "STORE_ERROR", "status": 503}, errors.StoreError, "Gateway HTTP 503: gone"),
        ({"error": "gone", "status": "INTERNAL"}, errors.GatewayHttpError, "Gateway HTTP 500: gone"),
        ("gone", errors.GatewayHttpError, "Gateway HTTP 500: gone"),
    ],
    ids=str,
)
def test_an_error_event_ends_following(follow: Any, body: Any, error: Any, text: str) -> None:
    event = b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"
    with Scripted(then_close(EVENT_STREAM + ENTRY + event)) as server, without_waiting(), pytest.raises(error) as caught:
        follow(server.url, 2)
    assert (str(caught.value), len(server.asked)) == (text, 1)
    assert caught.value.correlation_id == server.asked[0].headers["x-correlation-id"]


@following
def test_a_stream_whose_entries_have_no_ids_is_not_resumed(follow: Any) -> None:
    with Scripted(then_close(EVENT_STREAM + b'data: {"tool": "add"}\n\n')) as server, without_waiting():
        assert follow(server.url, 1, source="server") == [{"tool": "add"}]
        with pytest.raises(errors.NetworkError, match="^Network error: the stream ended; its entries have no ids, so that it cannot be resumed$"):
            follow(server.url, 2, source="server")
    assert len(server.asked) == 2


@following
def test_following_waits_for_a_gateway_that_is_away(follow: Any) -> None:
    away = [close, answer({"error": "starting"}, 503), answer(b"Bad Gateway", 502, content_type="text/html"), then_close(EVENT_STREAM)]
    steps = [then_close(EVENT_STREAM + ENTRY), *away * 5, then_close(EVENT_STREAM + b'id: 8\ndata: {"id": 8}\n\n')]
    with Scripted(*steps) as server, without_waiting() as delays:
        assert follow(server.url, 2) == [{"id": 7}, {"id": 8}]
    assert {asked.headers.get("last-event-id") for asked in server.asked[1:]} == {"7"}
    if follow is followed:
        assert delays == [1, 2, 4, 8] + [10] * 17


@following
def test_following_ends_when_the_gateway_refuses(follow: Any) -> None:
    with Scripted(then_close(EVENT_STREAM + ENTRY), answer({"error": "no", "code": "UNAUTHORIZED"}, 401)) as server, without_waiting():
        with pytest.raises(errors.UnauthorizedError, match="Gateway HTTP 401: no$"):
            follow(server.url, 2)
    with Scripted(then_close(EVENT_STREAM + ENTRY), answer({"ok": True})) as server, without_waiting(), pytest.raises(errors.InvalidAnswerError):
        follow(server.url, 2)


@following
def test_following_begins_as_other_requests_do(follow: Any) -> None:
    with Scripted(close) as server, without_waiting(), pytest.raises(errors.NetworkError, match="^Request failed after 4 attempts: "):
        follow(server.url, 1)


def test_following_always_waits_before_it_asks_again() -> None:
    steps = [then_close(EVENT_STREAM + b"id: %d\ndata: {}\n\n" % number) for number in range(5)]
    with Scripted(*steps) as server, without_waiting() as delays:
        assert len(followed(server.url, 5)) == 5
        assert delays == [1] * 4
    with Scripted(*steps) as server, without_waiting() as delays, GatewayClient(server.url, retry_delay=0) as client:
        entries = client.logs(follow=True)
        assert [next(entries) for _ in range(5)] == [{}] * 5
        assert delays == [0.1] * 4


def test_a_deadline_bounds_each_break_of_following() -> None:
    with Scripted(then_close(EVENT_STREAM + ENTRY), close) as server, without_waiting() as delays:
        with pytest.raises(errors.NetworkError, match="no time is left of deadline=20 s"):
            followed(server.url, 2, deadline=20)
    assert delays == [1, 2, 4, 8]


@following
@pytest.mark.parametrize("data", [b"{broken", b"5", b"null", b'"x"', b"[1]"])
def test_an_entry_that_cannot_be_read_is_an_error(follow: Any, data: bytes) -> None:
    with Scripted(then_close(EVENT_STREAM + b"id: 1\ndata: " + data + b"\n\n")) as server, without_waiting(), pytest.raises(errors.StreamError):
        follow(server.url, 1)


@following
def test_events_of_a_newer_gateway_are_passed_over(follow: Any) -> None:
    with Scripted(then_close(EVENT_STREAM + b"event: later\ndata: {}\n\n" + ENTRY)) as server, without_waiting():
        assert follow(server.url, 1) == [{"id": 7}]


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_streams_that_do_not_begin_are_slow(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_tool_gateway._httpx.LIBRARIES", (library,))

    async def run(url: str) -> None:
        async with AsyncGatewayClient(url, timeout=0.2, max_retries=0) as client:
            async for _ in client.logs(follow=True):
                pass

    with Scripted(never) as server:
        with pytest.raises(errors.RequestTimeoutError):
            asyncio.run(run(server.url))
        with GatewayClient(server.url, timeout=0.2, max_retries=0) as client, pytest.raises(errors.RequestTimeoutError):
            next(client.logs(follow=True))


def test_a_closed_client_says_so() -> None:
    with GatewayClient() as client:
        pass
    with pytest.raises(errors.GatewayError, match="this client is closed"):
        client.health()


@pytest.mark.parametrize("url", ["", "127.0.0.1:8787", "ftp://127.0.0.1", "http://", "http://host:port", "http://user:word@host", "http://host/?x=1"])
def test_wrong_urls_are_refused_at_once(url: str) -> None:
    with pytest.raises(errors.InvalidRequestError):
        GatewayClient(url)


@pytest.mark.parametrize(("value", "text"), [(object(), "cannot be written as JSON"), (float("nan"), "Out of range"), ({(1, 2): 3}, "cannot be the name of a member"), ("\ud800", "surrogates")])
def test_what_is_no_json_is_not_sent(value: Any, text: str) -> None:
    with Scripted(answer({})) as server, GatewayClient(server.url) as client, pytest.raises(errors.InvalidRequestError, match=text):
        client.call_tool("default", "add", {"value": value})
    assert server.asked == []


def test_a_value_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with GatewayClient() as client, pytest.raises(errors.InvalidRequestError, match="or holds itself"):
        client.call_tool("default", "add", value)


def test_a_header_cannot_bring_another() -> None:
    with GatewayClient() as client, pytest.raises(errors.InvalidRequestError, match="visible ASCII"):
        client.health(correlation_id="a\r\nx-other: b")
    with pytest.raises(errors.InvalidRequestError):
        GatewayClient(api_key="a\nb")


def test_a_key_is_sent_and_not_shown() -> None:
    with Scripted(answer({"ok": True})) as server, GatewayClient(server.url, api_key="secret") as client:
        client.health()
        assert "secret" not in repr(client)
    assert server.asked[0].headers["authorization"] == "Bearer secret"


@both
def test_a_header_of_the_caller_replaces_the_client_s_however_it_is_written(ask: Any) -> None:
    mine = {"idempotency-key": "mine", "AUTHORIZATION": "Basic mine", "host": "mine.example", "content-TYPE": "application/json; mine=1", "X-Correlation-ID": "mine-1"}
    with Scripted(answer({"result": {"content": []}})) as server:
        ask(server.url, "call_tool", "default", "add", {}, headers=mine, timeout=5, max_retries=0)
    names = [line.partition(b":")[0].lower() for line in server.heads[0].splitlines()[1:]]
    assert sorted(names) == sorted(set(names)), names
    assert {name.lower(): server.asked[0].headers[name.lower()] for name in mine} == {name.lower(): value for name, value in mine.items()}


def test_headers_of_a_call_go_before_those_of_the_client() -> None:
    with Scripted(answer({"ok": True})) as server:
        with GatewayClient(server.url, api_key="key", headers={"X-One": "client"}) as client:
            client.health(headers={"x-one": "call", "authorization": "Basic call"})
    sent = [line.lower() for line in server.heads[0].splitlines() if line.lower().startswith((b"x-one", b"authorization"))]
    assert sorted(sent) == [b"authorization: basic call", b"x-one: call"]


@both
@pytest.mark.parametrize("headers", [{"content-length": "3"}, {"Transfer-Encoding": "chunked"}, {"x-a\r\nb": "c"}, {"x a": "c"}, {"": "c"}, {"x-ü": "c"}])
def test_headers_that_would_break_the_request_are_refused(ask: Any, headers: Any) -> None:
    with Scripted(answer({"ok": True})) as server, pytest.raises(errors.InvalidRequestError, match="header"):
        ask(server.url, "health", headers=headers, timeout=5, max_retries=0)
    assert server.asked == []


@both
def test_blanks_around_a_header_are_not_sent(ask: Any) -> None:
    with Scripted(answer({"ok": True})) as server:
        ask(server.url, "health", api_key="sk-very-secret ", headers={"x-one": " a b "}, max_retries=0, timeout=5)
    assert {b"authorization: bearer sk-very-secret", b"x-one: a b"} <= {line.lower() for line in server.heads[0].split(b"\r\n")}


@both
def test_the_correlation_id_of_an_error_is_the_one_that_was_sent(ask: Any) -> None:
    with Scripted(close) as server, pytest.raises(errors.NetworkError) as caught:
        ask(server.url, "health", max_retries=0, headers={"X-Correlation-ID": "mine-1"})
    assert (server.asked[0].headers["x-correlation-id"], caught.value.correlation_id) == ("mine-1", "mine-1")


SECRETS: dict[str, dict[str, Any]] = {
    "a key": {"api_key": "sk-very-secret\n"},
    "a header": {"headers": {"authorization": "Bearer sk-very-secret\u00fc"}},
    "a password and a wrong port": {"url": "http://user:sk-very-secret@host:port"},
    "a password with a hash": {"url": "http://user:#sk-very-secret@host"},
    "a password with a question mark": {"url": "http://user:sk-very-secret?@host"},
    "a query with an at sign": {"url": "http://host/?mail=a@b&key=sk-very-secret"},
    "a password with a slash": {"url": "http://user:sk-very-secret/more@host:port"},
    "a password and no scheme": {"url": "user:sk-very-secret@host"},
    "a password and broken brackets": {"url": "http://user:sk-very-secret@[host"},
    "a password that Unicode changes": {"url": "http://user:sk-very-secret\u2100@host"},
    "a password that would be sent": {"url": "http://user:sk-very-secret@host"},
    "a query": {"url": "http://host/?key=sk-very-secret"},
    "a fragment": {"url": "http://host/#sk-very-secret"},
}


@pytest.mark.parametrize("kind", SECRETS)
def test_no_error_shows_a_secret(kind: str) -> None:
    with pytest.raises(errors.InvalidRequestError) as caught:
        GatewayClient(**SECRETS[kind])
    assert "sk-very-secret" not in "".join(traceback.format_exception(None, caught.value, None))
