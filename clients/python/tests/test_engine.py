"""The engine over Python's objects and over text."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import logging
import os
import subprocess
import sys
import threading
from collections import OrderedDict, UserDict
from typing import Any, ClassVar

import pytest

pytest.importorskip("mcp_tool_gateway._engine", reason="the native part is not built")

from mcp_tool_gateway import engine
from mcp_tool_gateway.engine import EngineError, StreamAssembler

ADD = {
    "name": "add",
    "description": "Adds numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 2}},
        "required": ["a"],
    },
}
WEIRD = {
    "name": "files.read all",
    "inputSchema": {
        "type": "object",
        "properties": {"labels": {"type": "object", "additionalProperties": {"type": "integer"}}},
        "required": ["labels"],
    },
}


def test_objects_and_text_give_the_same() -> None:
    for dialect in ("openai", "anthropic", "gemini", "bedrock", "universal", "mcp"):
        converted = engine.convert([ADD, WEIRD], to=dialect)
        text = engine.convert_text(json.dumps([ADD, WEIRD]), dialect)
        assert json.dumps(converted, separators=(",", ":"), ensure_ascii=False) == text, dialect


def named(name: str) -> dict[str, Any]:
    return {**copy.deepcopy(ADD), "name": name, "annotations": {"title": "T"}}


def fresh(tools: Any, **options: Any) -> Any:
    return json.loads(engine.convert_text(json.dumps(tools), **options))


def thrice(tools: Any, **options: Any) -> Any:
    """The first conversion is remembered, the second one kept, and the third one copied from what is kept."""
    return [engine.convert(tools, **options) for _ in range(3)][-1]


def spoil(value: Any) -> None:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], (dict, list)):
            spoil(value[key])
        value[key] = "spoilt"


def test_a_list_that_was_converted_before_gives_the_same_and_nothing_that_callers_share() -> None:
    tools = [named("kept_a"), named("kept_b")]
    expected = json.dumps(fresh(tools, to="gemini"))
    for _ in range(5):
        converted = engine.convert(tools, to="gemini")
        assert json.dumps(converted) == expected
        spoil(converted)
    assert json.dumps(thrice(copy.deepcopy(tools), to="gemini")) == expected


class Dict(dict[str, Any]):
    pass


def reordered(tools: Any) -> None:
    tools[0]["inputSchema"]["properties"] = dict(reversed(tools[0]["inputSchema"]["properties"].items()))


CHANGES: dict[str, Any] = {
    "deep": lambda tools: tools[0]["inputSchema"]["properties"]["a"].update(type="integer"),
    "description": lambda tools: tools[1].update(description="Other words."),
    "added": lambda tools: tools[1]["inputSchema"]["properties"].update(c={"type": "string"}),
    "removed": lambda tools: tools[1]["inputSchema"].pop("required"),
    "order": reordered,
    "longer": lambda tools: tools[0]["inputSchema"]["required"].append("b"),
    "text": lambda tools: tools[0]["inputSchema"]["properties"]["b"].update(default="2"),
    "float": lambda tools: tools[0]["inputSchema"]["properties"]["b"].update(default=2.0),
    "truth": lambda tools: tools[0]["inputSchema"].update(additionalProperties=False),
    "another int": lambda tools: tools[0]["inputSchema"]["properties"]["b"].update(default=3),
    "a subclass": lambda tools: tools.__setitem__(0, Dict(tools[0], description="Of a class of its own.")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_list_that_was_converted_before_counts(change: str) -> None:
    tools = [named(f"changed_{change}"), named("last")]
    thrice(tools, to="gemini")
    CHANGES[change](tools)
    for _ in range(3):
        assert json.dumps(engine.convert(tools, to="gemini")) == json.dumps(fresh(tools, to="gemini"))


def test_what_is_equal_and_written_differently_counts() -> None:
    for one, other in ((1, True), (1, 1.0), (0.0, -0.0), (0, False)):
        tools = [named("equal")]
        tools[0]["inputSchema"]["properties"]["a"]["default"] = one
        thrice(tools, to="anthropic")
        tools[0]["inputSchema"]["properties"]["a"]["default"] = other
        assert json.dumps(engine.convert(tools, to="anthropic")) == json.dumps(fresh(tools, to="anthropic"))


def test_options_are_told_apart_and_what_is_left_out_is_logged_each_time(caplog: pytest.LogCaptureFixture) -> None:
    tools = [named("options"), {"name": "broken", "inputSchema": {"type": "array"}}, named("end")]
    several: list[dict[str, Any]] = [{"to": "openai"}, {"to": "openai", "strict": "auto"}, {"to": "openai", "hide": ["a"]}, {"model": "gpt-4o"}, {"to": "anthropic", "report": True}]
    for options in several:
        caplog.clear()
        converted = thrice(tools, **options)
        assert len([record for record in caplog.records if "broken" in record.getMessage()]) == (0 if "report" in options else 3)
        assert converted == fresh(tools, **options)


def test_lists_that_hold_themselves_are_refused_again_and_again() -> None:
    tool = named("cycle")
    tool["inputSchema"]["properties"] = {"a": tool["inputSchema"], "b": tool["inputSchema"]}
    for _ in range(3):
        assert engine.convert([tool], to="openai") == []


GROWTH = """
import json, resource, sys
from mcp_tool_gateway import engine
texts = sys.argv[1] == "texts"
expected = json.dumps(engine.convert([{"name": "first", "inputSchema": {"type": "object"}}], to="gemini"))
lists = []
for number in range(300):
    schema = {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(10 if texts else 2_000)}}
    lists.append([{"name": f"large_{number}", "description": str(number) * (300_000 if texts else 1), "inputSchema": schema}])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for number, tools in enumerate(lists):
    for _ in range(2):
        engine.convert(tools, to="gemini")
    # What is used again stays, and counts.
    for earlier in lists[: number + 1 : 10]:
        engine.convert(earlier, to="gemini")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
assert json.dumps(engine.convert([{"name": "first", "inputSchema": {"type": "object"}}], to="gemini")) == expected
"""


@pytest.mark.parametrize("what", ["texts", "values"])
def test_what_is_kept_is_bounded(what: str) -> None:
    """300 lists whose results take about 1 MB each: without a bound all of them would be kept."""
    ran = subprocess.run([sys.executable, "-c", GROWTH, what], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 150, ran.stdout


def test_lists_with_one_key_that_take_turns_stay_right() -> None:
    one, other = [named("turns")], [named("turns")]
    other[0]["inputSchema"]["properties"]["a"]["type"] = "string"
    for _ in range(8):
        assert engine.convert(one, to="gemini") == fresh(one, to="gemini")
        assert engine.convert(other, to="gemini") == fresh(other, to="gemini")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer collectors run between instructions only")
def test_code_that_the_garbage_collector_runs_does_not_reach_what_is_kept() -> None:
    tools = [named(f"collected_{index}") for index in range(100)]
    expected = fresh(tools, to="gemini")
    known = set(map(id, gc.get_objects()))

    def meddle(phase: str, about: dict[str, int]) -> None:
        for found in gc.get_objects():
            if type(found) is list and id(found) not in known and found and type(found[0]) is dict and "name" in found[0]:
                found.clear()

    before = gc.get_threshold()
    gc.callbacks.append(meddle)
    gc.set_threshold(20, 2, 2)
    try:
        for _ in range(20):
            engine.convert(tools, to="gemini")
    finally:
        gc.callbacks.remove(meddle)
        gc.set_threshold(*before)
    assert engine.convert(tools, to="gemini") == expected


def test_threads_convert_the_same_lists_side_by_side() -> None:
    lists = [[named(f"thread_{number}"), named("last")] for number in range(20)]
    expected = [fresh(tools, to="gemini") for tools in lists]
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(50):
            for tools, answer in zip(lists, expected):
                converted = engine.convert(tools, to="gemini")
                if converted != answer:
                    wrong.append(converted)
                spoil(converted)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_dialect_is_named_or_chosen_by_a_model() -> None:
    by_name = engine.convert([ADD], to="anthropic")
    assert by_name[0]["input_schema"]["properties"]["a"] == {"type": "number"}
    assert engine.convert([ADD], profile="anthropic") == engine.convert([ADD], provider="anthropic") == by_name
    assert engine.convert([ADD], model="gpt-4o")[0]["type"] == "function"


def test_documents_of_all_forms() -> None:
    expected = engine.convert([ADD], to="openai")
    wrapped = {"type": "function", "function": {"name": "add", "description": ADD["description"], "parameters": ADD["inputSchema"]}}
    for document in ({"tools": [ADD]}, {"result": {"tools": [ADD]}}, ADD, (ADD,), [wrapped], {"tools": [wrapped]}):
        assert engine.convert(document, to="openai") == expected
        assert json.loads(engine.convert_text(json.dumps(document), "openai")) == expected


def test_nothing_that_is_given_is_changed_or_shared() -> None:
    given = [copy.deepcopy(ADD)]
    converted = engine.convert(given, to="openai")
    converted[0]["function"]["parameters"]["properties"].clear()
    assert given == [ADD]


def test_options_reach_the_engine() -> None:
    assert "default" not in json.dumps(engine.convert([ADD], to="openai", defaults="strip"))
    assert "b" not in engine.convert([ADD], to="openai", hide=["b"])[0]["function"]["parameters"]["properties"]
    report = engine.convert([ADD], to="openai", report=True)
    assert report["dialect"] == "openai-chat"
    assert report["tools"] == engine.convert([ADD], to="openai")
    assert [row["name"] for row in report["report"]] == ["add"]
    exact = {**ADD, "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}
    assert engine.convert([exact], to="openai", strict="auto")[0]["function"]["strict"] is True


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({}, "VALIDATION_ERROR", "say which dialect"),
        ({"to": "nonesuch"}, "UNKNOWN_PROVIDER", "nonesuch"),
        ({"model": "nonesuch"}, "UNKNOWN_PROVIDER", "nonesuch"),
        ({"to": "openai", "defaults": "maybe"}, "VALIDATION_ERROR", "keep, strip, describe"),
        ({"to": "openai", "budget": "lots"}, "VALIDATION_ERROR", "auto"),
    ],
)
def test_wrong_options(options: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(EngineError, match=words) as raised:
        engine.convert([ADD], **options)
    assert (raised.value.code, raised.value.message) == (code, str(raised.value))


def test_a_tool_that_is_left_out_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    deep: Any = {}
    for _ in range(200_000):
        deep = {"properties": {"a": deep}}
    itself: dict[str, Any] = {"name": "cycle", "inputSchema": {"type": "object"}}
    itself["inputSchema"]["properties"] = {"a": itself}
    tools = [ADD, {"name": "deep", "inputSchema": deep}, itself, {**ADD, "name": "last"}]
    with caplog.at_level(logging.WARNING, "mcp_tool_gateway"):
        converted = engine.convert(tools, to="openai")
    assert [tool["function"]["name"] for tool in converted] == ["add", "last"]
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["left out deep", "left out cycle"]
    # Taken apart from the outside, as the interpreter's own destructor would go as deep as the value.
    while deep:
        deep = deep.pop("properties", {}).pop("a", None)


class Text(str):
    pass


class Whole(int):
    pass


@dataclasses.dataclass
class Tool:
    name: str
    inputSchema: Any


class Model:
    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> Any:
        assert (mode, by_alias, exclude_none) == ("json", True, True)
        return {"name": "add", "inputSchema": {"type": "object"}}


def test_what_stands_for_json() -> None:
    plain = engine.convert([{"name": "add", "inputSchema": {"type": "object"}}], to="openai")
    for same in (
        {Text("name"): Text("add"), "inputSchema": OrderedDict(type="object")},
        UserDict(name="add", inputSchema={"type": "object"}),
        Tool("add", {"type": "object"}),
        Model(),
    ):
        assert engine.convert([same], to="openai") == plain
    schema = {"type": "object", "properties": {"a": {"enum": (1, 2.5, True, None, Whole(7), "é😀", 2**63, -(2**63))}}}
    listed = engine.convert([{"name": "a", "inputSchema": schema}], to="argo")[0]["function"]["parameters"]["properties"]["a"]["enum"]
    assert listed == [1, 2.5, True, None, 7, "é😀", 2**63, -(2**63)]
    assert list(map(type, listed)) == [int, float, bool, type(None), int, str, int, int]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (float("nan"), EngineError, "/0/x is no JSON: JSON has no NaN"),
        (float("inf"), EngineError, "infinity"),
        (b"bytes", TypeError, "of type bytes"),
        ({1, 2}, TypeError, "of type set"),
        (object(), TypeError, "of type object"),
        (Model, TypeError, "of type type"),
        ({1: 2}, TypeError, "a key is of type int"),
        ("\ud800", EngineError, "surrogate"),
        ({"\udc00": 1}, EngineError, "surrogate"),
        (10**400, EngineError, "larger than any number"),
        pytest.param(10**100_000, EngineError, "larger than any number", id="digits"),
    ],
)
def test_what_is_no_json(value: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        engine.convert([{"name": "a", "inputSchema": {}, "x": value}], to="openai")


def test_whole_numbers_of_any_size() -> None:
    """In schemas they are rounded as in JSON text, in arguments refused, in results they keep their digits."""
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 2**70}}}
    assert engine.convert([{"name": "a", "inputSchema": schema}], to="argo")[0]["function"]["parameters"]["properties"]["a"]["maximum"] == 2.0**70
    call = {"type": "tool_use", "id": "1", "name": "a", "input": {"n": 2**64}}
    with pytest.raises(EngineError, match="/input/n is no JSON: the number does not fit into 64 bits"):
        engine.parse_calls(call)
    rendered = engine.render_results([{"id": "1", "name": "a", "result": {"content": [], "structuredContent": {"n": 2**70}}}], provider="openai")
    assert str(2**70) in rendered[0]["content"]
    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else 0
    if limit:
        with pytest.raises(EngineError, match="digits"):
            engine.render_results([{"id": "1", "name": "a", "result": {"content": [], "structuredContent": {"n": 10**100_000}}}], provider="openai")


def test_code_that_runs_while_an_object_is_read_may_fail_or_change_it() -> None:
    class Broken:
        def model_dump(self, **_: Any) -> Any:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        engine.convert([{"name": "a", "inputSchema": Broken()}], to="openai")

    outer: dict[str, Any] = {"name": "a"}

    class Emptying:
        def model_dump(self, **_: Any) -> Any:
            outer.clear()
            return {"type": "object"}

    outer["inputSchema"] = Emptying()
    assert isinstance(engine.convert([outer], to="openai"), list)


@pytest.mark.parametrize("text", ["", "[", "nul", '{"a"', "[" * 100_000, '"\\ud800"', "1e999", b"\xff\xfe", "\x00"])
def test_odd_texts_are_refused_or_taken_but_never_end_the_process(text: str | bytes) -> None:
    for work in (
        lambda: engine.convert_text(text, "openai"),
        lambda: engine.check_text(text, "openai"),
        lambda: engine.transform_text(text, "openai"),
        lambda: engine.parse_reply_text(text),
        lambda: engine.render_results_text(text, provider="openai"),
        lambda: engine.convert_history_text(text, "openai", "anthropic"),
    ):
        try:
            assert isinstance(work(), str)
        except ValueError as error:
            assert str(error)


def test_repeated_members_are_refused() -> None:
    with pytest.raises(EngineError, match="repeated"):
        engine.convert_text('[{"name": "a", "name": "b"}]', "openai")


def test_text_must_be_text() -> None:
    with pytest.raises(TypeError, match="got list"):
        engine.convert_text([], "openai")  # type: ignore[arg-type]


def test_check() -> None:
    report = engine.check([{"name": "add", "inputSchema": {"type": "object"}}], to=["gemini", "openai"])
    assert "description-missing" in {finding["rule"] for finding in report["findings"]}
    assert json.loads(engine.check_text(json.dumps([ADD]), "gemini")) == engine.check([ADD], "gemini")
    assert len(engine.check([ADD])["dialects"]) > 20


def test_transform() -> None:
    schema = {"type": "string", "format": "uri", "minLength": 5}
    expected = {"type": "string", "description": '{"format":"uri","minLength":5}'}
    assert engine.transform(schema, "universal") == expected
    assert json.loads(engine.transform_text(json.dumps(schema), "universal")) == expected
    assert engine.transform(schema, model="nonesuch") == schema
    assert engine.transform(schema, "universal", report=True)["changes"]
    with pytest.raises(EngineError, match="holds tools"):
        engine.transform([ADD][0], "openai")


REPLY = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "One moment.",
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": "15"}'}}],
            }
        }
    ]
}


def test_calls_without_tools() -> None:
    expected = [{"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": "15"}}]
    assert engine.parse_calls(REPLY) == engine.parse_calls(json.dumps(REPLY)) == expected
    assert engine.parse_calls(REPLY["choices"][0]["message"]["tool_calls"][0]) == expected  # type: ignore[index]
    assert engine.parse_reply(REPLY)["text"] == "One moment."


def test_arguments_are_validated_coerced_and_completed() -> None:
    [refused] = engine.parse_calls(REPLY, tools=[ADD])
    assert refused["error"]["code"] == "VALIDATION_ERROR"
    assert refused["error"]["issues"][0]["path"] == "/a"
    [coerced] = engine.parse_calls(REPLY, tools=[ADD], coerce=True, fill_defaults=True)
    assert coerced["input"] == {"a": 15, "b": 2}
    assert (coerced["coercions"], coerced["filled"]) == ([{"path": "/a", "rule": "text-to-number"}], ["/b"])
    [unknown] = engine.parse_calls(REPLY, tools=[{**ADD, "name": "ad"}])
    assert unknown["error"] == {"code": "TOOL_NOT_FOUND", "message": "Tool not found: add. Did you mean `ad`?"}
    broken = {"type": "function", "function": {"name": "add", "arguments": "{a: 1,}"}, "id": "x"}
    assert "error" in engine.parse_calls(broken)[0]
    assert engine.parse_calls(broken, bad_arguments="repair")[0]["input"] == {"a": 1}
    assert engine.parse_calls(broken, bad_arguments="raw", tools=[ADD])[0]["input"] == {"raw": "{a: 1,}"}


def test_names_and_arguments_travel_back() -> None:
    [definition] = engine.convert([WEIRD], to="openai-chat-strict")
    function = definition["function"]
    assert function["name"] != WEIRD["name"]
    sent = {"labels": [{"key": "a", "value": 1}]}
    call = {"id": "1", "type": "function", "function": {"name": function["name"], "arguments": json.dumps(sent)}}
    [decoded] = engine.parse_calls(call, provider="openai-chat-strict", tools=[WEIRD])
    assert decoded["name"] == WEIRD["name"], decoded
    assert decoded["wireName"] == function["name"]
    assert decoded["input"] == {"labels": {"a": 1}}
    [message] = engine.render_results([{**decoded, "result": "ok"}], provider="gemini")
    assert message["parts"][0]["functionResponse"]["name"] == function["name"]


def test_results() -> None:
    result = {"content": [{"type": "text", "text": "42"}]}
    expected = [{"role": "tool", "tool_call_id": "call_1", "content": "42"}]
    for given in (result, "42"):
        assert engine.render_results([{"id": "call_1", "name": "add", "result": given}], provider="openai") == expected
    text = '[{"id": "call_1", "name": "add", "result": {"content": [], "structuredContent": {"n": 12345678901234567890123}}}]'
    assert "12345678901234567890123" in engine.render_results_text(text, provider="openai")
    for wrong in ({}, [1], [{"id": "1"}], [{"result": {}}]):
        with pytest.raises(EngineError, match="result"):
            engine.render_results(wrong, provider="openai")


def chunks() -> list[dict[str, Any]]:
    pieces: list[dict[str, Any]] = [
        {"role": "assistant", "content": "Hé"},
        {"content": "llo"},
        {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "15}"}}]},
    ]
    sent = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in pieces]
    return [*sent, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def event_text() -> bytes:
    lines = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks())
    return f": keep alive\n\n{lines}data: [DONE]\n\n".encode()


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("provider", [None, "openai"])
def test_streams_cut_anywhere(size: int, provider: str | None) -> None:
    assembler = StreamAssembler(provider=provider, tools=[ADD])
    whole = event_text()
    events = [event for at in range(0, len(whole), size) for event in assembler.push(whole[at : at + size])]
    events += assembler.finish()
    assert "".join(event["text"] for event in events if event["type"] == "text") == "Héllo"
    call = {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 15}}
    assert [event["call"] for event in events if event["type"] == "call"] == [call] == assembler.calls
    assert engine.parse_calls(whole, tools=[ADD]) == [call]
    with pytest.raises(EngineError, match="over"):
        assembler.push(b"")


def test_streams_of_chunks_lines_and_lists() -> None:
    call = {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 15}}
    by_chunk = StreamAssembler()
    for chunk in chunks():
        by_chunk.push_chunk(chunk)
    by_chunk.finish()
    assert by_chunk.calls == [call]
    for text in ("\n".join(map(json.dumps, chunks())), json.dumps(chunks(), indent=1)):
        with StreamAssembler() as assembler:
            assembler.push(text)
        assert assembler.calls == [call]


def test_a_stream_that_breaks_off() -> None:
    whole = event_text()
    broken = StreamAssembler()
    broken.push(whole[: whole.index(b"15}")].rsplit(b"\r\n\r\n", 1)[0] + b"\r\n\r\n")
    broken.finish()
    assert "input" not in broken.calls[0]
    assert "ended" in broken.calls[0]["error"]["message"]
    unknown = StreamAssembler()
    unknown.push_chunk({"what": 1})
    with pytest.raises(EngineError, match="no known API"):
        unknown.finish()
    garbled = StreamAssembler()
    events = garbled.push(b"data: {\n\n" + whole) + garbled.finish()
    assert [event["type"] for event in events].count("error") == 1
    assert "chunk of the stream" in events[0]["error"]["message"]
    assert garbled.calls[0]["input"] == {"a": 15}


def test_histories() -> None:
    messages = [{"role": "user", "content": "Hello"}]
    moved = engine.convert_history(messages, "openai", "gemini")
    assert moved == {"messages": [{"role": "user", "parts": [{"text": "Hello"}]}], "warnings": []}
    assert json.loads(engine.convert_history_text(json.dumps({"messages": messages}), "openai", "gemini")) == moved
    with pytest.raises(EngineError, match="nonesuch"):
        engine.convert_history(messages, "nonesuch", "gemini")


def test_models() -> None:
    assert engine.detect_model("o3-mini")["isReasoningModel"] is True
    assert engine.detect_model("nonesuch")["provider"] == "unknown"


def test_threads_share_translators() -> None:
    expected = engine.convert([ADD, WEIRD], to="gemini")
    wrong: list[Any] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(200):
            got = engine.convert([ADD, WEIRD], to="gemini")
            if got != expected:
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_other_threads_run_while_the_engine_works() -> None:
    """The interpreter is let go: another thread gets to count while one long conversion runs."""
    text = json.dumps([{**ADD, "name": f"add_{index}"} for index in range(20_000)])
    began, ended = threading.Event(), threading.Event()
    seen: list[bool] = []

    def convert() -> None:
        began.set()
        engine.convert_text(text, "gemini")
        ended.set()

    interval = sys.getswitchinterval()
    # So long that a thread which keeps the interpreter keeps it until it is done.
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=convert)
        thread.start()
        began.wait()
        seen.append(ended.is_set())
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen == [False]


class Long(list[Any]):
    """A list that is longer than any memory, if one asks it."""

    def __len__(self) -> int:
        return 2**42


def test_lists_are_not_asked_how_long_they_are() -> None:
    assert len(engine.convert(Long([ADD]), to="openai")) == 1


@dataclasses.dataclass
class Made:
    name: str
    kind: ClassVar[str] = "made"
    seed: dataclasses.InitVar[int] = 0


def test_dataclasses_have_their_fields_only() -> None:
    tool = engine.convert([{"name": "a", "inputSchema": {"default": Made("x", seed=1)}}], to="mcp")[0]
    assert tool["inputSchema"]["default"] == {"name": "x"}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return {"name": "deep", "inputSchema": schema}


def test_a_tool_that_is_too_deep_spoils_no_others() -> None:
    tools = [ADD, deep(200)]
    for given in (tools, {"tools": tools}):
        found = {finding["tool"] for finding in engine.check(given, to="openai")["findings"]}
        assert "deep" in found
    assert engine.convert(deep(200), to="openai") == json.loads(engine.convert_text(json.dumps(deep(200)), to="openai")) == []
    call = {"type": "tool_use", "id": "1", "name": ADD["name"], "input": {"a": 1, "b": 2}}
    assert engine.parse_calls(call, provider="anthropic", tools=tools)[0]["name"] == ADD["name"]


class Own(int):
    def __str__(self) -> str:
        return "}{"


def test_classes_do_not_choose_the_digits_of_numbers() -> None:
    result = {"content": [], "structuredContent": {"n": Own(2**70)}}
    rendered = engine.render_results([{"id": "1", "name": "a", "result": result}], provider="openai")
    assert str(2**70) in rendered[0]["content"]


def test_half_a_surrogate_pair_in_a_text_is_refused_with_a_code() -> None:
    with pytest.raises(EngineError, match="surrogate") as refused:
        engine.convert_text('[{"name": "\ud800"}]', to="openai")
    assert refused.value.code == "VALIDATION_ERROR"
