"""How a program uses the clients, for type checkers: what is wrong here on purpose has to be found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp_tool_gateway import AsyncGatewayClient, Gateway, GatewayClient, GatewayError, ServerNotFoundError, errors, metadata
from mcp_tool_gateway.types import ExecuteAnswer, Health, LogEntry, ToolList


def synchronous(client: GatewayClient) -> str:
    tools: ToolList = client.tools(server="demo", errors="precise", timeout=5)
    health: Health = client.health()
    answer: ExecuteAnswer = client.execute_reply({"name": "add"}, "gemini", server="demo", coerce_arguments=True)
    entries: list[LogEntry] = client.logs(limit=3)
    following: Iterator[LogEntry] = client.logs(follow=True)
    try:
        client.call_tool("demo", "add", {"a": 1})
    except ServerNotFoundError as error:
        return error.message + str(error.code)
    except GatewayError as error:
        return error.correlation_id or ""
    messages: list[Any] = [*answer["messages"], answer["provider"]]
    names = [tool["name"] for tool in tools["tools"]]
    return metadata(answer).correlation_id + str(messages) + health["status"] + names[0] + entries[0].get("tool", "") + next(following).get("tool", "")


async def asynchronous(client: AsyncGatewayClient) -> str:
    tools: ToolList = await client.tools("demo")
    entries: list[LogEntry] = await client.logs()
    following: AsyncIterator[LogEntry] = client.logs(follow=True)
    async for entry in following:
        return entry.get("server", "")
    async with Gateway.start({"mcpServers": {}}, api_key="key") as other:
        await other.convert("openai", tools["tools"])
    return tools["tools"][0]["name"] + str(len(entries))


def wrong(client: GatewayClient, other: AsyncGatewayClient) -> None:
    client.get_tools("gemini", modle="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.tools(timeout="three")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.health()["okay"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    client.decide("id", "perhaps")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.execute("gemini", {}, errors="vague")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    other.health()["ok"]  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    errors.NoSuchError  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
