#!/usr/bin/env python3
"""A loopback proxy in front of a gateway that cuts some of the exchanges.

    python3 chaos_proxy.py --to 8787 --cut 0.2 --seed 1

prints `listening on PORT`, and ends on SIGTERM or when its standard input is closed. Its last line is JSON: how many connections and exchanges there were, how many
passed whole, and how many were cut at which point:

    before     the request never reaches the gateway
    forwarded  the gateway has the request, and the connection is cut at once
    answered   the gateway has answered, and nothing of the answer is passed on
    during     the answer stops in the middle

Each exchange of a connection is judged by itself. Half of the cuts reset the connection, the others close it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import socket
import struct
import sys
from collections import Counter

POINTS = ("before", "forwarded", "answered", "during")
PIECE = 64 * 1024
HEAD_LIMIT = 1024 * 1024


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """The head of a message with its empty line; empty if the peer has closed."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def fields(head: bytes) -> dict[str, str]:
    found = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip().lower()] = value.strip()
    return found


async def body_pieces(reader: asyncio.StreamReader, head: bytes, to_the_end: bool):
    """The bytes of a body as they arrive, framing included, so that they can be passed on as they are."""
    names = fields(head)
    if "chunked" in names.get("transfer-encoding", "").lower():
        while True:
            line = await reader.readline()
            size = int(line.split(b";")[0] or b"0", 16)
            yield line
            if size:
                yield await reader.readexactly(size + 2)
                continue
            while (trailer := await reader.readline()) not in (b"\r\n", b""):
                yield trailer
            yield b"\r\n"
            return
    if "content-length" in names:
        left = int(names["content-length"])
        while left and (piece := await reader.read(min(left, PIECE))):
            left -= len(piece)
            yield piece
    elif to_the_end:
        while piece := await reader.read(PIECE):
            yield piece


class Proxy:
    """Forwards exchanges to one port, and decides which of them are cut."""

    def __init__(self, port: int, cut: float, seed: int) -> None:
        self.port = port
        self.cut = cut
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def decide(self) -> str | None:
        self.counts["exchanges"] += 1
        return self.random.choice(POINTS) if self.random.random() < self.cut else None

    def break_off(self, writer: asyncio.StreamWriter, point: str) -> None:
        self.counts[point] += 1
        if self.random.random() < 0.5:
            # With no time to linger, closing resets the connection instead of ending it.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        else:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts["connections"] += 1
        gateway: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            while head := await read_head(reader):
                point = self.decide()
                if point == "before":
                    self.break_off(writer, point)
                    return
                if gateway is None:
                    gateway = await asyncio.open_connection("127.0.0.1", self.port, limit=HEAD_LIMIT)
                if not await self.exchange(head, reader, writer, gateway, point):
                    return
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self.counts["broken"] += 1
        finally:
            for one in (writer, gateway[1] if gateway else None):
                if one is not None:
                    one.close()

    async def exchange(self, head, reader, writer, gateway, point) -> bool:
        """Whether the connection can take another exchange."""
        from_gateway, to_gateway = gateway
        to_gateway.write(head)
        async for piece in body_pieces(reader, head, to_the_end=False):
            to_gateway.write(piece)
            await to_gateway.drain()
        if point == "forwarded":
            self.break_off(writer, point)
            return False
        answer = await read_head(from_gateway)
        while answer.startswith(b"HTTP/1.1 1"):
            writer.write(answer)
            answer = await read_head(from_gateway)
        if point == "answered":
            self.break_off(writer, point)
            return False
        if not answer:
            self.counts["broken"] += 1
            return False
        empty = head.startswith(b"HEAD ") or answer[9:12] in (b"204", b"304")
        if point == "during":
            await self.send_part(answer, b"" if empty else await self.first_piece(from_gateway, answer), writer)
            return False
        writer.write(answer)
        if not empty:
            async for piece in body_pieces(from_gateway, answer, to_the_end=True):
                writer.write(piece)
                await writer.drain()
        await writer.drain()
        self.counts["passed"] += 1
        names = fields(answer)
        framed = empty or "content-length" in names or "transfer-encoding" in names
        return framed and names.get("connection", "").lower() != "close"

    async def first_piece(self, reader: asyncio.StreamReader, head: bytes) -> bytes:
        async for piece in body_pieces(reader, head, to_the_end=True):
            return piece
        return b""

    async def send_part(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        """Anything from one byte of the answer to all that is known of it but the last byte."""
        known = head + body
        writer.write(known[: self.random.randrange(1, max(2, len(known) - 1))])
        await writer.drain()
        self.break_off(writer, "during")


async def run(port: int, cut: float, seed: int) -> None:
    proxy = Proxy(port, cut, seed)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    stdin = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    # The server must not wait for connections that callers keep open, so they are cancelled one by one.
    running: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        running.add(task)
        try:
            await proxy.serve(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            running.discard(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=HEAD_LIMIT)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)

    async def until_stdin_closes() -> None:
        while await stdin.read(PIECE):
            pass

    waits = [asyncio.ensure_future(ended.wait()), asyncio.ensure_future(until_stdin_closes())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    server.close()
    left = [*waits, *running]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    names = ("connections", "exchanges", "passed", *POINTS, "broken")
    print(json.dumps({name: proxy.counts[name] for name in names}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="A loopback proxy that cuts some of the exchanges.")
    parser.add_argument("--to", type=int, required=True, metavar="PORT", help="the gateway's port on 127.0.0.1")
    parser.add_argument("--cut", type=float, default=0.2, metavar="SHARE", help="the share of exchanges to cut, from 0 to 1")
    parser.add_argument("--seed", type=int, default=0, help="of the random choices")
    given = parser.parse_args()
    if not 0 <= given.cut <= 1:
        parser.error(f"--cut {given.cut}: a share is between 0 and 1")
    asyncio.run(run(given.to, given.cut, given.seed))


if __name__ == "__main__":
    main()
