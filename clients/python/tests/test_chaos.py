"""Two thousand calls through a proxy that cuts one exchange in five: each call runs once, and each caller gets its result."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cases import CONFIG
from conftest import TESTING

from mcp_tool_gateway import AsyncGatewayClient, Gateway, GatewayClient, GatewayError, NetworkError

CALLS = 2000
AT_ONCE = 8


@contextmanager
def proxy(to: int, seed: int) -> Iterator[tuple[str, dict[str, int]]]:
    """The URL of a proxy, and what it has counted when the block ends."""
    command = [sys.executable, str(TESTING / "chaos_proxy.py"), "--to", str(to), "--cut", "0.2", "--seed", str(seed)]
    counts: dict[str, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdin
        port = process.stdout.readline().split()[-1]
        yield f"http://127.0.0.1:{port}", counts
        process.stdin.close()
        counts.update(json.loads(process.stdout.read()))
    assert process.returncode == 0


def count(outcome: Any) -> Any:
    """`ok`, or the class of a documented error; anything else is raised."""
    if isinstance(outcome, GatewayError):
        return type(outcome).__name__
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome["structuredContent"]["count"]


def with_threads(url: str, retries: int) -> list[Any]:
    with GatewayClient(url, max_retries=retries, retry_delay=0.001, retry_backoff=1) as client:

        def one(number: int) -> Any:
            try:
                return client.call_tool("counting", "increment", {"note": str(number)})
            except GatewayError as error:
                return error

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(one, range(CALLS)))


def with_asyncio(url: str, retries: int) -> list[Any]:
    async def run() -> list[Any]:
        async with AsyncGatewayClient(url, max_retries=retries, retry_delay=0.001, retry_backoff=1) as client:
            room = asyncio.Semaphore(AT_ONCE)

            async def one(number: int) -> Any:
                async with room:
                    return await client.call_tool("counting", "increment", {"note": str(number)})

            return await asyncio.gather(*map(one, range(CALLS)), return_exceptions=True)

    return asyncio.run(run())


@pytest.mark.parametrize("run", [with_threads, with_asyncio])
@pytest.mark.parametrize("retries", [25, 0])
def test_calls_run_once_whatever_happens_to_their_connections(run: Any, retries: int) -> None:
    with Gateway.start(CONFIG) as direct:
        with proxy(int(direct.url.rsplit(":", 1)[1]), seed=14) as (url, counts):
            outcomes = [count(outcome) for outcome in run(url, retries)]
        counted = direct.call_tool("counting", "count")["structuredContent"]
    seen = [outcome for outcome in outcomes if isinstance(outcome, int)]
    errors = collections.Counter(outcome for outcome in outcomes if isinstance(outcome, str))
    cuts = sum(counts[point] for point in ("before", "forwarded", "answered", "during"))
    print(f"\n{run.__name__}, {retries} retries: {CALLS} calls, {counted['count']} on the counter, {len(seen)} results, errors {dict(errors)}; the proxy: {counts}")
    assert len(outcomes) == CALLS
    assert cuts > CALLS / 10, "the proxy cut next to nothing"
    assert counted["repeated"] == {}
    # No two callers have the result of the same call.
    assert len(set(seen)) == len(seen)
    if retries:
        assert (counted["count"], len(seen), errors) == (CALLS, CALLS, {})
    else:
        assert set(errors) == {NetworkError.__name__}
        assert len(seen) <= counted["count"] <= CALLS
