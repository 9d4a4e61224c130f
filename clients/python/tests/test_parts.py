"""The parts without I/O: events, objects as JSON, requests, and what the package has where its native part is not there."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import subprocess
import sys
import types
import typing
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT

import mcp_tool_gateway
from mcp_tool_gateway import errors
from mcp_tool_gateway._events import Event, EventReader
from mcp_tool_gateway._normalise import normalise
from mcp_tool_gateway._requests import Address, build
from mcp_tool_gateway._streams import dialect_for, of_source

STREAM = ": heartbeat\r\n\r\nid: 1\r\nevent: progress\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\ndata:two\n\nid: 3\rdata: three\r\r: end\ndata: cut off"
EVENTS = [Event("progress", '{"a":\n"ü"}', "1"), Event("message", "two", "1"), Event("message", "three", "3")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_they_are_cut(size: int) -> None:
    said, reader = STREAM.encode(), EventReader()
    assert [event for at in range(0, len(said), size) for event in reader.feed(said[at : at + size])] == EVENTS


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_tool_gateway._events.LIMIT", 1000)
    with pytest.raises(errors.StreamError, match="a line of the stream is longer than 1000 bytes"):
        reader = EventReader()
        for _ in range(20):
            list(reader.feed(b"x" * 100))
    with pytest.raises(errors.StreamError, match="an event of the stream is longer than 1000 bytes"):
        reader = EventReader()
        for _ in range(20):
            list(reader.feed(b"data: " + b"x" * 100 + b"\n"))


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Call:
    name: str
    args: dict[str, Any]
    id: str | None = None


class Slotted:
    __slots__ = ("name",)


NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
ONE = uuid.UUID(int=1)
VALUES: list[tuple[Any, Any]] = [
    ({"a": [1, 2.5, True, None, "x"]}, {"a": [1, 2.5, True, None, "x"]}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (Call("add", {"a": 1}), {"name": "add", "args": {"a": 1}}),
    (types.SimpleNamespace(name="add", args={"a": None}), {"name": "add", "args": {"a": None}}),
    ((1, 2), [1, 2]),
    ({"a": Colour.RED, Colour.RED: 1}, {"a": "red", "red": 1}),
    (b"\x00\xff", "AP8="),
    (NOW, "2026-01-02T00:00:00+00:00"),
    (ONE, str(ONE)),
    (2**70, 2**70),
    (1.0, 1.0),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_objects_as_json(value: Any, expected: Any) -> None:
    found = normalise(value)
    assert (found, json.dumps(found)) == (expected, json.dumps(expected))


@pytest.mark.parametrize("value", [Slotted(), Call, print, lambda: None])
def test_what_has_no_members_is_refused(value: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="pass a dict with its members"):
        normalise(value)


@pytest.mark.parametrize("value", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_decimals_that_are_no_numbers_are_refused(value: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"Decimal\('.*'\) cannot be written as JSON"):
        normalise({"a": decimal.Decimal(value)})
    assert json.dumps(normalise([decimal.Decimal("7.00"), decimal.Decimal("0.5")])) == "[7, 0.5]"


def test_what_boto3_puts_beside_a_reply_is_left_out_and_arguments_are_kept() -> None:
    arguments = {"ResponseMetadata": {"RequestId": "mine"}, "deep": [{"ResponseMetadata": 1}]}
    message = {"role": "assistant", "content": [{"toolUse": {"name": "report", "input": arguments}}]}
    reply = {"output": {"message": message}, "ResponseMetadata": {"HTTPStatusCode": 200}}
    assert of_source(reply) == {"output": {"message": message}}
    assert of_source({"name": "report", "args": arguments}) == {"name": "report", "args": arguments}
    body = build("postCallTool", {"server": "default", "tool": "report", "arguments": arguments}).body
    assert body is not None and json.loads(body)["arguments"] == arguments


def test_a_stream_that_has_to_be_entered_says_so() -> None:
    class Manager:
        def __enter__(self) -> Iterator[Any]:
            return iter([])

        def __exit__(self, *_: object) -> None: ...

    with pytest.raises(errors.InvalidRequestError, match="has to be entered first"):
        of_source(Manager())


@pytest.mark.parametrize(
    ("imported", "provider", "dialect"),
    [
        ([], "gemini", "gemini"),
        (["google.generativeai"], "gemini", "gemini-legacy"),
        (["google.generativeai", "google.genai"], "gemini", "gemini"),
        (["google.genai"], "gemini", "gemini"),
        (["google.generativeai"], "openai", "openai"),
        (["google.generativeai"], None, None),
    ],
)
def test_which_gemini_is_meant(monkeypatch: pytest.MonkeyPatch, imported: list[str], provider: Any, dialect: Any) -> None:
    for name in ("google.generativeai", "google.genai"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in imported:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert dialect_for(provider) == dialect


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://localhost:8787", Address("http", "localhost", 8787, "")),
        ("http://[::1]:1/", Address("http", "::1", 1, "")),
        ("https://host/prefix/", Address("https", "host", 443, "/prefix")),
        ("http://host/a b/ü/%20", Address("http", "host", 80, "/a%20b/%C3%BC/%20")),
    ],
)
def test_addresses(url: str, address: Address) -> None:
    assert Address.parse(url) == address


def test_segments_of_paths_cannot_leave_their_place() -> None:
    assert build("getProvidersName", {"name": ".."}).target == "/providers/%2E%2E"
    assert build("getProvidersName", {"name": "../servers"}).target == "/providers/..%2Fservers"
    with pytest.raises(errors.InvalidRequestError, match="is empty"):
        build("getProvidersName", {"name": ""})


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"GET /tools/\{provider\} has no option 'modle'; did you mean 'mode'\?"):
        build("getToolsProvider", {"provider": "gemini", "modle": "x"})


@pytest.mark.parametrize("name", [name for name, kind in vars(mcp_tool_gateway.types).items() if isinstance(kind, type) and kind.__module__ == "mcp_tool_gateway.types"])
def test_the_types_can_be_read_by_programs(name: str) -> None:
    kind = getattr(mcp_tool_gateway.types, name)
    assert typing.get_type_hints(kind).keys() == kind.__annotations__.keys()


def test_the_types_can_be_read_where_nothing_is_installed() -> None:
    """Python 3.10 has no `NotRequired` of its own."""
    program = """
import sys, typing
sys.modules["typing_extensions"] = None
from mcp_tool_gateway import _hints, types
types.NotRequired = _hints._Optional
assert typing.get_type_hints(types.ExecuteAnswer)["provider"] is str
assert typing.get_type_hints(types.CallToolRequest)["server"] is str
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "clients/python/src")})
    assert run.returncode == 0, run.stderr


def test_without_the_native_part_the_client_works_and_the_engine_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    program = """
import sys
sys.modules["mcp_tool_gateway._engine"] = None
import mcp_tool_gateway
from mcp_tool_gateway import *
assert GatewayClient and AsyncGatewayClient and Gateway
for name in ("convert", "check", "parse_calls", "render_results", "StreamAssembler", "convert_history", "MCPToOpenAIConverter"):
    try:
        getattr(mcp_tool_gateway, name)
    except MissingDependencyError as error:
        assert str(error).startswith(f"{name} needs the native part of mcp-tool-gateway"), error
    else:
        raise SystemExit(f"{name} came without the native part")
assert not hasattr(mcp_tool_gateway, "nothing")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "clients/python/src")})
    assert run.returncode == 0, run.stderr
