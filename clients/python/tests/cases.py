"""What the Python client promises, against the real gateway and, where the gateway must misbehave, against a scripted server.

Plain functions and the standard library: pytest runs them, and isolated.py runs them where nothing is installed. Each takes the client of a gateway that has the servers
`default` (the demo), `counting`, and one whose name needs encoding.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from scripted import Scripted, answer, close, unused_port

BEFORE = {name.partition(".")[0] for name in sys.modules}

import mcp_tool_gateway as package
from mcp_tool_gateway import GatewayClient, errors, metadata

COUNTING = pathlib.Path(__file__).resolve().parents[2] / "testing/counting_server.py"
ODD_NAME = "one two"
SERVERS = {
    "default": {"type": "builtin"},
    "counting": {"command": sys.executable, "args": [str(COUNTING)]},
    ODD_NAME: {"type": "builtin"},
}
CONFIG = {"mcpServers": SERVERS}
ADD = {"name": "add", "args": {"a": 15, "b": 27}}
OK = answer({"ok": True})


@contextlib.contextmanager
def fails(kind: type[BaseException], text: str) -> Iterator[list[Any]]:
    """The error that a block ends with, whose text is `text`, or begins with it where that ends with `…`."""
    caught: list[Any] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
        said = str(error)
        assert said.startswith(text[:-1]) if text.endswith("…") else said == text, f"{said!r} instead of {text!r}"
        return
    raise AssertionError(f"no {kind.__name__} came")


@contextlib.contextmanager
def without_waiting() -> Iterator[list[float]]:
    """The delays between attempts, which are not waited for: the clock jumps over them."""
    from mcp_tool_gateway import _core

    delays: list[float] = []
    real = _core.time
    _core.time = types.SimpleNamespace(sleep=delays.append, monotonic=lambda: real.monotonic() + sum(delays))  # type: ignore[assignment]
    try:
        yield delays
    finally:
        _core.time = real


def case_constructor_has_the_documented_arguments_and_defaults(client: GatewayClient) -> None:
    parameters = inspect.signature(GatewayClient).parameters
    positional = {name: one.default for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD}
    assert positional == {"url": "http://127.0.0.1:8787", "timeout": 60, "max_retries": 3, "retry_delay": 1, "retry_backoff": 2}, positional
    assert list(positional) == ["url", "timeout", "max_retries", "retry_delay", "retry_backoff"]


def case_a_slash_at_the_end_of_the_url_means_nothing(client: GatewayClient) -> None:
    with GatewayClient(client.url + "/") as other:
        assert other.health()["ok"] is True


def case_get_tools_gives_the_provider_s_shape(client: GatewayClient) -> None:
    gemini = client.get_tools("gemini", server="default")
    names = [tool["name"] for tool in gemini["function_declarations"]]
    assert names == ["add", "multiply", "get_weather", "store_value", "get_value"], names
    openai = client.get_tools("openai", server="default")
    assert [tool["type"] for tool in openai["tools"]] == ["function"] * 5
    assert [tool["function"]["name"] for tool in openai["tools"]] == names


def case_tools_gives_the_definitions_as_their_server_has_them(client: GatewayClient) -> None:
    tools = client.tools(server="counting")["tools"]
    assert [tool["name"] for tool in tools] == ["increment", "count", "picture", "echo"]
    assert tools[0]["annotations"]["idempotentHint"] is False


def case_execute_runs_a_call_of_a_provider(client: GatewayClient) -> None:
    result = client.execute("gemini", ADD, server="default")
    assert json.loads(result["content"][0]["text"])["result"] == 42
    called = {"name": "add", "arguments": json.dumps(ADD["args"])}
    assert client.execute("openai", called, server="default")["structuredContent"]["result"] == 42


def case_execute_takes_an_object_with_name_and_args(client: GatewayClient) -> None:
    call = types.SimpleNamespace(name="add", args={"a": 15, "b": 27})
    assert client.execute("gemini", call, server="default")["structuredContent"]["result"] == 42


def case_execute_of_a_list_of_calls_gives_a_list(client: GatewayClient) -> None:
    arguments = json.dumps(ADD["args"])
    calls: dict[str, Any] = {
        "openai": {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}},
        "openai-responses": {"type": "function_call", "call_id": "c1", "name": "add", "arguments": arguments},
        "anthropic": {"type": "tool_use", "id": "c1", "name": "add", "input": ADD["args"]},
        "gemini": ADD,
        "vertex-json": {"functionCall": ADD},
        "bedrock": {"toolUse": {"toolUseId": "c1", "name": "add", "input": ADD["args"]}},
        "ollama": {"function": ADD},
        "mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": ADD["args"]}},
    }
    for provider, call in calls.items():
        for several in ([], [call], (call,), [call, call]):
            results = client.execute(provider, several, server="default")
            assert [result["structuredContent"]["result"] for result in results] == [42] * len(several), (provider, several)
        assert client.execute(provider, call, server="default")["structuredContent"]["result"] == 42
    for text in (json.dumps([ADD]), json.dumps([ADD]).encode()):
        assert [result["structuredContent"]["result"] for result in client.execute("gemini", text, server="default")] == [42]
    # What surrounds calls is not one of them.
    content = [{"type": "text", "text": "adding"}, calls["anthropic"]]
    assert len(client.execute("anthropic", content, server="default")) == 1
    assert metadata(client.execute("gemini", [ADD], server="default")).correlation_id


def case_execute_of_a_reply_in_pieces_gives_its_result(client: GatewayClient) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": json.dumps(ADD["args"])}}
    message = {"role": "assistant", "content": "", "tool_calls": [called]}
    pieces: list[tuple[str, list[Any]]] = [
        ("openai", [message]),
        ("openai", [{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **called}]}, "finish_reason": "tool_calls"}]}]),
        ("gemini", [{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": ADD}]}, "finishReason": "STOP"}]}]),
        ("gemini", [{"role": "model", "parts": [{"functionCall": ADD}]}]),
        ("ollama", [{"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [{"function": ADD}]}, "done": True}]),
        (
            "anthropic",
            [
                {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c1", "name": "add", "input": {}}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": json.dumps(ADD["args"])}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_stop"},
            ],
        ),
    ]
    for provider, chunks in pieces:
        for given in (chunks, iter(chunks)):
            result = client.execute(provider, given, server="default")
            assert isinstance(result, dict) and result["structuredContent"]["result"] == 42, (provider, result)


def case_call_tool_runs_a_tool_by_name(client: GatewayClient) -> None:
    assert client.call_tool("default", "add", {"a": 1, "b": 2})["structuredContent"]["result"] == 3
    assert client.call_tool(tool="mcp__default__add", arguments={"a": 1, "b": 2})["structuredContent"]["result"] == 3


def case_a_tool_that_fails_is_a_result(client: GatewayClient) -> None:
    result = client.execute("gemini", {"name": "add", "args": {"a": "x", "b": 1}}, server="default")
    assert result["isError"] is True


def case_logs_has_the_newest_calls_oldest_first(client: GatewayClient) -> None:
    for number in range(3):
        client.call_tool("default", "add", {"a": number, "b": 77})
    entries = client.logs(server="default", limit=2)
    assert [entry["input"]["a"] for entry in entries] == [1, 2], entries
    assert client.get_logs(server="default", limit=2) == entries
    assert client.logs(server="default", since="2999-01-01T00:00:00Z") == []


def case_logs_asks_for_a_hundred(client: GatewayClient) -> None:
    with Scripted(answer([])) as server, GatewayClient(server.url) as other:
        other.logs()
    assert server.asked[0].target == "/logs?limit=100"


def case_logs_can_be_followed(client: GatewayClient) -> None:
    client.call_tool("default", "add", {"a": 5, "b": 5})
    # A list waits until everything is written; a stream begins with what is written, and goes on.
    assert client.logs(limit=1)[0]["input"] == {"a": 5, "b": 5}
    entries = client.logs(server="default", follow=True, limit=1)
    assert next(entries)["input"] == {"a": 5, "b": 5}
    client.call_tool("default", "add", {"a": 6, "b": 6})
    assert next(entries)["input"] == {"a": 6, "b": 6}


def case_following_resumes_after_the_last_event(client: GatewayClient) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

    def broken(number: int) -> Any:
        event = f'id: {number}\ndata: {{"id":{number}}}\n\n'.encode()
        said = head + f"{len(event):x}\r\n".encode() + event + b"\r\n"
        return lambda connection: (connection.sendall(said), close(connection))

    with Scripted(broken(7), broken(8), broken(9)) as server, GatewayClient(server.url) as other, without_waiting():
        entries = other.logs(follow=True)
        assert [next(entries)["id"] for _ in range(3)] == [7, 8, 9]
    assert [asked.headers.get("last-event-id") for asked in server.asked[:3]] == [None, "7", "8"]


def case_health_says_how_the_servers_are(client: GatewayClient) -> None:
    health = client.health()
    assert health["ok"] is True
    assert {server["name"] for server in health["servers"]} == set(SERVERS)


def case_errors_of_the_caller_have_the_documented_text(client: GatewayClient) -> None:
    with fails(errors.ServerNotFoundError, "Gateway HTTP 400: Unknown server: nope. Available servers: counting, default, one two") as caught:
        client.get_tools("gemini", server="nope")
    assert (caught[0].status, caught[0].code) == (400, "SERVER_NOT_FOUND")
    with fails(errors.GatewayError, "Gateway HTTP 400: msg"), Scripted(answer({"error": "msg"}, 400)) as server, GatewayClient(server.url) as other:
        other.health()


def case_errors_of_the_caller_are_not_retried(client: GatewayClient) -> None:
    for status in (400, 401, 404, 409, 429):
        with Scripted(answer({"error": "msg"}, status)) as server, GatewayClient(server.url) as other, without_waiting() as delays:
            with fails(errors.GatewayHttpError, f"Gateway HTTP {status}: msg"):
                other.call_tool("default", "add", {})
        assert (len(server.asked), delays) == (1, [])


def case_faults_are_retried_with_growing_delays(client: GatewayClient) -> None:
    with Scripted(*[answer({"error": "msg"}, 500)] * 3, OK) as server, GatewayClient(server.url) as other, without_waiting() as delays:
        assert other.health() == {"ok": True}
    assert (len(server.asked), delays) == (4, [1, 2, 4])


def case_after_all_retries_the_error_says_how_many(client: GatewayClient) -> None:
    with Scripted(answer({"error": "msg"}, 500)) as server, GatewayClient(server.url) as other, without_waiting() as delays:
        with fails(errors.GatewayHttpError, "Request failed after 4 attempts: Gateway HTTP 500: msg") as caught:
            other.health()
    assert (len(server.asked), delays, caught[0].attempts, caught[0].message) == (4, [1, 2, 4], 4, "msg")


def case_retries_are_as_the_constructor_says(client: GatewayClient) -> None:
    with Scripted(answer({"error": "msg"}, 503)) as server, without_waiting() as delays:
        with GatewayClient(server.url, max_retries=2, retry_delay=0.5, retry_backoff=3) as other:
            with fails(errors.GatewayHttpError, "Request failed after 3 attempts: Gateway HTTP 503: msg"):
                other.health()
    assert delays == [0.5, 1.5]


def case_a_gateway_that_is_down_is_a_network_error(client: GatewayClient) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    with GatewayClient(url, max_retries=0) as other:
        with fails(errors.UnreachableError, f"Network error: {url}: Connection refused; is the gateway running?"):
            other.health()
    with GatewayClient(url) as other, without_waiting() as delays:
        with fails(errors.NetworkError, "Request failed after 4 attempts: Network error: …"):
            other.execute("gemini", ADD)
    assert delays == [1, 2, 4]


def case_a_call_has_one_key_on_all_its_attempts(client: GatewayClient) -> None:
    result = answer({"result": {"content": []}})
    with Scripted(close, answer({"error": "msg"}, 502), result) as server, GatewayClient(server.url) as other, without_waiting():
        other.execute("gemini", ADD)
        other.execute("gemini", ADD)
    keys = [asked.headers["idempotency-key"] for asked in server.asked]
    assert len(keys) == 4 and keys[0] == keys[1] == keys[2] != keys[3], keys
    ids = [asked.headers["x-correlation-id"] for asked in server.asked]
    assert ids[0] == ids[1] == ids[2] != ids[3], ids


def case_what_cannot_have_a_key_is_sent_once(client: GatewayClient) -> None:
    with Scripted(close) as server, GatewayClient(server.url) as other, without_waiting() as delays:
        with fails(errors.NetworkError, "Network error: the connection ended before the answer"):
            other.restart_server("default")
    assert (len(server.asked), delays) == (1, [])


def case_names_are_encoded(client: GatewayClient) -> None:
    assert client.tools(server=ODD_NAME)["tools"]
    odd = "a/b?c=d&e#ü %"
    with Scripted(OK) as server, GatewayClient(server.url) as other:
        other.provider(odd)
        other.tools(server=odd, tag=["x y", "z&"])
    assert server.asked[0].target == "/providers/a%2Fb%3Fc%3Dd%26e%23%C3%BC%20%25"
    assert parse_qs(urlsplit(server.asked[1].target).query) == {"server": [odd], "tag": ["x y", "z&"]}


def case_a_correlation_id_is_sent_and_given_back(client: GatewayClient) -> None:
    result = client.call_tool("default", "add", {"a": 1, "b": 1}, correlation_id="mine-1")
    assert metadata(result).correlation_id == "mine-1"
    assert [entry["correlation_id"] for entry in client.logs(correlation_id="mine-1")] == ["mine-1"]
    with fails(errors.ServerNotFoundError, "Gateway HTTP 400: …") as caught:
        client.call_tool("nope", "add", {}, correlation_id="mine-2")
    assert caught[0].correlation_id == "mine-2"
    with GatewayClient(f"http://127.0.0.1:{unused_port()}", max_retries=0) as other:
        with fails(errors.NetworkError, "Network error: …") as caught:
            other.health(correlation_id="mine-3")
    assert caught[0].correlation_id == "mine-3"


def case_the_other_names_are_there(client: GatewayClient) -> None:
    assert package.McpToolGatewayClient is GatewayClient
    assert package.MCPToolGatewayClient is GatewayClient
    assert GatewayClient.get_logs is GatewayClient.logs


def case_nothing_but_the_standard_library_is_loaded(client: GatewayClient) -> None:
    if not sys.flags.isolated:
        return
    # The list of names lacks the file that `sysconfig` reads, whose name is made for each platform.
    loaded = {name.partition(".")[0] for name in sys.modules if not name.startswith("_sysconfigdata_")}
    foreign = loaded - set(sys.stdlib_module_names) - BEFORE
    assert foreign == {"mcp_tool_gateway"}, foreign


CASES = {name: case for name, case in list(globals().items()) if name.startswith("case_")}
