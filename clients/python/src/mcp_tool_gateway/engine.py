"""The engine in process: tools, calls, results and conversations, to and from every provider's format.

    >>> from mcp_tool_gateway.engine import convert
    >>> convert([{"name": "add", "inputSchema": {"type": "object"}}], to="openai")[0]["type"]
    'function'

Each operation takes Python's own objects (dicts, lists, tuples, pydantic models, dataclasses) and gives new ones; what it is given is
never changed. Its twin with `_text` takes JSON as `str` or `bytes` and gives JSON as `str`. Both let other threads run while the engine
works. Options have the names of the HTTP API in snake case. What the engine refuses is an `EngineError` with a `code`; an object that
stands for no JSON is a `TypeError`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Union

from . import _engine
from ._engine import EngineError

__all__ = [
    "EngineError",
    "StreamAssembler",
    "check",
    "check_text",
    "convert",
    "convert_history",
    "convert_history_text",
    "convert_text",
    "detect_model",
    "parse_calls",
    "parse_reply",
    "parse_reply_text",
    "render_results",
    "render_results_text",
    "transform",
    "transform_text",
]

_log = logging.getLogger("mcp_tool_gateway")

Json = Any
Defaults = Literal["keep", "strip", "describe"]
Open = Literal["declared", "all"]
Strict = Literal["as-named", "auto"]
EmptyRequired = Literal["keep", "omit", "add"]
BadArguments = Literal["error", "raw", "repair"]
Mode = Literal["native", "text", "text-only"]
Budget = Union[int, Literal["auto", "off"]]


def _translation(
    to: str | None,
    model: str | None,
    profile: str | None,
    provider: str | None,
    compat: str | None,
    defaults: Defaults | None,
    open: Open | None,
    strict: Strict | None,
    verbatim: bool,
    hide: Sequence[str],
    inject: Mapping[str, Json] | None,
    description_fallback: str | None,
    empty_required: EmptyRequired | None,
    budget: Budget | None,
    max_depth: int | None,
    max_nodes: int | None,
    max_bytes: int | None,
    report: bool,
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "to": to,
        "model": model,
        "profile": profile,
        "provider": provider,
        "compat": compat,
        "defaults": defaults,
        "open": open,
        "strict": strict,
        "hide": list(hide) or None,
        "inject": inject,
        "descriptionFallback": description_fallback,
        "emptyRequired": empty_required,
        "budget": budget,
        "maxDepth": max_depth,
        "maxNodes": max_nodes,
        "maxBytes": max_bytes,
    }
    options = {name: value for name, value in options.items() if value is not None}
    if verbatim:
        options["verbatim"] = True
    if report:
        options["report"] = True
    return options


def _log_left_out(left_out: list[tuple[str, str]]) -> None:
    for tool, reason in left_out:
        if tool:
            _log.warning("left out %s: %s", tool, reason)
        else:
            _log.warning("%s", reason)


def convert(
    tools: Json,
    to: str | None = None,
    *,
    model: str | None = None,
    profile: str | None = None,
    provider: str | None = None,
    compat: str | None = None,
    defaults: Defaults | None = None,
    open: Open | None = None,
    strict: Strict | None = None,
    verbatim: bool = False,
    hide: Sequence[str] = (),
    inject: Mapping[str, Json] | None = None,
    description_fallback: str | None = None,
    empty_required: EmptyRequired | None = None,
    budget: Budget | None = None,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    max_bytes: int | None = None,
    report: bool = False,
) -> Json:
    """Tools of MCP (or of a provider) → the value of a provider's request field for tools.

    `tools` is a list, `{"tools": […]}`, a reply to `tools/list` or one tool. The dialect is named by `to` (`profile` and `provider` mean
    the same) or chosen by `model`. A tool that cannot be made valid is left out and logged as a warning of the logger
    `mcp_tool_gateway`. With `report=True` the answer is that of `POST /convert`: the tools, and what happened to every keyword.
    """
    options = _translation(
        to, model, profile, provider, compat, defaults, open, strict, verbatim, hide, inject, description_fallback,
        empty_required, budget, max_depth, max_nodes, max_bytes, report,
    )  # fmt: skip
    converted, left_out = _engine.convert(tools, options)
    if left_out:
        _log_left_out(left_out)
    return converted


def convert_text(
    text: str | bytes,
    to: str | None = None,
    *,
    model: str | None = None,
    profile: str | None = None,
    provider: str | None = None,
    compat: str | None = None,
    defaults: Defaults | None = None,
    open: Open | None = None,
    strict: Strict | None = None,
    verbatim: bool = False,
    hide: Sequence[str] = (),
    inject: Mapping[str, Json] | None = None,
    description_fallback: str | None = None,
    empty_required: EmptyRequired | None = None,
    budget: Budget | None = None,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    max_bytes: int | None = None,
    report: bool = False,
) -> str:
    """`convert` over JSON text: what `mcp-tool-gateway convert` writes."""
    options = _translation(
        to, model, profile, provider, compat, defaults, open, strict, verbatim, hide, inject, description_fallback,
        empty_required, budget, max_depth, max_nodes, max_bytes, report,
    )  # fmt: skip
    converted, left_out = _engine.convert_text(text, options)
    if left_out:
        _log_left_out(left_out)
    return converted


def _check_options(to: str | Iterable[str] | None, strict: Strict | None) -> dict[str, Any]:
    names = [to] if isinstance(to, str) else list(to or ())
    options: dict[str, Any] = {"to": names} if names else {}
    if strict is not None:
        options["strict"] = strict
    return options


def check(tools: Json, to: str | Iterable[str] | None = None, *, strict: Strict | None = None) -> dict[str, Any]:
    """What is wrong with tools, and what the dialects in `to` (all providers' without it) make of them: the report of `POST /check`."""
    report: dict[str, Any] = _engine.run("check", tools, _check_options(to, strict))
    return report


def check_text(text: str | bytes, to: str | Iterable[str] | None = None, *, strict: Strict | None = None) -> str:
    """`check` over JSON text."""
    return _engine.run_text("check", text, _check_options(to, strict))


def _transform_options(
    to: str | None, model: str | None, compat: str | None, strict: Strict | None, defaults: Defaults | None, report: bool
) -> dict[str, Any]:
    options = {"to": to, "model": model, "compat": compat, "strict": strict, "defaults": defaults}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if report:
        given["report"] = True
    return given


def transform(
    schema: Json,
    to: str | None = None,
    *,
    model: str | None = None,
    compat: str | None = None,
    strict: Strict | None = None,
    defaults: Defaults | None = None,
    report: bool = False,
) -> Json:
    """One JSON Schema → the schema that a provider or a model takes. What cannot be transformed comes back as it was."""
    return _engine.run("transform", schema, _transform_options(to, model, compat, strict, defaults, report))


def transform_text(
    text: str | bytes,
    to: str | None = None,
    *,
    model: str | None = None,
    compat: str | None = None,
    strict: Strict | None = None,
    defaults: Defaults | None = None,
    report: bool = False,
) -> str:
    """`transform` over JSON text."""
    return _engine.run_text("transform", text, _transform_options(to, model, compat, strict, defaults, report))


def _call_options(
    provider: str | None,
    model: str | None,
    tools: Json,
    coerce: bool,
    fill_defaults: bool,
    bad_arguments: BadArguments | None,
    strict: Strict | None,
) -> dict[str, Any]:
    options = {"provider": provider, "model": model, "tools": tools, "badArguments": bad_arguments, "strict": strict}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if coerce:
        given["coerce"] = True
    if fill_defaults:
        given["fillDefaults"] = True
    return given


def parse_reply(
    reply: Json,
    *,
    provider: str | None = None,
    model: str | None = None,
    tools: Json = None,
    coerce: bool = False,
    fill_defaults: bool = False,
    bad_arguments: BadArguments | None = None,
    strict: Strict | None = None,
) -> dict[str, Any]:
    """What a model said: `{"calls", "text"?, "reasoning"?, "usage"?, "stop"?}`.

    `reply` is a call, a list of calls, a message, a whole response, the chunks of a stream, or text (JSON, server-sent events, lines).
    Without `provider` and `model` its shape says whose it is. Each call is `{"type": "tool_use", "id", "name", "input"}`, or has
    `error` (`code`, `message`, `issues`) instead of `input`. With `tools` (MCP's definitions, as they were given to `convert`),
    arguments are decoded as those tools were converted and validated against their own schemas, and names are those of the tools.
    """
    options = _call_options(provider, model, tools, coerce, fill_defaults, bad_arguments, strict)
    if isinstance(reply, (str, bytes)):
        import json

        whole: dict[str, Any] = json.loads(_engine.run_text("parse_calls", reply, options))
        return whole
    parsed: dict[str, Any] = _engine.run("parse_calls", reply, options)
    return parsed


def parse_reply_text(
    text: str | bytes,
    *,
    provider: str | None = None,
    model: str | None = None,
    tools: Json = None,
    coerce: bool = False,
    fill_defaults: bool = False,
    bad_arguments: BadArguments | None = None,
    strict: Strict | None = None,
) -> str:
    """`parse_reply` from text to JSON text."""
    options = _call_options(provider, model, tools, coerce, fill_defaults, bad_arguments, strict)
    return _engine.run_text("parse_calls", text, options)


def parse_calls(
    reply: Json,
    *,
    provider: str | None = None,
    model: str | None = None,
    tools: Json = None,
    coerce: bool = False,
    fill_defaults: bool = False,
    bad_arguments: BadArguments | None = None,
    strict: Strict | None = None,
) -> list[dict[str, Any]]:
    """The calls of `parse_reply`."""
    parsed = parse_reply(
        reply, provider=provider, model=model, tools=tools, coerce=coerce, fill_defaults=fill_defaults,
        bad_arguments=bad_arguments, strict=strict,
    )  # fmt: skip
    calls: list[dict[str, Any]] = parsed["calls"]
    return calls


def _result_options(provider: str | None, model: str | None, max_characters: int | None) -> dict[str, Any]:
    options = {"provider": provider, "model": model, "maxCharacters": max_characters}
    return {name: value for name, value in options.items() if value is not None}


def render_results(
    results: Json, *, provider: str | None = None, model: str | None = None, max_characters: int | None = None
) -> list[dict[str, Any]]:
    """Results → the messages to append to the conversation.

    `results` is a list of `{"id", "name", "result"}`: the id and name of a call, as `parse_calls` gives them, and what its tool returned:
    a `CallToolResult` of MCP, or a text.
    """
    messages: list[dict[str, Any]] = _engine.run("render_results", results, _result_options(provider, model, max_characters))
    return messages


def render_results_text(
    text: str | bytes, *, provider: str | None = None, model: str | None = None, max_characters: int | None = None
) -> str:
    """`render_results` over JSON text."""
    return _engine.run_text("render_results", text, _result_options(provider, model, max_characters))


def _history_options(
    from_: str, to: str, tools: Json, system: Json, mode: Mode | None, model: str | None
) -> dict[str, Any]:
    options = {"from": from_, "to": to, "tools": tools, "system": system, "mode": mode, "model": model}
    return {name: value for name, value in options.items() if value is not None}


def convert_history(
    messages: Json,
    from_: str,
    to: str,
    *,
    tools: Json = None,
    system: Json = None,
    mode: Mode | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """A conversation of one dialect as one of another: `{"messages", "system"?, "warnings"}`, as `POST /history` answers.

    `messages` is a list, or a request that holds one. `neutral` is the gateway's own format.
    """
    options = _history_options(from_, to, tools, system, mode, model)
    moved: dict[str, Any] = _engine.run("convert_history", messages, options)
    return moved


def convert_history_text(
    text: str | bytes,
    from_: str,
    to: str,
    *,
    tools: Json = None,
    system: Json = None,
    mode: Mode | None = None,
    model: str | None = None,
) -> str:
    """`convert_history` over JSON text."""
    return _engine.run_text("convert_history", text, _history_options(from_, to, tools, system, mode, model))


def detect_model(model: str, *, provider: str | None = None) -> dict[str, Any]:
    """What a model id says: `{"provider", "modelId", "supportsStructuredOutputs", "isReasoningModel", "dialect", "layer"}`."""
    options = {} if provider is None else {"provider": provider}
    found: dict[str, Any] = _engine.run("detect_model", model, options)
    return found


class StreamAssembler:
    """Calls out of a streamed reply, given as they complete.

    Feed it the bytes of a response (`push`) or the chunks that an SDK gives (`push_chunk`), then `finish`. All three return
    events: `{"type": "text" | "reasoning" | "reasoning_item" | "signature" | "call" | "stop" | "usage" | "error", …}`. A call is as
    `parse_reply` gives it, and so are the options. A part of the stream that cannot be read is an event `error`, which takes nothing else
    along. `calls` has all calls so far.
    """

    def __init__(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        tools: Json = None,
        coerce: bool = False,
        fill_defaults: bool = False,
        bad_arguments: BadArguments | None = None,
        strict: Strict | None = None,
    ) -> None:
        options = _call_options(provider, model, tools, coerce, fill_defaults, bad_arguments, strict)
        self._stream = _engine.Stream(options)
        self._is_over = False
        self.calls: list[dict[str, Any]] = []

    def push(self, data: str | bytes) -> list[dict[str, Any]]:
        """Takes the next bytes, cut anywhere, and returns what they complete."""
        return self._noted(self._stream.push(data))

    def push_chunk(self, chunk: Json) -> list[dict[str, Any]]:
        """Takes one parsed chunk: a dict, or the object of an SDK."""
        return self._noted(self._stream.push_chunk(chunk))

    def finish(self) -> list[dict[str, Any]]:
        """Ends the reply. A call that the provider never ended has an `error`."""
        self._is_over = True
        return self._noted(self._stream.finish())

    def __enter__(self) -> StreamAssembler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self._is_over:
            self.finish()

    def _noted(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.calls += (event["call"] for event in events if event["type"] == "call")
        return events
