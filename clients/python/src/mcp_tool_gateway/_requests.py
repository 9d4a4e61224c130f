"""Requests as data: what both clients send. Nothing here does I/O."""

from __future__ import annotations

import difflib
import json
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


@dataclass(frozen=True)
class Request:
    """One request, which may be sent several times."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    # Whether it may be sent again after it may have arrived.
    may_repeat: bool
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
    text = str(value)
    if not text.isascii() or any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise InvalidRequestError(f"the header {name} cannot be {text!r}: headers are visible ASCII characters")
    return text


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
    headers |= {"Accept": accept, "x-correlation-id": in_header("x-correlation-id", correlation_id)}
    if text is not None:
        headers["Content-Type"] = "application/json"
    headers |= {key: in_header(key, value) for key, value in options.get("headers", {}).items()}
    path = operation.template
    for wire, segment in segments.items():
        path = path.replace("{" + wire + "}", segment)
    repeats = "Idempotency-Key" in headers or name in PURE or (operation.method in SAFE_METHODS and name not in NOT_REPEATED)
    return Request(
        method=operation.method,
        target=path + (f"?{urlencode(query, doseq=True)}" if query else ""),
        headers=headers,
        body=text,
        may_repeat=repeats,
        correlation_id=correlation_id,
        timeout=options.get("timeout"),
        deadline=options.get("deadline"),
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
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.query or parts.fragment:
            raise InvalidRequestError(f"url={url!r} is no address of a gateway; it looks like http://127.0.0.1:8787")
        if parts.username or parts.password:
            raise InvalidRequestError("a password in the URL is not sent; use api_key= or headers=")
        default = 443 if parts.scheme == "https" else 80
        return Address(parts.scheme, parts.hostname, default if port is None else port, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"
