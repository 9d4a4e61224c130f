"""Measures in one process, one round for each library in turn: Python's converters of tool schemas and ours.

Called by run.py; writes one JSON line for each figure.
"""

from __future__ import annotations

import copy
import gc
import json
import logging
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from mcp_tool_gateway import engine  # noqa: E402

Tools = list[dict[str, Any]]


def openai_tool(tool: dict[str, Any]) -> dict[str, Any]:
    schema = copy.deepcopy(tool.get("inputSchema") or {"type": "object", "properties": {}})
    return {"type": "function", "function": {"name": tool["name"], "description": tool.get("description", ""), "parameters": schema}}


def converters() -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """By name: which of our dialects does comparable work, and what takes one tool. Whatever a library changes in place is copied
    before, as its own callers do."""
    found: dict[str, tuple[str, Callable[[Any], Any]]] = {}
    from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    def wrapped(tool: dict[str, Any], schema: Any) -> dict[str, Any]:
        return {"name": tool["name"], "description": tool.get("description", ""), "parameters": schema}

    def pydantic_openai(tool: dict[str, Any]) -> Any:
        return wrapped(tool, OpenAIJsonSchemaTransformer(tool.get("inputSchema") or {}, strict=True).walk())

    def pydantic_google(tool: dict[str, Any]) -> Any:
        return wrapped(tool, GoogleJsonSchemaTransformer(tool.get("inputSchema") or {}).walk())

    found["pydantic-ai, OpenAI strict"] = ("openai-chat-strict", pydantic_openai)
    found["pydantic-ai, Google"] = ("gemini-json", pydantic_google)

    from langchain_google_genai._function_utils import convert_to_genai_function_declarations

    found["langchain-google-genai"] = ("gemini", lambda tool: convert_to_genai_function_declarations([openai_tool(tool)]))

    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig

    gemini, anthropic = VertexGeminiConfig(), AnthropicConfig()
    found["litellm, Gemini"] = ("gemini", lambda tool: gemini._map_function([openai_tool(tool)], {}))
    found["litellm, Anthropic"] = ("anthropic", lambda tool: anthropic._map_tools([openai_tool(tool)]))
    return found


# As a program does that converts its own tools for every request.
TEN = "object, each list ten times in a row"

# Processor time, which programs beside this one change less than wall time; threads are measured by the wall.
CLOCK = time.process_time


def timed(work: Callable[[], int]) -> tuple[float, int]:
    gc.collect()
    began = CLOCK()
    done = work()
    return CLOCK() - began, done


def each(convert: Callable[[Any], Any], tools: Tools) -> int:
    """How many tools the library takes; one that it refuses counts for nothing."""
    done = 0
    for tool in tools:
        try:
            convert(tool)
            done += 1
        except Exception:
            pass
    return done


def each_text(convert: Callable[[Any], Any], texts: list[str]) -> int:
    """The same from text to text, as a program does it that reads and writes JSON: with Python's own module."""
    done = 0
    for text in texts:
        converted = []
        for tool in json.loads(text):
            try:
                converted.append(convert(tool))
            except Exception:
                pass
        json.dumps(converted, ensure_ascii=False, default=lambda value: value.model_dump(exclude_none=True))
        done += len(converted)
    return done


def converted(lists: list[Tools], dialect: str) -> int:
    """The engine's own conversion of each list."""
    for listed in lists:
        engine.convert(listed, dialect)
    return sum(map(len, lists))


def threads(count: int, texts: list[str], dialect: str) -> float:
    """Seconds in which each of `count` threads converts all texts."""
    start = threading.Barrier(count + 1)

    def work() -> None:
        start.wait()
        for text in texts:
            engine.convert_text(text, dialect)

    running = [threading.Thread(target=work) for _ in range(count)]
    for thread in running:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in running:
        thread.join()
    return time.perf_counter() - began


def main() -> None:
    corpus, rounds = sys.argv[1], int(sys.argv[2])
    with open(corpus, encoding="utf-8") as file:
        lists: list[Tools] = json.load(file)
    tools = [tool for listed in lists for tool in listed]
    texts = [json.dumps(listed, ensure_ascii=False) for listed in lists]
    figures: dict[tuple[str, str, str], list[float]] = {}

    def note(name: str, dialect: str, form: str, work: Callable[[], int]) -> None:
        seconds, done = timed(work)
        figures.setdefault((name, dialect, form), []).append(done / seconds)

    others = converters()
    # Everything that is there already: collections look at what the libraries make, not at what was imported.
    gc.collect()
    gc.freeze()
    dialects = sorted({dialect for dialect, _ in others.values()} | {"openai"})
    for number in range(rounds):
        for name, (dialect, convert) in others.items():
            note(name, dialect, "object", lambda convert=convert: each(convert, tools))
            note(name, dialect, "text", lambda convert=convert: each_text(convert, texts))
            note(name, dialect, TEN, lambda convert=convert: sum(each(convert, listed) for listed in lists for _ in range(10)))
        # Lists that nobody has converted before: the engine keeps what it is given again.
        fresh = [[*listed[:-1], {**listed[-1], "name": f"{listed[-1]['name']}_{number}"}] for listed in lists]
        last = [[{**listed[0], "name": f"{listed[0]['name']}_{number}"}, *listed[1:]] for listed in lists]
        fresh_alone = [[{**tool, "name": f"{tool['name']}_{number}"}] for tool in tools]
        for dialect in dialects:
            note("ours, a list a call, first", dialect, "object", lambda d=dialect: converted(fresh, d))
            note("ours, a list a call", dialect, TEN, lambda d=dialect: converted([listed for listed in last for _ in range(10)], d))
            note("ours, a tool a call, first", dialect, "object", lambda d=dialect: converted(fresh_alone, d))
            converted(lists, dialect)
            converted(lists, dialect)
            note("ours, a list a call, again", dialect, "object", lambda d=dialect: converted(lists, d))
            note("ours, a list a call", dialect, "text", lambda d=dialect: len(tools) * bool([engine.convert_text(x, d) for x in texts]))
            note("json.loads and dumps alone", dialect, "text", lambda: len(tools) * bool([json.dumps(json.loads(x)) for x in texts]))
    for (name, dialect, form), rates in figures.items():
        print(json.dumps({"name": name, "dialect": dialect, "form": form, "rate": statistics.median(rates)}))
    for dialect in ("openai", "gemini"):
        ratios = [2 * threads(1, texts, dialect) / threads(2, texts, dialect) for _ in range(max(5, rounds))]
        print(json.dumps({"threads": dialect, "ratio": statistics.median(ratios), "best": max(ratios)}))


main()
