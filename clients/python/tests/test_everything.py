"""What a server does beside answering: it reports progress, asks its caller, and has resources."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_tool_gateway import Gateway, GatewayClient, errors


@pytest.fixture(scope="module")
def everything(fixture_program: str) -> Iterator[Gateway]:
    running = Gateway.start({"mcpServers": {"everything": {"command": fixture_program, "args": ["stdio", "--serve", "everything"]}}})
    with running:
        yield running


@pytest.fixture
def client(everything: Gateway) -> Iterator[GatewayClient]:
    with everything.client() as one:
        yield one


PROGRESS = [("progress", 0), ("progress", 50), ("progress", 100)]


def test_progress_comes_before_the_result(client: GatewayClient) -> None:
    seen: list[Any] = []
    result = client.call_tool("everything", "test_tool_with_progress", {}, on_event=lambda name, value: seen.append((name, value["progress"])))
    assert (seen, result["content"][0]["type"]) == (PROGRESS, "text")
    seen.clear()
    client.execute("gemini", {"name": "test_tool_with_progress", "args": {}}, on_event=lambda name, value: seen.append((name, value["progress"])))
    assert seen == PROGRESS


def test_progress_in_a_task(everything: Gateway) -> None:
    seen: list[Any] = []

    async def run() -> None:
        async with everything.async_client() as client:
            await client.call_tool("everything", "test_tool_with_progress", {}, on_event=lambda name, value: seen.append((name, value["progress"])))

    asyncio.run(run())
    assert seen == PROGRESS


def test_a_server_asks_its_caller(client: GatewayClient) -> None:
    asked = client.call_tool("everything", "test_elicitation", {"message": "Who?"}, input=["elicitation"])["inputRequired"]
    answers = {name: {"action": "accept", "content": {"username": "ann", "email": "a@b.c"}} for name in asked["requests"]}
    result = client.call_tool(continue_=asked["state"], responses=answers)
    assert '"username":"ann"' in result["content"][0]["text"]
    with pytest.raises(errors.GatewayHttpError) as caught:
        client.call_tool(continue_=asked["state"], responses=answers)
    assert caught.value.code == "INPUT_EXPIRED"


def test_a_reply_goes_on_after_a_question(client: GatewayClient) -> None:
    call = {"name": "test_elicitation", "args": {"message": "Who?"}}
    asked = client.execute_reply(call, "gemini", input=["elicitation"])
    assert asked["messages"] == [], "the turn is not over"
    required = asked["inputRequired"]
    answers = {name: {"action": "decline"} for name in required["requests"]}
    answer = client.execute_reply(continue_=required["state"], responses=answers)
    assert "decline" in answer["messages"][0]["parts"][0]["functionResponse"]["response"]["output"]


def test_resources(client: GatewayClient) -> None:
    uris = [one["uri"] for one in client.resources("everything")["servers"][0]["resources"]]
    assert "test://static-text" in uris
    assert client.read_resource("test://static-text")["contents"][0]["uri"] == "test://static-text"
    with pytest.raises(errors.ResourceNotFoundError):
        client.read_resource("test://absent")


def test_kept_log_entries_of_a_failing_tool(client: GatewayClient) -> None:
    result = client.call_tool("everything", "test_error_handling")
    assert result["isError"] is True
    assert client.logs(limit=1, status="error")[0]["tool"] == "test_error_handling"
