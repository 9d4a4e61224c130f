"""Server-sent events, read as their bytes arrive."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterator

from .errors import StreamError

LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Event:
    """One event; `name` is `message` where the stream does not say it."""

    name: str
    data: str
    id: str | None

    def json(self) -> Any:
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError) as error:
            raise StreamError(f"an event of the stream is not JSON: {error}; it begins with {self.data[:200]!r}") from error


    def json_or_text(self) -> Any:
        try:
            return self.json()
        except StreamError:
            return self.data

    def object(self) -> Any:
        value = self.json()
        if not isinstance(value, dict):
            raise StreamError(f"an event of the stream is not a JSON object; it begins with {self.data[:200]!r}")
        return value


class EventReader:
    """Bytes in, events out. An event that the stream breaks off in is dropped, as the specification has it."""

    def __init__(self) -> None:
        # The beginning of a line, in pieces: joining them one by one would take quadratic time.
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._id: str | None = None

    def feed(self, piece: bytes) -> Iterator[Event]:
        self._rest.append(piece)
        self._rest_size += len(piece)
        if self._rest_size > LIMIT:
            raise StreamError(f"a line of the stream is longer than {LIMIT} bytes")
        if b"\n" not in piece:
            return
        lines = b"".join(self._rest).replace(b"\r\n", b"\n").split(b"\n")
        self._rest, self._rest_size = [lines[-1]], len(lines[-1])
        lines.pop()
        for line in lines:
            for part in line.split(b"\r"):
                event = self._take(part.decode("utf-8", "replace"))
                if event:
                    yield event

    def _take(self, line: str) -> Event | None:
        if not line:
            return self._finish()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._size += len(value)
            if self._size > LIMIT:
                raise StreamError(f"an event of the stream is longer than {LIMIT} bytes")
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _finish(self) -> Event | None:
        name, data = self._name or "message", self._data
        self._name, self._data, self._size = "", [], 0
        return Event(name, "\n".join(data), self._id) if data else None
