"""A server that answers as a test says, byte for byte, and keeps what it was asked."""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import threading
from typing import Any, Callable, NamedTuple, Union


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Step = Union[bytes, Callable[[socket.socket], Any]]


def answer(body: Any, status: int = 200, **headers: str) -> bytes:
    """An answer of JSON as the gateway gives it."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": "application/json", "content-length": str(len(text)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + text


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # The file that requests are read from would keep the socket open.
    os.close(connection.detach())


def close(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def never(connection: socket.socket) -> None:
    """Says nothing until the caller has gone."""
    while connection.recv(4096):
        pass


def repeated(start: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    """Says the same again and again until the caller has gone."""

    def send(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece)

    return send


def then_close(said: bytes) -> Callable[[socket.socket], None]:
    def send(connection: socket.socket) -> None:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_RDWR)

    return send


class Scripted:
    """Answers one request after the other with the steps; the last one goes on."""

    def __init__(self, *steps: Step, context: ssl.SSLContext | None = None) -> None:
        self.steps = list(steps)
        self.context = context
        self.asked: list[Asked] = []
        # The heads as they came: `asked` has one header of each name.
        self.heads: list[bytes] = []
        self.connections = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.open: list[socket.socket] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection.makefile("rb") as file:
                while said := self.read(file):
                    asked, head = said
                    with self.lock:
                        self.asked.append(asked)
                        self.heads.append(head)
                        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
                    if isinstance(step, bytes):
                        connection.sendall(step)
                    else:
                        step(connection)
        except OSError:
            pass
        finally:
            connection.close()

    @staticmethod
    def read(file: Any) -> tuple[Asked, bytes] | None:
        head = line = file.readline()
        if not line.strip():
            return None
        method, target, _ = line.decode().split()
        headers = {}
        while (line := file.readline()).strip():
            head += line
            name, _, value = line.decode().partition(":")
            headers[name.strip().lower()] = value.strip()
        return Asked(method, target, headers, file.read(int(headers.get("content-length", 0)))), head

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        for connection in self.open:
            connection.close()


def unused_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
