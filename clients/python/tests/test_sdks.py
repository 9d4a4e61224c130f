"""The SDKs' own objects, in and out: each SDK talks to a local server of its provider's shape, and the gateway runs what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from providers import SUMS, Providers, serve
from sdk_turns import SDKS

from mcp_tool_gateway import Gateway, GatewayClient, InvalidRequestError

CASES = [name for name in SDKS]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = serve()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def sums(answer: Any) -> list[int]:
    return [one["result"]["structuredContent"]["result"] for one in answer["results"]]


@pytest.mark.parametrize("name", CASES)
def test_a_whole_turn(name: str, client: GatewayClient, url: str) -> None:
    sdk = SDKS[name]()
    made = sdk.client(url)
    tools = client.get_tools(sdk.provider, server="default")
    messages = sdk.first()
    reply = sdk.ask(made, tools, messages)
    answer = client.execute_reply(reply, sdk.provider, server="default")
    assert sums(answer) == SUMS
    # What the SDK said and what the gateway answers go back to the SDK as they are.
    final = sdk.ask(made, tools, [*messages, *sdk.message(reply), *answer["messages"]])
    assert sdk.text(final) == "sums 42 and 3"
    _, sent = Providers.asked[-1]
    assert sent != {}


@pytest.mark.parametrize("name", CASES)
def test_calls_alone(name: str, client: GatewayClient, url: str) -> None:
    sdk = SDKS[name]()
    reply = sdk.ask(sdk.client(url), client.get_tools(sdk.provider, server="default"), sdk.first())
    calls = sdk.calls(reply)
    results = [client.execute(sdk.provider, call, server="default") for call in calls]
    assert [result["structuredContent"]["result"] for result in results] == SUMS
    together = client.execute(sdk.provider, calls, server="default")
    assert [result["structuredContent"]["result"] for result in together] == SUMS
    # One call in a list has its result in a list, so that both can be zipped.
    assert [result["structuredContent"]["result"] for result in client.execute(sdk.provider, calls[:1], server="default")] == SUMS[:1]
    # Without a provider the shape says which one it is.
    assert sums(client.execute_reply(reply, server="default")) == SUMS


@pytest.mark.parametrize(("name", "way"), [(name, way) for name in CASES for way in SDKS[name]().streams])
def test_streams(name: str, way: str, client: GatewayClient, url: str) -> None:
    sdk = SDKS[name]()
    tools = client.get_tools(sdk.provider, server="default")
    made = sdk.client(url)
    stream = sdk.streams[way](made, tools, sdk.first())
    assert sums(client.execute_reply(stream, sdk.provider, server="default")) == SUMS


@pytest.mark.parametrize(("name", "way"), [(name, way) for name in CASES for way in SDKS[name]().astreams])
def test_asynchronous_streams(name: str, way: str, gateway: Gateway, client: GatewayClient, url: str) -> None:
    sdk = SDKS[name]()
    tools = client.get_tools(sdk.provider, server="default")

    async def run() -> Any:
        async with gateway.async_client() as other:
            stream = sdk.astreams[way](url, tools, sdk.first())
            return await other.execute_reply(stream, sdk.provider, server="default")

    assert sums(asyncio.run(run())) == SUMS

    async def wrong() -> None:
        client.execute_reply(sdk.astreams[way](url, tools, sdk.first()))

    with pytest.raises(InvalidRequestError, match="can only be read by AsyncGatewayClient"):
        asyncio.run(wrong())
