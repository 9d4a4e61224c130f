"""Model replies, whole or as they are streamed, in the form that `/execute` reads; and what it answers in the form that SDKs take."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any

from ._answers import unexpected
from ._normalise import normalise
from .errors import InvalidRequestError

# Members with bytes in messages of Bedrock, and those with values of tools, where a member of the same name is the tool's own.
BYTES = frozenset({"bytes", "redactedContent"})
VALUES = frozenset({"json", "input"})
TRANSPORT_MEMBER = "ResponseMetadata"
# Where a call has the object with its name, if the name is not its own.
WRAPPERS = ("function", "function_call", "functionCall", "toolUse", "custom", "params")


def is_stream(reply: Any) -> bool:
    """Whether the reply comes in pieces: an iterator, or an object of an SDK that is iterated over."""
    if isinstance(reply, (str, bytes, bytearray, Mapping, list, tuple)) or hasattr(type(reply), "model_dump"):
        return False
    return hasattr(type(reply), "__next__") or (isinstance(reply, Iterable) and not hasattr(type(reply), "candidates") and not hasattr(type(reply), "_pb"))


def stream_in(reply: Any) -> Any:
    """The stream of a reply of boto3, which stands beside other members; else the reply."""
    if isinstance(reply, Mapping) and "stream" in reply and not isinstance(reply["stream"], (bool, str)):
        return reply["stream"]
    return reply


def of_source(reply: Any) -> Any:
    """A reply as JSON; of a stream, the list of its chunks."""
    reply = stream_in(reply)
    if isinstance(reply, (bytes, bytearray)):
        # The body of a reply as it came.
        return bytes(reply).decode("utf-8", "replace")
    if isinstance(reply, AsyncIterable):
        raise InvalidRequestError("an asynchronous stream can only be read by AsyncGatewayClient")
    if is_manager(reply):
        raise InvalidRequestError(f"{type(reply).__name__} has to be entered first: with … as stream: gateway.execute_reply(stream)")
    if not is_stream(reply):
        return normalise(without_transport(reply))
    return of_chunks(list(reply))


def without_transport(reply: Any) -> Any:
    """A reply without what boto3 puts beside it: how it travelled, not what the model said. Deeper, a member of that name is the tool's own."""
    if not isinstance(reply, Mapping) or TRANSPORT_MEMBER not in reply:
        return reply
    return {key: reply[key] for key in reply if key != TRANSPORT_MEMBER}


async def of_async_source(reply: Any) -> Any:
    """The same, also for asynchronous streams."""
    reply = stream_in(reply)
    if isinstance(reply, AsyncIterable):
        return of_chunks([chunk async for chunk in reply])
    return of_source(reply)


def is_manager(reply: Any) -> bool:
    enters = hasattr(type(reply), "__enter__") or hasattr(type(reply), "__aenter__")
    return enters and not isinstance(reply, (Iterable, AsyncIterable)) and not hasattr(type(reply), "model_dump")


def of_chunks(chunks: list[Any]) -> Any:
    if chunks and isinstance(chunks[-1], tuple) and len(chunks[-1]) == 2:
        # xai-sdk gives each chunk with the reply so far.
        return normalise(chunks[-1][0])
    found = [unwrapped(normalise(chunk)) for chunk in chunks]
    if any(isinstance(chunk, dict) and chunk.get("type") == "chunk" and "chunk" in chunk for chunk in found):
        # The helper of openai's SDK gives its own events beside the chunks.
        return [chunk["chunk"] for chunk in found if isinstance(chunk, dict) and chunk.get("type") == "chunk"]
    return found


def has_calls(given: Any) -> bool:
    """Whether what is sent is a list with calls in it, or the text of one. Messages, replies and chunks have their calls deeper, so a list of these is none."""
    if isinstance(given, str) and given.lstrip().startswith("["):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return False
    return isinstance(given, list) and any(is_call(item) for item in given)


def is_call(item: Any) -> bool:
    # Some events of Responses have a name as well.
    if not isinstance(item, dict) or "role" in item or "content" in item or str(item.get("type")).startswith("response."):
        return False
    return isinstance(item.get("name"), str) or any(isinstance(item.get(wrapper), dict) for wrapper in WRAPPERS)


def unwrapped(chunk: Any) -> Any:
    """The data of a server-sent event, where an SDK gives events."""
    if isinstance(chunk, dict) and chunk.keys() <= {"data", "event", "id", "retry"} and isinstance(chunk.get("data"), dict):
        return chunk["data"]
    return chunk


def dialect_for(provider: str | None) -> str | None:
    """`gemini-legacy` where google-generativeai is the only SDK of Google that the program uses: it refuses what the other one takes."""
    if provider in ("gemini", "google") and "google.generativeai" in sys.modules and "google.genai" not in sys.modules:
        return "gemini-legacy"
    return provider


def wants_bytes(setting: bool | None) -> bool:
    return "botocore" in sys.modules if setting is None else setting


def messages_with_bytes(answer: Any) -> Any:
    """The messages of an answer as boto3 takes them."""
    messages = answer.get("messages")
    if not isinstance(messages, list):
        raise unexpected(answer, f"expected a list of messages, got {messages!r}")
    try:
        return with_bytes(messages)
    except ValueError as error:
        raise unexpected(answer, f"bytes of a message are not base64: {error}") from error


def with_bytes(value: Any) -> Any:
    """Messages of Bedrock as boto3 takes them, which encodes bytes itself."""
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: decoded(key, item) for key, item in value.items()}


def decoded(key: str, item: Any) -> Any:
    if key in BYTES and isinstance(item, str):
        return base64.b64decode(item, validate=True)
    return item if key in VALUES else with_bytes(item)
