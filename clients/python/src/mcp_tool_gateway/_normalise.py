"""The objects of any SDK as JSON. Nothing is imported: pydantic, protobuf, proto-plus, dataclasses and plain objects are known by their structure."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from .errors import InvalidRequestError

DEPTH = 200
WHOLE = 2**53


def normalise(value: Any) -> Any:
    """The value as what `json.dumps` takes."""
    return _of(value, 0)


def _of(value: Any, depth: int) -> Any:
    if depth > DEPTH:
        raise InvalidRequestError(f"a value is nested deeper than {DEPTH} levels, or holds itself")
    if value is None or isinstance(value, (bool, str)):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, enum.Enum):
        return _of(value.value, depth + 1)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    for matches, convert in RULES:
        if matches(value):
            return convert(value, depth + 1)
    text = f"{type(value).__module__}.{type(value).__qualname__} cannot be written as JSON: it is neither a plain value nor an object of a known SDK; pass a dict with its members"
    raise InvalidRequestError(text)


def _has(*names: str) -> Callable[[Any], bool]:
    # The type is asked as well: some objects have every attribute that is asked for.
    return lambda value: not isinstance(value, type) and all(hasattr(type(value), name) for name in names)


def _of_mapping(value: Any, depth: int) -> Any:
    is_protobuf = type(value).__module__.startswith(("proto.", "google."))
    convert = _of_protobuf_value if is_protobuf else _of
    return {_key(key): convert(value[key], depth) for key in value}


def _key(key: Any) -> str:
    key = key.value if isinstance(key, enum.Enum) else key
    if isinstance(key, (str, int)) and not isinstance(key, bool):
        return str(key)
    raise InvalidRequestError(f"{key!r} cannot be the name of a member of a JSON object")


def _of_protobuf_value(value: Any, depth: int) -> Any:
    """A struct of protobuf has no integers; JSON schemas have, and so do the tools behind them."""
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE:
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _of_protobuf_value(value[key], depth + 1) for key in value}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not hasattr(value, "DESCRIPTOR"):
        return [_of_protobuf_value(item, depth + 1) for item in value]
    return _of(value, depth + 1)


def _of_message(message: Any, depth: int) -> Any:
    """A message of protobuf by its descriptor, in the names that the JSON of its API has."""
    full_name = message.DESCRIPTOR.full_name
    if full_name == "google.protobuf.Struct":
        return {key: _of_message(item, depth + 1) for key, item in message.fields.items()}
    if full_name == "google.protobuf.ListValue":
        return [_of_message(item, depth + 1) for item in message.values]
    if full_name == "google.protobuf.Value":
        kind = message.WhichOneof("kind")
        held = None if kind in (None, "null_value") else getattr(message, kind)
        return _of_message(held, depth + 1) if hasattr(held, "DESCRIPTOR") else _of_protobuf_value(held, depth)
    if full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        return message.ToJsonString()
    is_google = full_name.startswith("google.")
    members = {}
    for field, value in message.ListFields():
        name = field.json_name if is_google else field.name
        members[name] = _of_field(field, value, depth)
    return members


def _of_field(field: Any, value: Any, depth: int) -> Any:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        entry = kind.fields_by_name["value"]
        return {str(key): _of_single(entry, value[key], depth + 1) for key in value}
    # `is_repeated` is new in protobuf 6, which will not have `label` for ever; 3 is repeated.
    is_repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
    if is_repeated:
        return [_of_single(field, item, depth + 1) for item in value]
    return _of_single(field, value, depth)


def _of_single(field: Any, value: Any, depth: int) -> Any:
    if field.message_type is not None:
        return _of_message(value, depth + 1)
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named else value
    return _of(value, depth + 1)


def _of_xai(response: Any, depth: int) -> Any:
    """A reply of xai-sdk as that of Chat Completions, which the same model gives over HTTP."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content or None}
    if response.tool_calls:
        calls = [_of(call, depth + 1) for call in response.tool_calls]
        message["tool_calls"] = [_xai_call(call) for call in calls]
    return message


def _xai_call(call: Any) -> Any:
    function = {"arguments": "", **call.get("function", {})}
    return {"id": call.get("id"), "type": "function", "function": function}


def _of_model(model: Any, depth: int) -> Any:
    """An object of pydantic by its own names of the wire, without what nobody set."""
    try:
        members = model.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except TypeError:
        members = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return _of(members, depth + 1)


def _of_dataclass(value: Any, depth: int) -> Any:
    members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: _of(member, depth + 1) for name, member in members.items() if member is not None}


def _of_reply_of_generativeai(reply: Any, depth: int) -> Any:
    # A streamed reply has all its candidates only when it was read to its end.
    if hasattr(reply, "resolve"):
        reply.resolve()
    members = {"candidates": _of(reply.candidates, depth + 1)}
    if getattr(reply, "usage_metadata", None):
        members["usageMetadata"] = _of(reply.usage_metadata, depth + 1)
    return members


def _of_decimal(value: decimal.Decimal) -> int | float:
    if not value.is_finite():
        raise InvalidRequestError(f"{value!r} cannot be written as JSON")
    return int(value) if value == value.to_integral_value() else float(value)


def _of_iterable(values: Any, depth: int) -> Any:
    return [_of(value, depth + 1) for value in values]


def _of_object(value: Any, depth: int) -> Any:
    return {name: _of(member, depth + 1) for name, member in vars(value).items() if not name.startswith("_") and member is not None}


def _is_model(value: Any) -> bool:
    return _has("model_dump")(value)


RULES: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], Any]], ...] = (
    (_has("DESCRIPTOR", "ListFields"), _of_message),
    (lambda value: hasattr(getattr(value, "_pb", None), "ListFields"), lambda value, depth: _of_message(value._pb, depth)),
    (_is_model, _of_model),
    (lambda value: hasattr(type(value), "proto") and hasattr(type(value), "tool_calls"), _of_xai),
    (_has("candidates", "resolve"), _of_reply_of_generativeai),
    (lambda value: dataclasses.is_dataclass(value) and not isinstance(value, type), _of_dataclass),
    (lambda value: isinstance(value, Mapping), _of_mapping),
    (lambda value: isinstance(value, (datetime.datetime, datetime.date)), lambda value, _: value.isoformat()),
    (lambda value: isinstance(value, (uuid.UUID, pathlib.PurePath)), lambda value, _: str(value)),
    (lambda value: isinstance(value, decimal.Decimal), lambda value, _: _of_decimal(value)),
    (lambda value: isinstance(value, Iterable), _of_iterable),
    (lambda value: hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value), _of_object),
)
