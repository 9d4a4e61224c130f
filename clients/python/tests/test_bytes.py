"""boto3 takes and gives bytes where JSON has base64."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

boto3: Any = pytest.importorskip("boto3", reason="these tests run in the environment of the SDKs")

from providers import Providers, serve  # noqa: E402
from sdk_turns import SDKS  # noqa: E402

from mcp_tool_gateway import Gateway, GatewayClient  # noqa: E402

PICTURE = {"toolUseId": "call_1", "name": "picture", "input": {}}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = serve()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def image_in(message: Any) -> Any:
    return message["content"][0]["toolResult"]["content"][0]["image"]["source"]["bytes"]


def test_images_are_on_the_wire_as_the_server_gave_them(client: GatewayClient, url: str) -> None:
    answer = client.execute_reply({"toolUse": PICTURE}, "bedrock", server="counting")
    data = answer["result"]["content"][0]["data"]
    image = image_in(answer["messages"][0])
    assert isinstance(image, bytes) and image.startswith(b"\x89PNG") and base64.b64encode(image).decode() == data
    sdk = SDKS["boto3"]()
    call = {"role": "assistant", "content": [{"toolUse": PICTURE}]}
    sdk.ask(sdk.client(url), client.get_tools("bedrock", server="counting"), [*sdk.first(), call, *answer["messages"]])
    path, sent = Providers.asked[-1]
    assert path == "/model/m/converse"
    assert image_in(sent["messages"][2]) == data


def test_what_boto3_gives_as_bytes_arrives_as_base64(client: GatewayClient, url: str) -> None:
    sdk = SDKS["boto3"]()
    reply = sdk.ask(sdk.client(url), client.get_tools("bedrock", server="default"), sdk.first())
    message = reply["output"]["message"]
    assert message["content"][0]["reasoningContent"]["redactedContent"] == b"\x00\xff"
    answer = client.history("bedrock", "bedrock", [*sdk.first(), message])
    assert answer["messages"][1]["content"][0]["reasoningContent"]["redactedContent"] == b"\x00\xff"


def test_who_sends_json_gets_base64(gateway: Gateway) -> None:
    with gateway.client(bytes_for_boto3=False) as client:
        answer = client.execute_reply({"toolUse": PICTURE}, "bedrock", server="counting")
    assert isinstance(image_in(answer["messages"][0]), str)


def test_values_of_tools_are_left_alone(client: GatewayClient) -> None:
    call = {"toolUse": {"toolUseId": "call_1", "name": "echo", "input": {"value": {"bytes": "AAAA"}}}}
    answer = client.execute_reply(call, "bedrock", server="counting")
    assert answer["messages"][0]["content"][0]["toolResult"]["content"] == [{"json": {"value": {"bytes": "AAAA"}}}]
