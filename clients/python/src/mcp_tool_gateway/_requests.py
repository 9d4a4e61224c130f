"""Requests as data: what both clients send. Nothing here does I/O."""

from __future__ import annotations

import difflib
import json
import re
import uuid
from dataclasses import dataclass
from typing import Any, Mapping
from urllib.parse import quote, urlencode, urlsplit

from ._normalise import normalise
from ._operations import OPERATIONS, Operation
from .errors import InvalidRequestError

# POST only because the body would be too long for a URL; they change nothing.
PURE = frozenset({"postConvert", "postTransform", "postHistory", "postCheck"})
SAFE_METHODS = frozenset({"GET", "PUT", "DELETE"})
# PUT of a registered tool and DELETE have the same effect twice, but the end of a session of MCP is not asked for twice.
NOT_REPEATED = frozenset({"deleteMcp", "deleteMcpGroup", "getMcp", "getMcpGroup", "getMcpEvents", "getMcpGroupEvents"})
CLIENT_OPTIONS = ("timeout", "deadline", "headers")
# More than 24 days are more milliseconds than sockets take.
LONGEST_TIME = 2_000_000
# What a path may have besides letters and digits; `%` because it may be encoded already.
IN_PATH = "/%:@!$&'()*+,;=~-._"
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# They say where the body ends, which the client alone knows.
FRAMING = frozenset({"content-length", "transfer-encoding"})


@dataclass(frozen=True)
class Request:
    """One request, which may be sent several times."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    # Whether it may be sent again after it may have arrived.
    may_repeat: bool
    # Whether it carries a key, under which the gateway runs it once as long as it remembers the key.
    is_keyed: bool
    correlation_id: str
    timeout: float | None = None
    deadline: float | None = None


def quoted(segment: str) -> str:
    """A segment of a path; dots alone would be taken for a step in the tree."""
    if not segment:
        raise InvalidRequestError("a name in the path is empty; the gateway has no route for that")
    return "%2E" * len(segment) if segment in (".", "..") else quote(segment, safe="")


def in_query(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return [in_query(item) for item in value]
    return str(getattr(value, "isoformat", lambda: value)())


def in_header(name: str, value: Any) -> str:
    # Blanks around a value mean nothing, and some libraries refuse them with an error that shows the value.
    text = str(value).strip(" ")
    if not text.isascii() or any(ord(character) < 32 or ord(character) == 127 for character in text):
        # Without the value, which may be a key.
        raise InvalidRequestError(f"the value of the header {name} has characters that are not visible ASCII")
    return text


def header_name(name: str) -> str:
    if not HEADER_NAME.fullmatch(name):
        raise InvalidRequestError(f"{name!r} is not a name of a header: names have ASCII letters, digits and hyphens")
    if name.lower() in FRAMING:
        raise InvalidRequestError(f"the header {name} is set by the client itself; leave it out")
    return name


def merge_headers(*layers: Mapping[str, Any]) -> dict[str, str]:
    """The headers of all layers; of those with the same name, however it is written, the one of the last layer."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        for name, value in layer.items():
            merged[name.lower()] = (header_name(name), in_header(name, value))
    return dict(merged.values())


def header_in(headers: Mapping[str, str], wanted: str) -> str | None:
    """The value of a header, however its name is written."""
    return next((value for name, value in headers.items() if name.lower() == wanted.lower()), None)


def check_time(name: str, value: float | None) -> float | None:
    """`timeout` or `deadline`, if it is a time; a deadline may have passed already."""
    if value is not None and not (0 < value <= LONGEST_TIME or (value == 0 and name == "deadline")):
        raise InvalidRequestError(f"{name}={value!r}: expected seconds, more than 0 and at most {LONGEST_TIME}, or None for no limit")
    return value


def encode(value: Any) -> bytes:
    """A body as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"writing the body as JSON: {error}") from error


def describe_unknown(name: str, operation: Operation) -> str:
    known = sorted({*operation.query, *operation.header, *operation.body, *CLIENT_OPTIONS, "correlation_id"})
    nearest = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(known)}"
    return f"{operation.method} {operation.template} has no option {name!r}; {hint}"


def build(name: str, given: Mapping[str, Any], *, body: Any = None, accept: str = "application/json", keyed: bool = True) -> Request:
    """The request of an operation. Each value goes where the operation has its name: path, body, query or header; `None` is left out.
    A `body` is sent as it is, for operations whose bodies have no members of their own. Streams of progress are not `keyed`: under a key the gateway answers at the end."""
    operation = OPERATIONS[name]
    values = {key: value for key, value in given.items() if value is not None}
    options = {key: values.pop(key) for key in CLIENT_OPTIONS if key in values}
    takes_filter = "correlation_id" in operation.query
    correlation_id = str(uuid.uuid4()) if takes_filter else str(values.pop("correlation_id", "") or uuid.uuid4())
    segments = {operation.path[key]: quoted(str(values.pop(key))) for key in operation.path}
    members: dict[str, Any] = {}
    query: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for key, value in values.items():
        if key in operation.body:
            members[operation.body[key]] = normalise(value)
        elif key in operation.query:
            query[operation.query[key]] = in_query(value)
        elif key in operation.header:
            headers[operation.header[key]] = in_header(operation.header[key], value)
        else:
            raise TypeError(describe_unknown(key, operation))
    if operation.is_keyed and keyed:
        # One key for one call, however often it is sent.
        headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
    content = body if body is not None else members if operation.body else None
    text = None if content is None else content if isinstance(content, bytes) else encode(normalise(content))
    headers |= {"Accept": accept, "x-correlation-id": correlation_id}
    if text is not None:
        headers["Content-Type"] = "application/json"
    headers = merge_headers(headers, options.get("headers", {}))
    path = operation.template
    for wire, segment in segments.items():
        path = path.replace("{" + wire + "}", segment)
    is_keyed = header_in(headers, "Idempotency-Key") is not None
    repeats = is_keyed or name in PURE or (operation.method in SAFE_METHODS and name not in NOT_REPEATED)
    return Request(
        method=operation.method,
        target=path + (f"?{urlencode(query, doseq=True)}" if query else ""),
        headers=headers,
        body=text,
        may_repeat=repeats,
        is_keyed=is_keyed,
        correlation_id=header_in(headers, "x-correlation-id") or correlation_id,
        timeout=check_time("timeout", options.get("timeout")),
        deadline=check_time("deadline", options.get("deadline")),
    )


@dataclass(frozen=True)
class Address:
    """Where the gateway is."""

    scheme: str
    host: str
    port: int
    prefix: str

    @staticmethod
    def parse(url: str) -> Address:
        # What has one of these characters may hold a password or a key.
        shown = f"url={url!r}" if not set("@?#") & set(url) else "this url= (not shown: it may hold a password or a key)"
        problem = f"{shown} is not the address of a gateway, which looks like http://127.0.0.1:8787"
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            # Not as the cause: its text has what stands before the host.
            raise InvalidRequestError(problem) from None
        if "@" in parts.netloc:
            raise InvalidRequestError("a password in the URL is not sent; use api_key= or headers=")
        if parts.scheme not in ("http", "https") or not parts.hostname or " " in parts.hostname or parts.query or parts.fragment:
            raise InvalidRequestError(problem)
        default = 443 if parts.scheme == "https" else 80
        prefix = quote(parts.path.rstrip("/"), safe=IN_PATH)
        return Address(parts.scheme, parts.hostname, default if port is None else port, prefix)

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"
