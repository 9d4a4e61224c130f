"""xai-sdk, which speaks gRPC: its replies, its streams and its calls, which are messages of protobuf."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
from collections.abc import Iterator
from typing import Any

import pytest
from providers import CALLS, SUMS

from mcp_tool_gateway import Gateway, GatewayClient

grpc: Any = pytest.importorskip("grpc", reason="these tests run in the environment of the SDKs")
import xai_sdk  # noqa: E402
from xai_sdk.chat import tool, tool_result, user  # noqa: E402
from xai_sdk.proto import chat_pb2, chat_pb2_grpc  # noqa: E402

pb: Any = chat_pb2


class Grok(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
    asked: list[Any] = []

    def calls(self) -> list[Any]:
        kind = pb.ToolCallType.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL
        return [pb.ToolCall(id=id, type=kind, function=pb.FunctionCall(name="add", arguments=json.dumps(given))) for id, given in CALLS]

    def GetCompletion(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        results = [message.content[0].text for message in request.messages if message.role == pb.MessageRole.ROLE_TOOL]
        message = pb.CompletionMessage(role=pb.MessageRole.ROLE_ASSISTANT)
        if results:
            message.content = " and ".join(str(json.loads(text)["result"]) for text in results)
        else:
            message.tool_calls.extend(self.calls())
        return pb.GetChatCompletionResponse(id="1", outputs=[pb.CompletionOutput(index=0, message=message)])

    def GetCompletionChunk(self, request: Any, context: Any) -> Iterator[Any]:
        for call in self.calls():
            delta = pb.Delta(role=pb.MessageRole.ROLE_ASSISTANT, tool_calls=[call])
            yield pb.GetChatCompletionChunk(id="1", outputs=[pb.CompletionOutputChunk(index=0, delta=delta)])


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    chat_pb2_grpc.add_ChatServicer_to_server(Grok(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


def start(client: GatewayClient, host: str) -> Any:
    sdk = xai_sdk.Client(api_key="none", api_host=host, use_insecure_channel=True)
    tools = client.get_tools("xai", server="default")["tools"]
    return sdk.chat.create(model="grok-4", messages=[user("add")], tools=[tool(**one["function"]) for one in tools])


def sums(answer: Any) -> list[int]:
    return [one["result"]["structuredContent"]["result"] for one in answer["results"]]


def test_a_whole_turn(client: GatewayClient, host: str) -> None:
    chat = start(client, host)
    reply = chat.sample()
    answer = client.execute_reply(reply, "xai", server="default")
    assert sums(answer) == SUMS
    chat.append(reply)
    for message in answer["messages"]:
        chat.append(tool_result(message["content"], message["tool_call_id"]))
    assert chat.sample().content == "42 and 3"
    assert [message.tool_call_id for message in Grok.asked[-1].messages[2:]] == [id for id, _ in CALLS]


def test_calls_alone(client: GatewayClient, host: str) -> None:
    reply = start(client, host).sample()
    results = [client.execute("xai", call, server="default") for call in reply.tool_calls]
    assert [result["structuredContent"]["result"] for result in results] == SUMS


def test_streams(client: GatewayClient, host: str) -> None:
    assert sums(client.execute_reply(start(client, host).stream(), "xai", server="default")) == SUMS


def test_asynchronous_streams(gateway: Gateway, client: GatewayClient, host: str) -> None:
    tools = client.get_tools("xai", server="default")["tools"]

    async def run() -> Any:
        sdk = xai_sdk.AsyncClient(api_key="none", api_host=host, use_insecure_channel=True)
        chat = sdk.chat.create(model="grok-4", messages=[user("add")], tools=[tool(**one["function"]) for one in tools])
        async with gateway.async_client() as other:
            return await other.execute_reply(chat.stream(), "xai", server="default")

    assert sums(asyncio.run(run())) == SUMS
