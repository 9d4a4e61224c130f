"""Threads, tasks, forks and the pool of connections."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import threading
import warnings
from typing import Any

import pytest
from scripted import Scripted, answer, never, then_close

from mcp_tool_gateway import Gateway, GatewayClient, errors

OK = answer({"ok": True})


def test_a_connection_is_kept_and_used_again() -> None:
    with Scripted(OK) as server, GatewayClient(server.url) as client:
        for _ in range(20):
            client.health()
    assert (server.connections, len(server.asked)) == (1, 20)


def test_a_connection_that_the_gateway_has_closed_is_not_used_again() -> None:
    with Scripted(then_close(OK), OK) as server, GatewayClient(server.url, max_retries=0) as client:
        client.health()
        while not client._transport.idle[0].is_stale():
            pass
        # An operation that is never repeated, so that nothing hides a stale connection.
        client.connect_server("default")
    assert server.connections == 2


@pytest.mark.parametrize("size", [b"zz", b"-5", b""])
def test_a_connection_with_a_broken_chunk_is_not_used_again(size: bytes) -> None:
    broken = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + size + b"\r\n{}\r\n0\r\n\r\n"
    with Scripted(broken, OK) as server, GatewayClient(server.url, max_retries=0) as client:
        with pytest.raises(errors.GatewayError):
            client.health()
        assert client._transport.idle == []
        assert client.health() == {"ok": True}
    assert server.connections == 2


def test_threads_share_a_client(gateway: Gateway) -> None:
    with gateway.client(max_connections=4) as client:

        def add(number: int) -> Any:
            return client.execute("gemini", {"name": "add", "args": {"a": number, "b": 1}}, server="default")["structuredContent"]["result"]

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            assert list(pool.map(add, range(500))) == [number + 1 for number in range(500)]


def test_no_more_connections_than_allowed() -> None:
    gate = threading.Event()

    def wait(connection: Any) -> None:
        gate.wait()
        connection.sendall(OK)

    with Scripted(wait) as server, GatewayClient(server.url, max_connections=2, max_retries=0, timeout=30) as client:
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(client.health) for _ in range(6)]
            with pytest.raises(errors.UnreachableError, match="all 2 connections are in use"):
                while len(server.asked) < 2:
                    pass
                client.health(timeout=0.05)
            gate.set()
            assert all(one.result()["ok"] for one in asked)
    assert server.connections == 2


def test_a_connection_is_given_back_after_every_failure() -> None:
    steps = [then_close(b"HTTP/1.1 200 OK\r\n"), answer(b"x"), answer(b"", 204), answer({"error": "msg"}, 400), never]
    for step in steps:
        with Scripted(step) as server, GatewayClient(server.url, max_connections=1, max_retries=0, timeout=0.2) as client:
            for _ in range(3):
                try:
                    client.health()
                except errors.GatewayError as error:
                    assert "in use" not in str(error)


def test_a_stream_that_is_left_gives_its_connection_back(gateway: Gateway) -> None:
    with gateway.client(max_connections=1, timeout=5) as client:
        client.call_tool("default", "add", {"a": 1, "b": 1})
        for _ in range(3):
            for _entry in client.logs(follow=True):
                break
            gc.collect()
            assert client.health()["ok"] is True


def test_tasks_share_a_client(gateway: Gateway) -> None:
    async def run() -> list[Any]:
        async with gateway.async_client(max_connections=4) as client:

            async def add(number: int) -> Any:
                return (await client.call_tool("default", "add", {"a": number, "b": 1}))["structuredContent"]["result"]

            return await asyncio.gather(*map(add, range(300)))

    assert asyncio.run(run()) == [number + 1 for number in range(300)]


def test_a_cancelled_task_leaves_the_client_usable(gateway: Gateway) -> None:
    async def run() -> None:
        with Scripted(never) as server:
            async with gateway.async_client(max_connections=1) as client:
                other = type(client)(server.url, max_connections=1)
                task = asyncio.ensure_future(other.health())
                while not server.asked:
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                with pytest.raises(errors.RequestTimeoutError):
                    await other.health(timeout=0.05, deadline=0.06)
                await other.aclose()
                assert (await client.health())["ok"] is True

    asyncio.run(run())


def test_following_in_a_task(gateway: Gateway) -> None:
    async def run() -> list[Any]:
        async with gateway.async_client() as client:
            seen = []
            await client.call_tool("default", "add", {"a": 900, "b": 1})
            assert (await client.logs(limit=1))[0]["input"] == {"a": 900, "b": 1}
            async for entry in client.logs(follow=True, limit=1):
                seen.append(entry["input"]["a"])
                if len(seen) == 3:
                    return seen
                await client.call_tool("default", "add", {"a": 900 + len(seen), "b": 1})
        return seen

    assert asyncio.run(run()) == [900, 901, 902]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_makes_connections_of_its_own() -> None:
    with Scripted(OK) as server, GatewayClient(server.url) as client:
        client.health()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(0 if client.health()["ok"] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        client.health()
    assert server.connections == 2
